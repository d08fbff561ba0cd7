"""A disk that stops the world, or fails once, at its n-th call."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from keepm.store.disk import Disk, nothing

T = TypeVar("T")


class Crash(BaseException):
    """The process died here. No handler of ours may survive it."""


class Fault(StrEnum):
    CRASH_BEFORE = "crash_before"
    CRASH_AFTER = "crash_after"
    TORN = "torn"  # half of the data is written, then the process dies
    ENOSPC = "ENOSPC"
    EIO = "EIO"
    EXDEV = "EXDEV"
    EPERM = "EPERM"
    STUCK = "stuck"  # EIO from this call on, for ever


class FaultyDisk:
    """Counts the calls; at call `fail_at` the fault happens. `hit` tells whether it did."""

    def __init__(self, disk: Disk, *, fail_at: int, fault: Fault) -> None:
        self.disk = disk
        self.fail_at = fail_at
        self.fault = fault
        self.calls = 0
        self.hit = False

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        return self._do(lambda: self.disk.read(path, limit=limit))

    def read_at(self, path: Path, offset: int, *, limit: int) -> bytes:
        return self._do(lambda: self.disk.read_at(path, offset, limit=limit))

    def state(self, path: Path) -> os.stat_result | None:
        return self._do(lambda: self.disk.state(path))

    def names(self, folder: Path) -> list[str]:
        return self._do(lambda: self.disk.names(folder))

    def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        return self._do(lambda: self.disk.scan(folder))

    def make_folders(self, folder: Path, *, sync: bool = True) -> None:
        self._do(lambda: self.disk.make_folders(folder, sync=sync))

    def create(self, path: Path, data: bytes, *, mode: int | None, sync: bool = True) -> None:
        def half() -> None:
            self.disk.create(path, data[: len(data) // 2], mode=mode, sync=sync)

        self._do(lambda: self.disk.create(path, data, mode=mode, sync=sync), torn=half)

    def rename_over(self, source: Path, target: Path) -> None:
        self._do(lambda: self.disk.rename_over(source, target))

    def rename_new(self, source: Path, target: Path) -> None:
        self._do(lambda: self.disk.rename_new(source, target))

    def write_at(self, path: Path, data: bytes, offset: int, *, sync: bool = True) -> None:
        def half() -> None:
            self.disk.write_at(path, data[: len(data) // 2], offset, sync=sync)

        self._do(lambda: self.disk.write_at(path, data, offset, sync=sync), torn=half)

    def unlink(self, path: Path) -> None:
        self._do(lambda: self.disk.unlink(path))

    def remove_folder(self, folder: Path) -> None:
        self._do(lambda: self.disk.remove_folder(folder))

    def sync_folder(self, folder: Path) -> None:
        self._do(lambda: self.disk.sync_folder(folder))

    def sync_all(
        self,
        paths: Sequence[Path],
        meanwhile: Callable[[], None] = nothing,
        then: Callable[[], None] = nothing,
    ) -> None:
        def half() -> None:
            self.disk.sync_all(paths[: len(paths) // 2])

        self._do(lambda: self.disk.sync_all(paths, meanwhile, then), torn=half)

    def _do(self, call: Callable[[], T], *, torn: Callable[[], None] | None = None) -> T:
        self.calls += 1
        dead = self.hit and self.fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.TORN)
        if dead:
            raise Crash
        if self.calls != self.fail_at and not (self.hit and self.fault is Fault.STUCK):
            return call()
        self.hit = True
        match self.fault:
            case Fault.CRASH_BEFORE:
                raise Crash
            case Fault.CRASH_AFTER:
                call()
                raise Crash
            case Fault.TORN:
                (torn or call)()
                raise Crash
            case Fault.STUCK:
                raise OSError(errno.EIO, "EIO")
            case _:
                raise OSError(getattr(errno, self.fault.name), self.fault.name)
