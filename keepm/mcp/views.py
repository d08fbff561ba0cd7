"""The shapes that tools on notes answer with, made from what operations return.

Fields that say nothing are `None` and are left out. Names and top levels are KeepM 3's where it
had them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from keepm.model.document import Damaged, Document, Finding
from keepm.model.memory import Memory
from keepm.operations.answers import NOTICE, Corrections
from keepm.operations.freshness import Freshness
from keepm.operations.memories import MemoryDeleted, MemoryReading, MemoryWritten


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
    superseded_by: list[str] | None = None
    resolution_reason: str | None = None
    approved_via: str | None = None
    source_state: str | None = None
    findings: list[FindingView] | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class VersionView:
    digest: str
    operation: str
    time: str | None = None
    channel: str | None = None
    client: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryRead:
    notice: str
    memory: MemoryView
    checksum: str
    truncated: bool
    total_chars: int
    offset: int | None = None
    update_token: str | None = None
    pending_corrections: Corrections | None = None
    version: VersionView | None = None  # said of an older version
    versions: list[VersionView] | None = None  # newest first, the present one included
    total_versions: int | None = None
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


TRUNCATED = "Only a complete read gives a token: read again with max_chars of at least total_chars."
UNCHANGEABLE = "This file can be read but not changed by KeepM; the findings say what to mend."
RAW = "This file's metadata can't be read; it is shown raw and can be mended only in an editor."


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
            findings=findings(document.findings),
            body=part.text,
        )
        step: str | None = RAW
    else:
        view = memory_view(
            _note(document), body=part.text, state=reading.source_state, via=reading.approved_via
        )
        view = dataclasses.replace(view, superseded_by=list(reading.superseded_by) or None)
        step = None if reading.token else UNCHANGEABLE if part.complete else TRUNCATED
    return MemoryRead(
        notice=NOTICE,
        memory=view,
        checksum=document.checksum.hex,
        truncated=not part.complete,
        total_chars=part.total,
        offset=part.offset or None,
        update_token=reading.token,
        pending_corrections=reading.pending_corrections,
        next_step=step,
    )


def memory_view(
    document: Document[Memory],
    *,
    body: str | None = None,
    state: Freshness | None = None,
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
        resolution_reason=note.resolution_reason,
        approved_via=via or (str(note.approved_via) if note.approved_via else None),
        source_state=None if state is None else str(state),
        findings=findings(document.findings),
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


def findings(found: tuple[Finding, ...]) -> list[FindingView] | None:
    """Show what is wrong with a file, or nothing."""
    return [FindingView(each.code, each.message, each.line) for each in found] or None


def _note(document: Document[Memory] | Document[Damaged]) -> Document[Memory]:
    assert isinstance(document.content, Memory)
    return document
