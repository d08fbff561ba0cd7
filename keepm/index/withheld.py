"""What is withheld, for the owner's lists and for counts: `withholding` decides it."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from keepm.index import rows
from keepm.index.database import Database
from keepm.index.origins import Moment, Origin
from keepm.index.withholding import KINDS, STANDS, unreviewed_edits
from keepm.model.quarantine import BY_QUARANTINE, Rule
from keepm.model.scope import Scope, Visibility

_NAME = {"memory": "name", "proposal": "name", "handoff": "title"}


@dataclass(frozen=True, slots=True)
class Withheld:
    """A document that no read shows, as the owner's lists name it."""

    kind: str  # memory | proposal | handoff
    path: str
    id: str
    name: str
    scope: Scope
    checksum: str
    version: str  # the version on record that it counts as
    by: str  # quarantine | review, empty if it isn't withheld now


@dataclass(frozen=True, slots=True)
class Reach:
    """What a rule would take out of recall, and the notes that an owner's approval spares."""

    taken: tuple[Withheld, ...]
    spared: tuple[Withheld, ...]


def listed(db: Database, visibility: Visibility, *, by: str | None = None) -> list[Withheld]:
    """Return what is withheld in sight, notes first, by path; for one reason or any."""
    condition = "d.withheld_by <> ''" if by is None else "d.withheld_by = ?"
    with db.reading() as connection:
        return _select(connection, visibility, condition, [] if by is None else [by])


def paths(db: Database) -> frozenset[str]:
    """Return where everything lies that is withheld, whoever may know of it."""
    found: set[str] = set()
    with db.reading() as connection:
        for table in KINDS.values():
            rows_there = connection.execute(
                f"SELECT path FROM {table} WHERE withheld_by <> ''"  # noqa: S608 - our tables
            )
            found.update(path for (path,) in rows_there)
    return frozenset(found)


def counts(db: Database, visibility: Visibility) -> Counter[str]:
    """Count what is withheld in sight by kind of object."""
    seen, values = rows.visible("scope", visibility)
    found: Counter[str] = Counter()
    with db.reading() as connection:
        for kind, table in KINDS.items():
            (found[kind],) = connection.execute(
                f"SELECT count(*) FROM {table} WHERE withheld_by <> '' AND {seen}",  # noqa: S608
                values,
            ).fetchone()
    return found


def taken_by(
    db: Database, transaction_id: str, visibility: Visibility, *, alone: bool = False
) -> list[Withheld]:
    """Return what one quarantine withholds in sight; with `alone` only what nothing else does."""
    covered = (
        f"EXISTS (SELECT 1 FROM quarantined AS q WHERE q.digest = ({STANDS})"  # noqa: S608
        " AND q.rule {} ? AND (q.reach IS NULL OR d.scope = '' OR d.scope = q.reach))"
    )
    condition, values = covered.format("="), [transaction_id]
    if alone:
        condition += f" AND d.withheld_by = '{BY_QUARANTINE}' AND NOT {covered.format('<>')}"
        values *= 2
    with db.reading() as connection:
        return _select(connection, visibility, condition, values)


def reach(db: Database, rule: Rule, visibility: Visibility, *, at: str) -> Reach:
    """Return what a rule would withhold if it were made at that time.

    Spared are formal notes only: a decided proposal is no memory.
    """
    last = Moment(at, sys.maxsize)  # behind all that is on record by then
    with db.reading() as connection:
        unreviewed = unreviewed_edits(connection)
        taken = Origin(connection, rule, last, unreviewed).versions()
        whole = Origin(connection, rule, last, unreviewed, heeds_approval=False).versions()
        there = [d for d in _select(connection, visibility, "1", []) if rule.covers(d.scope.key)]
    return Reach(
        tuple(d for d in there if d.version in taken),
        tuple(
            d for d in there if d.version in whole and d.version not in taken and d.kind == "memory"
        ),
    )


def hidden(db: Database, digests: Collection[str], scope: Scope) -> frozenset[str]:
    """Return which of these versions of notes in a scope may not be shown."""
    found: set[str] = set()
    with db.reading() as connection:
        for digest in digests:
            (is_hidden,) = connection.execute(
                "SELECT EXISTS (SELECT 1 FROM unreviewed WHERE digest = ?1)"
                " OR EXISTS (SELECT 1 FROM quarantined WHERE digest = ?1"
                " AND (reach IS NULL OR ?2 = '' OR reach = ?2))",
                (digest, rows.storable(scope.key)),
            ).fetchone()
            if is_hidden:
                found.add(digest)
    return frozenset(found)


def _select(
    connection: sqlite3.Connection, visibility: Visibility, condition: str, values: list[str]
) -> list[Withheld]:
    found: list[Withheld] = []
    seen, more = rows.visible("d.scope", visibility)
    for kind, table in KINDS.items():
        documents = connection.execute(
            f"SELECT d.path, d.id, d.{_NAME[kind]}, d.scope, d.checksum, {STANDS}, d.withheld_by"  # noqa: S608
            f" FROM {table} AS d WHERE {condition} AND {seen} ORDER BY d.path",
            [*values, *more],
        )
        found += [
            Withheld(kind, path, document_id, name, Scope.from_key(scope), *rest)
            for path, document_id, name, scope, *rest in documents
        ]
    return found
