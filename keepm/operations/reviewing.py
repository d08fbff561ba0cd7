"""What the owner looks at before a decision, and the decision on exactly those bytes.

A review is read whole, and stands for the versions it shows: each decision carries their
checksums, which are compared under the lock. So nothing is decided that wasn't shown, however
long it was looked at, and a file that changed meanwhile is shown again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from keepm.errors import (
    ChecksumMismatch,
    InvalidInput,
    KeepMError,
    Problem,
    refuse_if_any,
)
from keepm.index import catalog
from keepm.markdown import documents
from keepm.markdown import memories as codec
from keepm.model import contracts, memory, screening
from keepm.model import proposal as rules
from keepm.model.document import AnyDocument, Damaged, Document
from keepm.model.memory import Claim, ClaimEdit, Memory, Status
from keepm.model.proposal import Proposal, TargetAction
from keepm.model.visible import unseen
from keepm.operations import (
    discarding,
    history,
    identifying,
    inbox,
    promotion,
    reading,
    sameness,
    verdicts,
)
from keepm.operations.discarding import Discarded
from keepm.operations.inbox import ProposalWritten, SuggestionEdit
from keepm.operations.promotion import Promoted, Target
from keepm.operations.sameness import Surroundings
from keepm.operations.vault import Caller, Vault
from keepm.tokens import WriteProof

_LISTED = 8  # so many sorts of unseen characters are named


class Warns(StrEnum):
    """What a reviewer should know of a document before deciding."""

    UNSEEN = "unseen"  # characters that nobody sees, or that move others
    FINDING = "finding"
    REFUSED = "refused"  # a rule that an approval would be refused for
    ADVICE = "advice"  # it speaks to an assistant as if it could give orders
    REJECTED = "rejected_before"  # by a verdict that stands
    SLOT_HELD = "slot_held"
    SIMILAR = "similar"  # to a note, or to another proposal
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


def look(vault: Vault, identifier: str) -> ProposalReview:
    """Read a pending proposal and its target for a decision.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier.
        WrongState: it was decided already.
    """
    document = reading.current(vault, identifier, identifying.proposal_path)
    if isinstance(document.content, Damaged):
        return ProposalReview(document, None, "", tuple(of_file(vault, document)))
    proposal = identifying.as_proposal(document)
    rules.require_pending(proposal.content, to="decided")
    target, problem = _target(vault, proposal.content)
    warnings = [*of_file(vault, document), *_of_claim(vault, proposal.content)]
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
        proposal.path,
        proof(vault, proposal),
        target=None if note is None else Target(note.content.id, proof(vault, note)),
    )


def reject(
    vault: Vault,
    caller: Caller,
    review: ProposalReview,
    *,
    reason: str = "",
    remember: bool = True,
) -> ProposalWritten | Discarded:
    """Take what was shown out of the Inbox, to the trash if it can't be filed away as rejected.

    With `remember` it is rejected for good.

    Raises:
        ChecksumMismatch: it is no longer what was shown.
        KeepMError: as `inbox.reject`.
    """
    shown = review.document
    return discarding.reject(
        vault, caller, shown.path, proof(vault, shown), reason=reason, remember=remember
    )


def edit(vault: Vault, caller: Caller, review: ProposalReview, data: bytes) -> ProposalWritten:
    """Change the proposal that was shown to what these bytes, an edited copy, say.

    Raises:
        MalformedDocument: they can't be read as a proposal.
        InvalidInput: they change nothing, or something that isn't for editing.
        ChecksumMismatch: the proposal is no longer what was shown.
        KeepMError: as `inbox.update`.
    """
    shown = identifying.as_proposal(review.document)
    edited = identifying.as_proposal(documents.read(shown.path, data))
    _refuse_findings(shown, edited)
    old, new = shown.content, edited.content
    expected = replace(
        old,
        claim=new.claim,
        reason=new.reason,
        source_ref=new.source_ref,
        updated=new.updated,
    )
    if new != expected:
        raise InvalidInput(
            "only the claim, its reason and its reference can be edited here",
            hint="Leave id, status, times, origin and target as they are.",
        )
    change = SuggestionEdit(_edit(old.claim, new.claim), new.reason, new.source_ref)
    return inbox.update(vault, caller, shown.path, change, proof(vault, shown))


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


def proof(
    vault: Vault, document: Document[Proposal] | Document[Memory] | Document[Damaged]
) -> WriteProof:
    """Return the proof of the complete read that a review is, good for the bytes it shows."""
    token = vault.tokens.issue(document.content.id, document.checksum)
    return WriteProof(token, document.checksum)


def advice(vault: Vault, document: AnyDocument) -> list[str]:
    """Return where a file speaks to an assistant as if it could give orders: what, and the line."""
    text = document.data.decode("utf-8-sig", "replace")
    marks = screening.advice(text, rules=vault.policy.screening, language=vault.settings.language)
    return [f"{mark.says} ({mark.line})" for mark in marks]


def of_file(vault: Vault, document: AnyDocument) -> Iterator[Notice]:
    """Yield what speaks against a file, whatever it is."""
    text = document.data.decode("utf-8-sig", "replace")
    found = unseen(text)
    if found:
        listed = [f"{each.name} x{each.count} ({each.line})" for each in found[:_LISTED]]
        more = f", +{len(found) - _LISTED}" if len(found) > _LISTED else ""
        yield Notice(Warns.UNSEEN, f"{', '.join(listed)}{more}")
    for says in advice(vault, document):
        yield Notice(Warns.ADVICE, says)
    for finding in document.findings:
        where = f" ({finding.line})" if finding.line else ""
        yield Notice(Warns.FINDING, f"{finding.message}{where} [{finding.code}]")


# ---- parts ---------------------------------------------------------------------------------------


def _refuse_findings(shown: Document[Proposal], edited: Document[Proposal]) -> None:
    """Refuse what the edit broke: it would be read as something else than what was typed."""
    known = {finding.code for finding in shown.findings}
    refuse_if_any(
        [
            Problem(f"line {finding.line}" if finding.line else "file", finding.message)
            for finding in edited.findings
            if finding.code not in known
        ]
    )


def _edit(old: Claim, new: Claim) -> ClaimEdit:
    """Return the change from one claim to the other."""
    changes: dict[str, Any] = {
        each.name: getattr(new, each.name)
        for each in fields(Claim)
        if getattr(new, each.name) != getattr(old, each.name)
    }
    if "verified_at" in changes:
        changes["verified_at"] = new.verified_at or ""
    return ClaimEdit(**changes)


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


def _of_claim(vault: Vault, proposal: Proposal) -> Iterator[Notice]:
    claim = proposal.claim
    found = list(memory.problems(claim, vault.policy, today=vault.today()))
    found += contracts.missing(
        vault.policy.kinds[claim.kind], claim.body, sources=len(claim.sources)
    )
    for problem in found:
        yield Notice(Warns.REFUSED, f"{problem.field}: {problem.message}")
    target = verdicts.target_claim(vault, proposal.target_id)
    if verdict := verdicts.rejection_of(vault, claim, was=[target] if target else []):
        yield Notice(Warns.REJECTED, f"{verdict.time} ({verdict.transaction_id[:8]})")
    held = [
        row
        for row in catalog.find_slot(vault.database, claim.slot, claim.scope)
        if row.status is Status.ACTIVE and row.id != proposal.target_id
    ]
    for row in held:
        yield Notice(Warns.SLOT_HELD, row.name)
    around = Surroundings(
        but=[each for each in (proposal.id, proposal.target_id, *(r.id for r in held)) if each],
        inbox=True,
    )
    for alike in sameness.find(vault, claim, around):
        yield Notice(Warns.SIMILAR, f"{alike.name} ({alike.sameness}, {alike.score:g})")
