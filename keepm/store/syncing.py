"""Waiting for the disk once for many files: threads that sync what is open, side by side.

A thread that waits for the disk doesn't need the interpreter, but one that opens, looks or closes
does, and gets it only now and then from one that computes. So these threads do nothing but sync,
and whoever waits for them takes what none of them has begun.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

if sys.platform != "win32":
    import fcntl

    # On macOS a sync ends when the drive has the bytes, maybe in a cache of its own only.
    _DRIVE_TOO: Any = getattr(fcntl, "F_FULLFSYNC", None)
else:
    _DRIVE_TOO = None

_HELPERS = 5  # and whoever waits: a change of one file syncs four to six at once


def sync(descriptor: int) -> None:
    """Make an open file or folder durable.

    Raises:
        OSError: the disk refuses.
    """
    if sys.platform != "win32" and _DRIVE_TOO is not None:
        # Where the file system doesn't know of it, or has another reason that comes again below.
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, _DRIVE_TOO)
            return
    os.fsync(descriptor)


class _Round:
    """Descriptors that are synced together."""

    def __init__(self, descriptors: Sequence[int], then: Callable[[], None]) -> None:
        self._waiting = [*descriptors]
        self._then = then
        self._left = len(descriptors)
        self._counting = threading.Lock()
        self._done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def work(self) -> None:
        """Sync one after the other what nobody has taken."""
        while True:
            try:
                descriptor = self._waiting.pop()
            except IndexError:
                return
            try:
                sync(descriptor)
                with self._counting:
                    self._left -= 1
                    is_last = self._left == 0  # which it never is where one was refused
                if is_last:
                    self._then()
            except BaseException as error:  # noqa: BLE001  # it is for whoever waits
                self._done.put(error)
            else:
                self._done.put(None)

    def refusals(self, number: int) -> list[BaseException]:
        """Wait until so many are done; return what was refused."""
        found = [self._done.get() for _ in range(number)]
        return [each for each in found if each is not None]


def all_of(descriptors: Sequence[int]) -> None:
    """Sync open files and folders, and wait for them.

    Raises:
        OSError: one of them was refused.
    """
    with beside(descriptors, lambda: None):
        pass


@contextlib.contextmanager
def beside(descriptors: Sequence[int], then: Callable[[], None]) -> Iterator[None]:
    """Sync open files and folders while the body of the `with` runs; it ends when all are synced.

    `then` is called when they are, perhaps in another thread beside the body.

    Raises:
        OSError: one of them was refused; or what `then` raises.
    """
    round_ = _Round(descriptors, then)
    if not descriptors:
        yield
        then()
        return
    helpers = _helpers()
    for _ in descriptors[:_HELPERS]:
        helpers.put(round_)
    refusals: list[BaseException] = []
    try:
        yield
    finally:
        round_.work()
        refusals = round_.refusals(len(descriptors))
    if refusals:
        raise refusals[0]


@functools.cache
def _helpers() -> queue.SimpleQueue[_Round]:
    """Start the threads; return how they get to know of a round."""
    rounds: queue.SimpleQueue[_Round] = queue.SimpleQueue()

    def help_on() -> None:
        while True:
            rounds.get().work()

    with contextlib.suppress(RuntimeError):  # no thread can be had, at the end, say
        for number in range(_HELPERS):
            threading.Thread(target=help_on, name=f"keepm-sync-{number}", daemon=True).start()
    return rounds
