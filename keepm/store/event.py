"""One event of the ledger, and the one text it has.

Canonical JSON (sorted keys, no blanks, UTF-8); `hash` is the SHA-256 of the text without it,
`previous` the hash of the event before. Events hold ids and digests, never a path or note text.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter

FIRST = "0" * 64
"""What the first event of a chain has for `previous`."""
_FORMAT = 1
_LARGEST = 2**63 - 1  # what SQLite holds
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Head:
    """The end of one writer's chain."""

    sequence: int
    hash: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class EventDraft:
    """What the caller knows about a mutation; the transaction adds the rest."""

    operation: str
    surface: str
    object_id: str
    object_kind: str  # memory | proposal | handoff | …
    scope: str
    channel: str | None = None
    client: str = ""
    client_version: str = ""
    session: str = ""
    shown: str | None = None  # digest of what the person saw when approving
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Digests:
    """One file's version before and after, None where it wasn't there."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """One mutation as it stands in the ledger."""

    sequence: int
    time: str
    transaction_id: str
    operation: str
    surface: str
    object_id: str
    object_kind: str
    scope: str
    channel: str | None
    client: str
    client_version: str
    session: str
    shown: str | None
    extra: Mapping[str, str]
    changes: tuple[Digests, ...]
    previous: str
    hash: str

    @classmethod
    def following(
        cls,
        head: Head,
        draft: EventDraft,
        *,
        transaction_id: str,
        at: str,
        changes: tuple[Digests, ...],
    ) -> LedgerEvent:
        """Chain a new event to the head."""
        event = cls(
            sequence=head.sequence + 1,
            time=at,
            transaction_id=transaction_id,
            operation=_storable(draft.operation),
            surface=_storable(draft.surface),
            object_id=_storable(draft.object_id),
            object_kind=_storable(draft.object_kind),
            scope=_storable(draft.scope),
            channel=draft.channel,
            client=_storable(draft.client),
            client_version=_storable(draft.client_version),
            session=_storable(draft.session),
            shown=draft.shown,
            extra={_storable(key): _storable(value) for key, value in draft.extra.items()},
            changes=changes,
            previous=head.hash,
            hash="",
        )
        return event.rehashed()

    def relinked(self, head: Head) -> LedgerEvent:
        """Return the same event chained to another head."""
        moved = dataclasses.replace(self, sequence=head.sequence + 1, previous=head.hash)
        return moved.rehashed()

    def rehashed(self) -> LedgerEvent:
        """Return the event with the hash that its fields have."""
        return dataclasses.replace(self, hash=hashlib.sha256(self._hashed()).hexdigest())

    def line(self) -> bytes:
        """Return the event as its line in the ledger, with the newline."""
        return canonical(self.as_record()) + b"\n"

    def as_record(self) -> dict[str, object]:
        """Return the fields as they are written."""
        record: dict[str, object] = {name: getattr(self, name) for name in _FIELDS}
        changes = [{"before": each.before, "after": each.after} for each in self.changes]
        return {**record, "format": _FORMAT, "extra": dict(self.extra), "changes": changes}

    def _hashed(self) -> bytes:
        record = self.as_record()
        del record["hash"]
        return canonical(record)

    @classmethod
    def parse(cls, line: bytes | str) -> LedgerEvent:
        """Read one line; whether its hash is right is for `verify` to say.

        Raises:
            ValueError: it isn't an event.
        """
        try:
            record = json.loads(line)
            if record.pop("format") != _FORMAT:
                raise ValueError("an event of another format")
            changes = tuple(Digests(**each) for each in record.pop("changes"))
            event = cls(changes=changes, **record)
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError("not an event") from error
        if not event.is_well_formed:
            raise ValueError("not an event")
        return event

    @property
    def is_well_formed(self) -> bool:
        """Tell whether each field is of its sort: another program may have written the line."""
        digests = [digest for each in self.changes for digest in (each.before, each.after)]
        optional = (self.channel, self.shown, *digests)
        return (
            type(self.sequence) is int
            and 0 <= self.sequence <= _LARGEST
            and isinstance(self.extra, dict)
            and all(map(_is_text, _TEXTS(self)))
            and all(map(_is_text, (*self.extra, *self.extra.values())))
            and all(each is None or _is_text(each) for each in optional)
        )


_TEXTS = attrgetter(
    *("time", "transaction_id", "operation", "surface", "object_id", "object_kind", "scope"),
    *("client", "client_version", "session", "previous", "hash"),
)
_FIELDS = tuple(each.name for each in dataclasses.fields(LedgerEvent))


def is_time(text: str) -> bool:
    """Tell whether an event's time is one, written as we write it."""
    try:
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _is_text(value: object) -> bool:
    return isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value))


def canonical(record: Mapping[str, object]) -> bytes:
    """Write a record as the one JSON text it has."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def _storable(text: str) -> str:
    """Replace lone surrogates, which JSON from a host can bring and UTF-8 can't hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
