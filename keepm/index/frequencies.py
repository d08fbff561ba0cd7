"""In how many notes of each scope a term stands: what makes a word rare or common.

FTS5's own vocabulary counts the whole vault and walks through every occurrence of a common
word; this table counts by scope and is one look-up. So another project's words make no word of
this one common, known or worth suggesting. It follows the rows of `terms`, whatever their status.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable

from keepm.index import rows
from keepm.index.entries import Entry, NoteRows
from keepm.model.memory import Visibility

Tally = dict[str, Counter[str]]
"""By scope key and term: how many notes hold it."""


def counted(entries: Iterable[Entry]) -> Tally:
    """Count the terms of documents that are to be stored."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in entries:
        if isinstance(each.rows, NoteRows):
            found[each.scope].update(each.rows.vocabulary)
    return found


def tally(connection: sqlite3.Connection, paths: Iterable[str]) -> Tally:
    """Count the terms of the notes at these paths, as the index holds them now."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in dict.fromkeys(paths):
        row = connection.execute(
            "SELECT n.scope, t.name, t.aliases, t.tags, t.description, t.sources, t.body"
            " FROM all_notes AS n JOIN terms AS t ON t.rowid = n.number WHERE n.path = ?",
            (rows.storable(path),),
        ).fetchone()
        if row is not None:
            scope, *texts = row
            found[scope].update(set(" ".join(texts).split()))
    return found


def adjust(connection: sqlite3.Connection, before: Tally, after: Tally) -> None:
    """Let the table follow a change from one tally to the other."""
    for scope, counts in before.items():
        after.setdefault(scope, Counter()).subtract(counts)
    # In the table's order, so that neighbours are met on one page while a large index is filled.
    changes = [
        (scope, term, count)
        for scope, counts in sorted(after.items())
        for term, count in sorted(counts.items())
        if count
    ]
    if not changes:
        return
    connection.executemany(
        "INSERT INTO frequencies VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET notes = notes + excluded.notes",
        changes,
    )
    connection.executemany(
        "DELETE FROM frequencies WHERE scope = ? AND term = ? AND notes <= 0",
        [(scope, term) for scope, term, count in changes if count < 0],
    )


def beginning_with(
    connection: sqlite3.Connection, beginning: str, visibility: Visibility, *, most: int
) -> dict[str, int]:
    """Return visible terms that begin so, with the number of notes; at most that many rows."""
    found: dict[str, int] = {}
    for term, count in connection.execute(
        "SELECT f.term, f.notes FROM json_each(?) AS s CROSS JOIN frequencies AS f"
        " ON f.scope = s.value AND f.term >= ? AND f.term < ? ORDER BY f.term, f.scope LIMIT ?",
        [
            json.dumps(rows.scopes(connection, visibility)),
            beginning,
            beginning + chr(0x10FFFF),
            most,
        ],
    ):
        found[term] = found.get(term, 0) + count
    return found


def of(
    connection: sqlite3.Connection, terms: Iterable[str], visibility: Visibility
) -> dict[str, int]:
    """Return in how many visible notes each of these terms stands; other terms are left out."""
    return _sums(connection, terms, rows.scopes(connection, visibility))


def everywhere(connection: sqlite3.Connection, terms: Iterable[str]) -> dict[str, int]:
    """Return in how many notes of the whole vault each of these terms stands, if in any.

    For scores alone, never for what is found or said.
    """
    return _sums(connection, terms, rows.scopes(connection, Visibility(None, everything=True)))


def _sums(
    connection: sqlite3.Connection, terms: Iterable[str], scopes: list[str]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for term, count in connection.execute(
        "SELECT f.term, f.notes FROM json_each(?) AS s CROSS JOIN json_each(?) AS j"
        " CROSS JOIN frequencies AS f ON f.scope = s.value AND f.term = j.value",
        [json.dumps(scopes), json.dumps(sorted(set(terms)))],
    ):
        found[term] = found.get(term, 0) + count
    return found
