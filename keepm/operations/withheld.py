"""How answers speak of what is withheld: that it is there and how much, never what or which.

The owner's own lists (`quarantining`, `edits`) name it.
"""

from __future__ import annotations

from collections.abc import Mapping

from keepm.errors import AlreadyExists, NotFound, Scalar
from keepm.index import catalog, withholding, writing
from keepm.index import withheld as index_withheld
from keepm.index.rows import NoteRow, ProposalRow
from keepm.model.document import AnyDocument
from keepm.operations.vault import Vault

REASON = "withheld"
WAY_OUT = "the owner sees what with `keepm quarantine list` and `keepm review --edits`"


def count(vault: Vault, kind: str = "memory") -> int:
    """Count the documents of a kind in sight that a person keeps out of recall."""
    return index_withheld.counts(vault.database, vault.visibility)[kind]


def why_none(vault: Vault) -> tuple[str, int | None]:
    """Return the reason why there are no notes to show, and how many are withheld."""
    number = catalog.withheld_count(vault.database, vault.visibility)
    return (REASON, number) if number else ("no_match", None)


def not_found(vault: Vault, kind: str, message: str, *, hint: str | None = None) -> NotFound:
    """Return the answer to a handle that names nothing readable, the same for every handle.

    It says how many documents are withheld, so that nobody takes them for lost.
    """
    number = count(vault, kind)
    if not number:
        return NotFound(message, hint=hint)
    return NotFound(
        message,
        hint=f"{hint or NotFound.hint} {number} here can't be read now: {WAY_OUT}.",
        details={"reason": REASON, "withheld": number},
    )


def slot_taken(
    holder: NoteRow | ProposalRow,
    message: str,
    *,
    hint: str | None = None,
    details: Mapping[str, Scalar] | None = None,
) -> AlreadyExists:
    """Return the refusal of a slot, which names its holder unless that is withheld."""
    if holder.withheld_by:
        return AlreadyExists(
            "this slot is held by something that is withheld from recall",
            hint=f"Choose another slot name, or leave it to the owner: {WAY_OUT}.",
            details={"reason": REASON},
        )
    named: dict[str, Scalar] = {"id": holder.id, "name": holder.name}
    return AlreadyExists(message, hint=hint, details={**named, **(details or {})})


def is_settled(vault: Vault, document: AnyDocument) -> bool:
    """Tell whether the index knows these very bytes, and so whether they may be read."""
    if not vault.reviews_edits and not withholding.is_in_force(vault.database):
        return True
    row = writing.file_rows(vault.database, [document.path]).get(document.path)
    return row is not None and row.reason is None and row.checksum == document.checksum.hex
