"""The way out of the Inbox for every file in it: filed away as rejected, or moved to the trash.

A file that can't be read as a proposal, or not be changed without a guess, can't be given the
status `rejected`. It would wait for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

from keepm.errors import MalformedDocument, NotFound
from keepm.model import layout
from keepm.model.document import Damaged, Document
from keepm.model.layout import Shelf
from keepm.model.proposal import Proposal
from keepm.operations import drafting, inbox
from keepm.operations.inbox import ProposalWritten
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet
from keepm.tokens import WriteProof


@dataclass(frozen=True, slots=True)
class Discarded:
    """A file of the Inbox that is in the trash now, as it was read."""

    document: Document[Proposal] | Document[Damaged]
    trash_path: str


def reject(
    vault: Vault,
    caller: Caller,
    identifier: str,
    proof: WriteProof,
    *,
    reason: str = "",
    remember: bool = True,
) -> ProposalWritten | Discarded:
    """Take what waits out of the Inbox; raises as `inbox.reject`."""
    try:
        return inbox.reject(vault, caller, identifier, proof, reason=reason, remember=remember)
    except MalformedDocument:
        return _discard(vault, caller, identifier, proof)


def _discard(vault: Vault, caller: Caller, identifier: str, proof: WriteProof) -> Discarded:
    """Move a file that isn't to be changed to the trash, from where the owner can restore it."""
    found: list[Discarded] = []

    def plan(desk: Desk) -> Plan:
        document = desk.inbox_file(identifier, proof)
        place = layout.place(document.path)
        if place is None or place.shelf is not Shelf.PROPOSAL:
            raise NotFound("nothing that waits has this id or name")
        change = drafting.to_trash(desk, document)
        found[:] = [Discarded(document, change.to)]
        return Plan(
            ChangeSet((change,)),
            draft(
                caller,
                "delete",
                object_id=document.content.id,
                object_kind="proposal",
                scope=place.scope,
                approved=True,
                shown=document.checksum,
            ),
            (proof,),
        )

    mutate(vault, caller, plan)
    return found[0]
