"""What people ruled, as the ledgers tell it: verdicts, quarantines, accepted edits.

An event that carries a ruling has it in its `extra`: `ruling` says which, `subject` what it is
about (a digest, an id or a rule, never note text), or `subjects` several, parted by blanks. A row
is one subject of one such event. What a ruling means is for `operations` to say; here it is kept,
and goes with the ledgers it came from.

A ruling stands until a later event takes it back: an undo, which names events, or `LIFTED`, which
has their transactions as subjects. Either is a person's, and can be undone itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass

from keepm.index.database import Database
from keepm.model.approval import Channel

UNDONE = "undone"
"""The ruling of an undo, about each transaction that it took back."""
LIFTED = "lifted"
"""A ruling that earlier ones, by transaction, no longer hold."""
_COLUMNS = "transaction_id, sequence, time, ruling, scope, object_id, subject, channel"


@dataclass(frozen=True, slots=True)
class RulingRow:
    """One subject of one event's ruling."""

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
    """Return the standing rulings of one sort on any of these subjects, oldest first."""
    wanted = list(subjects)
    if not wanted:
        return []
    marks = ", ".join("?" * len(wanted))
    return _standing(db, f"ruling = ? AND subject IN ({marks})", [ruling, *wanted])


def all_of(db: Database, ruling: str) -> list[RulingRow]:
    """Return every standing ruling of one sort, oldest first."""
    return _standing(db, "ruling = ?", [ruling])


def has_any(db: Database, ruling: str) -> bool:
    """Tell whether a ruling of this sort was ever made."""
    with db.asking() as connection:
        found = connection.execute("SELECT 1 FROM rulings WHERE ruling = ? LIMIT 1", [ruling])
        return found.fetchone() is not None


def _standing(db: Database, condition: str, values: list[str]) -> list[RulingRow]:
    with db.reading() as connection:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM rulings WHERE {condition}"  # noqa: S608 - our own words
            " ORDER BY time, sequence, transaction_id",
            values,
        ).fetchall()
        if not rows:
            return []
        gone = taken_back(connection)
    return [row for row in map(_row, rows) if row.transaction_id not in gone]


def taken_back(
    connection: sqlite3.Connection, *, by: Collection[str] = (UNDONE, LIFTED)
) -> frozenset[str]:
    """Return the transactions that no longer hold, or only those that a standing `by` names."""
    found: set[str] = set()
    named: set[str] = set()
    # Newest first: what takes back was itself taken back, or it counts.
    for taker, ruling, subject in connection.execute(
        "SELECT transaction_id, ruling, subject FROM rulings WHERE ruling IN (?, ?)"
        " AND channel IS NOT NULL AND channel <> ? ORDER BY time DESC, sequence DESC,"
        " transaction_id",
        [UNDONE, LIFTED, Channel.RELAYED],
    ):
        if taker not in found:
            found.add(subject)
            if ruling in by:
                named.add(subject)
    return frozenset(named)


def _row(columns: tuple[str, int, str, str, str, str, str, str | None]) -> RulingRow:
    return RulingRow(*columns)
