"""What people changed by hand and no ledger tells yet.

A change is noted in the same transaction in which the index takes up the file, and struck out
when its event is written: whatever dies in between, no hand edit is lost or told twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from keepm.index.database import Database


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A file that a person made, changed or removed.

    `before` is the version that the index knew (None: no such file), `document_id` whose it was.
    With `review` a person has to accept it before anything of it is read.
    """

    path: str
    before: str | None
    document_id: str | None = None
    review: bool = False


def store(connection: sqlite3.Connection, edits: Iterable[HandEdit]) -> None:
    """Note edits before the index forgets what it knew; the first of several of a path counts."""
    connection.executemany(
        "INSERT INTO hand_edits VALUES (?1, ?2, coalesce("
        " (SELECT id FROM all_notes WHERE path = ?1),"
        " (SELECT id FROM all_proposals WHERE path = ?1),"
        " (SELECT id FROM all_handoffs WHERE path = ?1)), ?3)"
        " ON CONFLICT DO UPDATE SET review = max(review, excluded.review)",
        [(edit.path, edit.before, edit.review) for edit in edits],
    )


def strike(connection: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Strike out what is on record now."""
    connection.executemany("DELETE FROM hand_edits WHERE path = ?", ((path,) for path in paths))


def pending(db: Database, limit: int = -1) -> list[HandEdit]:
    """Return what is not on record yet."""
    with db.asking() as connection:
        rows = connection.execute(
            "SELECT path, before, document_id, review FROM hand_edits ORDER BY path LIMIT ?",
            (limit,),
        ).fetchall()
    return [
        HandEdit(path, before, document_id, bool(review))
        for path, before, document_id, review in rows
    ]
