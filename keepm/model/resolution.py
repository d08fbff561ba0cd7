"""Which of several notes stays: what may supersede what, and what becomes of the other.

`supersedes` of a note holds the ids of the notes it replaces. Written by hand it can lead round
in a circle; a circle is found and named, and no step of ours closes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from keepm.config import Policy
from keepm.errors import InvalidInput, Problem, WrongState
from keepm.model import limits, screening
from keepm.model.approval import Channel
from keepm.model.memory import Memory, Status

Lineage = Mapping[str, tuple[str, ...]]
"""Which notes each note supersedes, by id."""


class LoserAction(StrEnum):
    """What becomes of the note that gives way."""

    SUPERSEDE = "supersede"
    ARCHIVE = "archive"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Resolution:
    """A person's ruling on two notes: what becomes of the loser, and why."""

    action: LoserAction
    reason: str


def problems(ruling: Resolution, policy: Policy) -> Iterator[Problem]:
    """Yield what is wrong with a ruling's words."""
    if not ruling.reason:
        yield Problem("resolution_reason", "must say why this note stays and the other gives way")
    yield from screening.text("resolution_reason", ruling.reason, rules=policy.screening)
    yield from limits.characters(
        "resolution_reason", ruling.reason, policy.proposal.reason_characters
    )


def require_kin(winner: Memory, loser: Memory, *, field: str) -> None:
    """Let two different notes of one scope pass; `field` names the second.

    Raises:
        InvalidInput: they are one note, or of different scopes.
    """
    if winner.id == loser.id:
        raise InvalidInput(
            "a note can't give way to itself",
            problems=[Problem(field, "must be another note")],
            details={"id": loser.id},
        )
    if winner.claim.scope != loser.claim.scope:
        raise InvalidInput(
            "the two notes have different scopes",
            hint="Move one of them first: memory_update with scope.",
            problems=[Problem(field, "must have the scope of the note that stays")],
        )


def require_rivals(winner: Memory, loser: Memory, *, field: str) -> None:
    """Let two notes pass of which one may give way to the other.

    Raises:
        InvalidInput: as `require_kin`.
        WrongState: one of them isn't active.
    """
    require_kin(winner, loser, field=field)
    for note in (winner, loser):
        if note.status is not Status.ACTIVE:
            raise WrongState(
                f"'{note.claim.name}' is {note.status}; only an active note stays or gives way",
                details={"id": note.id, "status": str(note.status)},
            )


def succeed(winner: Memory, losers: Sequence[str], lineage: Lineage, *, field: str) -> Memory:
    """Return the winner with the losers' ids added to what it supersedes.

    Raises:
        InvalidInput: the winner would come to supersede itself, or it reaches a circle that
            somebody made by hand.
    """
    new = listing(winner, (*winner.supersedes, *losers))
    if losers:  # a list that merely stays may hold what nobody asked about now
        require_no_loop(new, lineage, field=field)
    return new


def listing(note: Memory, supersedes: tuple[str, ...]) -> Memory:
    """Return a note with another list of what it supersedes, each id once."""
    return replace(note, supersedes=tuple(dict.fromkeys(supersedes)))


def require_no_loop(note: Memory, lineage: Lineage, *, field: str) -> None:
    """Refuse a note whose `supersedes`, followed as far as it leads, runs into a circle.

    Raises:
        InvalidInput: naming the ids of the circle.
    """
    found = loops({**lineage, note.id: note.supersedes}, start=note.id)
    if found:
        raise InvalidInput(
            "the notes would supersede one another in a circle",
            hint="Take one of them out of another's `supersedes` with memory_update first.",
            problems=[Problem(field, "leads back to a note that stands before it")],
            details={"circle": list(found[0])},
        )


def superseded(loser: Memory, *, at: str, channel: Channel, reason: str | None) -> Memory:
    """Return a note as it is once another has taken its place."""
    return replace(
        loser,
        status=Status.SUPERSEDED,
        updated=at,
        approved_via=channel,
        resolution_reason=reason or loser.resolution_reason,
    )


def loops(lineage: Lineage, *, start: str | None = None) -> tuple[tuple[str, ...], ...]:
    """Return each group of notes that supersede one another in a circle, the ids sorted.

    With `start` only those that can be reached from that note.
    """
    # Kosaraju: what the notes lead to, then from the last one back along the links turned round.
    order: list[str] = []
    met: set[str] = set()
    for note in [start] if start is not None else sorted(lineage):
        order += _reached(note, lineage, met)
    turned: dict[str, tuple[str, ...]] = {}
    for note in order:
        for target in lineage.get(note, ()):
            turned[target] = (*turned.get(target, ()), note)
    met = set()
    groups = [tuple(sorted(_reached(note, turned, met))) for note in reversed(order)]
    return tuple(
        sorted(
            group
            for group in groups
            if len(group) > 1 or (group and group[0] in lineage.get(group[0], ()))
        )
    )


def _reached(start: str, lineage: Lineage, met: set[str]) -> list[str]:
    """Return what a note leads to and `met` doesn't hold yet, each after what it leads to itself.

    With a stack of our own: a chain made by hand may be longer than Python's.
    """
    if start in met:
        return []
    met.add(start)
    done: list[str] = []
    waiting = [(start, iter(lineage.get(start, ())))]
    while waiting:
        note, following = waiting[-1]
        target = next(following, None)
        if target is None:
            waiting.pop()
            done.append(note)
        elif target not in met:
            met.add(target)
            waiting.append((target, iter(lineage.get(target, ()))))
    return done
