"""Any file of the vault: read as what its place says it is."""

from __future__ import annotations

import functools

from keepm.markdown import handoffs, memories, proposals
from keepm.markdown.damage import damaged, place
from keepm.markdown.damage import derived_id as damaged_id
from keepm.model.document import AnyDocument
from keepm.model.layout import Shelf

__all__ = ["damaged", "damaged_id", "read"]


# A change reads its own bytes back for the index and for the answer; documents are values.
@functools.lru_cache(maxsize=4)
def read(path: str, data: bytes) -> AnyDocument:
    """Read a file by its path's shelf.

    Raises:
        InvalidIdentifier: the path is outside every shelf.
    """
    match place(path).shelf:
        case Shelf.MEMORY:
            return memories.read(path, data)
        case Shelf.PROPOSAL | Shelf.ARCHIVED_PROPOSAL:
            return proposals.read(path, data)
        case Shelf.HANDOFF | Shelf.ARCHIVED_HANDOFF:
            return handoffs.read(path, data)
