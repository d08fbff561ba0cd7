"""What the owner looks at before a decision, and the decision on exactly those bytes.

A review is read whole, and stands for the versions it shows: each decision carries their
checksums, which are compared under the lock. So nothing is decided that wasn't shown, however
long it was looked at, and a file that changed meanwhile is shown again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from keepm.errors import ApprovalRequired, ChecksumMismatch, InvalidInput, KeepMError, WrongState
from keepm.index import catalog, versions
from keepm.index.rows import NoteRow
from keepm.markdown import documents
from keepm.markdown import memories as codec
from keepm.model import contracts, memory
from keepm.model import proposal as rules
from keepm.model.approval import Channel
from keepm.model.document import AnyDocument, Damaged, Document
from keepm.model.memory import ClaimEdit, Memory, Status
from keepm.model.proposal import Proposal, TargetAction
from keepm.model.visible import unseen
from keepm.operations import history, identifying, inbox, memories, promotion, provenance, reading
from keepm.operations.inbox import ProposalWritten, SuggestionEdit
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.promotion import Promoted, Target
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet, Replace
from keepm.tokens import WriteProof

_LISTED = 8  # so many sorts of unseen characters are named


class Warns(StrEnum):
    """What a reviewer should know of a document before deciding."""

    UNSEEN = "unseen"  # characters that nobody sees, or that move others
    FINDING = "finding"
    REFUSED = "refused"  # a rule that an approval would be refused for
    SLOT_HELD = "slot_held"
    TARGET_GONE = "target_gone"
    TARGET_NOT_ACTIVE = "target_not_active"


@dataclass(frozen=True, slots=True)
class Notice:
    """One warning: its sort, and its particulars."""

    sort: Warns
    says: str


@dataclass(frozen=True, slots=True)
class ProposalReview:
    """A proposal with the note it corrects, whole, as they were read for a decision."""

    document: Document[Proposal] | Document[Damaged]
    target: Document[Memory] | None
    diff: str  # of the target's file, when the proposal goes into it
    warnings: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class NoteReview:
    """A formal note that stands on an agent's word alone."""

    document: Document[Memory]
    warnings: tuple[Notice, ...]


def look(vault: Vault, identifier: str) -> ProposalReview:
    """Read a pending proposal and its target for a decision.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier.
        WrongState: it was decided already.
    """
    document = reading.current(vault, identifier, identifying.proposal_path)
    content = document.content
    if isinstance(content, Damaged):
        return ProposalReview(
            replace(document, content=content), None, "", tuple(_of_file(document))
        )
    proposal = identifying.as_proposal(document)
    rules.require_pending(proposal.content, to="decided")
    target, problem = _target(vault, proposal.content)
    warnings = [*_of_file(document), *_of_claim(vault, proposal.content)]
    if problem is not None:
        warnings.append(problem)
    diff = "" if target is None else _diff(proposal.content, target)
    return ProposalReview(proposal, target, diff, tuple(warnings))


def approve(vault: Vault, caller: Caller, review: ProposalReview) -> Promoted:
    """Let the proposal that was shown into memory, into its target if it has one.

    Raises:
        ChecksumMismatch: it or its target is no longer what was shown.
        MalformedDocument: it can't be read as a proposal.
        KeepMError: as `promotion.promote`.
    """
    proposal = identifying.as_proposal(review.document)
    note = review.target
    return promotion.promote(
        vault,
        caller,
        proposal.content.id,
        _proof(vault, proposal),
        target=None if note is None else Target(note.content.id, _proof(vault, note)),
    )


def reject(
    vault: Vault, caller: Caller, review: ProposalReview, *, reason: str = ""
) -> ProposalWritten:
    """File the proposal that was shown away as rejected; raises as `approve` and `inbox.reject`."""
    proposal = identifying.as_proposal(review.document)
    return inbox.reject(vault, caller, proposal.content.id, _proof(vault, proposal), reason=reason)


def edit(vault: Vault, caller: Caller, review: ProposalReview, data: bytes) -> ProposalWritten:
    """Change the proposal that was shown to what these bytes, an edited copy, say.

    Raises:
        MalformedDocument: they can't be read as a proposal.
        InvalidInput: they change nothing, or something that isn't for editing.
        ChecksumMismatch: the proposal is no longer what was shown.
        KeepMError: as `inbox.update`.
    """
    old = identifying.as_proposal(review.document).content
    new = identifying.as_proposal(documents.read(review.document.path, data)).content
    claim = replace(old.claim, **_changed(old.claim, new.claim))
    expected = replace(
        old, claim=claim, reason=new.reason, source_ref=new.source_ref, updated=new.updated
    )
    if new != expected:
        raise InvalidInput(
            "only the claim, its reason and its reference can be edited here",
            hint="Leave id, status, times, origin and target as they are.",
        )
    changes = _changed(old.claim, new.claim)
    if "verified_at" in changes:
        changes["verified_at"] = new.claim.verified_at or ""
    return inbox.update(
        vault,
        caller,
        old.id,
        SuggestionEdit(
            ClaimEdit(**changes),  # type: ignore[arg-type]  # the fields of a claim, by name
            reason=new.reason,
            source_ref=new.source_ref,
        ),
        _proof(vault, identifying.as_proposal(review.document)),
    )


def require_shown(document: AnyDocument, beginning: str) -> None:
    """Let a decision pass on a document whose checksum was named, by its beginning.

    Raises:
        ChecksumMismatch: it is another version now.
    """
    if not document.checksum.hex.startswith(beginning):
        raise ChecksumMismatch(
            "it is no longer the version that was named",
            hint="Look at it again, and name the checksum it has now.",
            details={"expected": beginning, "found": document.checksum.hex},
        )


# ---- notes that stand on an agent's word ---------------------------------------------------------


def relayed(vault: Vault) -> list[NoteRow]:
    """List the active notes that no person let in by an act of their own."""
    rows, _ = catalog.catalog(vault.database, vault.visibility)
    return [
        row for row in rows if versions.channel_of(vault.database, row.checksum) == Channel.RELAYED
    ]


def look_at_note(vault: Vault, identifier: str) -> NoteReview:
    """Read a note that stands on an agent's word.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier, MalformedDocument.
        WrongState: a person let it in already.
    """
    document = identifying.as_memory(reading.current(vault, identifier, identifying.note_path))
    _require_relayed(vault, document)
    return NoteReview(document, tuple(_of_file(document)))


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
    proof = _proof(vault, review.document)
    note_id = review.document.content.id

    def plan(desk: Desk) -> Plan:
        document = desk.memory(note_id, proof)
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
            (proof,),
        )

    return identifying.as_memory(mutate(vault, caller, plan).document(note_id))


def discard(vault: Vault, caller: Caller, review: NoteReview) -> memories.MemoryDeleted:
    """Move the note that was shown to the trash; raises as `memories.delete`."""
    note = review.document
    return memories.delete(vault, caller, note.content.id, _proof(vault, note))


# ---- parts ---------------------------------------------------------------------------------------


def _proof(vault: Vault, document: Document[Proposal] | Document[Memory]) -> WriteProof:
    """Return the proof of the complete read that a review is, good for the bytes it shows."""
    token = vault.tokens.issue(document.content.id, document.checksum)
    return WriteProof(token, document.checksum)


def _require_relayed(vault: Vault, document: Document[Memory]) -> None:
    found = provenance.channel(vault, document)
    if found is not Channel.RELAYED:
        raise WrongState(
            f"this note stands on '{found}', not on an agent's word",
            details={"id": document.content.id, "channel": str(found)},
        )


def _changed(old: object, new: object) -> dict[str, object]:
    return {
        each.name: getattr(new, each.name)
        for each in fields(old)  # type: ignore[arg-type]  # claims
        if getattr(new, each.name) != getattr(old, each.name)
    }


def _target(vault: Vault, proposal: Proposal) -> tuple[Document[Memory] | None, Notice | None]:
    if proposal.target_id is None:
        return None, None
    try:
        found = reading.current(vault, proposal.target_id, identifying.note_path)
        note = identifying.as_memory(found)
    except KeepMError as error:
        return None, Notice(Warns.TARGET_GONE, error.message)
    if note.content.status is not Status.ACTIVE:
        return note, Notice(Warns.TARGET_NOT_ACTIVE, str(note.content.status))
    return note, None


def _diff(proposal: Proposal, target: Document[Memory]) -> str:
    """Return what an approval changes in the target's file, times and channel apart."""
    old = target.data.decode("utf-8-sig", "replace")
    if proposal.target_action is TargetAction.SUPERSEDE:
        # The target stays as it is but for its status: what differs is the text that counts.
        return history.diff(target.content.claim.body, proposal.claim.body, target.path)
    try:
        merged = replace(
            target.content, claim=promotion.merged(target.content.claim, proposal.claim)
        )
        new = codec.patch(target, merged).decode("utf-8-sig", "replace")
    except KeepMError as error:
        return error.message
    return history.diff(old, new, target.path)


def _of_file(document: AnyDocument) -> Iterator[Notice]:
    found = unseen(document.data.decode("utf-8-sig", "replace"))
    if found:
        listed = [f"{each.name} x{each.count} ({each.line})" for each in found[:_LISTED]]
        more = f", +{len(found) - _LISTED}" if len(found) > _LISTED else ""
        yield Notice(Warns.UNSEEN, f"{', '.join(listed)}{more}")
    for finding in document.findings:
        where = f" ({finding.line})" if finding.line else ""
        yield Notice(Warns.FINDING, f"{finding.message}{where} [{finding.code}]")


def _of_claim(vault: Vault, proposal: Proposal) -> Iterator[Notice]:
    claim = proposal.claim
    found = list(memory.problems(claim, vault.policy, today=vault.today()))
    found += contracts.missing(
        vault.policy.kinds[claim.kind], claim.body, sources=len(claim.sources)
    )
    for problem in found:
        yield Notice(Warns.REFUSED, f"{problem.field}: {problem.message}")
    for row in catalog.find_slot(vault.database, claim.slot, claim.scope):
        if row.status is Status.ACTIVE and row.id != proposal.target_id:
            yield Notice(Warns.SLOT_HELD, row.name)
