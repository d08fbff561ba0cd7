"""Which versions the ledgers name: what each event put where, and by which channel.

A row is one change of one event. A note's history is a walk along its digests, from the present
version back: the event that put it in place says which version stood there before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import NamedTuple

from keepm.index.database import Database

_COLUMNS = (
    "transaction_id, position, sequence, time, operation, surface, channel, client, session,"
    " object_id, scope, old, new, similar_to"
)
_NEWEST_FIRST = "ORDER BY time DESC, sequence DESC, position DESC"
_MARK = "ledger:"
_BEHIND_MARKS = "ledger;"  # the first text behind all that begin with it


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One change of one event: the version before and the one after, None where there was none."""

    transaction_id: str
    position: int
    sequence: int
    time: str
    operation: str
    surface: str
    channel: str | None
    client: str
    session: str
    object_id: str
    scope: str
    old: str | None
    new: str | None
    similar_to: str = ""  # ids of notes that the change resembles and was let by


_VALUES = attrgetter(*(each.name for each in fields(VersionRow)))


def store(connection: sqlite3.Connection, rows: Iterable[VersionRow], *, anew: bool) -> None:
    """Add what events say; `anew` when these are all that the ledgers say now."""
    if anew:
        connection.execute("DELETE FROM versions")
        connection.execute("DELETE FROM meta WHERE key GLOB ?", (f"{_MARK}*",))
    connection.executemany(
        "INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        map(_VALUES, rows),
    )


class Mark(NamedTuple):
    """How far a ledger was read: its size then in bytes, and its last event, if it has one."""

    size: int
    sequence: int = 0
    digest: str = ""


def marks(db: Database) -> dict[str, Mark]:
    """Return how much of each writer's ledger the index knows."""
    with db.asking() as connection:
        # A range and not GLOB: SQLite would plan a pattern that is a parameter anew each time.
        rows = connection.execute(
            "SELECT key, value FROM meta WHERE key >= ? AND key < ?", (_MARK, _BEHIND_MARKS)
        ).fetchall()
    return {key.removeprefix(_MARK): _mark(*value.split(" ")) for key, value in rows}


def _mark(size: str, sequence: str, digest: str) -> Mark:
    return Mark(int(size), int(sequence), digest)


def marked(writer: str, mark: Mark) -> dict[str, str]:
    """Return what a batch stores, so that the index remembers how far a ledger was read.

    One value, so that whoever reads while others write never has half of it.
    """
    return {f"{_MARK}{writer}": " ".join(map(str, mark))}


def channel_of(db: Database, checksum: str) -> str | None:
    """Return the channel that let exactly these bytes in, or nothing.

    A move (to the trash, say) puts no new version in place and approves nothing; an undo, and the
    repair of a blocked change, merely bring back what some other event let in.
    """
    with db.asking() as connection:
        row = connection.execute(
            "SELECT channel FROM versions WHERE new = ? AND channel IS NOT NULL"
            " AND old IS NOT new AND operation NOT IN ('undo', 'repair')"
            " ORDER BY time DESC, sequence DESC, position DESC LIMIT 1",
            (checksum,),
        ).fetchone()
    return None if row is None else str(row[0])


def channels(db: Database) -> dict[str, str]:
    """Return for each version that an event let in the channel, as `channel_of` tells it."""
    with db.asking() as connection:
        rows = connection.execute(
            "SELECT new, channel FROM versions WHERE channel IS NOT NULL AND new IS NOT NULL"
            " AND old IS NOT new AND operation NOT IN ('undo', 'repair')"
            " ORDER BY time, sequence, position"
        ).fetchall()
    return dict(rows)


def spans(db: Database) -> dict[str, tuple[str, str]]:
    """Return the times of the first and the last event about each object."""
    with db.asking() as connection:
        rows = connection.execute(
            "SELECT object_id, min(time), max(time) FROM versions GROUP BY object_id"
        ).fetchall()
    return {object_id: (first, last) for object_id, first, last in rows}


def let_by_since(db: Database, time: str) -> int:
    """Count the events after a time that let something by although it resembled another."""
    with db.asking() as connection:
        (count,) = connection.execute(
            "SELECT count(DISTINCT transaction_id) FROM versions"
            " WHERE similar_to <> '' AND time > ?",
            (time,),
        ).fetchone()
    return int(count)


def let_by(db: Database, object_id: str) -> frozenset[str]:
    """Return the ids that events let this object resemble."""
    with db.asking() as connection:
        found = connection.execute(
            "SELECT similar_to FROM versions WHERE object_id = ? AND similar_to <> ''",
            (object_id,),
        ).fetchall()
    return frozenset(each for (ids,) in found for each in ids.split(","))


def is_empty(db: Database) -> bool:
    """Tell whether no ledger names any version."""
    with db.asking() as connection:
        return connection.execute("SELECT 1 FROM versions LIMIT 1").fetchone() is None


def latest(db: Database, digest: str) -> VersionRow | None:
    """Return the last change that put a version in place, moved it or replaced it."""
    return _one(db, "(new = ? OR old = ?)", (digest, digest))


def latest_of(db: Database, object_id: str) -> VersionRow | None:
    """Return the first change of the last event about this object."""
    return _one(db, "object_id = ? AND position = 0", (object_id,))


def standing(db: Database, digest: str) -> str | None:
    """Follow the events from a version on, and return the one that stands there now.

    A version that no event replaced or took away stands for itself.
    """
    bound: VersionRow | None = None
    here = digest
    while True:
        after = ("", -1, -1) if bound is None else (bound.time, bound.sequence, bound.position)
        row = _one(
            db,
            "(new = ? OR old = ?) AND (time, sequence, position) > (?, ?, ?)",
            (here, here, *after),
        )
        if row is None or row.new == here:
            return here
        if row.new is None:
            return None
        here, bound = row.new, row


def ancestry(db: Database, digest: str) -> list[VersionRow]:
    """Return the events that made a version and those before it, newest first."""
    found: list[VersionRow] = []
    here: str | None = digest
    before: tuple[str, int, int] | None = None
    while here is not None:
        if before is None:
            row = _one(db, "new = ? AND old IS NOT new", (here,))
        else:
            row = _one(
                db,
                "new = ? AND old IS NOT new AND (time, sequence, position) < (?, ?, ?)",
                (here, *before),
            )
        if row is None:
            break
        found.append(row)
        here, before = row.old, (row.time, row.sequence, row.position)
    return found


def scopes(db: Database, digest: str) -> set[str]:
    """Return the scopes in which events put a version in place.

    An undo can reach over several scopes and brings back what was there: it says nothing here.
    """
    with db.asking() as connection:
        rows = connection.execute(
            "SELECT DISTINCT scope FROM versions WHERE new = ? AND operation <> 'undo'", (digest,)
        ).fetchall()
    return {scope for (scope,) in rows}


def last_named(db: Database) -> dict[str, str]:
    """Return for each version the time of the last event that names it."""
    with db.asking() as connection:
        rows = connection.execute(
            "SELECT digest, max(time) FROM (SELECT new AS digest, time FROM versions"
            " UNION ALL SELECT old, time FROM versions) WHERE digest IS NOT NULL GROUP BY digest"
        ).fetchall()
    return dict(rows)


def _one(db: Database, condition: str, values: tuple[str | int, ...]) -> VersionRow | None:
    with db.asking() as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM versions WHERE {condition} {_NEWEST_FIRST} LIMIT 1",  # noqa: S608 - our own words
            values,
        ).fetchone()
    return None if row is None else VersionRow(*row)
