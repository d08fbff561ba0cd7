"""Formal notes that stand on an agent's word alone, and the owner's word for them.

As in `reviewing`, a decision is on exactly the bytes that were shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from keepm.errors import ApprovalRequired, WrongState
from keepm.index import catalog, versions
from keepm.index.rows import NoteRow
from keepm.markdown import memories as codec
from keepm.model.approval import Channel
from keepm.model.document import Document
from keepm.model.memory import Memory
from keepm.operations import identifying, memories, provenance, reading
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.reviewing import Notice, of_file, proof
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet, Replace


@dataclass(frozen=True, slots=True)
class NoteReview:
    """A formal note that stands on an agent's word alone."""

    document: Document[Memory]
    warnings: tuple[Notice, ...]


def relayed(vault: Vault) -> list[NoteRow]:
    """List the active notes that no person let in by an act of their own."""
    rows, _ = catalog.catalog(vault.database, vault.visibility)
    return [
        row for row in rows if versions.channel_of(vault.database, row.checksum) == Channel.RELAYED
    ]


def look(vault: Vault, identifier: str) -> NoteReview:
    """Read a note that stands on an agent's word.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier, MalformedDocument.
        WrongState: a person let it in already.
    """
    document = identifying.as_memory(reading.current(vault, identifier, identifying.note_path))
    _require_relayed(vault, document)
    return NoteReview(document, tuple(of_file(vault, document)))


def confirm(vault: Vault, caller: Caller, review: NoteReview) -> Document[Memory]:
    """Take the note that was shown on the owner's own word; return it as it is then.

    Only `approved_via` changes in the file; the event tells the digest of what was shown.

    Raises:
        ApprovalRequired: the caller is an agent.
        ChecksumMismatch: the note is no longer what was shown.
        WrongState: a person let it in meanwhile.
    """
    if caller.channel.rank <= Channel.RELAYED.rank:
        raise ApprovalRequired("an agent can't confirm what stands on its word")
    shown = proof(vault, review.document)
    note_id = review.document.content.id

    def plan(desk: Desk) -> Plan:
        document = desk.memory(note_id, shown)
        _require_relayed(vault, document)
        new = replace(document.content, approved_via=caller.channel)
        return Plan(
            ChangeSet((Replace(document.path, codec.patch(document, new), document.checksum),)),
            draft(
                caller,
                "confirm",
                object_id=note_id,
                object_kind="memory",
                scope=new.claim.scope,
                approved=True,
                shown=document.checksum,
            ),
            (shown,),
        )

    return identifying.as_memory(mutate(vault, caller, plan).subject)


def discard(vault: Vault, caller: Caller, review: NoteReview) -> memories.MemoryDeleted:
    """Move the note that was shown to the trash; raises as `memories.delete`."""
    note = review.document
    return memories.delete(vault, caller, note.content.id, proof(vault, note))


def _require_relayed(vault: Vault, document: Document[Memory]) -> None:
    found = provenance.channel(vault, document)
    if found is not Channel.RELAYED:
        raise WrongState(
            f"this note stands on '{found}', not on an agent's word",
            details={"id": document.content.id, "channel": str(found)},
        )
