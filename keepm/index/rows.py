"""Rows of the index as values."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from keepm.index.visibility import NOT_SHADOWED as NOT_SHADOWED
from keepm.index.visibility import Parameters as Parameters
from keepm.index.visibility import one_of as one_of
from keepm.index.visibility import scopes as scopes
from keepm.index.visibility import shadowed as shadowed
from keepm.index.visibility import visible as visible
from keepm.model.document import Standing
from keepm.model.handoff import HandoffStatus
from keepm.model.memory import Kind, Language, Scope, Status
from keepm.model.proposal import ProposalStatus


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as the index knows it. `body` is empty where a brief row was asked for."""

    id: str
    path: str
    name: str
    description: str
    kind: Kind | None  # None: its metadata can't be read
    scope: Scope
    language: Language | None
    status: Status
    pinned: bool
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    sources: tuple[str, ...]
    verified_at: str | None
    created: str
    updated: str
    supersedes: tuple[str, ...]
    source_digests: tuple[tuple[str, str], ...]
    checksum: str
    mtime_ns: int
    size: int
    standing: Standing
    withheld_by: str = ""  # why it may not be read at all; only who looks at all notes meets it
    body: str = ""


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """A proposal as the Inbox lists it."""

    id: str
    path: str
    name: str
    description: str
    kind: Kind
    scope: Scope
    status: ProposalStatus
    created: str
    updated: str
    reason: str
    source_client: str
    target_id: str | None
    checksum: str
    resolved_at: str | None
    withheld_by: str = ""  # as in `NoteRow`


@dataclass(frozen=True, slots=True)
class HandoffRow:
    """A handoff as a list shows it."""

    id: str
    path: str
    title: str
    scope: Scope
    status: HandoffStatus
    created: str
    updated: str
    checksum: str


BRIEF = (
    "n.id, n.path, n.name, n.description, n.kind, n.scope, n.language, n.status, n.pinned,"
    " n.tags, n.aliases, n.sources, n.verified_at, n.created, n.updated, n.supersedes,"
    " n.source_digests, n.checksum, n.mtime_ns, n.size, n.standing, n.withheld_by"
)
"""The columns of a note without its body, from `notes AS n`."""

FULL = BRIEF + ", b.body"
"""The same with the body, from `notes AS n JOIN bodies AS b USING (number)`."""

PROPOSAL = (
    "id, path, name, description, kind, scope, status, created, updated, reason,"
    " source_client, target_id, checksum, resolved_at, withheld_by"
)
HANDOFF = "id, path, title, scope, status, created, updated, checksum"


def note(row: sqlite3.Row | tuple[Any, ...]) -> NoteRow:
    """Make a note from a row that begins with the columns `BRIEF` or `FULL`."""
    return NoteRow(
        id=row[0],
        path=row[1],
        name=row[2],
        description=row[3],
        kind=Kind(row[4]) if row[4] is not None else None,
        scope=Scope.from_key(row[5]),
        language=Language(row[6]) if row[6] is not None else None,
        status=Status(row[7]),
        pinned=bool(row[8]),
        tags=_texts(row[9]),
        aliases=_texts(row[10]),
        sources=_texts(row[11]),
        verified_at=row[12],
        created=row[13],
        updated=row[14],
        supersedes=_texts(row[15]),
        source_digests=_pairs(row[16]),
        checksum=row[17],
        mtime_ns=row[18],
        size=row[19],
        standing=Standing(row[20]),
        withheld_by=row[21],
        body=row[22] if len(row) > 22 else "",
    )


def proposal(row: tuple[Any, ...]) -> ProposalRow:
    """Make a proposal from a row with the columns `PROPOSAL`."""
    return ProposalRow(
        id=row[0],
        path=row[1],
        name=row[2],
        description=row[3],
        kind=Kind(row[4]),
        scope=Scope.from_key(row[5]),
        status=ProposalStatus(row[6]),
        created=row[7],
        updated=row[8],
        reason=row[9],
        source_client=row[10],
        target_id=row[11],
        checksum=row[12],
        resolved_at=row[13],
        withheld_by=row[14],
    )


def handoff(row: tuple[Any, ...]) -> HandoffRow:
    """Make a handoff from a row with the columns `HANDOFF`."""
    return HandoffRow(
        id=row[0],
        path=row[1],
        title=row[2],
        scope=Scope.from_key(row[3]),
        status=HandoffStatus(row[4]),
        created=row[5],
        updated=row[6],
        checksum=row[7],
    )


def storable(text: str) -> str:
    """Return text that SQLite takes: lone surrogates, which are no characters, become `?`."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return text.encode("utf-8", "replace").decode("utf-8")
    return text


def _texts(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return () if text == "[]" else tuple((path, digest) for path, digest in json.loads(text))
