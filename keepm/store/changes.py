"""The write set of one mutation: made, replaced, moved, removed, each with its precondition."""

from __future__ import annotations

from dataclasses import dataclass

from keepm.errors import InvalidInput
from keepm.model import identity
from keepm.model.checksum import Checksum


@dataclass(frozen=True, slots=True)
class Create:
    """A new file; nothing may have its name yet."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Replace:
    """New bytes for a file that must still be the version `expect`."""

    path: str
    data: bytes
    expect: Checksum


@dataclass(frozen=True, slots=True)
class Move:
    """A file that must be the version `expect` goes to a free name, with these bytes."""

    path: str
    to: str
    data: bytes
    expect: Checksum


@dataclass(frozen=True, slots=True)
class Delete:
    """A file that must be the version `expect` goes for good; only gc and repair ask for it."""

    path: str
    expect: Checksum


Change = Create | Replace | Move | Delete


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Changes that happen together or not at all. `record_only`: none, only an event is written.

    Raises:
        InvalidInput: nothing is changed, or one path is touched twice (also in another case or
            normal form, which is one file on many file systems).
    """

    changes: tuple[Change, ...]
    record_only: bool = False

    def __post_init__(self) -> None:
        if not self.changes and not self.record_only:
            raise InvalidInput("a change set needs at least one change")
        seen: set[str] = set()
        for change in self.changes:
            # A move that alters only the case of a name is one file, not two.
            for key in {identity.file_key(path) for path in _paths(change)}:
                if key in seen:
                    raise InvalidInput("two changes touch one file", details={"path": change.path})
                seen.add(key)

    @property
    def touched(self) -> tuple[str, ...]:
        """Every path that is made, changed or vacated, in order."""
        return tuple(path for change in self.changes for path in _paths(change))


def _paths(change: Change) -> tuple[str, ...]:
    return (change.path, change.to) if isinstance(change, Move) else (change.path,)
