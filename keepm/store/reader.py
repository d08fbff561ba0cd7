"""Looking at the vault: which documents there are, and one file's exact bytes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from keepm.errors import InvalidIdentifier, LimitExceeded, NotFound, RootUnavailable
from keepm.model import copies, layout
from keepm.store import marks
from keepm.store.disk import failed, reporting
from keepm.store.paths import is_portable
from keepm.store.root import Root

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
    device), `name` (no path of ours can name it), `unreadable` (a folder that denies access; what
    lies in it is unknown, not gone), `evicted` (a sync program keeps its bytes elsewhere).
    """

    path: str
    reason: str


def walk(
    root: Root, *, expect_memory: bool, judged: Collection[str] = ()
) -> Iterator[FileState | Skipped]:
    """Yield every file that may be a document, in no order; symlinks are never followed.

    `judged` are paths whose names were found to be right before.

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
    return _walk(root, judged)


def folders(root: Root) -> list[str]:
    """Return every folder that is walked, each behind the one it lies in.

    Raises:
        StorageFailed: the disk reports an error.
    """
    found = [folder for folder in layout.SEARCHED_FOLDERS if _leads_away(root, folder) is None]
    for folder in found:  # it grows on the way
        try:
            entries = [
                _entry(folder, name, seen, ())
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


def _walk(root: Root, judged: Collection[str]) -> Iterator[FileState | Skipped]:
    waiting: list[str] = []
    for folder in layout.SEARCHED_FOLDERS:
        flaw = _leads_away(root, folder)
        if flaw is None:
            waiting.append(folder)
        elif flaw != "absent":
            yield Skipped(folder, flaw)
    while waiting:
        folder = waiting.pop()
        found: list[FileState | Skipped] = []
        try:
            for name, seen in root.disk.scan(root.paths.root / folder):
                entry = _entry(folder, name, seen, judged)
                if isinstance(entry, str):
                    waiting.append(entry)
                elif entry is not None:
                    found.append(entry)
        except FileNotFoundError:
            continue  # it went while we walked
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM):
                raise failed(folder, error) from error
            found.append(Skipped(folder, "unreadable"))
        yield from _present(found)


def _present(found: list[FileState | Skipped]) -> Iterable[FileState | Skipped]:
    """Leave out a placeholder whose file has just come back beside it."""
    if not any(isinstance(each, Skipped) for each in found):
        return found
    files = {each.path for each in found if isinstance(each, FileState)}
    return [each for each in found if isinstance(each, FileState) or each.path not in files]


def _entry(
    folder: str, name: str, seen: os.stat_result, judged: Collection[str]
) -> FileState | Skipped | str | None:
    """Judge one entry: a file, something skipped, a folder to walk (its path), or nothing."""
    path = f"{folder}/{name}"
    kind = marks.kind(seen)
    if kind == stat.S_IFREG and path in judged:
        return _state(path, seen)
    if name[0] == ".":
        return _placeholder(folder, name)
    if name in _OF_OTHER_PROGRAMS or copies.is_temporary(name):
        return None
    is_note = name[-3:].lower() == ".md"
    if not is_note and kind not in (stat.S_IFDIR, stat.S_IFLNK):
        return None
    if not is_portable(name):
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
        with reporting(folder):
            seen = root.disk.state(here)
        if seen is None:
            return "absent"
        kind = marks.kind(seen)
        if kind == stat.S_IFLNK:
            return "symlink"
        if kind != stat.S_IFDIR:
            return "not_a_file"
    return None
