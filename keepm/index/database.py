"""The index: opened and renewed; its connections and transactions.

Damage, a foreign file or another version never ends in an error for good: the file is set aside
and an empty index takes its place, which the caller then fills (`fresh`).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from keepm.errors import IndexUnavailable
from keepm.index import failures, files
from keepm.index.connection import connect

_CACHE_KIB = 16 * 1024
_HURRIED_SECONDS = 0.2  # how long an answer waits for whoever else is writing


class Database:
    """One index file, shared by threads and processes.

    Each reader works on a snapshot of its own connection; one writer at a time. `fresh` tells
    that the file was made just now and that a rebuild has to fill it. Where writing is `apart`,
    reads can't change the file, and it is opened for writing when there is something to write.
    """

    def __init__(
        self,
        path: Path,
        *,
        vault_id: str,
        journal_mode: str,
        busy_seconds: float,
        read_only: bool,
        apart: bool = False,
    ) -> None:
        self.path = path
        self.vault_id = vault_id
        self.journal_mode = journal_mode
        self.read_only = read_only
        self.fresh = False
        self._busy_seconds = busy_seconds
        self._write_lock = threading.Lock()
        self._haste = threading.local()
        self._steady = threading.local()
        self._pool_lock = threading.Lock()
        self._readers: list[sqlite3.Connection] = []  # idle ones
        self._writers: list[sqlite3.Connection] = [] if apart else self._readers
        self._closed = False
        self._file = files.number_of(path)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        vault_id: str,
        journal_mode: str = "wal",
        busy_seconds: float = 5.0,
        apart: bool = False,
    ) -> Database:
        """Open the index of a vault, making it where there is no fit one.

        Raises:
            IndexUnavailable: a newer KeepM made it, or the folder can't be written.
        """
        database = cls(
            path,
            vault_id=vault_id,
            journal_mode=journal_mode,
            busy_seconds=busy_seconds,
            read_only=False,
            apart=apart,
        )
        database._make_fit()
        return database

    def renew(self, *, discard: bool = False) -> None:
        """Set the file aside as damaged and start an empty one; `fresh` is true then.

        For the caller that met `IndexUnavailable` with `damaged` in its details. If another
        process renewed it meanwhile, that file is taken instead. `discard` a sound file that is
        only to be filled anew.

        Raises:
            IndexUnavailable: the folder can't be written.
        """
        with self._write_lock:
            self._drop_connections()
            if self._file is not None and files.number_of(self.path) == self._file:
                files.delete(self.path) if discard else files.set_aside(self.path)
            self._make_fit()

    def check(self) -> None:
        """Read the whole file for damage; slow, so not part of opening.

        Raises:
            IndexUnavailable: with `damaged` in its details when something is wrong.
        """
        with self.reading() as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise failures.damaged()
        if not self.read_only:
            with self.writing() as connection:
                connection.execute("INSERT INTO terms (terms) VALUES ('integrity-check')")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within one read transaction: all its queries see one state.

        Raises:
            IndexUnavailable: the file is damaged (`damaged` in the details), busy or closed.
        """
        with self.asking() as connection:
            if not connection.in_transaction:
                connection.execute("BEGIN")
            yield connection

    @contextmanager
    def asking(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for one statement, a transaction of its own; raises as `reading`."""
        with failures.translated():
            if (own := self._of_this_thread()) is not None:
                if not own.in_transaction:
                    own.execute("BEGIN")
                yield own
                return
            connection, file = self._take(self._readers)
            try:
                yield connection
            finally:
                self._give_back(connection, file, self._readers)

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Let all reads of this thread see one state, until it writes or asks to `move_on`.

        For the parts of one answer, which then agree with each other. Raises as `reading`.
        """
        if self._of_this_thread() is not None:
            yield  # within such a body
            return
        with failures.translated():
            connection, file = self._take(self._readers)
        self._steady.connection = connection
        try:
            yield
        finally:
            self._steady.connection = None
            self._give_back(connection, file, self._readers)

    def move_on(self) -> None:
        """Let the next reads of this thread see what was written meanwhile, `steady` or not."""
        own = self._of_this_thread()
        if own is not None and own.in_transaction:
            with failures.translated():
                own.execute("ROLLBACK")

    def _of_this_thread(self) -> sqlite3.Connection | None:
        """Return the connection that sees the one state of this thread's reads, if there is one."""
        return getattr(self._steady, "connection", None)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within one write transaction: committed at the end, or undone.

        Raises:
            IndexUnavailable: as `reading`, or the disk is full or read-only.
        """
        if self.read_only:
            raise IndexUnavailable("the index was opened for reading only")
        self.move_on()  # without a log beside the file, a reader keeps every writer waiting
        hurried = getattr(self._haste, "on", False)
        if not self._write_lock.acquire(timeout=_HURRIED_SECONDS if hurried else -1):
            raise failures.busy()
        try:
            with failures.translated(), self._for_writing() as connection:
                try:
                    if hurried:
                        _wait_for_others(connection, _HURRIED_SECONDS)
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if hurried:
                        _wait_for_others(connection, self._busy_seconds)
        finally:
            self._write_lock.release()

    @contextmanager
    def _for_writing(self) -> Iterator[sqlite3.Connection]:
        own = self._of_this_thread()
        if own is not None and self._writers is self._readers:
            # What this thread has read is at hand there.
            try:
                yield own
            finally:
                if own.in_transaction:
                    own.execute("ROLLBACK")
            return
        connection, file = self._take(self._writers)
        try:
            yield connection
        finally:
            self._give_back(connection, file, self._writers)

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Let this thread's writes give up soon while somebody else writes: an answer waits.

        `IndexUnavailable` has `busy` in its details then.
        """
        self._haste.on = True
        try:
            yield
        finally:
            self._haste.on = False

    def get_meta(self, key: str) -> str | None:
        """Return a value that a batch stored."""
        with self.asking() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def close(self) -> None:
        """Close every connection; the last one folds the log into the file."""
        self._closed = True
        self._drop_connections()

    # ---- connections -----------------------------------------------------------------------

    def _take(self, idle: list[sqlite3.Connection]) -> tuple[sqlite3.Connection, files.FileNumber]:
        """Return a connection, one of the idle ones if there is any, and to which file it leads."""
        if self._closed:
            raise IndexUnavailable("the index was closed")
        number = files.number_of(self.path)
        if number is None:
            # Deleted under our feet: a new file has to take its place.
            raise failures.damaged()
        with self._pool_lock:
            # Another process may have renewed it; then our connections lead to the old file.
            stale = self._emptied() if number != self._file else []
            self._file = number
            connection = idle.pop() if idle else None
        for old in stale:
            old.close()
        writes = idle is self._writers and not self.read_only
        return connection or self._connect(writes=writes), number

    def _give_back(
        self, connection: sqlite3.Connection, file: files.FileNumber, idle: list[sqlite3.Connection]
    ) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            connection.close()
            return
        with self._pool_lock:
            if not self._closed and file == self._file:
                idle.append(connection)
                return
        connection.close()

    def _connect(self, *, writes: bool) -> sqlite3.Connection:
        mode = "rw" if writes else "ro"
        connection = connect(self.path, mode=mode, busy_seconds=self._busy_seconds)
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            connection.execute("PRAGMA temp_store = MEMORY")
            if writes:
                connection.execute("PRAGMA synchronous = NORMAL")
                (present,) = connection.execute("PRAGMA journal_mode").fetchone()
                if present != self.journal_mode:
                    # Needs the file alone; where it is in use the present mode does as well.
                    with suppress(sqlite3.OperationalError):
                        connection.execute(f"PRAGMA journal_mode = {self.journal_mode}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _drop_connections(self) -> None:
        with self._pool_lock:
            idle = self._emptied()
        for connection in idle:
            connection.close()

    def _emptied(self) -> list[sqlite3.Connection]:
        """Take all idle connections out of where they wait."""
        idle = [*self._readers, *(self._writers if self._writers is not self._readers else ())]
        self._readers.clear()
        self._writers.clear()
        return idle

    # ---- fitness ---------------------------------------------------------------------------

    def _make_fit(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            inspected = files.number_of(self.path)
            match files.fitness(self.path, vault_id=self.vault_id, busy_seconds=self._busy_seconds):
                case files.Fitness.NEWER:
                    raise IndexUnavailable(
                        "the index was written by a newer KeepM",
                        hint="Upgrade KeepM, or delete the index: it is built again.",
                    )
                case files.Fitness.FIT:
                    self.fresh = False
                    self._file = inspected
                    return
                case files.Fitness.OLDER:
                    files.delete(self.path)
                case files.Fitness.UNFIT if files.number_of(self.path) == inspected:
                    files.set_aside(self.path)
                case _:
                    pass
            self.fresh = files.create(
                self.path, vault_id=self.vault_id, journal_mode=self.journal_mode
            )
            self._file = files.number_of(self.path)
        except OSError as error:
            raise IndexUnavailable(
                f"the index can't be made: {error.strerror or type(error).__name__}"
            ) from error
        except sqlite3.Error as error:
            raise failures.ours(error) from error


def open_read_only(path: Path, vault_id: str) -> Database | None:
    """Open a fit index without changing anything; return nothing where there is none."""
    try:
        found = files.fitness(path, vault_id=vault_id, busy_seconds=1.0)
    except sqlite3.Error:
        return None
    if found is not files.Fitness.FIT:
        return None
    return Database(path, vault_id=vault_id, journal_mode="wal", busy_seconds=1.0, read_only=True)


def _wait_for_others(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")
