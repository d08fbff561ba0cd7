"""One note takes others' place: what create, update, promotion and conflict resolution share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from keepm.index import lineage
from keepm.markdown import memories as codec
from keepm.model import resolution
from keepm.model.document import Document, Finding
from keepm.model.memory import Memory, Status
from keepm.operations.mutation import Desk
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import Replace


@dataclass(frozen=True, slots=True)
class Succession:
    """A note with what it supersedes now, and the change of each note that gives way to it."""

    winner: Memory
    changes: tuple[Replace, ...] = ()


def named(desk: Desk, identifiers: Iterable[str]) -> tuple[Document[Memory], ...]:
    """Return the notes that these ids, names or aliases name, each once, read under the lock.

    Raises:
        NotFound, AmbiguousIdentifier, MalformedDocument.
    """
    found = {note.content.id: note for note in map(desk.note, identifiers)}
    return tuple(found.values())


def take_place(
    desk: Desk,
    caller: Caller,
    winner: Memory,
    losers: Sequence[Document[Memory]],
    *,
    field: str,
    reason: str | None = None,
) -> Succession:
    """Plan that a note supersedes others, which keep the reason; `field` names them in refusals.

    Raises:
        InvalidInput: the same note, another scope, or a circle.
        WrongState: one of them isn't active.
        ApprovalRequired: the caller's channel is below the minimum for a loser's kind.
    """
    for loser in losers:
        resolution.require_rivals(winner, loser.content, field=field)
        desk.vault.approval.require(caller.channel, kind=loser.content.claim.kind)
    return Succession(
        resolution.succeed(
            winner,
            [loser.content.id for loser in losers],
            lineage.of_scope(desk.vault.database, winner.claim.scope) if losers else {},
            field=field,
        ),
        tuple(
            Replace(
                loser.path,
                codec.patch(
                    loser,
                    resolution.superseded(
                        loser.content, at=desk.at, channel=caller.channel, reason=reason
                    ),
                ),
                loser.checksum,
            )
            for loser in losers
        ),
    )


def relist(desk: Desk, caller: Caller, note: Memory, wanted: Sequence[str]) -> Succession:
    """Plan a note's new list of what it supersedes, by id, name or alias.

    An active note that comes in gives way; one that goes out stays as it is.

    Raises:
        NotFound, AmbiguousIdentifier: a new entry names no note. Else as `take_place`.
    """
    kept = [text.strip() for text in wanted if text.strip() in note.supersedes]
    fresh = named(desk, (text for text in wanted if text.strip() not in note.supersedes))
    added = [each for each in fresh if each.content.id not in note.supersedes]
    for each in added:
        resolution.require_kin(note, each.content, field="supersedes")
    active = [each for each in added if each.content.status is Status.ACTIVE]
    ids = dict.fromkeys((*kept, *(each.content.id for each in fresh)))
    taken = take_place(desk, caller, note, active, field="supersedes")
    listed = resolution.listing(taken.winner, tuple(ids))
    if added:
        known = lineage.of_scope(desk.vault.database, note.claim.scope)
        resolution.require_no_loop(listed, known, field="supersedes")
    return Succession(listed, taken.changes)


def successors(vault: Vault, note: Memory) -> tuple[str, ...]:
    """Return the ids of the notes that say they supersede this one, active ones first."""
    found = lineage.successors(vault.database, note.id, note.claim.scope)
    return tuple(each.id for each in found)


def circle(vault: Vault, note: Memory) -> tuple[Finding, ...]:
    """Return the finding that a note stands in a circle of notes that supersede one another."""
    if not note.supersedes:
        return ()
    known = lineage.of_scope(vault.database, note.claim.scope)
    if not any(note.id in group for group in resolution.loops(known, start=note.id)):
        return ()
    return (
        Finding(
            "supersedes_circle",
            "this note and others supersede one another in a circle, so that it is unclear which "
            "holds: take one out of another's 'supersedes'",
        ),
    )
