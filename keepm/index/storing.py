"""The rows of documents, put into the tables many at a time; their paths hold none yet."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepm.index import likeness, stretches
from keepm.index.entries import Entry, HandoffRows, NoteRows, ProposalRows

_Note = tuple[int, str, NoteRows]
"""A note's number, its scope's key, its rows."""


class Known(NamedTuple):
    """What stays of a note whose rows are replaced."""

    number: int
    likenesses: tuple[int, ...]


def store(
    connection: sqlite3.Connection, entries: Sequence[Entry], known: Mapping[str, Known]
) -> None:
    """Store the rows of documents.

    `known` are the notes that some of them replace, by path: the rows are gone, but for the
    likenesses.
    """
    proposals: list[ProposalRows] = []
    handoffs: list[HandoffRows] = []
    kept: list[_Note] = []
    new: defaultdict[str, list[NoteRows]] = defaultdict(list)
    for each in entries:
        match each.rows:
            case NoteRows() as rows:
                before = known.get(each.file.path)
                if before is None:
                    new[each.scope].append(rows)
                else:
                    kept.append((before.number, each.scope, rows))
            case ProposalRows() as rows:
                proposals.append(rows)
            case HandoffRows() as rows:
                handoffs.append(rows)
    notes = _store_notes(connection, kept, new)
    likeness.store_notes(
        connection,
        {number: rows.likenesses for number, _, rows in notes},
        dict(known.values()),
    )
    _insert_all(
        connection,
        "INSERT INTO all_proposals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
        [rows.row for rows in proposals],
    )
    if proposals:
        likeness.store_proposals(connection, {rows.path: rows.likenesses for rows in proposals})
    _insert_all(
        connection,
        "INSERT INTO all_handoffs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
        [rows.row for rows in handoffs],
    )


def _store_notes(
    connection: sqlite3.Connection, kept: Sequence[_Note], new: Mapping[str, Sequence[NoteRows]]
) -> list[_Note]:
    """Store notes and what hangs on them; return them all with their numbers, in that order."""
    _insert(connection, kept)
    notes = [*kept]
    for scope, some in new.items():
        notes += _insert_new(connection, scope, some)
    # The full text takes ascending numbers together, and everything else lies so in its table.
    notes.sort(key=lambda note: note[0])
    _insert_all(
        connection,
        "INSERT INTO bodies VALUES (?, ?, ?)",
        [(number, rows.body, likeness.packed(rows.likenesses)) for number, _, rows in notes],
    )
    _insert_all(
        connection,
        "INSERT INTO handles VALUES (?, ?, ?, ?)",
        sorted(
            (key, scope, role, number)
            for number, scope, rows in notes
            for key, role in rows.handles
        ),
    )
    _insert_all(
        connection,
        "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(number, *link) for number, _, rows in notes for link in rows.links],
    )
    _insert_all(
        connection,
        "INSERT INTO supersessions VALUES (?, ?)",
        [(target, number) for number, _, rows in notes for target in rows.supersedes],
    )
    _insert_all(
        connection,
        "INSERT INTO parameters VALUES (?, ?, ?, ?)",
        sorted(
            (scope, key, number, value)
            for number, scope, rows in notes
            for key, value in rows.parameters
        ),
    )
    _insert_all(
        connection,
        "INSERT INTO tags VALUES (?, ?)",
        [(number, key) for number, _, rows in notes for key in rows.tags],
    )
    _insert_all(
        connection,
        "INSERT INTO pointers VALUES (?, ?)",
        sorted((key, number) for number, _, rows in notes for key in rows.pointers),
    )
    _insert_all(
        connection,
        "INSERT INTO terms (rowid, name, aliases, tags, description, sources, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(number, *rows.terms) for number, _, rows in notes if rows.terms],
    )
    return notes


def _insert_new(
    connection: sqlite3.Connection, scope: str, notes: Sequence[NoteRows]
) -> list[_Note]:
    """Store new notes of one scope in its stretches; return them with their numbers."""
    done: list[_Note] = []
    while len(done) < len(notes):
        start = stretches.next_number(connection, scope)
        room = stretches.STRETCH - start % stretches.STRETCH
        new = notes[len(done) : len(done) + room]
        some = [(number, scope, rows) for number, rows in enumerate(new, start)]
        _insert(connection, some)
        done += some
    return done


def _insert(connection: sqlite3.Connection, notes: Iterable[_Note]) -> None:
    """Store what `rows.note` reads back."""
    _insert_all(
        connection,
        "INSERT INTO all_notes (number, scope, status, standing, kind, language, slot, name, path,"
        " id, pinned, verified_at, created, updated, checksum, mtime_ns, size, findings,"
        " description, tags, aliases, sources, supersedes, source_digests, stated, withheld_by)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " '')",
        [(number, scope, *rows.note) for number, scope, rows in notes],
    )


def _insert_all(
    connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[object]]
) -> None:
    """Insert rows, if there are any: of one note most lists are empty, and each call costs."""
    if rows:
        connection.executemany(statement, rows)
