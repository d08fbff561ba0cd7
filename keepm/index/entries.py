"""What one document leaves in the tables, and with it what is searchable. Pure.

Only formal memories, and notes whose metadata can't be read, are searched; withheld notes are
known by their handles alone; proposals and handoffs have tables of their own that no search,
catalog or link ever looks at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepm.index import likeness
from keepm.index.analysis import for_index
from keepm.index.rows import storable
from keepm.model import identity, layout, parameters
from keepm.model.document import AnyDocument, Damaged, Severity, Standing
from keepm.model.handoff import Handoff, HandoffStatus
from keepm.model.layout import Shelf
from keepm.model.links import WikiLink
from keepm.model.memory import Claim, Kind, Memory, Status, source_path
from keepm.model.proposal import Proposal, ProposalStatus

ROLE_ID, ROLE_NAME, ROLE_ALIAS, ROLE_STEM = range(4)
"""How a handle names a note; the lower, the stronger."""

_encoded = json.JSONEncoder(ensure_ascii=False).encode
_APART = " \n "  # keeps the items of a list from running into one term

Value = str | int | None


class FileRow(NamedTuple):
    """A file that was seen; `reason` says why it isn't a document (None: it is one)."""

    path: str
    size: int
    mtime_ns: int
    checksum: str
    scanned_ns: int
    reason: str | None = None


class NoteRows(NamedTuple):
    """The rows of a note, but for the number that it gets."""

    note: tuple[Value, ...]  # in the order of `storing`'s statement
    body: str
    handles: tuple[tuple[str, int], ...]  # each handle once, in its strongest role
    links: tuple[tuple[Value, ...], ...] = ()
    terms: tuple[str, ...] = ()  # by column; none of a note that isn't searched
    supersedes: tuple[str, ...] = ()
    likenesses: tuple[int, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()


class ProposalRows(NamedTuple):
    """The row of a proposal, and the digests by which a pending one is met."""

    path: str
    row: tuple[Value, ...]
    likenesses: tuple[int, ...] = ()


class HandoffRows(NamedTuple):
    """The row of a handoff."""

    row: tuple[Value, ...]


class Entry(NamedTuple):
    """A document to be indexed in place of whatever its path held before.

    Plain values throughout: it may come from another process. `scope` is the scope's key.
    """

    file: FileRow
    id: str
    scope: str
    rows: NoteRows | ProposalRows | HandoffRows


def entry(document: AnyDocument, file: FileRow, links: Iterable[WikiLink] = ()) -> Entry:
    """Work out what a document leaves in the tables."""
    rows: NoteRows | ProposalRows | HandoffRows
    match document.content:
        case Memory() as memory:
            scope, rows = memory.claim.scope.key, _memory(document, file, memory, links)
        case Damaged() as damaged:
            scope, rows = damaged.scope.key, _unreadable(document, file, damaged, links)
        case Proposal() as proposal:
            scope, rows = proposal.claim.scope.key, _proposal(document, proposal)
        case Handoff() as handoff:
            scope, rows = handoff.project_id, _handoff(document, handoff)
    return Entry(file, document.content.id, storable(scope), rows)


def _memory(
    document: AnyDocument, file: FileRow, memory: Memory, links: Iterable[WikiLink]
) -> NoteRows:
    claim = memory.claim
    paths = [path for source in claim.sources if (path := source_path(source))]
    note = (
        str(memory.status),
        str(Standing.SOUND),
        str(claim.kind),
        str(claim.language),
        identity.slot_key(claim.name),
        claim.name,
        document.path,
        memory.id,
        int(claim.pinned),
        claim.verified_at,
        memory.created,
        memory.updated,
        file.checksum,
        file.mtime_ns,
        file.size,
        _findings(document),
        claim.description,
        *map(_json, (claim.tags, claim.aliases, claim.sources, memory.supersedes)),
        _json(memory.source_digests),
        str(memory.status),
    )
    names = [
        (ROLE_ID, memory.id),
        (ROLE_NAME, claim.name),
        *((ROLE_ALIAS, alias) for alias in claim.aliases),
        (ROLE_STEM, layout.stem(document.path)),
    ]
    return NoteRows(
        note=_plain(note),
        body=storable(claim.body),
        handles=_handles(names),
        links=_links(links),
        terms=_terms(
            claim.name,
            _APART.join(claim.aliases),
            _APART.join(claim.tags),
            claim.description,
            _APART.join(paths),
            claim.body,
        ),
        supersedes=_distinct(storable(identity.slot_key(each)) for each in memory.supersedes),
        likenesses=likeness.digests(claim),
        parameters=tuple(
            (storable(each.key), storable(each.value)) for each in parameters.parse(claim.body)
        ),
        tags=_distinct(map(tag_key, claim.tags)),
        pointers=_distinct(map(pointer_key, paths)),
    )


def _unreadable(
    document: AnyDocument, file: FileRow, damaged: Damaged, links: Iterable[WikiLink]
) -> NoteRows | ProposalRows | HandoffRows:
    """Return the rows of a file whose metadata can't be read, by the place where it lies.

    What lies in the Inbox or among the handoffs is never searched, damaged or not.
    """
    place = layout.place(document.path)
    assert place is not None
    match place.shelf:
        case Shelf.MEMORY:
            return _damaged(document, file, damaged, links)
        case Shelf.PROPOSAL | Shelf.ARCHIVED_PROPOSAL:
            waits = place.shelf is Shelf.PROPOSAL
            status = ProposalStatus.PENDING if waits else ProposalStatus.REJECTED
            claim = Claim(damaged.name, "", Kind.REFERENCE, "", scope=place.scope)
            proposal = Proposal(damaged.id, claim, "", status=status)
            # Nobody knows what it says, so nothing is the same as it.
            return _proposal(document, proposal)._replace(likenesses=())
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
            return _handoff(document, handoff)


def _damaged(
    document: AnyDocument, file: FileRow, damaged: Damaged, links: Iterable[WikiLink]
) -> NoteRows:
    note = (
        str(Status.ACTIVE),
        str(damaged.standing),
        None,  # of no known kind
        None,
        identity.slot_key(damaged.name),
        damaged.name,
        document.path,
        damaged.id,
        0,
        None,
        "",
        "",
        file.checksum,
        file.mtime_ns,
        file.size,
        _findings(document),
        "",
        *("[]",) * 5,
        str(Status.ACTIVE),
    )
    rows = NoteRows(
        note=_plain(note),
        body=storable(damaged.text),
        handles=_handles([(ROLE_ID, damaged.id), (ROLE_STEM, damaged.name)]),
    )
    if damaged.standing is Standing.WITHHELD:
        return rows
    return rows._replace(
        links=_links(links), terms=_terms(damaged.name, "", "", "", "", damaged.text)
    )


def _proposal(document: AnyDocument, proposal: Proposal) -> ProposalRows:
    claim = proposal.claim
    row = (
        document.path,
        proposal.id,
        identity.slot_key(claim.name),
        claim.scope.key,
        str(proposal.status),
        str(claim.kind),
        claim.name,
        claim.description,
        proposal.created,
        proposal.updated,
        proposal.reason,
        proposal.source_client,
        proposal.target_id,
        proposal.resolved_at,
        document.checksum.hex,
        _findings(document),
    )
    waits = proposal.status is ProposalStatus.PENDING
    return ProposalRows(
        storable(document.path), _plain(row), likeness.digests(claim) if waits else ()
    )


def _handoff(document: AnyDocument, handoff: Handoff) -> HandoffRows:
    row = (
        document.path,
        handoff.id,
        identity.slot_key(handoff.title),
        handoff.project_id,
        str(handoff.status),
        handoff.title,
        handoff.created,
        handoff.updated,
        document.checksum.hex,
        _findings(document),
    )
    return HandoffRows(_plain(row))


def _handles(names: Iterable[tuple[int, str]]) -> tuple[tuple[str, int], ...]:
    strongest: dict[str, int] = {}
    for role, name in names:
        key = storable(identity.slot_key(name))
        if key:
            strongest.setdefault(key, role)
    return tuple(strongest.items())


def _links(links: Iterable[WikiLink]) -> tuple[tuple[Value, ...], ...]:
    return tuple(
        (
            sequence,
            storable(link.target),
            link_key(link.target),
            link_key(link.target.rsplit("/", 1)[-1]),
            None if link.relation is None else storable(link.relation),
            link.line,
        )
        for sequence, link in enumerate(links)
        if link.target  # a link to a heading of the note itself leads nowhere else
    )


def _terms(*columns: str) -> tuple[str, ...]:
    return tuple([for_index(text) if text else "" for text in columns])


def _plain(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values as SQLite takes them."""
    return tuple([storable(each) if isinstance(each, str) else each for each in values])


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _json(values: tuple[str, ...] | tuple[tuple[str, str], ...]) -> str:
    return _encoded(values) if values else "[]"


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
