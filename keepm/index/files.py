"""The index as a file: whether it is fit for use, made anew, set aside, deleted."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
from contextlib import closing
from enum import Enum, auto
from pathlib import Path

from keepm.index import failures
from keepm.index.connection import connect
from keepm.index.schema import APPLICATION_ID, SCHEMA, TABLES, VERSION

_DAMAGED_KEPT = 2
_PAGE_BYTES = 8192  # filling takes 4 % less than with half of it, changes and searches the same
_SIDE_FILES = ("-wal", "-shm", "-journal")

FileNumber = tuple[int, int]
"""What tells one file from a later one at the same path: its device and inode."""


class Fitness(Enum):
    """Whether a file can be used: FIT, or why it has to be made anew; NEWER ones are left alone."""

    FIT = auto()
    ABSENT = auto()
    OLDER = auto()
    NEWER = auto()
    UNFIT = auto()


def number_of(path: Path) -> FileNumber | None:
    """Return the number of the file at a path, if there is one."""
    try:
        found = os.stat(path)  # noqa: PTH116  # a change asks a dozen times
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def fitness(path: Path, *, vault_id: str, busy_seconds: float) -> Fitness:
    """Look at a file through SQLite only: opening it otherwise would drop SQLite's locks.

    Raises:
        sqlite3.Error: it can't be read for a reason outside the file.
    """
    if number_of(path) is None:
        # A folder or a link to nowhere leaves no room for a file.
        return Fitness.UNFIT if os.path.lexists(path) else Fitness.ABSENT
    try:
        with closing(connect(path, mode="ro", busy_seconds=busy_seconds)) as connection:
            if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
                return Fitness.UNFIT
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != VERSION:
                return Fitness.NEWER if version > VERSION else Fitness.OLDER
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            found = connection.execute("SELECT value FROM meta WHERE key = 'vault_id'").fetchone()
            return Fitness.FIT if tables >= TABLES and found == (vault_id,) else Fitness.UNFIT
    except sqlite3.DatabaseError as error:
        if failures.is_damage(error):
            return Fitness.UNFIT
        raise


def create(path: Path, *, vault_id: str, journal_mode: str) -> bool:
    """Make an empty index beside the path and publish it whole.

    Returns whether the file at the path is ours: false when another process was faster.
    """
    import tempfile  # only a new index needs it, and a hook never makes one

    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.new-", dir=path.parent)
    os.close(descriptor)
    made = Path(name)
    try:
        with closing(connect(made, mode="rw", busy_seconds=1.0)) as connection:
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            # Nothing is in it yet: if a power cut tears it, it is unfit and made anew.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.executescript(
                f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION_ID};"
                f" PRAGMA user_version = {VERSION}; COMMIT;"
            )
            # `made` tells this file from each other that was or will be in its place.
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [("vault_id", vault_id), ("made", made.name.rpartition("-")[2])],
            )
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


def set_aside(path: Path) -> None:
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
        with contextlib.suppress(OSError):  # a folder that isn't ours
            path.with_name(f"{path.name}.damaged-{old}").unlink(missing_ok=True)


def delete(path: Path) -> None:
    """Delete a file and what SQLite keeps beside it."""
    path.unlink(missing_ok=True)
    _delete_side_files(path)


def _delete_side_files(path: Path) -> None:
    for suffix in _SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
