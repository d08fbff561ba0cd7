"""How far the index is behind the files: state shared by the threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum


class IndexState(StrEnum):
    """What an answer from the index is worth."""

    CURRENT = "current"
    CATCHING_UP = "catching_up"  # some changed files are not read yet
    REBUILDING = "rebuilding"  # a new index is being filled
    HELD = "deletions_held"  # many notes are missing; answers still tell of them
    UNAVAILABLE = "root_unavailable"  # the vault can't be seen; answers are of the last look


@dataclass(slots=True)
class Progress:
    """The passes over the vault: whether one runs, when the last one ended, what is left."""

    state: IndexState = IndexState.CATCHING_UP
    left: int = 0  # files seen but not read yet
    ended: float | None = None  # monotonic seconds at the end of the last complete pass
    took: float = 0.0  # seconds of the last complete pass
    rebuilding: bool = False
    trouble: str | None = None  # why the index couldn't take in what the last look found
    held: int = 0  # files missing that are not taken for deleted yet
    seen_at: str | None = None  # when the last complete look at the files ended (RFC 3339, UTC)
    watch: str = "off"  # how changes are met between two looks, for status
    # The thread that watches the folders and keeps the time of deep passes.
    keeper: threading.Thread | None = None
    # One pass at a time; a second thread that wants one waits for the first.
    passing: threading.Lock = field(default_factory=threading.Lock)
    worker: threading.Thread | None = None
    recorder: threading.Thread | None = None  # puts on record what a look left
    # Set while no background pass is behind its look at the stamps; answers wait for it a little.
    settled: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)

    _asked: int = 0  # answers in the making
    _unasked: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Let work that nobody waits for give way, for the body of a `with`."""
        with self._unasked:
            self._asked += 1
        try:
            yield
        finally:
            with self._unasked:
                self._asked -= 1
                if not self._asked:
                    self._unasked.notify_all()

    def give_way(self, seconds: float) -> None:
        """Wait until no answer is in the making, at most for so long."""
        with self._unasked:
            self._unasked.wait_for(lambda: not self._asked, timeout=seconds)

    @property
    def files_left(self) -> int | None:
        """Return how many files answers don't know yet; nothing while they know all."""
        behind = self.state in (IndexState.CATCHING_UP, IndexState.REBUILDING)
        return self.left or None if behind else None

    def stop(self) -> None:
        """Ask the background threads to end and wait for them."""
        self.stopping.set()
        for thread in (self.keeper, self.worker, self.recorder):
            if thread is not None and thread is not threading.current_thread():
                thread.join(timeout=5)
