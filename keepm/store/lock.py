"""The vault's lock: one writer at a time, across processes and threads, with a bounded wait.

`flock`, taken by a helper thread that blocks: fair and cheap where polling starves. Not `lockf`,
which any closed descriptor of the file would drop. Elsewhere `filelock`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from keepm.errors import RootLocked, RootUnavailable
from keepm.model import layout
from keepm.store.disk import RECORD_MODE, reporting
from keepm.store.paths import VaultPaths

_PATH = f"{layout.RECORDS}/lock"
_WIDTH = 160  # one fixed width, so that a reader never sees the rest of a longer record
_FLAGS = (
    os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
)  # a symlink in its place would lead the holder's record elsewhere


@contextlib.contextmanager
def hold(paths: VaultPaths, *, surface: str, timeout: float, now: str) -> Iterator[None]:
    """Hold the vault's lock for the body of a `with`.

    Raises:
        RootLocked: another holder didn't finish within `timeout` seconds; the details name its
            process id, its surface and since when it holds.
        RootUnavailable: the vault's folder isn't there.
        StorageFailed: the lock file can't be opened.
    """
    place = paths.locate(_PATH)
    if not os.path.isdir(paths.memory):
        raise RootUnavailable(f"the vault's {layout.MEMORY} folder is not there")
    record = _record(surface, now)
    hold_it = _flock if sys.platform != "win32" else _filelock
    with hold_it(place, timeout, record), paths.looking_once():
        yield


def holder(paths: VaultPaths) -> dict[str, str | int]:
    """Return who wrote itself into the lock last: pid, surface, since; empty when unreadable."""
    place = paths.locate(_PATH)
    for each in (place, _beside(place)):
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(each.read_bytes()[:_WIDTH])
            return {key: found[key] for key in ("pid", "surface", "since") if key in found}
    return {}


def _locked(place: Path) -> RootLocked:
    who = holder(VaultPaths(place.parents[2]))
    message = "another process is writing to this vault"
    if who:
        message += ": {surface}, process {pid}, since {since}".format_map(
            {"surface": "unknown", "pid": "unknown", "since": "unknown", **who}
        )
    return RootLocked(message, details=who)


if sys.platform != "win32":
    import fcntl

    @contextlib.contextmanager
    def _flock(place: Path, timeout: float, record: bytes) -> Iterator[None]:
        while True:
            with reporting(_PATH):
                descriptor = _opened(place)
                acquired = _acquire(descriptor, timeout)
            if not acquired:
                raise _locked(place)
            if _is_the_file(descriptor, place):
                break
            os.close(descriptor)  # someone removed or replaced the file while we waited
        try:
            with reporting(_PATH):
                # In place: the lock file must stay the same file.
                os.pwrite(descriptor, record, 0)
            yield
        finally:
            os.close(descriptor)  # and with it the lock

    def _acquire(descriptor: int, timeout: float) -> bool:
        """Lock a descriptor within the time; a descriptor that isn't locked is closed."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _wait(descriptor, timeout)
        except OSError:
            os.close(descriptor)
            raise
        return True

    def _wait(descriptor: int, timeout: float) -> bool:
        settled = threading.Lock()
        answered = threading.Event()
        abandoned = False
        refusals: list[OSError] = []

        def block() -> None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as error:
                refusals.append(error)
                os.close(descriptor)
            with settled:
                if abandoned and not refusals:
                    os.close(descriptor)  # nobody waits any more: give it on at once
                answered.set()

        threading.Thread(target=block, name="keepm-lock", daemon=True).start()
        try:
            answered.wait(timeout)
        finally:
            # Also when the wait is interrupted: a lock nobody knows of would never be released.
            with settled:
                abandoned = not answered.is_set()
        if refusals:
            raise refusals[0]
        return not abandoned


def _is_the_file(descriptor: int, place: Path) -> bool:
    mine = os.fstat(descriptor)
    try:
        there = os.lstat(place)
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _opened(place: Path) -> int:
    try:
        return os.open(place, _FLAGS, RECORD_MODE)
    except FileNotFoundError:
        place.parent.mkdir(exist_ok=True)
        return os.open(place, _FLAGS, RECORD_MODE)


@contextlib.contextmanager
def _filelock(place: Path, timeout: float, record: bytes) -> Iterator[None]:
    from filelock import FileLock, Timeout

    # A locked file can't be read by others on Windows, so the holder stands in one beside it.
    lock = FileLock(place, thread_local=False)
    with reporting(_PATH):
        place.parent.mkdir(exist_ok=True)
        try:
            lock.acquire(timeout=timeout)
        except Timeout as error:
            raise _locked(place) from error
    try:
        with reporting(_PATH):
            _write(_beside(place), record)
        yield
    finally:
        lock.release()


def _beside(place: Path) -> Path:
    return place.with_name("lock.holder")


def _write(place: Path, record: bytes) -> None:
    descriptor = os.open(place, _FLAGS, RECORD_MODE)
    try:
        os.write(descriptor, record)
    finally:
        os.close(descriptor)


def _record(surface: str, now: str) -> bytes:
    """Return who holds the lock since when, in one fixed width."""
    holder = {"pid": os.getpid(), "surface": surface[:40], "since": now[:40]}
    data = json.dumps(holder).encode("ascii", "replace")
    if len(data) > _WIDTH:  # a surface of nothing but escapes
        data = json.dumps({**holder, "surface": ""}).encode("ascii", "replace")
    return data.ljust(_WIDTH)
