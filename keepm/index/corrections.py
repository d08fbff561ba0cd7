"""Which pending proposals would change a note, or hold its slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keepm.index import rows
from keepm.index.database import Database
from keepm.model import identity
from keepm.model.scope import Scope, Visibility


@dataclass(frozen=True, slots=True)
class Place:
    """A note as a proposal can be about it. `name` is None when it holds its slot no more."""

    note_id: str
    name: str | None
    scope: Scope


def pending(db: Database, places: Sequence[Place], visibility: Visibility) -> dict[str, list[str]]:
    """Return the ids of the visible pending proposals on each of these notes, by the note's id.

    The oldest first. A note that no proposal is about isn't in it.
    """
    ids = [rows.storable(place.note_id) for place in places]
    slots = {place.note_id: _slot(place.name) for place in places if place.name is not None}
    targeted, by_target = rows.one_of("target_id", ids)
    holding, by_slot = rows.one_of("slot", list(slots.values()))
    seen, values = rows.visible("scope", visibility)
    with db.reading() as connection:
        # Two searches by index each; joined by OR it would be one walk through all proposals.
        found = connection.execute(
            f"SELECT created, id, target_id, slot, scope FROM proposals"  # noqa: S608
            f" WHERE status = 'pending' AND {targeted} AND {seen}"
            f" UNION SELECT created, id, target_id, slot, scope FROM proposals"
            f" WHERE status = 'pending' AND {holding} AND {seen} ORDER BY created, id",
            [*by_target, *values, *by_slot, *values],
        ).fetchall()
    waiting: dict[str, list[str]] = {}
    for place in places if found else ():
        held = (slots.get(place.note_id), rows.storable(place.scope.key))
        own = rows.storable(place.note_id)
        about = [each for _, each, target, *slot in found if target == own or (*slot,) == held]
        if about:
            waiting[place.note_id] = about
    return waiting


def _slot(name: str) -> str:
    return rows.storable(identity.slot_key(name))
