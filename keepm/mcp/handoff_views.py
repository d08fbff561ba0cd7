"""The shapes that tools on handoffs answer with."""

from __future__ import annotations

from dataclasses import dataclass

from keepm.mcp import views
from keepm.model.document import Damaged, Document
from keepm.model.handoff import Handoff
from keepm.operations.answers import NOTICE
from keepm.operations.handoffs import HandoffReading, HandoffWritten


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
    findings: list[views.FindingView] | None = None
    text: str | None = None  # raw, when the file can't be read as a handoff


@dataclass(frozen=True, slots=True)
class HandoffAnswer:
    handoff: HandoffView
    checksum: str
    notice: str | None = None
    truncated: bool | None = None  # a handoff is always read whole
    total_chars: int | None = None
    update_token: str | None = None
    next_step: str | None = None


def handoff_read(reading: HandoffReading) -> HandoffAnswer:
    """Show one read of a handoff."""
    document = reading.document
    content = document.content
    if isinstance(content, Damaged):
        view = HandoffView(
            id=content.id,
            title=content.name,
            path=document.path,
            findings=views.findings(document.findings),
            text=content.text,
        )
        return HandoffAnswer(view, document.checksum.hex, notice=NOTICE, next_step=views.RAW)
    return HandoffAnswer(
        handoff_view(_handoff(document)),
        document.checksum.hex,
        notice=NOTICE,
        truncated=False,
        total_chars=len(document.data.decode("utf-8")),
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
        findings=views.findings(document.findings),
    )


def _handoff(document: Document[Handoff] | Document[Damaged]) -> Document[Handoff]:
    assert isinstance(document.content, Handoff)
    return document
