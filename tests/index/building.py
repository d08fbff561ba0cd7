"""Documents for the index, written down in one line each."""

from __future__ import annotations

import hashlib

from keepm.index import entries
from keepm.index.writing import Entry, FileRow
from keepm.model import layout, links
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument, Damaged, Document, Finding, Standing
from keepm.model.handoff import Handoff, HandoffStatus
from keepm.model.memory import GLOBAL, Claim, Kind, Language, Memory, Scope, Status
from keepm.model.proposal import Proposal, ProposalStatus

WIDGETS = Scope("widgets")
GADGETS = Scope("gadgets")


def note(
    name: str,
    body: str = "Some text.",
    *,
    scope: Scope = GLOBAL,
    id: str = "",
    path: str = "",
    description: str = "",
    kind: Kind = Kind.REFERENCE,
    language: Language = Language.EN,
    tags: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    sources: tuple[str, ...] = (),
    pinned: bool = False,
    verified_at: str | None = None,
    status: Status = Status.ACTIVE,
    supersedes: tuple[str, ...] = (),
    findings: tuple[Finding, ...] = (),
) -> Entry:
    claim = Claim(
        name=name,
        description=description,
        kind=kind,
        body=body,
        scope=scope,
        language=language,
        tags=tags,
        pinned=pinned,
        aliases=aliases,
        sources=sources,
        verified_at=verified_at,
    )
    at = path or layout.memory_path(scope, name)
    content = Memory(
        id=id or f"id-{hashlib.sha256(at.encode()).hexdigest()[:12]}",
        claim=claim,
        status=status,
        created="2026-01-01",
        updated="2026-01-02",
        supersedes=supersedes,
    )
    data = repr(content).encode()
    document = Document(at, Checksum.of(data), data, content, findings)
    return entries.entry(document, stamp(document), tuple(links.parse(body)))


def damaged(
    name: str, text: str, *, scope: Scope = GLOBAL, standing: Standing = Standing.DAMAGED
) -> Entry:
    path = layout.memory_path(scope, name)
    content = Damaged(f"id-{name}", name, scope, text, standing)
    data = text.encode("utf-8", "replace")
    document = Document(path, Checksum.of(data), data, content)
    return entries.entry(document, stamp(document), tuple(links.parse(text)))


def proposal(
    name: str,
    body: str = "A guess.",
    *,
    scope: Scope = GLOBAL,
    kind: Kind = Kind.REFERENCE,
    status: ProposalStatus = ProposalStatus.PENDING,
    created: str = "2026-01-01T00:00:00Z",
) -> Entry:
    identity = f"pr-{name}"
    content = Proposal(
        id=identity,
        claim=Claim(name, f"About {name}.", kind, body, scope=scope),
        reason="It came up twice.",
        status=status,
        created=created,
        updated=created,
    )
    path = layout.inbox_path(layout.Shelf.PROPOSAL, scope, name, identity)
    data = repr(content).encode()
    document = Document(path, Checksum.of(data), data, content)
    return entries.entry(document, stamp(document))


def handoff(
    title: str,
    *,
    scope: Scope = WIDGETS,
    updated: str = "2026-01-01T00:00:00Z",
    status: HandoffStatus = HandoffStatus.ACTIVE,
    goal: str = "Finish.",
) -> Entry:
    content = Handoff(
        id=f"ho-{title}",
        project_id=scope.key,
        title=title,
        goal=goal,
        current_state="Half done.",
        status=status,
        created=updated,
        updated=updated,
    )
    path = layout.inbox_path(layout.Shelf.HANDOFF, scope, title, content.id)
    data = repr(content).encode()
    document = Document(path, Checksum.of(data), data, content)
    return entries.entry(document, stamp(document))


def out_of_sight(
    name: str, text: str, *, shadowed: str, language: Language = Language.EN
) -> list[Entry]:
    """Return entries with this text that a search in `widgets` may not show, each for a reason.

    `shadowed` is the name of a note that this project has.
    """
    return [
        note(name, text, scope=GADGETS, language=language),
        note(name, text, scope=WIDGETS, status=Status.ARCHIVED, language=language),
        note(name, text, scope=WIDGETS, status=Status.SUPERSEDED, language=language),
        note(shadowed, text, language=language),
        damaged("Memory/projects/widgets/x.md", text, standing=Standing.WITHHELD),
        proposal(name),
        handoff(name),
    ]


def stamp(document: AnyDocument) -> FileRow:
    return FileRow(document.path, len(document.data), 1, document.checksum.hex, 2)


def skipped(path: str, reason: str = "too_large") -> FileRow:
    return FileRow(path, 9, 1, "", 2, reason)
