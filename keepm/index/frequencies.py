"""In how many notes of each scope a term stands: what makes a word rare or common.

FTS5's own vocabulary counts the whole vault and walks through every occurrence of a common
word; this table counts by scope and is one look-up. So another project's words make no word of
this one common, known or worth suggesting, nor changes a score. It follows the rows of `terms`,
whatever their status, and counts each scope's notes and all their tokens as well.

A note's terms lie on as many pages as it has kinds of words, so a write puts what it changes into
a small second table, which is added to the first once it holds much; readers add them up.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepm.index import rows
from keepm.index.connection import kept
from keepm.index.entries import Entry, NoteRows
from keepm.model.memory import Visibility

Tally = dict[str, Counter[str]]
"""By scope key and term: how many notes hold it."""

# In the place of a term, which is never empty and holds no blank: how many notes there are, and
# how many tokens they have.
_NOTES, _TOKENS = "", " "

_MOST_RECENT = 500  # rows, on some four pages
_Change = tuple[int, str, int]
"""A scope's number, a term, in how many more notes it stands."""


class Extent(NamedTuple):
    """How many notes there are, and their tokens on average."""

    notes: int
    tokens: float


def counted(entries: Iterable[Entry]) -> Tally:
    """Count the terms of documents that are to be stored."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in entries:
        if isinstance(each.rows, NoteRows) and each.rows.terms:
            _count(found[each.scope], each.rows.terms)
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
            _count(found[scope], texts)
    return found


def _count(counts: Counter[str], texts: Iterable[str]) -> None:
    tokens = " ".join(texts).split()
    counts.update(set(tokens))
    counts[_NOTES] += 1
    counts[_TOKENS] += len(tokens)


def adjust(connection: sqlite3.Connection, before: Tally, after: Tally) -> None:
    """Let the table follow a change from one tally to the other."""
    for scope, counts in before.items():
        after.setdefault(scope, Counter()).subtract(counts)
    numbers = _numbered(connection, after)
    # In the table's order, so that neighbours are met on one page while a large index is filled.
    changes = [
        (numbers[scope], term, count)
        for scope in sorted(after, key=numbers.__getitem__)
        for term in sorted(after[scope])  # texts alone: twice as fast as pairs
        if (count := after[scope][term])
    ]
    if not changes:
        return
    few = len(changes) < _MOST_RECENT
    if few:
        _add(connection, "recent_frequencies", changes)
    (waiting,) = connection.execute("SELECT count(*) FROM recent_frequencies").fetchone()
    if waiting >= _MOST_RECENT or (waiting and not few):
        recent = connection.execute("SELECT scope, term, notes FROM recent_frequencies").fetchall()
        connection.execute("DELETE FROM recent_frequencies")
        _settle(connection, recent)
    if not few:
        _settle(connection, changes, only_more=not before)


def _numbered(connection: sqlite3.Connection, scopes: Iterable[str]) -> dict[str, int]:
    """Return the numbers of scopes; a new one gets the next."""
    numbers = _numbers(connection, scopes)
    new = sorted(set(scopes) - numbers.keys())
    if new:
        connection.executemany("INSERT INTO scopes (key) VALUES (?)", [(key,) for key in new])
        numbers |= _numbers(connection, new)
    return numbers


def _numbers(connection: sqlite3.Connection, scopes: Iterable[str]) -> dict[str, int]:
    found = connection.execute(
        "SELECT s.key, s.scope FROM json_each(?) AS j CROSS JOIN scopes AS s ON s.key = j.value",
        (json.dumps([*scopes]),),
    )
    return dict(found.fetchall())


def _seen(connection: sqlite3.Connection, visibility: Visibility) -> list[int]:
    """Return the numbers of the scopes in sight, in the order of their keys."""

    def look() -> list[int]:
        numbers = _numbers(connection, rows.scopes(connection, visibility))
        return [numbers[key] for key in sorted(numbers)]

    return kept(connection, ("scope numbers", visibility), look)


def _settle(
    connection: sqlite3.Connection, changes: Sequence[_Change], *, only_more: bool = False
) -> None:
    _add(connection, "frequencies", changes)
    if not only_more:
        connection.executemany(
            "DELETE FROM frequencies WHERE scope = ? AND term = ? AND notes <= 0",
            [(scope, term) for scope, term, count in changes if count <= 0],
        )


def _add(connection: sqlite3.Connection, table: str, changes: Sequence[_Change]) -> None:
    connection.executemany(
        f"INSERT INTO {table} VALUES (?, ?, ?)"  # noqa: S608 - our own words
        " ON CONFLICT DO UPDATE SET notes = notes + excluded.notes",
        changes,
    )


def _recent(connection: sqlite3.Connection) -> dict[int, dict[str, int]]:
    """Return what the last writes changed, by scope and term."""

    def work() -> dict[int, dict[str, int]]:
        found: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for scope, term, count in connection.execute(
            "SELECT scope, term, notes FROM recent_frequencies WHERE notes <> 0"
        ):
            found[scope][term] = count
        return found

    return kept(connection, "recent frequencies", work)


def beginning_with(
    connection: sqlite3.Connection, beginning: str, visibility: Visibility, *, most: int
) -> dict[str, int]:
    """Return visible terms that begin so, with the number of notes; at most that many rows."""
    scopes = _seen(connection, visibility)
    places = {scope: place for place, scope in enumerate(scopes)}
    recent = {
        (term, places[scope]): count
        for scope in scopes
        for term, count in _recent(connection).get(scope, {}).items()
        if term.startswith(beginning)
    }
    counts = Counter(recent)
    for term, scope, count in connection.execute(
        "SELECT f.term, f.scope, f.notes FROM json_each(?) AS s CROSS JOIN frequencies AS f"
        " ON f.scope = s.value AND f.term >= ? AND f.term < ? ORDER BY f.term LIMIT ?",
        # More of them, for what has gone since; and the numbers of scopes have no order.
        [
            json.dumps(scopes),
            beginning,
            beginning + chr(0x10FFFF),
            most + len(recent) + len(scopes),
        ],
    ):
        counts[term, places[scope]] += count
    found: dict[str, int] = {}
    for term, place in sorted(each for each, count in counts.items() if count > 0)[:most]:
        found[term] = found.get(term, 0) + counts[term, place]
    return found


def of(
    connection: sqlite3.Connection, terms: Iterable[str], visibility: Visibility
) -> dict[str, int]:
    """Return in how many visible notes each of these terms stands; other terms are left out."""
    return _sums(connection, terms, _seen(connection, visibility))


def extent(connection: sqlite3.Connection, visibility: Visibility) -> Extent:
    """Return how many notes are in sight, and their tokens on average, at least one."""
    found = _sums(connection, (_NOTES, _TOKENS), _seen(connection, visibility))
    notes, tokens = found.get(_NOTES, 0), found.get(_TOKENS, 0)
    return Extent(notes, tokens / notes if tokens else 1.0)


def _sums(
    connection: sqlite3.Connection, terms: Iterable[str], scopes: list[int]
) -> dict[str, int]:
    found: dict[str, int] = {}
    asked = set(terms)
    for term, count in connection.execute(
        "SELECT f.term, f.notes FROM json_each(?) AS s CROSS JOIN json_each(?) AS j"
        " CROSS JOIN frequencies AS f ON f.scope = s.value AND f.term = j.value",
        [json.dumps(scopes), json.dumps(sorted(asked))],
    ):
        found[term] = found.get(term, 0) + count
    for scope in scopes:
        changed = _recent(connection).get(scope, {})
        for term in asked & changed.keys():
            found[term] = found.get(term, 0) + changed[term]
            if not found[term]:
                del found[term]
    return found
