"""The shapes that tools answer with, made from what operations return.

Fields that say nothing are `None` and are left out. Names and top levels are KeepM 3's where it
had them.
"""

from __future__ import annotations

from dataclasses import dataclass

from keepm.index.rows import ProposalRow
from keepm.model.document import Damaged, Document, Finding
from keepm.model.handoff import Handoff
from keepm.model.memory import Memory
from keepm.model.proposal import Proposal
from keepm.operations.answers import NOTICE
from keepm.operations.handoffs import HandoffReading, HandoffWritten
from keepm.operations.inbox import InboxItem, InboxPage, ProposalReading, ProposalWritten
from keepm.operations.memories import MemoryDeleted, MemoryReading, MemoryWritten
from keepm.operations.promotion import Promoted
from keepm.operations.pruning import Pruned, PrunePlan


@dataclass(frozen=True, slots=True)
class FindingView:
    code: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryView:
    id: str
    name: str
    scope: str
    path: str
    description: str | None = None
    kind: str | None = None
    language: str | None = None
    status: str | None = None
    tags: list[str] | None = None
    pinned: bool | None = None
    aliases: list[str] | None = None
    sources: list[str] | None = None
    created: str | None = None
    updated: str | None = None
    verified_at: str | None = None
    supersedes: list[str] | None = None
    approved_via: str | None = None
    source_state: str | None = None
    findings: list[FindingView] | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryRead:
    notice: str
    memory: MemoryView
    checksum: str
    truncated: bool
    total_chars: int
    offset: int | None = None
    update_token: str | None = None
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    memory: MemoryView
    checksum: str
    update_token: str
    index_state: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryGone:
    deleted: bool
    id: str
    name: str
    trash_path: str
    linked_from: list[str] | None = None


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
    findings: list[FindingView] | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalRead:
    notice: str
    proposal: ProposalView
    checksum: str
    truncated: bool
    total_chars: int
    update_token: str | None = None
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalMade:
    created: bool
    proposal: ProposalView
    checksum: str
    update_token: str
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalChanged:
    proposal: ProposalView
    checksum: str
    update_token: str | None = None


@dataclass(frozen=True, slots=True)
class PromotedView:
    memory: MemoryView
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


@dataclass(frozen=True, slots=True)
class HandoffView:
    id: str
    title: str
    path: str
    status: str | None = None
    goal: str | None = None
    current_state: str | None = None
    completed: list[str] | None = None
    unresolved: list[str] | None = None
    next_steps: list[str] | None = None
    verification: list[str] | None = None
    language: str | None = None
    created: str | None = None
    updated: str | None = None
    source_client: str | None = None
    findings: list[FindingView] | None = None
    text: str | None = None  # raw, when the file can't be read as a handoff


@dataclass(frozen=True, slots=True)
class HandoffAnswer:
    handoff: HandoffView
    checksum: str
    notice: str | None = None
    update_token: str | None = None
    next_step: str | None = None


_TRUNCATED = (
    "Only a complete read gives a token: read again with max_chars of at least total_chars."
)
_RAW = "This file's metadata can't be read; it is shown raw and can be mended only in an editor."


def memory_read(reading: MemoryReading) -> MemoryRead:
    """Show one read of a note."""
    document, part = reading.document, reading.part
    content = document.content
    if isinstance(content, Damaged):
        view = MemoryView(
            id=content.id,
            name=content.name,
            scope=content.scope.label,
            path=document.path,
            approved_via=reading.approved_via,
            findings=_findings(document.findings),
            body=part.text,
        )
        step: str | None = _RAW
    else:
        view = memory_view(
            _note(document), body=part.text, state=reading.source_state, via=reading.approved_via
        )
        step = None if part.complete else _TRUNCATED
    return MemoryRead(
        notice=NOTICE,
        memory=view,
        checksum=document.checksum.hex,
        truncated=not part.complete,
        total_chars=part.total,
        offset=part.offset or None,
        update_token=reading.token,
        next_step=step,
    )


def memory_view(
    document: Document[Memory],
    *,
    body: str | None = None,
    state: str | None = None,
    via: str | None = None,
) -> MemoryView:
    """Show a note's fields; the body only when the caller doesn't have it already."""
    note, claim = document.content, document.content.claim
    return MemoryView(
        id=note.id,
        name=claim.name,
        scope=claim.scope.label,
        path=document.path,
        description=claim.description or None,
        kind=str(claim.kind),
        language=str(claim.language),
        status=str(note.status),
        tags=list(claim.tags) or None,
        pinned=claim.pinned or None,
        aliases=list(claim.aliases) or None,
        sources=list(claim.sources) or None,
        created=note.created or None,
        updated=note.updated or None,
        verified_at=claim.verified_at,
        supersedes=list(note.supersedes) or None,
        approved_via=via or (str(note.approved_via) if note.approved_via else None),
        source_state=None if state is None else str(state),
        findings=_findings(document.findings),
        body=body,
    )


def memory_changed(written: MemoryWritten) -> MemoryChanged:
    """Show what create and update left."""
    return MemoryChanged(
        memory=memory_view(written.document),
        checksum=written.document.checksum.hex,
        update_token=written.token,
        index_state=None if written.index_current else "catching_up",
    )


def memory_gone(deleted: MemoryDeleted) -> MemoryGone:
    """Show what went to the trash."""
    return MemoryGone(
        deleted=True,
        id=deleted.id,
        name=deleted.name,
        trash_path=deleted.trash_path,
        linked_from=list(deleted.linked_from) or None,
    )


def proposal_read(reading: ProposalReading) -> ProposalRead:
    """Show one read of a proposal."""
    document, part = reading.document, reading.part
    content = document.content
    if isinstance(content, Damaged):
        view = ProposalView(
            id=content.id,
            name=content.name,
            scope=content.scope.label,
            path=document.path,
            findings=_findings(document.findings),
            body=part.text,
        )
        step: str | None = _RAW
    else:
        view = proposal_view(_proposal(document), body=part.text)
        step = None if part.complete else _TRUNCATED
    return ProposalRead(
        notice=NOTICE,
        proposal=view,
        checksum=document.checksum.hex,
        truncated=not part.complete,
        total_chars=part.total,
        update_token=reading.token,
        next_step=step,
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
        findings=_findings(document.findings),
        body=body,
    )


def proposal_made(written: ProposalWritten) -> ProposalMade:
    """Show what propose did."""
    return ProposalMade(
        created=written.created,
        proposal=proposal_view(written.document),
        checksum=written.document.checksum.hex,
        update_token=written.token,
        next_step="Show it to the user as Proposal P1 after the main answer."
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


def promoted(done: Promoted) -> PromotedView:
    """Show what a promotion wrote."""
    return PromotedView(
        memory=memory_view(done.memory),
        checksum=done.memory.checksum.hex,
        update_token=done.token,
        proposal=proposal_view(done.proposal),
    )


def inbox_list(page: InboxPage, *, offset: int) -> InboxList:
    """Show a page of the Inbox."""
    items = [_inbox_item(item) for item in page.items]
    return InboxList(items=items, count=len(items), total=page.total, offset=offset)


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


def handoff_read(reading: HandoffReading) -> HandoffAnswer:
    """Show one read of a handoff."""
    document = reading.document
    content = document.content
    if isinstance(content, Damaged):
        view = HandoffView(
            id=content.id,
            title=content.name,
            path=document.path,
            findings=_findings(document.findings),
            text=content.text,
        )
        return HandoffAnswer(view, document.checksum.hex, notice=NOTICE, next_step=_RAW)
    return HandoffAnswer(
        handoff_view(_handoff(document)),
        document.checksum.hex,
        notice=NOTICE,
        update_token=reading.token,
    )


def handoff_changed(written: HandoffWritten, *, active: bool) -> HandoffAnswer:
    """Show what a change of a handoff left."""
    handoff = written.document.content
    view = HandoffView(
        id=handoff.id,
        title=handoff.title,
        path=written.document.path,
        status=str(handoff.status),
        updated=handoff.updated,
    )
    return HandoffAnswer(
        view, written.document.checksum.hex, update_token=written.token if active else None
    )


def handoff_view(document: Document[Handoff]) -> HandoffView:
    """Show a handoff's fields."""
    handoff = document.content
    return HandoffView(
        id=handoff.id,
        title=handoff.title,
        path=document.path,
        status=str(handoff.status),
        goal=handoff.goal,
        current_state=handoff.current_state,
        completed=list(handoff.completed) or None,
        unresolved=list(handoff.unresolved) or None,
        next_steps=list(handoff.next_steps) or None,
        verification=list(handoff.verification) or None,
        language=str(handoff.language),
        created=handoff.created or None,
        updated=handoff.updated or None,
        source_client=handoff.source_client or None,
        findings=_findings(document.findings),
    )


def _findings(found: tuple[Finding, ...]) -> list[FindingView] | None:
    return [FindingView(each.code, each.message, each.line) for each in found] or None


def _note(document: Document[Memory] | Document[Damaged]) -> Document[Memory]:
    assert isinstance(document.content, Memory)
    return document


def _proposal(document: Document[Proposal] | Document[Damaged]) -> Document[Proposal]:
    assert isinstance(document.content, Proposal)
    return document


def _handoff(document: Document[Handoff] | Document[Damaged]) -> Document[Handoff]:
    assert isinstance(document.content, Handoff)
    return document
