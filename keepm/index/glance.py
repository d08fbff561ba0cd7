"""What a session's first lines need, and no more: a hook imports this and nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from keepm.index import visibility as scopes
from keepm.index.database import Database
from keepm.model.scope import Visibility


@dataclass(frozen=True, slots=True)
class Pinned:
    name: str
    kind: str
    description: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    title: str
    updated: str


@dataclass(frozen=True, slots=True)
class Glance:
    """The first of each sort, and how many there are in all."""

    pinned: tuple[Pinned, ...]
    pinned_total: int
    handoffs: tuple[Unfinished, ...]
    handoffs_total: int
    pending: int


def glance(db: Database, visibility: Visibility, *, pinned: int, handoffs: int) -> Glance:
    """Return the pinned notes by name, the handoffs written last first, and the Inbox's count."""
    seen, values = scopes.visible("n.scope", visibility)
    note = f"n.pinned AND n.status = 'active' AND n.standing = 'sound' AND {seen}"
    note_values = list(values)
    if visibility.project_id is not None:
        note += f" AND {scopes.NOT_SHADOWED}"
        note_values.append(visibility.project_id)
    handoff = f"n.status = 'active' AND {seen}"
    # The conditions are constants of this room; every value is bound.
    with db.reading() as connection:
        names = connection.execute(
            f"SELECT n.name, n.kind, n.description FROM notes AS n WHERE {note}"  # noqa: S608
            " ORDER BY n.scope = '', n.name, n.path LIMIT ?",
            [*note_values, pinned],
        ).fetchall()
        titles = connection.execute(
            f"SELECT n.title, n.updated FROM handoffs AS n WHERE {handoff}"  # noqa: S608
            " ORDER BY n.updated DESC, n.id, n.path LIMIT ?",
            [*values, handoffs],
        ).fetchall()
        totals = [
            int(connection.execute(f"SELECT count(*) FROM {table}", bound).fetchone()[0])  # noqa: S608
            for table, bound in (
                (f"notes AS n WHERE {note}", note_values),
                (f"handoffs AS n WHERE {handoff}", values),
                (f"proposals AS n WHERE n.status = 'pending' AND {seen}", values),
            )
        ]
    return Glance(
        tuple(Pinned(*row) for row in names),
        totals[0],
        tuple(Unfinished(*row) for row in titles),
        totals[1],
        totals[2],
    )
