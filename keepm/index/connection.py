"""A connection to the index that keeps what a reader worked out of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

_MOST_KEPT = 256

T = TypeVar("T")


class Connection(sqlite3.Connection):
    """A connection whose readers needn't work out again what the index still says.

    What is kept is dropped as soon as anybody has written, and when there is much of it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._kept: dict[Hashable, Any] = {}
        self._state: tuple[int, int] | None = None

    def kept(self, key: Hashable, work: Callable[[], T]) -> T:
        """Return what `work` returns, or what it returned for this key before."""
        # The one changes with what others commit, the other with what is written here.
        (committed,) = self.execute("PRAGMA data_version").fetchone()
        state = (committed, self.total_changes)
        if state != self._state or len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
            self._state = state
        if key not in self._kept:
            self._kept[key] = work()
        found: T = self._kept[key]
        return found


def kept(connection: sqlite3.Connection, key: Hashable, work: Callable[[], T]) -> T:
    """Return what `work` finds in the index, worked out once for each state of it.

    For readers: within a write transaction, which may be undone, nothing is to be kept.
    """
    return connection.kept(key, work) if isinstance(connection, Connection) else work()


def connect(path: Path, *, mode: str, busy_seconds: float) -> sqlite3.Connection:
    """Open a file that is there; `busy_seconds` says how long to wait for whoever writes."""
    # `mode` other than rwc: connecting must never make an empty file.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        factory=Connection,
        check_same_thread=False,  # the pool lends a connection to one thread at a time
    )
