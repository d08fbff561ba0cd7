"""What SQLite reports, as errors of ours: damage that calls for a new file, and everything else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from keepm.errors import IndexUnavailable

# What SQLite says when the file isn't what it should be, beside its codes for corruption.
_DAMAGE_WORDS = re.compile(r"no such (table|column|module)|vtable constructor failed|malformed")
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it can't be opened",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
}


@contextmanager
def translated() -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise ours(error) from error


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether the file itself is at fault."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return False
    if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return True
    if code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return True
    return code & 0xFF == sqlite3.SQLITE_ERROR and bool(_DAMAGE_WORDS.search(str(error)))


def damaged() -> IndexUnavailable:
    """Return the error that calls for a new file (`damaged` in its details)."""
    return IndexUnavailable("the index file is damaged", details={"damaged": True})


def busy() -> IndexUnavailable:
    """Return the error that goes away when another writer is done (`busy` in its details)."""
    return IndexUnavailable(
        "the index can't be used: another process is writing to it",
        hint="Try again in a moment; filling an index takes seconds.",
        details={"busy": True},
    )


def ours(error: sqlite3.Error) -> IndexUnavailable:
    """Return an error of SQLite's as one of ours."""
    if is_damage(error):
        return damaged()
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return busy()
    return IndexUnavailable(
        f"the index can't be used: {_REASONS.get(code, 'SQLite refused a statement')}"
    )
