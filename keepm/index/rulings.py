"""What people ruled, as the ledgers tell it: verdicts, quarantines, accepted edits.

An event that carries a ruling has it in its `extra`: `ruling` says which, `subject` what it is
about (digests, ids or a rule, never note text). A row is one such event. What a ruling means is
for `operations` to say; here it is kept, and goes with the ledgers it came from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from keepm.index.database import Database

_COLUMNS = "transaction_id, sequence, time, ruling, scope, object_id, subject, channel"


@dataclass(frozen=True, slots=True)
class RulingRow:
    """One event's ruling."""

    transaction_id: str
    sequence: int
    time: str
    ruling: str
    scope: str
    object_id: str
    subject: str
    channel: str | None


def store(connection: sqlite3.Connection, rows: Iterable[RulingRow], *, anew: bool) -> None:
    """Add what events rule; `anew` when these are all that the ledgers tell now."""
    if anew:
        connection.execute("DELETE FROM rulings")
    connection.executemany(
        "INSERT OR REPLACE INTO rulings VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (astuple(row) for row in rows),
    )


def about(db: Database, ruling: str, subjects: Iterable[str]) -> list[RulingRow]:
    """Return the rulings of one sort on any of these subjects, oldest first."""
    wanted = list(subjects)
    if not wanted:
        return []
    marks = ", ".join("?" * len(wanted))
    return _select(db, f"ruling = ? AND subject IN ({marks})", [ruling, *wanted])


def all_of(db: Database, ruling: str) -> list[RulingRow]:
    """Return every ruling of one sort, oldest first."""
    return _select(db, "ruling = ?", [ruling])


def _select(db: Database, condition: str, values: list[str]) -> list[RulingRow]:
    with db.reading() as connection:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM rulings WHERE {condition}"  # noqa: S608 - our own words
            " ORDER BY time, sequence, transaction_id",
            values,
        ).fetchall()
    return [RulingRow(*row) for row in rows]
