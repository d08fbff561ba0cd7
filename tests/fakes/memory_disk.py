"""A disk in memory that knows what was synced, and can forget the rest."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keepm.store.disk import nothing


@dataclass
class _File:
    inode: int
    mode: int
    data: bytes = b""
    durable: bytes = b""
    changed: int = 0


@dataclass
class _Folder:
    inode: int
    entries: dict[str, _File | _Folder] = field(default_factory=dict)
    durable: dict[str, _File | _Folder] = field(default_factory=dict)


class MemoryDisk:
    """Behaves as `OSDisk` does, below one root; passes the same contract suite."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._count = 1
        self._top = _Folder(1)

    # ---- the Disk ----------------------------------------------------------------------------

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        file = self._file(path)
        if len(file.data) > limit:
            raise OSError(errno.EFBIG, str(len(file.data)))
        return file.data, _state(file)

    def read_at(self, path: Path, offset: int, *, limit: int) -> bytes:
        return self._file(path).data[offset : offset + limit]

    def state(self, path: Path) -> os.stat_result | None:
        try:
            return _state(self._node(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, folder: Path) -> list[str]:
        return list(self._folder(folder).entries)

    def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        for name, node in list(self._folder(folder).entries.items()):
            yield name, _state(node)

    def make_folders(self, folder: Path, *, sync: bool = True) -> None:
        here, place = self._top, self.root
        for part in folder.relative_to(self.root).parts:
            place = place / part
            if part not in here.entries:
                here.entries[part] = _Folder(self._next())
                if sync:
                    here.durable[part] = here.entries[part]
            node = here.entries[part]
            if not isinstance(node, _Folder):
                raise FileExistsError(errno.EEXIST, "a file", str(place))
            here = node

    def create(self, path: Path, data: bytes, *, mode: int | None, sync: bool = True) -> None:
        folder = self._folder(path.parent)
        if path.name in folder.entries:
            raise FileExistsError(errno.EEXIST, "exists", str(path))
        number = self._next()
        folder.entries[path.name] = _File(
            number, mode or 0o644, data, data if sync else b"", number
        )

    def rename_over(self, source: Path, target: Path) -> None:
        file, folder = self._file(source), self._folder(target.parent)
        if isinstance(folder.entries.get(target.name), _Folder):
            raise IsADirectoryError(errno.EISDIR, "a folder", str(target))
        del self._folder(source.parent).entries[source.name]
        folder.entries[target.name] = file

    def rename_new(self, source: Path, target: Path) -> None:
        self._file(source)
        if target.name in self._folder(target.parent).entries:
            raise FileExistsError(errno.EEXIST, "exists", str(target))
        self.rename_over(source, target)

    def write_at(self, path: Path, data: bytes, offset: int, *, sync: bool = True) -> None:
        folder = self._folder(path.parent)
        if path.name not in folder.entries:
            folder.entries[path.name] = _File(self._next(), 0o600)
        file = self._file(path)
        before = file.data.ljust(offset, b"\0")
        file.data = before[:offset] + data + before[offset + len(data) :]
        file.changed = self._next()
        if sync:
            file.durable = file.data

    def unlink(self, path: Path) -> None:
        self._file(path)
        del self._folder(path.parent).entries[path.name]

    def remove_folder(self, folder: Path) -> None:
        if self._folder(folder).entries:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(folder))
        del self._folder(folder.parent).entries[folder.name]

    def sync_folder(self, folder: Path) -> None:
        node = self._folder(folder)
        node.durable = dict(node.entries)

    def sync_all(
        self,
        paths: Sequence[Path],
        meanwhile: Callable[[], None] = nothing,
        then: Callable[[], None] = nothing,
    ) -> None:
        meanwhile()
        for path in paths:
            node = self._node(path)
            if isinstance(node, _Folder):
                node.durable = dict(node.entries)
            else:
                node.durable = node.data
        then()

    # ---- what only a test does -----------------------------------------------------------------

    def lose_power(self, survives: Callable[[Path], bool] = lambda folder: False) -> None:
        """Forget every name that was not synced, except in folders that happened to reach disk."""
        self._forget(self._top, self.root, survives)

    def put(self, path: Path, data: bytes) -> None:
        """Write a file as an editor does, without asking anyone."""
        number = self._next()
        folder = self._folder(path.parent)
        folder.entries[path.name] = _File(number, 0o644, data, data, number)
        folder.durable[path.name] = folder.entries[path.name]

    def files(self) -> dict[str, bytes]:
        """Return every file by its path relative to the root."""
        return dict(_files(self._top, ""))

    # ---- inside --------------------------------------------------------------------------------

    def _forget(self, folder: _Folder, place: Path, survives: Callable[[Path], bool]) -> None:
        if survives(place):
            folder.durable = dict(folder.entries)
        folder.entries = dict(folder.durable)
        for name, node in folder.entries.items():
            if isinstance(node, _Folder):
                self._forget(node, place / name, survives)
            else:
                node.data = node.durable

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _node(self, path: Path) -> _File | _Folder:
        here: _File | _Folder = self._top
        for part in path.relative_to(self.root).parts:
            if not isinstance(here, _Folder):
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(path))
            if part not in here.entries:
                raise FileNotFoundError(errno.ENOENT, "nothing there", str(path))
            here = here.entries[part]
        return here

    def _folder(self, path: Path) -> _Folder:
        node = self._node(path)
        if not isinstance(node, _Folder):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(path))
        return node

    def _file(self, path: Path) -> _File:
        node = self._node(path)
        if isinstance(node, _Folder):
            raise IsADirectoryError(errno.EISDIR, "a folder", str(path))
        return node


def _state(node: _File | _Folder) -> os.stat_result:
    if isinstance(node, _Folder):
        mode, size, changed = stat.S_IFDIR | 0o755, 0, 0
    else:
        mode, size, changed = stat.S_IFREG | node.mode, len(node.data), node.changed
    fields = (mode, node.inode, 1, 1, 0, 0, size, changed, changed, changed)
    return os.stat_result(fields, {"st_mtime_ns": changed})


def _files(folder: _Folder, prefix: str) -> Iterator[tuple[str, bytes]]:
    for name, node in folder.entries.items():
        if isinstance(node, _Folder):
            yield from _files(node, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", node.data
