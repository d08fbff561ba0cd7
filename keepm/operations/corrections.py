"""Whether a correction of a note waits for a decision: told by the proposal's id, never its text.

Who reads a note that somebody wants corrected should know that before relying on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from keepm.index import corrections
from keepm.index.corrections import Place
from keepm.index.rows import NoteRow
from keepm.model.document import Damaged, Document
from keepm.model.memory import Memory, Status
from keepm.operations.answers import Corrections
from keepm.operations.vault import Vault

_NAMED = 3


def of_rows(vault: Vault, notes: Iterable[NoteRow]) -> dict[str, Corrections]:
    """Return what waits for each of these notes, by id; those without anything are not in it."""
    places = [
        Place(row.id, row.name if row.status is Status.ACTIVE else None, row.scope) for row in notes
    ]
    return _told(vault, places)


def of_document(vault: Vault, document: Document[Memory] | Document[Damaged]) -> Corrections | None:
    """Return what waits for one note."""
    content = document.content
    if isinstance(content, Damaged):
        place = Place(content.id, None, content.scope)
    else:
        held = content.claim.name if content.status is Status.ACTIVE else None
        place = Place(content.id, held, content.claim.scope)
    return _told(vault, [place]).get(place.note_id)


def _told(vault: Vault, places: list[Place]) -> dict[str, Corrections]:
    found = corrections.pending(vault.database, places, vault.visibility)
    return {note: Corrections(len(ids), ids[:_NAMED]) for note, ids in found.items()}
