"""The index file: opened, checked for fitness, renewed; connections and transactions.

Damage, a foreign file or another version never ends in an error for good: the file is set aside
and an empty index takes its place, which the caller then fills (`fresh`).
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from enum import Enum, auto
from pathlib import Path

from keepm.errors import IndexUnavailable
from keepm.index import failures
from keepm.index.connection import Connection
from keepm.index.schema import APPLICATION_ID, SCHEMA, TABLES, VERSION

_DAMAGED_KEPT = 2
_CACHE_KIB = 16 * 1024
_HURRIED_SECONDS = 0.2  # how long an answer waits for whoever else is writing
_SIDE_FILES = ("-wal", "-shm", "-journal")


_FileNumber = tuple[int, int]
"""What tells one file from a later one at the same path: its device and inode."""


class _Fitness(Enum):
    FIT = auto()
    ABSENT = auto()
    OLDER = auto()
    NEWER = auto()
    UNFIT = auto()


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
        self._pool_lock = threading.Lock()
        self._readers: list[sqlite3.Connection] = []  # idle ones
        self._writers: list[sqlite3.Connection] = [] if apart else self._readers
        self._closed = False
        self._file = _file_number(path)

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
            if self._file is not None and _file_number(self.path) == self._file:
                _delete(self.path) if discard else _set_aside(self.path)
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
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def asking(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for one statement, a transaction of its own; raises as `reading`."""
        with failures.translated():
            connection, file = self._take(self._readers)
            try:
                yield connection
            finally:
                self._give_back(connection, file, self._readers)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within one write transaction: committed at the end, or undone.

        Raises:
            IndexUnavailable: as `reading`, or the disk is full or read-only.
        """
        if self.read_only:
            raise IndexUnavailable("the index was opened for reading only")
        hurried = getattr(self._haste, "on", False)
        if not self._write_lock.acquire(timeout=_HURRIED_SECONDS if hurried else -1):
            raise failures.busy()
        try:
            with failures.translated():
                connection, file = self._take(self._writers)
                try:
                    if hurried:
                        _wait_for_others(connection, _HURRIED_SECONDS)
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if hurried:
                        _wait_for_others(connection, self._busy_seconds)
                    self._give_back(connection, file, self._writers)
        finally:
            self._write_lock.release()

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

    def _take(self, idle: list[sqlite3.Connection]) -> tuple[sqlite3.Connection, _FileNumber]:
        """Return a connection, one of the idle ones if there is any, and to which file it leads."""
        if self._closed:
            raise IndexUnavailable("the index was closed")
        number = _file_number(self.path)
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
        self, connection: sqlite3.Connection, file: _FileNumber, idle: list[sqlite3.Connection]
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
        connection = _connect(self.path, mode=mode, busy_seconds=self._busy_seconds)
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
            inspected = _file_number(self.path)
            match _fitness(self.path, vault_id=self.vault_id, busy_seconds=self._busy_seconds):
                case _Fitness.NEWER:
                    raise IndexUnavailable(
                        "the index was written by a newer KeepM",
                        hint="Upgrade KeepM, or delete the index: it is built again.",
                    )
                case _Fitness.FIT:
                    self.fresh = False
                    self._file = inspected
                    return
                case _Fitness.OLDER:
                    _delete(self.path)
                case _Fitness.UNFIT if _file_number(self.path) == inspected:
                    _set_aside(self.path)
                case _:
                    pass
            self.fresh = _create(self.path, vault_id=self.vault_id, journal_mode=self.journal_mode)
            self._file = _file_number(self.path)
        except OSError as error:
            raise IndexUnavailable(
                f"the index can't be made: {error.strerror or type(error).__name__}"
            ) from error
        except sqlite3.Error as error:
            raise failures.ours(error) from error


def open_read_only(path: Path, vault_id: str) -> Database | None:
    """Open a fit index without changing anything; return nothing where there is none."""
    try:
        fitness = _fitness(path, vault_id=vault_id, busy_seconds=1.0)
    except sqlite3.Error:
        return None
    if fitness is not _Fitness.FIT:
        return None
    return Database(path, vault_id=vault_id, journal_mode="wal", busy_seconds=1.0, read_only=True)


def _connect(path: Path, *, mode: str, busy_seconds: float) -> sqlite3.Connection:
    # `mode` other than rwc: connecting must never make an empty file.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        factory=Connection,
        check_same_thread=False,  # the pool lends a connection to one thread at a time
    )


def _wait_for_others(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")


def _file_number(path: Path) -> _FileNumber | None:
    try:
        found = os.stat(path)  # noqa: PTH116  # a change asks a dozen times
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _fitness(path: Path, *, vault_id: str, busy_seconds: float) -> _Fitness:
    """Look at a file through SQLite only: opening it otherwise would drop SQLite's locks.

    Raises:
        sqlite3.Error: it can't be read for a reason outside the file.
    """
    if _file_number(path) is None:
        return _Fitness.ABSENT
    try:
        with closing(_connect(path, mode="ro", busy_seconds=busy_seconds)) as connection:
            if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
                return _Fitness.UNFIT
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != VERSION:
                return _Fitness.NEWER if version > VERSION else _Fitness.OLDER
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            found = connection.execute("SELECT value FROM meta WHERE key = 'vault_id'").fetchone()
            return _Fitness.FIT if tables >= TABLES and found == (vault_id,) else _Fitness.UNFIT
    except sqlite3.DatabaseError as error:
        if failures.is_damage(error):
            return _Fitness.UNFIT
        raise


def _create(path: Path, *, vault_id: str, journal_mode: str) -> bool:
    """Make an empty index beside the path and publish it whole.

    Returns whether the file at the path is ours: false when another process was faster.
    """
    import tempfile  # only a new index needs it, and a hook never makes one

    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.new-", dir=path.parent)
    os.close(descriptor)
    made = Path(name)
    try:
        with closing(_connect(made, mode="rw", busy_seconds=1.0)) as connection:
            connection.executescript(
                f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION_ID};"
                f" PRAGMA user_version = {VERSION}; COMMIT;"
            )
            connection.execute("INSERT INTO meta VALUES ('vault_id', ?)", (vault_id,))
            connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        # A log left without its file would be replayed into the new one.
        if not path.exists():
            _delete_side_files(path)
        try:
            os.link(made, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            made.replace(path)
        return True
    finally:
        made.unlink(missing_ok=True)
        _delete_side_files(made)


def _set_aside(path: Path) -> None:
    """Rename a file that can't be used to `<name>.damaged-<n>`; the last two are kept."""
    pattern = re.compile(re.escape(path.name) + r"\.damaged-(\d+)")
    numbers = sorted(
        int(found.group(1))
        for entry in path.parent.iterdir()
        if (found := pattern.fullmatch(entry.name))
    )
    number = numbers[-1] + 1 if numbers else 1
    path.rename(path.with_name(f"{path.name}.damaged-{number}"))
    _delete_side_files(path)
    for old in [*numbers, number][:-_DAMAGED_KEPT]:
        path.with_name(f"{path.name}.damaged-{old}").unlink(missing_ok=True)


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)
    _delete_side_files(path)


def _delete_side_files(path: Path) -> None:
    for suffix in _SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
