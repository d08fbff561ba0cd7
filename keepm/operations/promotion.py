"""The gate: a proposal becomes formal memory, by a person's word, in one transaction."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from keepm.errors import IncompleteRead, InvalidInput, Problem, WrongState
from keepm.model import memory
from keepm.model import proposal as rules
from keepm.model.document import Document
from keepm.model.memory import Claim, ClaimEdit, Memory, Status
from keepm.model.proposal import Proposal, ProposalStatus, TargetAction
from keepm.operations import drafting, freshness, identifying, inbox, sameness, verdicts
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.sameness import Surroundings
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import Change, ChangeSet
from keepm.tokens import WriteProof


@dataclass(frozen=True, slots=True)
class Target:
    """The existing note a proposal goes into, with the proof of its complete read."""

    identifier: str
    proof: WriteProof


@dataclass(frozen=True, slots=True)
class Promoted:
    """The note that a promotion wrote, the token for its next change, and the filed proposal."""

    memory: Document[Memory]
    token: str
    proposal: Document[Proposal]
    index_current: bool


def promote(
    vault: Vault,
    caller: Caller,
    identifier: str,
    proof: WriteProof,
    *,
    target: Target | None = None,
) -> Promoted:
    """Let a pending proposal into formal memory: as a new note, or into an existing one.

    The proposal and every note it touches change together or not at all.

    Raises:
        ApprovalRequired: the caller's channel is below the minimum for the proposal's kind or
            the target's.
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead: of the
            proposal or the target; a proposal that corrects a note needs that note's proof.
        WrongState: it was decided already, or the target isn't active.
        AlreadyExists: the slot is held and no target was given.
        TooSimilar: another active note is a near-duplicate, which was not let by when it was
            proposed, and no person confirmed the promotion.
        RejectedBefore: a person rejected the claim.
        InvalidInput: the claim no longer fits the rules.
    """
    proposal_id = ""

    def plan(desk: Desk) -> Plan:
        nonlocal proposal_id
        document = desk.proposal(identifier, proof)
        proposal = document.content
        proposal_id = proposal.id
        rules.require_pending(proposal, to="promoted")
        vault.approval.require(caller.channel, kind=proposal.claim.kind)
        memory.check(proposal.claim, vault.policy, today=vault.today())
        aim = _aim(desk, proposal, target)
        if aim is not None:
            # What guards the target's kind guards it from a proposal of another kind too.
            vault.approval.require(caller.channel, kind=aim.content.claim.kind)
        memory_id, changes = _into_memory(desk, caller, proposal, aim)
        supersedes = proposal.target_action is TargetAction.SUPERSEDE
        into = None if supersedes else aim
        claim = merged(into.content.claim, proposal.claim) if into else proposal.claim
        around = Surroundings(
            but=[aim.content.id] if aim else (),
            known=[aim.content.claim] if aim else (),
        )
        similar = sameness.admit_decided(desk, caller, proposal.id, claim, around)
        filed = replace(
            proposal,
            status=ProposalStatus.PROMOTED,
            promoted_memory_id=memory_id,
            resolved_at=desk.at,
        )
        return Plan(
            ChangeSet((*changes, inbox.filed_away(document, filed))),
            draft(
                caller,
                "promote",
                object_id=memory_id,
                object_kind="memory",
                scope=proposal.claim.scope,
                approved=True,
                shown=document.checksum,
                extra={
                    "proposal_id": proposal.id,
                    "target_id": aim.content.id if aim else "",
                    "source_ref_digest": hashlib.sha256(proposal.source_ref.encode()).hexdigest(),
                    "policy_version": vault.policy.version,
                    "confirmation": str(caller.channel),
                    **sameness.noted(similar),
                    **sameness.ruled(desk, caller, claim, around, similar),
                },
            ),
            (proof, target.proof) if target else (proof,),
        )

    receipt = mutate(vault, caller, plan)
    note = identifying.as_memory(receipt.subject)
    return Promoted(
        memory=note,
        token=vault.tokens.issue(note.content.id, note.checksum),
        proposal=identifying.as_proposal(receipt.document(proposal_id)),
        index_current=receipt.index_current,
    )


def _aim(desk: Desk, proposal: Proposal, target: Target | None) -> Document[Memory] | None:
    """Return the note to promote into, proven and active."""
    if target is None:
        if proposal.target_id is not None:
            raise IncompleteRead(
                "this proposal corrects an existing note, which must be read completely too",
                hint="memory_read the target, then promote with target_identifier, "
                "target_expected_checksum and target_update_token.",
                details={"target_id": proposal.target_id},
            )
        return None
    document = desk.memory(target.identifier, target.proof)
    note = document.content
    if proposal.target_id not in (None, note.id):
        raise InvalidInput(
            "the proposal corrects another note",
            problems=[Problem("target_identifier", "must be the note that the proposal names")],
            details={"target_id": proposal.target_id},
        )
    if note.status is not Status.ACTIVE:
        raise WrongState(
            f"the target is {note.status}", details={"id": note.id, "status": str(note.status)}
        )
    if note.claim.scope != proposal.claim.scope:
        raise InvalidInput(
            "the proposal and its target have different scopes",
            hint="Move one of them first: memory_update or memory_inbox_update with scope.",
            problems=[Problem("target_identifier", "must have the proposal's scope")],
        )
    return document


def _into_memory(
    desk: Desk, caller: Caller, proposal: Proposal, aim: Document[Memory] | None
) -> tuple[str, tuple[Change, ...]]:
    """Plan the formal notes' part; return the id of the note that holds the claim afterwards."""
    if aim is None:
        new_id = desk.vault.new_id()
        return new_id, drafting.creation(desk, proposal.claim, new_id, caller=caller)
    if proposal.target_action is TargetAction.SUPERSEDE:
        new_id = desk.vault.new_id()
        return new_id, drafting.creation(
            desk,
            proposal.claim,
            new_id,
            caller=caller,
            losers=(aim,),
            reason=proposal.reason,
        )
    claim = merged(aim.content.claim, proposal.claim)
    memory.check(claim, desk.vault.policy, today=desk.vault.today())
    verdicts.require_not_rejected(desk.vault, claim, was=[aim.content.claim])
    digests = aim.content.source_digests
    if proposal.claim.verified_at:
        digests = freshness.record(desk.vault, claim.scope, claim.sources)
    new = replace(
        aim.content,
        claim=claim,
        updated=desk.at,
        source_digests=digests,
        approved_via=caller.channel,
    )
    return aim.content.id, (drafting.replacement(desk, aim, new),)


def merged(old: Claim, new: Claim) -> Claim:
    """Return the target's claim with what the proposal says.

    The slot keeps its name. Text and kind are the proposal's; tags and aliases add up; sources
    and the date of verification are the proposal's where it gives any.
    """
    text = memory.apply(
        old,
        ClaimEdit(
            description=new.description,
            kind=new.kind,
            body=new.body,
            language=new.language,
            tags=(*old.tags, *new.tags),
            pinned=old.pinned or new.pinned,
            aliases=(*old.aliases, *new.aliases),
            sources=new.sources or None,
            verified_at=new.verified_at,
        ),
    )
    return drafting.normal(text)
