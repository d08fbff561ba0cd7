"""From an identifier (an id, a name or an alias) to the one visible document it names.

An event, and what stands by one (a verdict, a quarantine), is named by its id's beginning.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TypeVar

from keepm.errors import (
    AmbiguousIdentifier,
    InvalidIdentifier,
    MalformedDocument,
    NotFound,
    Scalar,
)
from keepm.index import catalog
from keepm.index.rows import HandoffRow, NoteRow, ProposalRow
from keepm.model import layout
from keepm.model.document import AnyDocument, Document
from keepm.model.handoff import Handoff, HandoffStatus
from keepm.model.identity import slot_key
from keepm.model.memory import Memory
from keepm.model.proposal import Proposal
from keepm.operations import withheld
from keepm.operations.vault import Vault
from keepm.store.event import LedgerEvent

LATEST = "latest"
Row = TypeVar("Row", NoteRow, ProposalRow, HandoffRow)
Known = TypeVar("Known")
_SHORTEST_BEGINNING = 4


def note(vault: Vault, identifier: str | None) -> NoteRow:
    """Return the index's row of the note an identifier names.

    An id names its own note, whatever others are called; of several notes with one name, an
    active one wins over archived and superseded ones.

    Raises:
        NotFound: nothing visible fits.
        AmbiguousIdentifier: several do; the details list their handles.
        InvalidIdentifier: it is empty.
    """
    text = _given(identifier)
    rows = catalog.find(vault.database, text, vault.visibility)
    best = _meant(rows, text, live="active")
    if len(best) == 1:
        return best[0]
    if best:
        raise _ambiguous(
            f"this name fits {len(best)} notes",
            best,
            [{"id": row.id, "name": row.name, "scope": row.scope.label} for row in best],
        )
    raise withheld.not_found(vault, "memory", "no note here has this id, name or alias")


def note_path(vault: Vault, identifier: str | None) -> str:
    """Return the path of the note an identifier names; raises as `note`."""
    return note(vault, identifier).path


def proposal(vault: Vault, identifier: str | None) -> ProposalRow:
    """Return the row of the proposal an identifier names, also by path; a pending one wins.

    Raises as `note`. A path tells copies of one file apart, so that each can be decided.
    """
    text = _given(identifier)
    rows = catalog.find_proposals(vault.database, text, vault.visibility)
    best = _meant(rows, text, live="pending")
    if len(best) == 1:
        return best[0]
    if best:
        raise _ambiguous(
            f"this name fits {len(best)} proposals",
            best,
            [{"id": row.id, "name": row.name} for row in best],
            by_path=True,
        )
    raise withheld.not_found(
        vault,
        "proposal",
        "no proposal here has this id or name",
        hint="Look it up with memory_inbox_list.",
    )


def proposal_path(vault: Vault, identifier: str | None) -> str:
    """Return the path of the proposal an identifier names; raises as `proposal`."""
    return proposal(vault, identifier).path


def handoff(vault: Vault, identifier: str | None) -> HandoffRow:
    """Return the row of a handoff by id or title, or the one written last. Raises as `note`."""
    text = (identifier or LATEST).strip()
    if text == LATEST:
        rows = active_handoffs(vault)[:1]
    else:
        found = catalog.find_handoffs(vault.database, text, vault.visibility)
        rows = _meant(found, text, live="active")
    if len(rows) == 1:
        return rows[0]
    if rows:
        raise _ambiguous(
            f"this title fits {len(rows)} handoffs",
            rows,
            [{"id": row.id, "title": row.title} for row in rows],
        )
    raise withheld.not_found(
        vault,
        "handoff",
        "there is no active handoff in this project"
        if text == LATEST
        else "no handoff here has this id or title",
        hint="Start one with memory_handoff_create when a task stays unfinished.",
    )


def active_handoffs(vault: Vault) -> list[HandoffRow]:
    """Return the active handoffs, the one written last first.

    One that claims a time to come (by hand, or from a machine whose clock was wrong) would stay
    the latest for ever: it comes last. A day's grace is left for clocks that differ.
    """
    rows = catalog.handoffs(vault.database, vault.visibility, status=HandoffStatus.ACTIVE)
    horizon = (vault.clock.now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return sorted(rows, key=lambda row: row.updated > horizon)


def handoff_path(vault: Vault, identifier: str | None) -> str:
    """Return the path of the handoff an identifier names; raises as `handoff`."""
    return handoff(vault, identifier).path


def any_path(vault: Vault, identifier: str | None) -> str:
    """Return the path of the note, else proposal, else handoff that an identifier names.

    A path of the vault names its own document: two files with one id can be told apart by it only.
    Raises as `note`.
    """
    text = _given(identifier)
    if layout.place(text) is not None and catalog.is_shown(vault.database, text, vault.visibility):
        return text
    for find in (note_path, proposal_path, handoff_path):
        with contextlib.suppress(NotFound):
            return find(vault, text)
    raise withheld.not_found(vault, "memory", "nothing here has this id, name, alias or path")


def by_beginning(
    known: Iterable[Known], beginning: str, *, key: Callable[[Known], str], what: str, hint: str
) -> Known:
    """Return the one whose transaction's id begins so; `what` and `hint` are for the refusal.

    Raises:
        NotFound: none does, or fewer than four characters are given.
        AmbiguousIdentifier: several do.
    """
    fitting = [each for each in known if key(each).startswith(beginning)]
    if not fitting or len(beginning) < _SHORTEST_BEGINNING:
        raise NotFound(f"there is no such {what}", hint=hint)
    if len(fitting) > 1:
        raise AmbiguousIdentifier(
            f"{len(fitting)} {what}s begin so", hint="Give more of the transaction's id."
        )
    return fitting[0]


def session(events: Iterable[LedgerEvent], text: str) -> str:
    """Return the session that begins so, as `keepm ledger show` writes it; else the text itself.

    Raises:
        AmbiguousIdentifier: several do.
    """
    known = {each.session for each in events if each.session.startswith(text)}
    if text in known or len(text) < _SHORTEST_BEGINNING or not known:
        return text
    if len(known) > 1:
        raise AmbiguousIdentifier(
            f"{len(known)} sessions begin so", hint="Give more of the session's id."
        )
    return known.pop()


def _meant(rows: list[Row], text: str, *, live: str) -> list[Row]:
    """Return what an identifier means of all it fits: its own document if it is an id."""
    own = [row for row in rows if slot_key(row.id) == slot_key(text)] or rows
    return [row for row in own if row.status == live] or own


def _ambiguous(
    message: str, rows: Sequence[Row], handles: list[dict[str, Scalar]], *, by_path: bool = False
) -> AmbiguousIdentifier:
    """Refuse a choice between documents, with the handles that tell them apart."""
    if len({row.id for row in rows}) == len(rows):
        return AmbiguousIdentifier(message, details={"candidates": handles[:10]})
    told = [{**handle, "path": row.path} for handle, row in zip(handles, rows, strict=True)]
    return AmbiguousIdentifier(
        f"{message}, and files among them have one id",
        hint="Name the one you mean by its path."
        if by_path
        else "Ask the owner to remove one of the files, or to give it an id of its own.",
        details={"candidates": told[:10]},
    )


def _given(identifier: str | None) -> str:
    text = (identifier or "").strip()
    if not slot_key(text):
        raise InvalidIdentifier("the identifier is empty")
    return text


def as_memory(document: AnyDocument) -> Document[Memory]:
    """Return the document as a note that can be changed.

    Raises:
        MalformedDocument: its metadata can't be read; the details name line and reason.
    """
    if isinstance(document.content, Memory):
        return document
    raise _malformed(document)


def as_proposal(document: AnyDocument) -> Document[Proposal]:
    """Return the document as a proposal; raises as `as_memory`."""
    if isinstance(document.content, Proposal):
        return document
    raise _malformed(document)


def as_handoff(document: AnyDocument) -> Document[Handoff]:
    """Return the document as a handoff; raises as `as_memory`."""
    if isinstance(document.content, Handoff):
        return document
    raise _malformed(document)


def _malformed(document: AnyDocument) -> MalformedDocument:
    first = document.findings[0] if document.findings else None
    return MalformedDocument(
        f"{document.path} can't be changed by KeepM"
        + (f": {first.message} (line {first.line})" if first and first.line else "")
        + (f": {first.message}" if first and not first.line else ""),
        details={
            "path": document.path,
            "code": first.code if first else "malformed_document",
            "line": first.line if first else None,
        },
    )
