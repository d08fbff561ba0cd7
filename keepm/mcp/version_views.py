"""What memory_read answers about a note's versions."""

from __future__ import annotations

from keepm.mcp.views import MemoryRead, MemoryView, VersionView, findings, memory_view
from keepm.model.document import AnyDocument, Damaged, Document
from keepm.model.memory import Memory
from keepm.operations import reading
from keepm.operations.answers import NOTICE
from keepm.operations.history import History, OldVersion, Version

_AT_ONCE = 50


def listed(known: History, *, offset: int) -> MemoryRead:
    """Show which versions a note has, newest first."""
    document = known.document
    page = known.versions[offset : offset + _AT_ONCE]
    more = offset + len(page) < len(known.versions)
    return MemoryRead(
        notice=NOTICE,
        memory=MemoryView(
            id=document.content.id,
            name=_name(document),
            scope=_scope(document),
            path=document.path,
        ),
        checksum=document.checksum.hex,
        truncated=more,
        total_chars=len(_body(document)),
        offset=offset or None,
        versions=[_version(each) for each in page],
        total_versions=len(known.versions),
        next_step="Read one with version=DIGEST (8 digits or more)."
        + (" Older ones: raise offset." if more else ""),
    )


def read(old: OldVersion, *, max_chars: int, offset: int) -> MemoryRead:
    """Show one version; it entitles to no change."""
    document = old.document
    part = reading.part(_body(document), max_chars=max_chars, offset=offset)
    via = old.version.channel
    if isinstance(document.content, Memory):
        view = memory_view(_note(document), body=part.text, via=via)
    else:
        view = MemoryView(
            id=document.content.id,
            name=_name(document),
            scope=_scope(document),
            path=document.path,
            approved_via=via,
            findings=findings(document.findings),
            body=part.text,
        )
    return MemoryRead(
        notice=NOTICE,
        memory=view,
        checksum=document.checksum.hex,
        truncated=not part.complete,
        total_chars=part.total,
        offset=part.offset or None,
        version=_version(old.version),
        next_step="To change the note, read it without version."
        if old.current
        else "This is an older version, not what the note says now; it gives no update_token.",
    )


def _version(each: Version) -> VersionView:
    return VersionView(each.digest, each.operation, each.time, each.channel, each.client or None)


def _body(document: AnyDocument) -> str:
    content = document.content
    if isinstance(content, Memory):
        return content.claim.body
    return content.text if isinstance(content, Damaged) else ""


def _name(document: AnyDocument) -> str:
    content = document.content
    if isinstance(content, Memory):
        return content.claim.name
    return content.name if isinstance(content, Damaged) else ""


def _scope(document: AnyDocument) -> str:
    content = document.content
    if isinstance(content, Memory):
        return content.claim.scope.label
    return content.scope.label if isinstance(content, Damaged) else "project"


def _note(document: AnyDocument) -> Document[Memory]:
    assert isinstance(document.content, Memory)
    return document
