"""Which note replaced which, and which status counts while files disagree.

A note's file may call itself active although another active note of its scope names it in
`supersedes` (people write that by hand). Then `notes.status` says superseded and `notes.stated`
what the file says: a correction that only adds a rival doesn't correct. Notes that supersede one
another in a circle stay as they say they are; nobody can tell which of them holds.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from keepm.index import rows
from keepm.index.database import Database
from keepm.model import identity, resolution
from keepm.model.memory import Scope, Status

_SUPERSEDES = (
    "FROM supersessions AS s JOIN all_notes AS w USING (number)"
    " JOIN handles AS h ON h.scope = w.scope AND h.key = s.target AND h.role = 0"
    " JOIN all_notes AS l ON l.number = h.number"
)
"""From a winner `w` to a loser `l` of its scope, withheld or not; ids are handles of role 0."""


@dataclass(frozen=True, slots=True)
class Successor:
    """A note that names another in its `supersedes`."""

    id: str
    name: str


def of_scope(db: Database, scope: Scope) -> dict[str, tuple[str, ...]]:
    """Return which notes each note of a scope supersedes, by id, as far as they are there."""
    with db.reading() as connection:
        found = connection.execute(
            f"SELECT w.id, l.id {_SUPERSEDES} WHERE w.scope = ? ORDER BY w.id, l.id",
            (rows.storable(scope.key),),
        ).fetchall()
    return _grouped(found)


def successors(db: Database, note_id: str, scope: Scope) -> list[Successor]:
    """Return the notes of a scope that name this one in their `supersedes`, active ones first."""
    with db.reading() as connection:
        found = connection.execute(
            "SELECT w.id, w.name FROM supersessions AS s JOIN notes AS w USING (number)"
            " WHERE s.target = ? AND w.scope = ? ORDER BY w.status <> 'active', w.name, w.path",
            (_key(note_id), rows.storable(scope.key)),
        ).fetchall()
    return [Successor(*row) for row in found]


def tied(connection: sqlite3.Connection, paths: Iterable[str]) -> bool:
    """Tell whether a note at one of these paths supersedes another or is superseded."""
    if connection.execute("SELECT 1 FROM supersessions LIMIT 1").fetchone() is None:
        return False
    return any(
        connection.execute(
            "SELECT 1 FROM all_notes AS n WHERE n.path = ? AND (n.supersedes <> '[]' OR EXISTS"
            " (SELECT 1 FROM handles AS h JOIN supersessions AS s ON s.target = h.key"
            " WHERE h.number = n.number AND h.role = 0))",
            (rows.storable(path),),
        ).fetchone()
        for path in paths
    )


def settle(connection: sqlite3.Connection) -> None:
    """Let the status of every note be the one that counts."""
    connection.execute("UPDATE all_notes SET status = stated WHERE status <> stated")
    found = connection.execute(
        f"SELECT DISTINCT w.id, l.id, l.number {_SUPERSEDES}"
        " WHERE w.stated = 'active' AND l.stated = 'active' AND w.number <> l.number"
        # What is withheld replaces nothing.
        " AND w.withheld_by = ''"
    ).fetchall()
    circles = resolution.loops(_grouped([(winner, loser) for winner, loser, _ in found]))
    circle_of = {note: group for group in circles for note in group}
    overtaken = [
        (str(Status.SUPERSEDED), number)
        for winner, loser, number in found
        if loser not in circle_of.get(winner, ())
    ]
    connection.executemany("UPDATE all_notes SET status = ? WHERE number = ?", overtaken)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for winner, loser in pairs:
        found[winner].append(loser)
    return {winner: tuple(losers) for winner, losers in found.items()}


def _key(note_id: str) -> str:
    return rows.storable(identity.slot_key(note_id))
