"""Files that are named as copies of others, and which of them are: `model/copies` has the rule.

Their ids are remembered also where nothing else of them is indexed, for a copy becomes the note
when its original goes, and the other way round.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from keepm.index import rows
from keepm.index.database import Database
from keepm.model import copies, identity
from keepm.model.memory import Scope, Visibility

REASON = "conflict_copy"
"""Why such a file is skipped."""


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A file with a copy's name, and the id that stands in it."""

    path: str
    scope: Scope
    id: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that is kept out of recall: of which files, and whether it differs from them all."""

    path: str
    id: str
    originals: tuple[str, ...]
    identical: bool


def store(connection: sqlite3.Connection, found: Iterable[Lookalike]) -> None:
    """Remember files with a copy's name."""
    connection.executemany(
        "INSERT OR REPLACE INTO lookalikes VALUES (?, ?, ?)",
        [(each.path, rows.storable(each.scope.key), rows.storable(each.id)) for each in found],
    )


def forget(connection: sqlite3.Connection, path: str) -> None:
    """Forget what came from a path."""
    connection.execute("DELETE FROM lookalikes WHERE path = ?", (rows.storable(path),))


def holders(db: Database, scope: Scope, document_id: str) -> set[str]:
    """Return the files of a scope that have this id, those kept out of recall too."""
    with db.reading() as connection:
        return _holders(connection, rows.storable(scope.key), rows.storable(document_id))


def unsettled(db: Database) -> list[str]:
    """Return the files that are indexed and are copies, or are kept out and are none any more."""
    with db.reading() as connection:
        return sorted(
            path
            for members, found in _families(connection)
            for path, skipped in members.items()
            if (path in found) != skipped
        )


def listed(db: Database, visibility: Visibility) -> list[Copy]:
    """Return the visible copies, by path."""
    seen, values = rows.visible("l.scope", visibility)
    listing: list[Copy] = []
    with db.reading() as connection:
        for path, scope, document_id, checksum in connection.execute(
            "SELECT l.path, l.scope, l.id, f.checksum"  # noqa: S608
            " FROM lookalikes AS l JOIN files AS f USING (path)"
            f" WHERE f.reason = ? AND {seen} ORDER BY l.path",
            [REASON, *values],
        ).fetchall():
            kept = _holders(connection, scope, document_id) - _skipped(connection)
            sums = {_checksum(connection, each) for each in kept}
            listing.append(Copy(path, document_id, tuple(sorted(kept)), checksum in sums))
    return listing


def _families(
    connection: sqlite3.Connection,
) -> Iterable[tuple[dict[str, bool], frozenset[str]]]:
    """Yield the lookalikes of one id, each with whether it is skipped, and which are copies."""
    families: defaultdict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for path, scope, document_id, skipped in connection.execute(
        "SELECT l.path, l.scope, l.id, f.reason IS NOT NULL"
        " FROM lookalikes AS l JOIN files AS f USING (path)"
        " WHERE f.reason IS NULL OR f.reason = ?",
        (REASON,),
    ).fetchall():
        families[scope, document_id][path] = bool(skipped)
    for (scope, document_id), members in families.items():
        yield members, copies.among(_holders(connection, scope, document_id))


def _holders(connection: sqlite3.Connection, scope: str, document_id: str) -> set[str]:
    values = {"scope": scope, "id": document_id, "key": identity.slot_key(document_id)}
    found = connection.execute(
        "SELECT n.path FROM handles AS h JOIN all_notes AS n USING (number)"
        " WHERE h.scope = :scope AND h.key = :key AND h.role = 0 AND n.id = :id"
        " UNION SELECT path FROM all_proposals WHERE id = :id AND scope = :scope"
        " UNION SELECT path FROM all_handoffs WHERE id = :id AND scope = :scope"
        " UNION SELECT path FROM lookalikes WHERE id = :id AND scope = :scope",
        values,
    )
    return {path for (path,) in found}


def _skipped(connection: sqlite3.Connection) -> set[str]:
    found = connection.execute("SELECT path FROM files WHERE reason = ?", (REASON,))
    return {path for (path,) in found}


def _checksum(connection: sqlite3.Connection, path: str) -> str:
    row = connection.execute("SELECT checksum FROM files WHERE path = ?", (path,)).fetchone()
    return str(row[0]) if row else ""
