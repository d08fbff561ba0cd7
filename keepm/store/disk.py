"""The seam to the file system: every call that reads or changes the vault.

A test can stop the world before and after each call, forget what was not synced, or let any of
them fail. Paths are absolute here and come from `paths`; errors leave as OSError, and the
callers turn them into ours with `failed`, which names the relative path only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from keepm.errors import StorageFailed
from keepm.store import syncing

RECORD_MODE = 0o600
_MOST_AT_ONCE = 1 << 20
_BINARY = getattr(os, "O_BINARY", 0)
_CLOSE = getattr(os, "O_CLOEXEC", 0)
# A FIFO would block the open for ever, a symlink would lead elsewhere.
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_TO_SYNC = _CAREFUL | (os.O_RDWR | _BINARY if sys.platform == "win32" else os.O_RDONLY)
_MOST_OPEN = 64  # to sync at once: on macOS a process may hold 256 files open, all in all
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def nothing() -> None:
    """Do nothing."""


class Disk(Protocol):
    """What the store asks of a file system. Every method raises OSError when refused."""

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        """Return a regular file's bytes and the state of exactly the file that was read.

        Raises EFBIG (with the size as the error's text) for more than `limit` bytes, ELOOP for
        a symlink, EISDIR for a folder, EINVAL for what else isn't a regular file.
        """

    def read_at(self, path: Path, offset: int, *, limit: int) -> bytes:
        """Return at most `limit` bytes of a regular file from an offset on."""

    def state(self, path: Path) -> os.stat_result | None:
        """Return what is at a path without following a symlink, or nothing."""

    def names(self, folder: Path) -> list[str]:
        """Return the names in a folder, in no order."""

    def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        """Yield name and state of each entry of a folder, symlinks as themselves."""

    def make_folders(self, folder: Path, *, sync: bool = True) -> None:
        """Make a folder and those above it, and `sync` their names; nothing for one there."""

    def create(self, path: Path, data: bytes, *, mode: int | None, sync: bool = True) -> None:
        """Write a file that must not exist yet, and `sync` it; `mode` None means the umask's."""

    def rename_over(self, source: Path, target: Path) -> None:
        """Let one file take another's place, atomically."""

    def rename_new(self, source: Path, target: Path) -> None:
        """Rename a file to a name that must not exist (FileExistsError)."""

    def write_at(self, path: Path, data: bytes, offset: int, *, sync: bool = True) -> None:
        """Write into a record from an offset on (making the file if needed) and `sync` it."""

    def unlink(self, path: Path) -> None:
        """Remove a file."""

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder in which nothing is."""

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a folder durable."""

    def sync_all(
        self,
        paths: Sequence[Path],
        meanwhile: Callable[[], None] = nothing,
        then: Callable[[], None] = nothing,
    ) -> None:
        """Make the bytes of files written unsynced, and the names in folders, durable at once.

        `meanwhile` is called once while the disk is waited for; `then` when all is durable,
        perhaps in another thread beside `meanwhile`.
        """


class OSDisk:
    """The real file system."""

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        descriptor = _open(path, os.O_RDONLY | _BINARY | _CAREFUL)
        try:
            seen = _regular(descriptor)
            if seen.st_size > limit:
                raise OSError(errno.EFBIG, str(seen.st_size))
            data = _read_all(descriptor, limit + 1, likely=seen.st_size)
            if len(data) > limit:  # it grew meanwhile
                raise OSError(errno.EFBIG, str(len(data)))
            return data, os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def read_at(self, path: Path, offset: int, *, limit: int) -> bytes:
        descriptor = _open(path, os.O_RDONLY | _BINARY | _CAREFUL)
        try:
            seen = _regular(descriptor)
            os.lseek(descriptor, offset, os.SEEK_SET)
            return _read_all(descriptor, limit, likely=max(0, seen.st_size - offset))
        finally:
            os.close(descriptor)

    def state(self, path: Path) -> os.stat_result | None:
        try:
            return os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            return None  # nothing can have that name, such as that of a long one's placeholder

    def names(self, folder: Path) -> list[str]:
        return os.listdir(folder)  # noqa: PTH208  # iterdir makes a Path of each name

    def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        with _to_scan(folder) as place, os.scandir(place) as entries:
            for entry in entries:
                try:
                    seen = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # it vanished between listing and looking
                yield entry.name, seen

    def make_folders(self, folder: Path, *, sync: bool = True) -> None:
        missing: list[Path] = []
        here = folder
        while not here.is_dir():
            missing.append(here)
            here = here.parent
        for each in reversed(missing):
            with contextlib.suppress(FileExistsError):
                each.mkdir()
            if sync:
                self.sync_folder(each.parent)

    def create(self, path: Path, data: bytes, *, mode: int | None, sync: bool = True) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | _CLOSE
        descriptor = os.open(path, flags, 0o666 if mode is None else mode)
        try:
            if mode is not None and sys.platform != "win32":
                os.fchmod(descriptor, mode)  # the umask may have taken bits away
            _write_all(descriptor, data)
            if sync:
                syncing.sync(descriptor)
        except OSError:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        os.close(descriptor)

    def rename_over(self, source: Path, target: Path) -> None:
        source.replace(target)

    def rename_new(self, source: Path, target: Path) -> None:
        if sys.platform == "win32":
            source.rename(target)  # refuses an existing target there
            return
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _take_name(source, target)
            return
        source.unlink()

    def write_at(self, path: Path, data: bytes, offset: int, *, sync: bool = True) -> None:
        flags = os.O_WRONLY | os.O_CREAT | _BINARY | _CAREFUL
        descriptor = _open(path, flags, RECORD_MODE)
        try:
            _regular(descriptor)
            os.lseek(descriptor, offset, os.SEEK_SET)
            _write_all(descriptor, data)
            if sync:
                syncing.sync(descriptor)
        finally:
            os.close(descriptor)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def remove_folder(self, folder: Path) -> None:
        folder.rmdir()

    def sync_folder(self, folder: Path) -> None:
        if sys.platform == "win32":
            return  # folders can't be synced there; the file system journals its names itself
        _sync(folder, os.O_RDONLY | os.O_DIRECTORY)

    def sync_all(
        self,
        paths: Sequence[Path],
        meanwhile: Callable[[], None] = nothing,
        then: Callable[[], None] = nothing,
    ) -> None:
        # Side by side: one flush of the file system's journal serves all who wait for it.
        last = max(0, len(paths) - 1) // _MOST_OPEN * _MOST_OPEN
        for start in range(0, last, _MOST_OPEN):
            with _to_sync(paths[start : start + _MOST_OPEN]) as descriptors:
                syncing.all_of(descriptors)
        with _to_sync(paths[last:]) as descriptors, syncing.beside(descriptors, then):
            meanwhile()


_WHY = {
    errno.ENOSPC: ("no space is left", "Free space, then call again."),
    errno.EDQUOT: ("the quota is used up", "Free space, then call again."),
    errno.EIO: ("the disk reports an error", "Check the disk, then call again."),
    errno.EROFS: ("the file system is read-only", "Restore write access, then call again."),
    errno.EACCES: ("access is denied", "Restore access to the file and its folder."),
    errno.EPERM: ("the operation is not permitted", "Restore access to the file and its folder."),
    errno.EXDEV: ("its folder lies on another file system", "Keep the vault on one file system."),
    errno.ELOOP: ("it is a symlink", "Replace the symlink by the file itself."),
    errno.EISDIR: ("a folder has its name", "Rename the folder."),
    errno.EINVAL: ("it is not a regular file", "Move it out of the vault."),
}


def failed(path: str, error: OSError, *, committed: bool = False) -> StorageFailed:
    """Turn the file system's refusal into ours; `path` is relative to the root.

    With `committed` the change is on record and the next start or mutation finishes it.
    """
    number = error.errno or 0
    why, hint = _WHY.get(number, ("the file system refused", StorageFailed.hint))
    message = f"{path}: {why}"
    if committed:
        message += "; the change is recorded and will be finished"
        hint = f"Don't repeat the change: it is finished by itself. {hint}"
    return StorageFailed(
        message,
        hint=hint,
        details={
            "path": path,
            "reason": errno.errorcode.get(number, "unknown"),
            "committed": committed,
        },
    )


@contextlib.contextmanager
def reporting(path: str) -> Iterator[None]:
    """Let an OSError inside leave as StorageFailed about this relative path."""
    try:
        yield
    except OSError as error:
        raise failed(path, error) from error


def _regular(descriptor: int) -> os.stat_result:
    seen = os.fstat(descriptor)
    if stat.S_ISDIR(seen.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(seen.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return seen


@contextlib.contextmanager
def _to_scan(folder: Path) -> Iterator[Path | int]:
    """Yield what to list a folder by, so that its entries are looked at there and nowhere else.

    From an open folder the system needn't find the way to it for each entry, and the way doesn't
    lead elsewhere when somebody puts a symlink in its place.
    """
    if os.scandir not in os.supports_fd:
        yield folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | _CLOSE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _to_sync(paths: Iterable[Path]) -> Iterator[list[int]]:
    """Hold files and folders open to sync them, but for what needs no syncing."""
    descriptors: list[int] = []
    with contextlib.ExitStack() as opened:
        for path in paths:
            try:
                descriptor = _open(path, _TO_SYNC)
            except IsADirectoryError:
                continue  # on Windows; the file system journals a folder's names itself
            opened.callback(os.close, descriptor)
            descriptors.append(descriptor)
        yield descriptors


def _open(path: Path, flags: int, mode: int = 0o777) -> int:
    try:
        return os.open(path, flags | _CLOSE, mode)
    except PermissionError as error:
        # What Windows says of a folder too: one in a file's place is no file without access.
        if sys.platform == "win32" and path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from error
        raise


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | _CLOSE)
    try:
        syncing.sync(descriptor)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, limit: int, *, likely: int) -> bytes:
    """Read to the end, `limit` bytes at most; `likely` is how many there seem to be."""
    parts: list[bytes] = []
    left = limit
    # What is asked for is set aside first: a mebibyte for each note costs more than its bytes.
    most = min(likely + 1, _MOST_AT_ONCE)
    while left > 0 and (part := os.read(descriptor, min(left, most))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_name(source: Path, target: Path) -> None:
    """Rename without overwriting where hard links don't exist (FAT, some network shares).

    An empty file made exclusively takes the name first; recovery counts an empty target of a
    new file as absent.
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSE))
    try:
        source.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            target.unlink()
        raise
