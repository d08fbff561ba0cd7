"""The Inbox: proposals on their way to a person's decision."""

from __future__ import annotations

from dataclasses import dataclass, replace

from keepm.errors import AlreadyExists, InvalidInput, refuse_if_any
from keepm.index.rows import NoteRow, ProposalRow
from keepm.markdown import documents
from keepm.markdown import proposals as codec
from keepm.model import contracts, layout, memory
from keepm.model import proposal as rules
from keepm.model.document import Damaged, Document
from keepm.model.layout import Shelf
from keepm.model.memory import Claim, ClaimEdit
from keepm.model.proposal import Proposal, ProposalStatus, TargetAction
from keepm.operations import (
    drafting,
    identifying,
    reading,
    sameness,
    sync,
    verdicts,
    withheld,
)
from keepm.operations.mutation import Desk, Plan, Receipt, draft, mutate
from keepm.operations.reading import Part
from keepm.operations.sameness import Alike, Surroundings
from keepm.operations.vault import Caller, Vault
from keepm.store import reader
from keepm.store.changes import ChangeSet, Create, Move, Replace
from keepm.tokens import WriteProof


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What an agent proposes: a claim, why, from where, and which note it would correct."""

    claim: Claim
    reason: str
    source_ref: str = ""
    target_identifier: str | None = None
    target_action: TargetAction | None = None
    allow_similar: bool = False  # the user wants it beside what says the same


@dataclass(frozen=True, slots=True)
class SuggestionEdit:
    """A change of a pending proposal: `None` stays as it is."""

    claim: ClaimEdit
    reason: str | None = None
    source_ref: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalReading:
    """One read of a proposal; `token` only when complete and still pending."""

    document: Document[Proposal] | Document[Damaged]
    part: Part
    token: str | None


@dataclass(frozen=True, slots=True)
class ProposalWritten:
    """A proposal as a change left it; `created` is false when it was there already."""

    document: Document[Proposal]
    token: str
    created: bool = True
    index_current: bool = True
    similar: tuple[Alike, ...] = ()  # what it resembles and was let by
    remembered: bool = False  # rejected for good


def propose(vault: Vault, caller: Caller, suggestion: Suggestion) -> ProposalWritten:
    """Put an inference into the Inbox; the very same candidate again returns the pending one.

    Raises:
        InvalidInput: naming every problem.
        AlreadyExists: the slot is held by an active note (give it as target) or by another
            pending proposal (update that one).
        TooSimilar: a note or pending proposal is a near-duplicate.
        RejectedBefore: a person rejected this claim.
        ApprovalRequired: near-duplicates were let by too often.
        NotFound, AmbiguousIdentifier: the target.
    """
    proposal_id = vault.new_id()
    claim = drafting.normal(suggestion.claim)
    sync.refresh(vault)
    target = _target(vault, suggestion)
    if target is not None and target.scope != claim.scope:
        # A correction belongs where the note is.
        claim = replace(claim, scope=target.scope)
    proposal = Proposal(
        id=proposal_id,
        claim=claim,
        reason=suggestion.reason.strip(),
        source_client=caller.client[: vault.policy.proposal.client_characters],
        source_ref=suggestion.source_ref.strip(),
        target_id=target.id if target else None,
        target_action=suggestion.target_action,
    )
    _check(vault, proposal)
    found: ProposalRow | None = None
    similar: tuple[Alike, ...] = ()

    def plan(desk: Desk) -> Plan:
        nonlocal found, similar
        _require_not_rejected(desk, claim, target, suggestion.target_action)
        found = desk.pending_in_slot(claim)
        if found is not None:
            raise withheld.slot_taken(
                found,
                "a pending proposal holds this slot already",
                hint="Read it with memory_inbox_read and change it with memory_inbox_update.",
            )
        if target is None:
            _require_unheld(desk, claim)
        similar = sameness.admit(
            desk, caller, *_compared(proposal, target), allowed=suggestion.allow_similar
        )
        new = replace(proposal, created=desk.at, updated=desk.at)
        path = layout.inbox_path(Shelf.PROPOSAL, claim.scope, claim.name, proposal_id)
        return Plan(
            ChangeSet((Create(path, codec.render(new)),)),
            draft(
                caller,
                "propose",
                object_id=proposal_id,
                object_kind="proposal",
                scope=claim.scope,
                extra=sameness.noted(similar),
            ),
        )

    try:
        receipt = mutate(vault, caller, plan)
    except AlreadyExists:
        same = _the_same(vault, found, proposal)
        if same is None:
            raise
        return ProposalWritten(
            same, vault.tokens.issue(same.content.id, same.checksum), created=False
        )
    return replace(_written(vault, receipt), similar=similar)


def read(vault: Vault, identifier: str, *, max_chars: int) -> ProposalReading:
    """Read a proposal from its file.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier.
    """
    document = reading.current(vault, identifier, identifying.proposal_path)
    if isinstance(document.content, Damaged):
        part = reading.part(document.content.text, max_chars=max_chars)
        return ProposalReading(document, part, _token_to_discard(vault, document, part))
    proposal = identifying.as_proposal(document)
    part = reading.part(proposal.content.claim.body, max_chars=max_chars)
    pending = proposal.content.status is ProposalStatus.PENDING
    token = (
        vault.tokens.issue(proposal.content.id, proposal.checksum)
        if part.complete and pending
        else None
    )
    return ProposalReading(proposal, part, token)


def update(
    vault: Vault, caller: Caller, identifier: str, edit: SuggestionEdit, proof: WriteProof
) -> ProposalWritten:
    """Change fields of a pending proposal; what the edit leaves out stays.

    Raises:
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead.
        WrongState: it was promoted or rejected.
        InvalidInput: a field is wrong, or the edit changes nothing.
        AlreadyExists: the new slot is taken.
        TooSimilar: with the edit it is a near-duplicate, and no person confirmed that.
        RejectedBefore: a person rejected what it would say.
    """

    def plan(desk: Desk) -> Plan:
        document = desk.proposal(identifier, proof)
        old = document.content
        rules.require_pending(old, to="changed")
        claim = drafting.normal(memory.apply(old.claim, edit.claim))
        if claim.slot != old.claim.slot:
            # A proposal was never memory: its former name is nobody's handle.
            claim = replace(claim, aliases=tuple(a for a in claim.aliases if a != old.claim.name))
        new = replace(
            old,
            claim=claim,
            reason=old.reason if edit.reason is None else edit.reason.strip(),
            source_ref=old.source_ref if edit.source_ref is None else edit.source_ref.strip(),
        )
        if new == old:
            raise InvalidInput("the call changes nothing", hint="Give at least one changed field.")
        _check(vault, new)
        verdicts.require_not_rejected(vault, claim, was=[old.claim])
        moved = (claim.slot, claim.scope) != (old.claim.slot, old.claim.scope)
        if moved:
            if old.target_id is None:
                _require_unheld(desk, claim)
            if rival := desk.pending_in_slot(claim):
                raise withheld.slot_taken(
                    rival,
                    "a pending proposal holds this slot already",
                    hint="Choose another name, or work on that proposal.",
                )
        similar = sameness.admit_decided(
            desk,
            caller,
            old.id,
            claim
            if old.target_action is not TargetAction.UPDATE
            # The note will keep its own name.
            else replace(claim, name=old.claim.name),
            Surroundings(
                but=[each for each in (old.id, old.target_id) if each],
                known=[old.claim],
                inbox=True,
            ),
        )
        new = replace(new, updated=desk.at)
        data = codec.patch(document, new)
        path = layout.inbox_path(Shelf.PROPOSAL, claim.scope, claim.name, old.id)
        change = (
            Move(document.path, path, data, document.checksum)
            if moved and path != document.path
            else Replace(document.path, data, document.checksum)
        )
        return Plan(
            ChangeSet((change,)),
            draft(
                caller,
                "inbox_update",
                object_id=old.id,
                object_kind="proposal",
                scope=claim.scope,
                extra=sameness.noted(similar),
            ),
            (proof,),
        )

    return _written(vault, mutate(vault, caller, plan))


def reject(
    vault: Vault,
    caller: Caller,
    identifier: str,
    proof: WriteProof,
    *,
    reason: str = "",
    remember: bool = True,
) -> ProposalWritten:
    """File a pending proposal away as rejected.

    With `remember`, and where it is a person's own word, that is a verdict: nothing that says the
    same passes in its scope any more.

    Raises:
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead.
        WrongState: it was promoted or rejected already.
    """
    lasting: dict[str, str] = {}

    def plan(desk: Desk) -> Plan:
        nonlocal lasting
        document = desk.proposal(identifier, proof)
        rules.require_pending(document.content, to="rejected")
        resolved = replace(
            document.content,
            status=ProposalStatus.REJECTED,
            resolved_at=desk.at,
            rejection_reason=reason.strip() or None,
        )
        refuse_if_any(list(rules.rejection_problems(reason, vault.policy)))
        lasting = verdicts.rejecting(vault, caller, document.content) if remember else {}
        return Plan(
            ChangeSet((filed_away(document, resolved),)),
            draft(
                caller,
                "reject",
                object_id=resolved.id,
                object_kind="proposal",
                scope=resolved.claim.scope,
                approved=True,
                shown=document.checksum,
                extra=lasting,
            ),
            (proof,),
        )

    written = _written(vault, mutate(vault, caller, plan))
    return replace(written, remembered=bool(lasting))


def filed_away(document: Document[Proposal], resolved: Proposal) -> Move:
    """Plan a decided proposal's way from `pending` to `archive`."""
    path = document.path.replace(f"{layout.INBOX}/pending/", f"{layout.INBOX}/archive/", 1)
    return Move(document.path, path, codec.patch(document, resolved), document.checksum)


# ---- rules that need the vault -------------------------------------------------------------------


def _check(vault: Vault, proposal: Proposal) -> None:
    problems = list(rules.problems(proposal, vault.policy))
    problems += memory.problems(proposal.claim, vault.policy, today=vault.today())
    contract = vault.policy.kinds[proposal.claim.kind]
    claim = proposal.claim
    problems += contracts.missing(contract, claim.body, sources=len(claim.sources))
    refuse_if_any(problems)


def _target(vault: Vault, suggestion: Suggestion) -> NoteRow | None:
    if suggestion.target_identifier is None:
        return None
    return identifying.note(vault, suggestion.target_identifier)


def _compared(proposal: Proposal, target: NoteRow | None) -> tuple[Claim, Surroundings]:
    """Return what a new proposal would make of a note, and what that comes from."""
    claim = proposal.claim
    if target is None:
        return claim, Surroundings(but=[proposal.id], inbox=True)
    there = replace(claim, name=target.name, aliases=target.aliases, body=target.body)
    if proposal.target_action is TargetAction.UPDATE:
        # The note keeps its name, and the aliases add up.
        claim = replace(claim, name=there.name, aliases=(*there.aliases, *claim.aliases))
    return claim, Surroundings(but=[proposal.id, target.id], known=[there], inbox=True)


def _require_not_rejected(
    desk: Desk, claim: Claim, target: NoteRow | None, action: TargetAction | None
) -> None:
    there = verdicts.target_claim(desk.vault, target.id if target else None)
    known = [] if there is None else [there]
    verdicts.require_not_rejected(desk.vault, claim, was=known)
    if target is not None and action is TargetAction.UPDATE:
        # The note will keep its own name.
        kept = replace(claim, name=target.name)
        verdicts.require_not_rejected(desk.vault, kept, was=known)


def _require_unheld(desk: Desk, claim: Claim) -> None:
    holder = desk.slot_holder(claim)
    if holder is not None:
        raise withheld.slot_taken(
            holder,
            f"the slot '{claim.name}' is held by an active note",
            hint="To correct it, propose with target_identifier and target_action=update.",
            details={"scope": holder.scope.label},
        )


def _the_same(
    vault: Vault, row: ProposalRow | None, proposal: Proposal
) -> Document[Proposal] | None:
    """Return the pending document when it says just what the new candidate says."""
    if row is None or row.withheld_by:
        return None
    data = reader.read(vault.root, row.path, limit=vault.policy.document_bytes)
    document = identifying.as_proposal(documents.read(row.path, data))
    there = document.content
    return (
        document if (there.claim, there.target_id) == (proposal.claim, proposal.target_id) else None
    )


def _token_to_discard(vault: Vault, document: Document[Damaged], part: Part) -> str | None:
    """Return the token for the one thing that can be done with what can't be read."""
    there = layout.place(document.path)
    if not part.complete or there is None or there.shelf is not Shelf.PROPOSAL:
        return None
    return vault.tokens.issue(document.content.id, document.checksum)


def _written(vault: Vault, receipt: Receipt) -> ProposalWritten:
    document = identifying.as_proposal(receipt.subject)
    token = vault.tokens.issue(document.content.id, document.checksum)
    return ProposalWritten(document, token, index_current=receipt.index_current)
