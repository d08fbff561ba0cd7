"""The project's working tree, as far as notes' sources are compared with it: read, never written.

A digest is git's blob id of the bytes (SHA-1 over `blob <size>\\0<bytes>`, first twelve hex
digits), computed here: git is never called and its history never walked.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

LARGEST = 16 * 1024 * 1024
"""A larger file is not hashed while somebody waits for an answer."""

_MOST_ENTRIES = 20_000  # of the tree; a larger one isn't searched for a moved file
_MOST_HASHED = 2_000  # files in one search; with more of one ending only those of one name are
_TRUSTED_SECONDS = 2.0  # for so long the list of files is taken for true
_EMPTY = "e69de29bb2d1"  # the digest of no bytes: every empty file has it
_SKIPPED = frozenset({"node_modules", "__pycache__"})


def digest(data: bytes) -> str:
    """Return git's blob id of these bytes, its first twelve hex digits."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()[:12]


def inside(top: Path, path: str) -> Path | None:
    """Return the file that a path names, unless a link or `..` leads out of the working tree."""
    try:
        return _below(os.path.realpath(top), path)
    except (OSError, ValueError):
        return None


def _below(base: str, path: str) -> Path | None:
    # Text and not Path: doctor asks for every source there is.
    try:
        target = os.path.realpath(os.path.join(base, path))  # noqa: PTH118
        return Path(target) if os.path.commonpath((base, target)) == base else None
    except (OSError, ValueError):
        return None


def relative(top: Path, path: str) -> str:
    """Return an absolute path below the working tree relative to it, any other as it is."""
    try:
        given = Path(path)
        if not given.is_absolute():
            return path
        real = Path(os.path.realpath(top)), Path(os.path.realpath(given))
        for base, target in ((top, given), real):
            if target.is_relative_to(base):
                return target.relative_to(base).as_posix()
    except (OSError, ValueError):
        pass
    return path


def read(file: Path) -> bytes | None:
    """Return a file's bytes; nothing of what is no file, too large, or can't be read."""
    try:
        if not file.is_file() or file.stat().st_size > LARGEST:
            return None
        return file.read_bytes()
    except OSError:
        return None


@dataclass(slots=True)
class Source:
    """What one path of a working tree names."""

    file: Path | None  # None: it leads out of the tree
    is_there: bool | None  # None: the system doesn't let us look
    _digest: str | None = None
    _hashed: bool = False

    @property
    def digest(self) -> str | None:
        """The digest of the file's bytes; nothing where they can't be read."""
        if not self._hashed and self.file is not None:
            data = read(self.file)
            self._digest, self._hashed = None if data is None else digest(data), True
        return self._digest


class Look:
    """One look at a working tree: however many notes name a file, it is found and hashed once.

    For the time of one answer; what changes meanwhile is met by the next.
    """

    def __init__(self, top: Path) -> None:
        self.top = top
        self._base = os.path.realpath(top)
        self._known: dict[str, Source] = {}
        self._folders: dict[str, Path | None] = {}

    def at(self, path: str) -> Source:
        """Return what a path of the tree names."""
        found = self._known.get(path)
        if found is None:
            found = self._plainly(path) or _source(_below(self._base, path))
            self._known[path] = found
        return found

    def _plainly(self, path: str) -> Source | None:
        """Return what a path names, its folder found once; nothing where only the system tells.

        To follow every part of every path takes longer than all else that a hit is shown with.
        """
        folder, _, name = path.rpartition("/")
        if os.sep != "/" or path.startswith("/") or name in ("", ".", ".."):
            return None
        if folder not in self._folders:
            self._folders[folder] = _below(self._base, folder)
        place = self._folders[folder]
        if place is None:
            return None
        file = place / name
        try:
            is_link = stat.S_ISLNK(file.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return Source(file, is_there=False)
        except (OSError, ValueError):
            return None
        return None if is_link else Source(file, is_there=True)


def _source(file: Path | None) -> Source:
    if file is None:
        return Source(None, is_there=None)
    try:
        return Source(file, is_there=file.exists())
    except OSError:
        return Source(file, is_there=None)


@dataclass(frozen=True, slots=True)
class _Seen:
    path: str
    size: int
    mtime_ns: int


class Relocations:
    """Where files went whose path is gone, found by their digest; one for an open vault.

    The list of the tree's files is kept for two seconds, unless what is found has gone on, and
    the digest of a file as long as its size and time stay, so that several notes about one moved
    folder cost one look.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listed: tuple[Path, float, tuple[_Seen, ...] | None] | None = None
        self._digests: dict[_Seen, str | None] = {}

    def find(self, top: Path, path: str, wanted: str) -> str | None:
        """Return the one file of the same ending that holds these bytes now, by its path.

        Nothing when there is none or more than one, or when the tree is too large to tell.
        """
        if wanted == _EMPTY:
            return None
        with self._lock:
            found = self._holding(top, path, wanted)
            if len(found) == 1 and not _is_as_seen(top, found[0]):
                self._listed = None  # it has gone on, or says something else by now
                found = self._holding(top, path, wanted)
            return found[0].path if len(found) == 1 else None

    def _holding(self, top: Path, path: str, wanted: str) -> list[_Seen]:
        """Return the files of the same ending with these bytes, if the tree isn't too large."""
        files = self._files(top) or ()
        gone = PurePosixPath(path)
        among = [f for f in files if PurePosixPath(f.path).suffix == gone.suffix]
        if len(among) > _MOST_HASHED:
            among = [f for f in among if PurePosixPath(f.path).name == gone.name]
        if len(among) > _MOST_HASHED:
            return []
        return [f for f in among if self._digest(top, f) == wanted]

    def _files(self, top: Path) -> tuple[_Seen, ...] | None:
        now = time.monotonic()
        if (
            self._listed is None
            or self._listed[0] != top
            or now - self._listed[1] > _TRUSTED_SECONDS
        ):
            files = _listing(top)
            self._listed = (top, now, files)
            present = set(files or ())
            self._digests = {f: known for f, known in self._digests.items() if f in present}
        return self._listed[2]

    def _digest(self, top: Path, file: _Seen) -> str | None:
        if file not in self._digests:
            data = read(top / file.path)
            self._digests[file] = None if data is None else digest(data)
        return self._digests[file]


def _is_as_seen(top: Path, file: _Seen) -> bool:
    try:
        state = (top / file.path).lstat()
    except OSError:
        return False
    return (state.st_size, state.st_mtime_ns) == (file.size, file.mtime_ns)


def _listing(top: Path) -> tuple[_Seen, ...] | None:
    """Return the tree's files, hidden ones and links apart; nothing of too large a tree."""
    found: list[_Seen] = []
    folders = [""]
    entries = 0
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(top / folder) as scanned:
                for entry in scanned:
                    entries += 1
                    if entries > _MOST_ENTRIES:
                        return None
                    if entry.name.startswith(".") or entry.name in _SKIPPED or entry.is_symlink():
                        continue
                    path = f"{folder}{entry.name}"
                    if entry.is_dir():
                        folders.append(f"{path}/")
                    elif entry.is_file():
                        state = entry.stat()
                        found.append(_Seen(path, state.st_size, state.st_mtime_ns))
        except OSError:
            continue  # a folder that can't be read, or went meanwhile, holds nothing for us
    return tuple(found)
