"""The one resolver: from a path of a record, an argument or a note to a place below the root.

A path is relative to the root, with forward slashes, and lies in `Memory/`. Nothing is decoded
or normalised: what isn't plainly a path of the vault is refused.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from keepm.errors import InvalidIdentifier, KeepMError, Problem, RootUnavailable
from keepm.model import identity, layout
from keepm.store import marks
from keepm.store.disk import failed

_COMPONENT_BYTES = 255
_PATH_BYTES = 3000
_DEPTH = 64
_BATCH_BYTES = 120  # of a deletion's folder: a time and a transaction's id
# Backslashes part folders on Windows, a colon starts a drive or a stream there.
_NEVER = re.compile(r"[\x00-\x1f\x7f-\x9f\\:\ud800-\udfff]")
# Most names of notes and all of our records: longer than any device's name, and with a dot in
# front longer than those of other programs' folders, so that they need no second look.
_PLAIN = re.compile(
    r"(?:\.[A-Za-z0-9_]{5})?[A-Za-z0-9_][A-Za-z0-9_ +-]{6,90}[A-Za-z0-9_+-]"
    r"(?:\.[A-Za-z0-9-]{1,40}){0,3}",
    re.ASCII,
)
_OF_OTHER_PROGRAMS = frozenset({".git", ".obsidian"})
_LEADS_AWAY = {
    stat.S_IFLNK: "is a symlink, which is not followed",
    0: "is served by a program nobody knows, so it may lead out of the vault",
}


@dataclass(frozen=True, slots=True)
class VaultPaths:
    """The places of one vault. The root itself may lie behind a symlink, nothing below it may."""

    root: Path
    _held: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @contextlib.contextmanager
    def looking_once(self) -> Iterator[None]:
        """Let this thread look at each folder only once, for the body of a `with`.

        For the time of one change under the lock, or of some files of many. A folder that gives
        way to a symlink meanwhile does no more harm than between a look and the call that follows
        it; the last part of a path is looked at each time.
        """
        if getattr(self._held, "folders", None) is not None:
            yield  # within such a body
            return
        self._held.folders = {}
        try:
            yield
        finally:
            del self._held.folders

    @property
    def memory(self) -> Path:
        """The folder in which everything of KeepM's lies."""
        return self.root / layout.MEMORY

    @property
    def records(self) -> Path:
        """KeepM's own records: lock, journal, ledger, objects."""
        return self.root / layout.RECORDS

    def locate(self, path: str) -> Path:
        """Return the absolute place of a path of this vault, whether or not it exists yet.

        Raises:
            InvalidIdentifier: the path isn't one of this vault, or leads through a symlink.
            RootUnavailable: what leads away is `Memory` itself or a folder of our records.
            StorageFailed: the file system doesn't let us look.
        """
        folders: dict[str, Path] | None = getattr(self._held, "folders", None)
        folder, _, name = path.rpartition("/")
        known = None if folders is None else folders.get(folder)
        if known is None:
            return self._walk(_components(path), folders)
        if len(path) * 4 > _PATH_BYTES or _PLAIN.fullmatch(name) is None:
            _components(path)
        place = known / name
        _require_own(place, path)
        return place

    def _walk(self, components: tuple[str, ...], folders: dict[str, Path] | None) -> Path:
        """Look at each part of a path, and remember the folders that were found to be right."""
        known, here = self._nearest(components, folders or {})
        name = "/".join(components[:known])
        for position, component in enumerate(components[known:], known + 1):
            folder, name = name, f"{name}/{component}" if name else component
            if folders is not None:
                folders[folder] = here
            here = here / component
            if not _require_own(here, name):
                return here.joinpath(*components[position:])  # so nothing below is a symlink
        return here

    def _nearest(
        self, components: tuple[str, ...], folders: Mapping[str, Path]
    ) -> tuple[int, Path]:
        """Return how many parts of a path lead to the nearest folder that is known, and that."""
        for number in range(len(components) - 1, 0, -1):
            known = folders.get("/".join(components[:number]))
            if known is not None:
                return number, known
        return 0, self.root


def is_portable(name: str) -> bool:
    """Tell whether `locate` accepts this as the name of a file or folder."""
    return _PLAIN.fullmatch(name) is not None or _flaw(name) is None


def fits(path: str, *, in_trash: bool = True) -> bool:
    """Tell whether `locate` accepts a path's length and depth; without `in_trash` also those of
    the place in the trash that the file has once it is deleted.
    """
    depth, most = (0, _PATH_BYTES) if in_trash else (2, _PATH_BYTES - _BATCH_BYTES)
    if path.count("/") + depth >= _DEPTH:
        return False
    return len(path) * 4 <= most or len(path.encode("utf-8", "surrogatepass")) <= most


def is_of_vault(path: str) -> bool:
    """Tell whether `locate` accepts a path, as far as its text alone can tell."""
    try:
        return bool(_components(path))
    except InvalidIdentifier:
        return False


@functools.lru_cache(maxsize=4096)
def _components(path: str) -> tuple[str, ...]:
    """Part a path and judge each part: what the text alone can tell."""
    if len(path.encode("utf-8", "surrogatepass")) > _PATH_BYTES:
        raise _refused("it is too long")
    components = path.split("/")
    if len(components) > _DEPTH:
        raise _refused("it is too deep")
    for component in components:
        if _PLAIN.fullmatch(component) is None and (flaw := _known_flaw(component)) is not None:
            raise _refused(flaw)
    if components[0] != layout.MEMORY or len(components) < 2:
        raise _refused(f"it doesn't lie in {layout.MEMORY}/")
    return tuple(components)


@functools.lru_cache(maxsize=1024)
def _known_flaw(name: str) -> str | None:
    return _flaw(name)


def _flaw(name: str) -> str | None:
    """Say why a name can't be a file or folder of the vault, or nothing."""
    if name in ("", ".", ".."):
        return "it has an empty or a dotted part"
    if _NEVER.search(name):
        return "it has a backslash, a colon or a control character"
    if name[-1] in ". ":
        return "a part ends in a dot or a blank"
    if len(name) * 4 > _COMPONENT_BYTES and len(name.encode("utf-8")) > _COMPONENT_BYTES:
        return "a part is too long"
    if identity.is_device(name):
        return "a part is a device name on Windows"
    if name[0] == "." or unicodedata.category(name[0]) == "Cf":
        # HFS+ ignores invisible characters in names, so they don't make it another folder.
        plain = "".join(c for c in name if unicodedata.category(c) != "Cf")
        if plain.casefold() in _OF_OTHER_PROGRAMS:
            return "it belongs to another program"
    return None


def _require_own(place: Path, path: str) -> bool:
    """Refuse what leads away; tell whether anything is there. `path` is its name in the vault."""
    try:
        kind = marks.kind(os.lstat(place))
    except FileNotFoundError:
        return False
    except NotADirectoryError as error:
        raise _obstructed(path.rpartition("/")[0], "is a file, not a folder") from error
    except OSError as error:
        raise failed(path, error) from error
    if kind in _LEADS_AWAY:
        raise _obstructed(path, _LEADS_AWAY[kind])
    return True


def _obstructed(path: str, what: str) -> KeepMError:
    message = f"{path or 'the root'} {what}"
    hint = "Ask the owner to put the real file or folder there."
    if path in ("", layout.MEMORY) or f"{path}/".startswith(f"{layout.RECORDS}/"):
        return RootUnavailable(message, hint=hint)  # nobody has named that place
    return InvalidIdentifier(
        message, hint=hint, problems=[Problem("path", message, "invalid_identifier")]
    )


def _refused(why: str) -> InvalidIdentifier:
    message = f"not a path of this vault: {why}"
    return InvalidIdentifier(message, problems=[Problem("path", message, "invalid_identifier")])
