"""The shapes that tools on the Inbox answer with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from keepm.index.rows import ProposalRow
from keepm.mcp import views
from keepm.model.document import Damaged, Document
from keepm.model.proposal import Proposal
from keepm.operations import withheld
from keepm.operations.answers import NOTICE
from keepm.operations.discarding import Discarded
from keepm.operations.inbox import ProposalReading, ProposalWritten
from keepm.operations.promotion import Promoted
from keepm.operations.pruning import Pruned, PrunePlan
from keepm.operations.waiting import InboxItem, InboxPage

_RAW = (
    "This file's metadata can't be read; it is shown raw. The user can mend it in an editor; "
    "memory_inbox_reject moves it to the trash."
)

_ADVICE = "speaks to an assistant as if it could give orders: {}"


@dataclass(frozen=True, slots=True)
class ProposalView:
    id: str
    name: str
    scope: str
    path: str
    status: str | None = None
    description: str | None = None
    kind: str | None = None
    language: str | None = None
    tags: list[str] | None = None
    pinned: bool | None = None
    aliases: list[str] | None = None
    sources: list[str] | None = None
    verified_at: str | None = None
    created: str | None = None
    updated: str | None = None
    proposal_reason: str | None = None
    source_client: str | None = None
    source_ref: str | None = None
    target_id: str | None = None
    target_action: str | None = None
    promoted_memory_id: str | None = None
    resolved_at: str | None = None
    rejection_reason: str | None = None
    findings: list[views.FindingView] | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalRead:
    notice: str
    proposal: ProposalView
    checksum: str
    truncated: bool
    total_chars: int
    update_token: str | None = None
    warnings: list[str] | None = None
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class SimilarView:
    id: str
    name: str
    score: float
    sameness: str
    is_proposal: bool | None = None


@dataclass(frozen=True, slots=True)
class ProposalMade:
    created: bool
    proposal: ProposalView
    checksum: str
    update_token: str
    similar: list[SimilarView]
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalChanged:
    proposal: ProposalView
    checksum: str
    update_token: str | None = None
    remembered: bool | None = None  # rejected for good
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class PromotedView:
    memory: views.MemoryView
    checksum: str
    update_token: str
    proposal: ProposalView


@dataclass(frozen=True, slots=True)
class InboxItemView:
    id: str
    name: str
    kind: str
    scope: str
    status: str
    description: str
    created: str
    overdue: bool | None = None
    target_id: str | None = None


@dataclass(frozen=True, slots=True)
class InboxList:
    items: list[InboxItemView]
    count: int
    total: int
    offset: int
    index_state: str
    reason: str | None = None  # of an empty list
    withheld: int | None = None


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    id: str
    name: str
    status: str
    resolved_at: str | None


@dataclass(frozen=True, slots=True)
class PruneAnswer:
    candidates: list[PruneCandidate] | None = None
    prune_token: str | None = None
    moved: list[PruneCandidate] | None = None
    next_step: str | None = None


def proposal_read(reading: ProposalReading, advice: Sequence[str] = ()) -> ProposalRead:
    """Show one read of a proposal, with what in it speaks to an assistant."""
    document, part = reading.document, reading.part
    content = document.content
    if isinstance(content, Damaged):
        view = replace(_raw(document), body=part.text)
        step: str | None = _RAW if part.complete else views.TRUNCATED
    else:
        view = proposal_view(_proposal(document), body=part.text)
        step = None if part.complete else views.TRUNCATED
    return ProposalRead(
        notice=NOTICE,
        proposal=view,
        checksum=document.checksum.hex,
        truncated=not part.complete,
        total_chars=part.total,
        update_token=reading.token,
        warnings=[_ADVICE.format(each) for each in advice] or None,
        next_step=step,
    )


def _raw(document: Document[Proposal] | Document[Damaged]) -> ProposalView:
    """Show what can't be read as a proposal, without its text."""
    content = document.content
    assert isinstance(content, Damaged)
    return ProposalView(
        id=content.id,
        name=content.name,
        scope=content.scope.label,
        path=document.path,
        findings=views.findings(document.findings),
    )


def proposal_view(document: Document[Proposal], *, body: str | None = None) -> ProposalView:
    """Show a proposal's fields."""
    proposal, claim = document.content, document.content.claim
    return ProposalView(
        id=proposal.id,
        name=claim.name,
        scope=claim.scope.label,
        path=document.path,
        status=str(proposal.status),
        description=claim.description or None,
        kind=str(claim.kind),
        language=str(claim.language),
        tags=list(claim.tags) or None,
        pinned=claim.pinned or None,
        aliases=list(claim.aliases) or None,
        sources=list(claim.sources) or None,
        verified_at=claim.verified_at,
        created=proposal.created or None,
        updated=proposal.updated or None,
        proposal_reason=proposal.reason or None,
        source_client=proposal.source_client or None,
        source_ref=proposal.source_ref or None,
        target_id=proposal.target_id,
        target_action=str(proposal.target_action) if proposal.target_action else None,
        promoted_memory_id=proposal.promoted_memory_id,
        resolved_at=proposal.resolved_at,
        rejection_reason=proposal.rejection_reason,
        findings=views.findings(document.findings),
        body=body,
    )


def proposal_made(written: ProposalWritten) -> ProposalMade:
    """Show what propose did."""
    return ProposalMade(
        created=written.created,
        proposal=proposal_view(written.document),
        checksum=written.document.checksum.hex,
        update_token=written.token,
        similar=[
            SimilarView(a.id, a.name, a.score, str(a.sameness), a.is_proposal or None)
            for a in written.similar
        ],
        next_step="Show it to the user after the main answer, under a label of its own"
        " (Proposal P1, P2, P3)."
        if written.created
        else "The very same candidate is pending already; nothing was written.",
    )


def proposal_changed(written: ProposalWritten, *, pending: bool) -> ProposalChanged:
    """Show what inbox_update and inbox_reject left."""
    return ProposalChanged(
        proposal=proposal_view(written.document),
        checksum=written.document.checksum.hex,
        update_token=written.token if pending else None,
    )


def rejected(done: ProposalWritten | Discarded) -> ProposalChanged:
    """Show what inbox_reject left, in the archive or in the trash."""
    if isinstance(done, ProposalWritten):
        return replace(proposal_changed(done, pending=False), remembered=done.remembered)
    document, content = done.document, done.document.content
    damaged = isinstance(content, Damaged)
    view = _raw(document) if damaged else proposal_view(_proposal(document))
    return ProposalChanged(
        proposal=replace(view, path=done.trash_path, status=None),
        checksum=document.checksum.hex,
        next_step="It couldn't be filed away as rejected, so it is in the trash; the user brings "
        "it back with `keepm restore`.",
    )


def promoted(done: Promoted) -> PromotedView:
    """Show what a promotion wrote."""
    return PromotedView(
        memory=views.memory_view(done.memory),
        checksum=done.memory.checksum.hex,
        update_token=done.token,
        proposal=proposal_view(done.proposal),
    )


def inbox_list(page: InboxPage, *, offset: int) -> InboxList:
    """Show a page of the Inbox."""
    items = [_inbox_item(item) for item in page.items]
    return InboxList(
        items=items,
        count=len(items),
        total=page.total,
        offset=offset,
        index_state=page.index_state,
        reason=withheld.REASON if page.withheld and not page.total else None,
        withheld=page.withheld or None,
    )


def _inbox_item(item: InboxItem) -> InboxItemView:
    row = item.row
    return InboxItemView(
        id=row.id,
        name=row.name,
        kind=str(row.kind),
        scope=row.scope.label,
        status=str(row.status),
        description=row.description,
        created=row.created,
        overdue=item.overdue or None,
        target_id=row.target_id,
    )


def prune_preview(plan: PrunePlan) -> PruneAnswer:
    """Show what a prune would move."""
    return PruneAnswer(
        candidates=[_candidate(row) for row in plan.candidates],
        prune_token=plan.token if plan.candidates else None,
        next_step="Show the list; after the user's word call again with dry_run=false, "
        "confirm=true and prune_token."
        if plan.candidates
        else "There is nothing to prune.",
    )


def pruned(done: Pruned) -> PruneAnswer:
    """Show what a prune moved to the trash."""
    return PruneAnswer(moved=[_candidate(row) for row in done.moved])


def _candidate(row: ProposalRow) -> PruneCandidate:
    return PruneCandidate(row.id, row.name, str(row.status), row.resolved_at)


def _proposal(document: Document[Proposal] | Document[Damaged]) -> Document[Proposal]:
    assert isinstance(document.content, Proposal)
    return document
