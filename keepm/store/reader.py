"""Looking at the vault: which documents there are, and one file's exact bytes."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from keepm.errors import InvalidIdentifier, LimitExceeded, NotFound, RootUnavailable
from keepm.model import copies, layout
from keepm.store import marks
from keepm.store.disk import failed, reporting
from keepm.store.paths import fits, is_portable
from keepm.store.root import Root

_STRETCH = 64  # entries
_WENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})  # a folder, or something else came
_DENIED = frozenset({errno.EACCES, errno.EPERM})
_OF_OTHER_PROGRAMS = frozenset({"node_modules"})  # dot folders are skipped by their dot


class FileState(NamedTuple):
    """What tells one version of a file from another without reading it."""

    path: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that looks like a document and can't be served.

    Reasons: `symlink` (or a junction), `folder` (named like a note), `not_a_file` (a pipe, a
    device), `name` (no path of ours can name it, or it lies too deep), `unreadable` (a folder
    that denies access; what lies in it is unknown, not gone), `evicted` (a sync program keeps its
    bytes elsewhere).
    """

    path: str
    reason: str


class Stretch(NamedTuple):
    """Some entries of a folder: the files that are as they were known, and all else.

    What is known are paths with sizes and modification times (ns).
    """

    known: list[tuple[str, int, int]]
    files: list[FileState]
    skipped: Sequence[Skipped] = ()


def walk(root: Root, *, expect_memory: bool) -> Iterator[FileState | Skipped]:
    """Yield every file that may be a document, in no order; symlinks are never followed.

    Raises: as `stretches`.
    """
    parts = stretches(root, expect_memory=expect_memory, known=frozenset())
    return itertools.chain.from_iterable(itertools.chain(p.files, p.skipped) for p in parts)


def stretches(
    root: Root, *, expect_memory: bool, known: Set[tuple[str, int, int]]
) -> Iterator[Stretch]:
    """Yield what `walk` does, some entries at a time; of most files nothing has to be said.

    `known` are the path, size and modification time (ns) of files that were read before.

    Raises:
        RootUnavailable: `expect_memory`, and there is no `Memory` folder (an unmounted disk):
            nothing may be taken for deleted.
        StorageFailed: the disk reports an error in the middle.
    """
    with reporting(layout.MEMORY):
        seen = root.disk.state(root.paths.memory)
    if seen is None or marks.kind(seen) != stat.S_IFDIR:
        if expect_memory:
            raise RootUnavailable(f"the vault's {layout.MEMORY} folder is not there")
        return iter(())
    return _walk(root, known)


def folders(root: Root) -> list[str]:
    """Return every folder that is walked, each behind the one it lies in.

    Raises:
        StorageFailed: the disk reports an error.
    """
    found = [folder for folder in layout.SEARCHED_FOLDERS if _leads_away(root, folder) is None]
    for folder in found:  # it grows on the way
        try:
            entries = [
                _entry(folder, name, seen)
                for name, seen in root.disk.scan(root.paths.root / folder)
            ]
        except OSError:
            continue  # it went, or denies access
        found += [entry for entry in entries if isinstance(entry, str)]
    return found


def read(root: Root, path: str, *, limit: int) -> bytes:
    """Return a file's exact bytes.

    Raises:
        NotFound: nothing is there, or a file whose bytes a sync program keeps elsewhere.
        LimitExceeded: it is larger than `limit` bytes.
        StorageFailed: it can't be read, or is no regular file.
    """
    return read_with_state(root, path, limit=limit)[0]


def read_with_state(root: Root, path: str, *, limit: int) -> tuple[bytes, FileState]:
    """Return a file's exact bytes and the state of that very file; raises as `read` does."""
    place = root.paths.locate(path)
    if marks.MARKED and is_evicted(root, path):
        # Opening it would fetch its bytes, or wait for a network.
        raise NotFound(
            f"{path} is not here: a sync program keeps its bytes elsewhere",
            hint="Let the sync program download it, then call again.",
            details={"path": path},
        )
    try:
        data, seen = root.disk.read(place, limit=limit)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{path} is not there", details={"path": path}) from error
    except OSError as error:
        if error.errno == errno.EFBIG:
            actual = int(error.strerror or 0)
            raise LimitExceeded(
                f"{path}: {actual} bytes, the limit is {limit}",
                hint="Shorten it in an editor.",
                details={"path": path, "limit": limit, "actual": actual},
            ) from error
        raise failed(path, error) from error
    return data, FileState(path, seen.st_size, seen.st_mtime_ns, seen.st_ino)


def state(root: Root, path: str) -> FileState | None:
    """Return a regular file's state without reading it, or nothing when there is none.

    There is none behind a symlink either, for nothing is read there, nor where only the name is.

    Raises:
        StorageFailed: the disk reports an error.
    """
    try:
        place = root.paths.locate(path)
    except InvalidIdentifier:
        return None
    with reporting(path):
        seen = root.disk.state(place)
    if seen is None or marks.kind(seen) != stat.S_IFREG or marks.is_evicted(seen):
        return None
    return file_state(path, seen)


def file_state(path: str, seen: os.stat_result) -> FileState:
    """Return what tells a file's version, of what the system says about it."""
    return FileState(path, seen.st_size, seen.st_mtime_ns, seen.st_ino)


def is_evicted(root: Root, path: str) -> bool:
    """Tell whether a sync program holds a file's name here and its bytes elsewhere.

    Raises:
        StorageFailed: the disk reports an error.
    """
    folder, _, name = path.rpartition("/")
    with reporting(path):
        seen = root.disk.state(root.paths.root / path) if marks.MARKED else None
        if seen is not None:
            return marks.is_evicted(seen)
        return root.disk.state(root.paths.root / folder / f".{name}.icloud") is not None


def is_taken(root: Root, path: str) -> bool:
    """Tell whether something has this name, or will have it when a sync program brings it back.

    Raises:
        StorageFailed: the disk reports an error.
    """
    with reporting(path):
        there = root.disk.state(root.paths.root / path) is not None
    return there or is_evicted(root, path)


def _walk(root: Root, known: Set[tuple[str, int, int]]) -> Iterator[Stretch]:
    waiting: list[str] = []
    for folder in layout.SEARCHED_FOLDERS:
        flaw = _leads_away(root, folder)
        if flaw is None:
            waiting.append(folder)
        elif flaw != "absent":
            yield Stretch([], [], [Skipped(folder, flaw)])
    while waiting:
        yield from _folder(root, waiting.pop(), known, waiting)


def _folder(
    root: Root, folder: str, known: Set[tuple[str, int, int]], waiting: list[str]
) -> Iterator[Stretch]:
    """Yield what is in one folder; the folders in it are added to those that wait."""
    met: list[Stretch] = []
    skipped: list[Skipped] = []
    try:
        entries = root.disk.scan(root.paths.root / folder)
        while some := list(itertools.islice(entries, _STRETCH)):
            met.append(_stretch(folder, some, known, waiting, skipped))
            yield met[-1]
    except OSError as error:
        if error.errno in _WENT:
            return  # while we walked
        if error.errno not in (*_DENIED, errno.ENAMETOOLONG):
            raise failed(folder, error) from error
        skipped.append(Skipped(folder, "unreadable" if error.errno in _DENIED else "name"))
    if skipped:
        # A placeholder says nothing when its file has just come back beside it.
        here = {path for part in met for path, *_ in (*part.known, *part.files)}
        yield Stretch([], [], [each for each in skipped if each.path not in here])


def _stretch(
    folder: str,
    entries: Iterable[tuple[str, os.stat_result]],
    known: Set[tuple[str, int, int]],
    waiting: list[str],
    skipped: list[Skipped],
) -> Stretch:
    same: list[tuple[str, int, int]] = []
    files: list[FileState] = []
    for name, seen in entries:
        stamp = (f"{folder}/{name}", seen.st_size, seen.st_mtime_ns)
        if stamp in known and _is_served(seen):
            same.append(stamp)
            continue
        entry = _entry(folder, name, seen)
        if isinstance(entry, FileState):
            files.append(entry)
        elif isinstance(entry, Skipped):
            skipped.append(entry)
        elif entry is not None:
            waiting.append(entry)
    return Stretch(same, files)


def _is_served(seen: os.stat_result) -> bool:
    """Tell whether this is a regular file whose bytes are here."""
    if marks.MARKED and (marks.kind(seen) != stat.S_IFREG or marks.is_evicted(seen)):
        return False
    return stat.S_ISREG(seen.st_mode)


def _entry(folder: str, name: str, seen: os.stat_result) -> FileState | Skipped | str | None:
    """Judge one entry: a file, something skipped, a folder to walk (its path), or nothing."""
    path = f"{folder}/{name}"
    kind = marks.kind(seen)
    if name[0] == ".":
        return _placeholder(folder, name)
    if name in _OF_OTHER_PROGRAMS or copies.is_temporary(name):
        return None
    is_note = name[-3:].lower() == ".md"
    if not is_note and kind not in (stat.S_IFDIR, stat.S_IFLNK):
        return None
    if not is_portable(name) or not fits(path, in_trash=False):
        return Skipped(path.encode("utf-8", "replace").decode("utf-8"), "name")
    if kind == stat.S_IFREG:
        return _state(path, seen)
    if kind == stat.S_IFDIR:
        return Skipped(path, "folder") if is_note else path
    return Skipped(path, "symlink" if kind == stat.S_IFLNK else "not_a_file")


def _placeholder(folder: str, name: str) -> Skipped | None:
    of = copies.evicted(name)
    if of is None or of[-3:].lower() != ".md" or not is_portable(of):
        return None
    return Skipped(f"{folder}/{of}", "evicted")


def _state(path: str, seen: os.stat_result) -> FileState | Skipped:
    if marks.is_evicted(seen):
        return Skipped(path, "evicted")
    return FileState(path, seen.st_size, seen.st_mtime_ns, seen.st_ino)


def _leads_away(root: Root, folder: str) -> str | None:
    """Say why one of the searched folders can't be walked, or nothing."""
    here = root.paths.root
    for part in folder.split("/"):
        here = here / part
        try:
            seen = root.disk.state(here)
        except OSError as error:
            if error.errno not in _DENIED:
                raise failed(folder, error) from error
            return "unreadable"
        if seen is None:
            return "absent"
        kind = marks.kind(seen)
        if kind == stat.S_IFLNK:
            return "symlink"
        if kind != stat.S_IFDIR:
            return "not_a_file"
    return None
