"""Formal memory: read, create, update, delete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from keepm.errors import InvalidInput, WrongState
from keepm.index import graph
from keepm.index.graph import Direction
from keepm.markdown import bodies, claims
from keepm.model import memory
from keepm.model.document import Damaged, Document
from keepm.model.memory import Claim, ClaimEdit, Memory, Status
from keepm.operations import (
    corrections,
    drafting,
    freshness,
    identifying,
    provenance,
    reading,
    sameness,
    succession,
    verdicts,
)
from keepm.operations.answers import Corrections
from keepm.operations.freshness import Freshness
from keepm.operations.mutation import Desk, Plan, Receipt, draft, mutate
from keepm.operations.reading import Part
from keepm.operations.sameness import Surroundings
from keepm.operations.succession import Succession
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet
from keepm.tokens import WriteProof


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """One read of a note. `token` only when the body is complete and the note can be changed."""

    document: Document[Memory] | Document[Damaged]
    part: Part
    token: str | None
    approved_via: str
    source_state: Freshness | None
    superseded_by: tuple[str, ...] = ()  # ids
    pending_corrections: Corrections | None = None


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """A note as a change left it, with the token for the next change."""

    document: Document[Memory]
    token: str
    index_current: bool


@dataclass(frozen=True, slots=True)
class MemoryDeleted:
    """What went to the trash, and who still links to it."""

    id: str
    name: str
    trash_path: str
    linked_from: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryEdit:
    """A change of a note: its claim's fields, its status, and the notes it supersedes."""

    claim: ClaimEdit
    status: Status | None = None  # active or archived
    supersedes: tuple[str, ...] | None = None  # ids, names or aliases


def read(vault: Vault, identifier: str, *, max_chars: int, offset: int = 0) -> MemoryReading:
    """Read a note from its file, damaged ones as raw text with their findings.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier.
    """
    document = reading.current(vault, identifier, identifying.note_path)
    content = document.content
    if isinstance(content, Damaged):
        part = reading.part(content.text, max_chars=max_chars, offset=offset)
        damaged = _damaged(document)
        return MemoryReading(
            damaged,
            part,
            None,
            provenance.UNREADABLE,
            None,
            pending_corrections=corrections.of_document(vault, damaged),
        )
    note = identifying.as_memory(document)
    claim = note.content.claim
    part = reading.part(claim.body, max_chars=max_chars, offset=offset)
    channel = provenance.channel(vault, note)
    findings = (
        *note.findings,
        *provenance.findings(note.content, channel),
        *succession.circle(vault, note.content),
    )
    usable = part.complete and not claims.unchangeable(note.findings)
    return MemoryReading(
        document=replace(note, findings=findings),
        part=part,
        token=vault.tokens.issue(note.content.id, note.checksum) if usable else None,
        approved_via=channel,
        source_state=freshness.state(
            vault, claim.scope, claim.sources, dict(note.content.source_digests)
        ),
        superseded_by=succession.successors(vault, note.content),
        pending_corrections=corrections.of_document(vault, note),
    )


def create(
    vault: Vault,
    caller: Caller,
    claim: Claim,
    *,
    supersedes: tuple[str, ...] = (),
    allow_similar: bool = False,
) -> MemoryWritten:
    """Write a new note into a free slot, or in place of active notes (ids, names or aliases).

    With `allow_similar` (the user said so) also beside one that says the same.

    Raises:
        InvalidInput: naming every problem of the claim; or as `succession.take_place`.
        ApprovalRequired: the caller's channel is below the minimum for a kind.
        AlreadyExists: an active note that doesn't give way holds the slot.
        TooSimilar: such a note is a near-duplicate.
        RejectedBefore: a person rejected this claim.
        NotFound, AmbiguousIdentifier, WrongState: of a note to supersede.
    """
    claim = drafting.normal(claim)
    memory.check(claim, vault.policy, today=vault.today())
    vault.approval.require(caller.channel, kind=claim.kind)
    note_id = vault.new_id()

    def plan(desk: Desk) -> Plan:
        losers = succession.named(desk, supersedes)
        changes = drafting.creation(desk, claim, note_id, caller=caller, losers=losers)
        around = Surroundings(
            but=[loser.content.id for loser in losers],
            known=[loser.content.claim for loser in losers],
        )
        similar = sameness.admit(desk, caller, claim, around, allowed=allow_similar)
        return Plan(
            ChangeSet(changes),
            draft(
                caller,
                "create",
                object_id=note_id,
                object_kind="memory",
                scope=claim.scope,
                approved=True,
                extra={
                    **_replaced(loser.content.id for loser in losers),
                    **sameness.noted(similar),
                    **sameness.ruled(desk, caller, claim, around, similar),
                },
            ),
        )

    return _written(vault, mutate(vault, caller, plan))


def update(
    vault: Vault, caller: Caller, identifier: str, edit: MemoryEdit, proof: WriteProof
) -> MemoryWritten:
    """Change fields of a note; what the edit leaves out stays, byte for byte.

    Raises:
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead.
        InvalidInput: a field is wrong, or the edit changes nothing.
        AlreadyExists: the new name or scope is another note's slot.
        RejectedBefore: a person rejected what it would say.
        WrongState, ApprovalRequired: of the note, or of one that comes under `supersedes`.
    """

    def plan(desk: Desk) -> Plan:
        document = desk.memory(identifier, proof)
        old = document.content
        taken = _relisted(desk, caller, old, edit)
        new = edited(desk, old, edit, supersedes=taken.winner.supersedes)
        for kind in (old.claim.kind, new.claim.kind):
            vault.approval.require(caller.channel, kind=kind)
        new = replace(new, updated=desk.at, approved_via=caller.channel)
        return Plan(
            ChangeSet((drafting.replacement(desk, document, new), *taken.changes)),
            draft(
                caller,
                "update",
                object_id=old.id,
                object_kind="memory",
                scope=new.claim.scope,
                approved=True,
                extra=_replaced(i for i in new.supersedes if i not in old.supersedes),
            ),
            (proof,),
        )

    return _written(vault, mutate(vault, caller, plan))


def delete(vault: Vault, caller: Caller, identifier: str, proof: WriteProof) -> MemoryDeleted:
    """Move a note to the trash, from where the owner can restore it.

    Raises:
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead.
        ApprovalRequired: the caller's channel is below the minimum.
    """
    gone: MemoryDeleted | None = None

    def plan(desk: Desk) -> Plan:
        nonlocal gone
        document = desk.memory(identifier, proof)
        note = document.content
        vault.approval.require(caller.channel, kind=note.claim.kind)
        change = drafting.to_trash(desk, document)
        gone = MemoryDeleted(
            id=note.id,
            name=note.claim.name,
            trash_path=change.to,
            linked_from=linked_from(vault, note.id),
        )
        return Plan(
            ChangeSet((change,)),
            draft(
                caller,
                "delete",
                object_id=note.id,
                object_kind="memory",
                scope=note.claim.scope,
                approved=True,
            ),
            (proof,),
        )

    mutate(vault, caller, plan)
    assert gone is not None
    return gone


def edited(desk: Desk, old: Memory, edit: MemoryEdit, *, supersedes: tuple[str, ...]) -> Memory:
    """Apply an edit, with the list of what the note supersedes now, and check the result.

    Raises:
        InvalidInput: a field is wrong, or nothing would change.
        WrongState: the status can't be reached from here.
        AlreadyExists: the slot it moves to is taken.
        RejectedBefore: a person rejected what it would say.
    """
    changes = edit.claim
    if changes.body is not None:
        changes = replace(changes, body=bodies.trimmed(changes.body))
    claim = memory.apply(old.claim, changes)
    status = edit.status or old.status
    if (claim, status, supersedes) == (old.claim, old.status, old.supersedes):
        raise InvalidInput("the call changes nothing", hint="Give at least one changed field.")
    _require_step(old.status, status)
    memory.check_change(old.claim, claim, desk.vault.policy, today=desk.vault.today())
    returns = status is Status.ACTIVE and old.status is not Status.ACTIVE
    verdicts.require_not_rejected(desk.vault, claim, was=() if returns else [old.claim])
    if status is Status.ACTIVE and (
        (claim.slot, claim.scope, status) != (old.claim.slot, old.claim.scope, old.status)
    ):
        drafting.require_free_slot(desk, claim, but=(old.id, *supersedes))
    digests = old.source_digests
    if changes.verified_at is not None:
        digests = (
            freshness.record(desk.vault, claim.scope, claim.sources) if claim.verified_at else ()
        )
    return replace(old, claim=claim, status=status, supersedes=supersedes, source_digests=digests)


def _relisted(desk: Desk, caller: Caller, old: Memory, edit: MemoryEdit) -> Succession:
    """Plan the edit's list of superseded notes, for the note in its new scope and status."""
    if edit.supersedes is None:
        return Succession(old)
    claim = replace(old.claim, scope=edit.claim.scope or old.claim.scope)
    note = replace(old, claim=claim, status=edit.status or old.status)
    return succession.relist(desk, caller, note, edit.supersedes)


def _replaced(ids: Iterable[str]) -> dict[str, str]:
    """Return what the ledger's event says of the notes that gave way."""
    listed = ",".join(ids)
    return {"superseded": listed} if listed else {}


def _require_step(old: Status, new: Status) -> None:
    if new is old:
        return
    if Status.SUPERSEDED in (old, new):
        raise WrongState(
            f"a note can't go from {old} to {new} by an update",
            hint="Update can archive an active note and make an archived one active.",
            details={"status": str(old)},
        )


def linked_from(vault: Vault, note_id: str) -> tuple[str, ...]:
    """Return the names of the notes that link to this one."""
    rows, _ = graph.links(
        vault.database,
        note_id,
        vault.visibility,
        direction=Direction.BACK,
        relation=None,
        limit=1000,
        offset=0,
    )
    return tuple(dict.fromkeys(row.name for row in rows if row.name))


def _written(vault: Vault, receipt: Receipt) -> MemoryWritten:
    document = identifying.as_memory(receipt.subject)
    token = vault.tokens.issue(document.content.id, document.checksum)
    return MemoryWritten(document, token, receipt.index_current)


def _damaged(document: object) -> Document[Damaged]:
    assert isinstance(document, Document)
    return document
