"""What one document leaves in the tables, and with it what is searchable.

Only formal memories, and notes whose metadata can't be read, are searched; withheld notes are
known by their handles alone; proposals and handoffs have tables of their own that no search,
catalog or link ever looks at.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from keepm.index import hints, likeness, lineage, stretches
from keepm.index.analysis import for_index
from keepm.index.rows import NoteRow, storable
from keepm.model import identity, layout
from keepm.model.document import AnyDocument, Damaged, Severity, Standing
from keepm.model.handoff import Handoff, HandoffStatus
from keepm.model.layout import Shelf
from keepm.model.links import WikiLink
from keepm.model.memory import Claim, Kind, Memory, Scope, Status, source_path
from keepm.model.proposal import Proposal, ProposalStatus

ROLE_ID, ROLE_NAME, ROLE_ALIAS, ROLE_STEM = range(4)
"""How a handle names a note; the lower, the stronger."""

_APART = " \n "  # keeps the items of a list from running into one term


class FileRow(NamedTuple):
    """A file that was seen; `reason` says why it isn't a document (None: it is one)."""

    path: str
    size: int
    mtime_ns: int
    checksum: str
    scanned_ns: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A document to be indexed in place of whatever its path held before."""

    document: AnyDocument
    file: FileRow
    links: tuple[WikiLink, ...] = ()


def store(connection: sqlite3.Connection, entry: Entry, number: int | None = None) -> None:
    """Store the rows of a document; the path holds none yet.

    `number` is that of the note which this one replaces, whose likenesses are still there.
    """
    document = entry.document
    match document.content:
        case Memory() as memory:
            _store_memory(connection, entry, memory, number)
        case Damaged() as damaged:
            _store_unreadable(connection, entry, damaged)
        case Proposal() as proposal:
            _store_proposal(connection, document, proposal)
            if proposal.status is ProposalStatus.PENDING:
                likeness.store_proposal(connection, storable(document.path), proposal.claim)
        case Handoff() as handoff:
            _store_handoff(connection, document, handoff)


def _store_memory(
    connection: sqlite3.Connection, entry: Entry, memory: Memory, number: int | None
) -> None:
    claim = memory.claim
    note = NoteRow(
        id=memory.id,
        path=entry.document.path,
        name=claim.name,
        description=claim.description,
        kind=claim.kind,
        scope=claim.scope,
        language=claim.language,
        status=memory.status,
        pinned=claim.pinned,
        tags=claim.tags,
        aliases=claim.aliases,
        sources=claim.sources,
        verified_at=claim.verified_at,
        created=memory.created,
        updated=memory.updated,
        supersedes=memory.supersedes,
        source_digests=memory.source_digests,
        checksum=entry.document.checksum.hex,
        mtime_ns=entry.file.mtime_ns,
        size=entry.file.size,
        standing=Standing.SOUND,
        body=claim.body,
    )
    number = _insert_note(connection, note, findings=_findings(entry.document), number=number)
    names = [
        (ROLE_ID, memory.id),
        (ROLE_NAME, claim.name),
        *((ROLE_ALIAS, alias) for alias in claim.aliases),
        (ROLE_STEM, layout.stem(note.path)),
    ]
    _insert_handles(connection, number, note.scope, names=names)
    lineage.store(connection, number, memory.supersedes)
    likeness.store_note(connection, number, claim)
    hints.store(connection, number, claim)
    connection.executemany(
        "INSERT OR IGNORE INTO tags VALUES (?, ?)", [(number, tag_key(tag)) for tag in note.tags]
    )
    paths = [path for source in claim.sources if (path := source_path(source))]
    connection.executemany(
        "INSERT OR IGNORE INTO pointers VALUES (?, ?)",
        [(pointer_key(path), number) for path in paths],
    )
    _insert_links(connection, number, entry.links)
    _insert_terms(
        connection,
        number,
        name=claim.name,
        aliases=_APART.join(claim.aliases),
        tags=_APART.join(claim.tags),
        description=claim.description,
        sources=_APART.join(paths),
        body=claim.body,
    )


def _store_unreadable(connection: sqlite3.Connection, entry: Entry, damaged: Damaged) -> None:
    """Store a file whose metadata can't be read, by the place where it lies.

    What lies in the Inbox or among the handoffs is never searched, damaged or not.
    """
    document = entry.document
    place = layout.place(document.path)
    assert place is not None
    match place.shelf:
        case Shelf.MEMORY:
            _store_damaged(connection, entry, damaged)
        case Shelf.PROPOSAL | Shelf.ARCHIVED_PROPOSAL:
            waits = place.shelf is Shelf.PROPOSAL
            status = ProposalStatus.PENDING if waits else ProposalStatus.REJECTED
            claim = Claim(damaged.name, "", Kind.REFERENCE, "", scope=place.scope)
            _store_proposal(connection, document, Proposal(damaged.id, claim, "", status=status))
        case Shelf.HANDOFF | Shelf.ARCHIVED_HANDOFF:
            active = place.shelf is Shelf.HANDOFF
            handoff = Handoff(
                damaged.id,
                place.scope.key,
                title=damaged.name,
                goal="",
                current_state="",
                status=HandoffStatus.ACTIVE if active else HandoffStatus.COMPLETED,
            )
            _store_handoff(connection, document, handoff)


def _store_damaged(connection: sqlite3.Connection, entry: Entry, damaged: Damaged) -> None:
    note = NoteRow(
        id=damaged.id,
        path=entry.document.path,
        name=damaged.name,
        description="",
        kind=None,
        scope=damaged.scope,
        language=None,
        status=Status.ACTIVE,
        pinned=False,
        tags=(),
        aliases=(),
        sources=(),
        verified_at=None,
        created="",
        updated="",
        supersedes=(),
        source_digests=(),
        checksum=entry.document.checksum.hex,
        mtime_ns=entry.file.mtime_ns,
        size=entry.file.size,
        standing=damaged.standing,
        body=damaged.text,
    )
    number = _insert_note(connection, note, findings=_findings(entry.document))
    names = [(ROLE_ID, damaged.id), (ROLE_STEM, damaged.name)]
    _insert_handles(connection, number, note.scope, names=names)
    if damaged.standing is not Standing.WITHHELD:
        _insert_links(connection, number, entry.links)
        _insert_terms(connection, number, name=damaged.name, body=damaged.text)


def _insert_note(
    connection: sqlite3.Connection, note: NoteRow, *, findings: int, number: int | None = None
) -> int:
    """Store what `rows.note` reads back, and return the note's number in this index."""
    scope = storable(note.scope.key)
    values: tuple[str | int | None, ...] = (
        stretches.next_number(connection, scope) if number is None else number,
        scope,
        note.status,
        note.standing,
        note.kind,
        note.language,
        identity.slot_key(note.name),
        note.name,
        note.path,
        note.id,
        int(note.pinned),
        note.verified_at,
        note.created,
        note.updated,
        note.checksum,
        note.mtime_ns,
        note.size,
        findings,
        note.description,
        *(_json(v) for v in (note.tags, note.aliases, note.sources, note.supersedes)),
        _json(note.source_digests),
        note.status,
    )
    cursor = connection.execute(
        "INSERT INTO all_notes (number, scope, status, standing, kind, language, slot, name, path,"
        " id, pinned, verified_at, created, updated, checksum, mtime_ns, size, findings,"
        " description, tags, aliases, sources, supersedes, source_digests, stated, withheld_by)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " '')",
        [storable(value) if isinstance(value, str) else value for value in values],
    )
    stored = cursor.lastrowid
    assert stored is not None
    connection.execute("INSERT INTO bodies VALUES (?, ?)", (stored, storable(note.body)))
    return stored


def _insert_handles(
    connection: sqlite3.Connection, number: int, scope: Scope, *, names: list[tuple[int, str]]
) -> None:
    """Store each handle once, in its strongest role."""
    strongest: dict[str, int] = {}
    for role, name in names:
        key = storable(identity.slot_key(name))
        if key:
            strongest.setdefault(key, role)
    connection.executemany(
        "INSERT INTO handles VALUES (?, ?, ?, ?)",
        [(storable(scope.key), key, role, number) for key, role in strongest.items()],
    )


def _insert_links(connection: sqlite3.Connection, number: int, links: tuple[WikiLink, ...]) -> None:
    rows = [
        (
            number,
            sequence,
            storable(link.target),
            link_key(link.target),
            link_key(link.target.rsplit("/", 1)[-1]),
            None if link.relation is None else storable(link.relation),
            link.line,
        )
        for sequence, link in enumerate(links)
        if link.target  # a link to a heading of the note itself leads nowhere else
    ]
    connection.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _insert_terms(connection: sqlite3.Connection, number: int, **texts: str) -> None:
    columns = ("name", "aliases", "tags", "description", "sources", "body")
    connection.execute(
        "INSERT INTO terms (rowid, name, aliases, tags, description, sources, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, *(for_index(texts.get(column, "")) for column in columns)),
    )


def _store_proposal(
    connection: sqlite3.Connection, document: AnyDocument, proposal: Proposal
) -> None:
    claim = proposal.claim
    values: tuple[str | None, ...] = (
        document.path,
        proposal.id,
        identity.slot_key(claim.name),
        claim.scope.key,
        proposal.status,
        claim.kind,
        claim.name,
        claim.description,
        proposal.created,
        proposal.updated,
        proposal.reason,
        proposal.source_client,
        proposal.target_id,
        proposal.resolved_at,
        document.checksum.hex,
    )
    connection.execute(
        "INSERT INTO all_proposals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
        (*(None if v is None else storable(v) for v in values), _findings(document)),
    )


def _store_handoff(connection: sqlite3.Connection, document: AnyDocument, handoff: Handoff) -> None:
    values = (
        document.path,
        handoff.id,
        identity.slot_key(handoff.title),
        handoff.project_id,
        handoff.status,
        handoff.title,
        handoff.created,
        handoff.updated,
        document.checksum.hex,
    )
    connection.execute(
        "INSERT INTO all_handoffs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
        (*(storable(v) for v in values), _findings(document)),
    )


def _json(values: tuple[str, ...] | tuple[tuple[str, str], ...]) -> str:
    return json.dumps(values, ensure_ascii=False) if values else "[]"


def _findings(document: AnyDocument) -> int:
    return sum(1 for finding in document.findings if finding.severity is not Severity.INFO)


def tag_key(tag: str) -> str:
    """Return what two spellings of one tag share."""
    return storable(identity.slot_key(tag.lstrip("#")))


def pointer_key(path: str) -> str:
    """Return a repository path in portable spelling: no trailing slash, case folded."""
    return storable(identity.file_key(source_path(path).rstrip("/")))


def link_key(target: str) -> str:
    """Return the handle a link's target asks for; Obsidian writes the `.md` or leaves it."""
    plain = target.strip()
    if plain.lower().endswith(".md"):
        plain = plain[:-3]
    return storable(identity.slot_key(plain))
