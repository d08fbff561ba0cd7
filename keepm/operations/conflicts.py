"""Two notes contradict each other: one stays, the other gives way, as a person ruled.

A preview shows the exact change set; execution carries out that plan or none. A plan is compared
without the time and the transaction's id, which every attempt has anew: it is made once more as
if at no time, and that form is what the token is bound to.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from keepm.errors import refuse_if_any
from keepm.markdown import bodies
from keepm.markdown import memories as codec
from keepm.model import memory, resolution
from keepm.model.checksum import Checksum
from keepm.model.document import Document
from keepm.model.memory import ClaimEdit, Memory, Status
from keepm.model.resolution import LoserAction, Resolution
from keepm.operations import drafting, identifying, memories, showing, succession
from keepm.operations.mutation import Desk, Plan, carry_out, draft, preview
from keepm.operations.showing import PlannedChange
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet, Move, Replace
from keepm.tokens import WriteProof

_OPERATION = "resolve"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two notes, with the proof of its complete read."""

    identifier: str
    proof: WriteProof


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a person decided: who stays, who gives way and how, and what the winner says then."""

    winner: Side
    loser: Side
    resolution: Resolution
    edit: ClaimEdit


@dataclass(frozen=True, slots=True)
class ResolutionPlan:
    """The preview, and the token that confirms just this."""

    winner: Memory
    loser: Memory
    action: LoserAction
    changes: tuple[PlannedChange, ...]
    linked_from: tuple[str, ...]  # names of the notes that link to the loser
    token: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """The winner as it is now, the token for its next change, and where the loser is."""

    winner: Document[Memory]
    token: str
    loser: Memory
    loser_path: str
    index_current: bool


def plan_resolution(vault: Vault, caller: Caller, ruling: Ruling) -> ResolutionPlan:
    """Show what a ruling would do; nothing is changed and no proof is used up.

    Raises:
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead: of either.
        InvalidInput: the reason or the new content; one note twice, two scopes, a circle.
        WrongState: one of them isn't active.
        ApprovalRequired: the caller's channel is below the minimum for a kind.
    """
    shown, digest = preview(vault, caller, lambda desk: _plan(desk, caller, ruling))
    return ResolutionPlan(
        winner=shown.winner.content,
        loser=shown.loser.content,
        action=ruling.resolution.action,
        changes=tuple(showing.shown(vault, each) for each in shown.changes),
        linked_from=shown.linked_from,
        token=vault.plans.issue(_OPERATION, digest),
    )


def resolve(vault: Vault, caller: Caller, ruling: Ruling, *, token: str) -> Resolved:
    """Carry out exactly the previewed plan, in one transaction.

    Raises:
        ConfirmationRequired: the token isn't of this very plan.
        Else as `plan_resolution`.
    """
    receipt, (worked, _) = carry_out(
        vault,
        caller,
        lambda desk: _plan(desk, caller, ruling),
        lambda made: vault.plans.check(token, _OPERATION, made[1]),
    )
    vault.plans.spend(token)
    winner = worked.winner
    if len(worked.changes) > 1:
        winner = identifying.as_memory(receipt.document(winner.content.id))
    return Resolved(
        winner=winner,
        token=vault.tokens.issue(winner.content.id, winner.checksum),
        loser=worked.loser_after,
        loser_path=worked.loser_path,
        index_current=receipt.index_current,
    )


@dataclass(frozen=True, slots=True)
class _Worked:
    """A ruling worked out on the two notes as they are."""

    plan: Plan
    changes: tuple[Replace | Move, ...]  # of the winner where it changes, then of the loser
    winner: Document[Memory]
    loser: Document[Memory]
    loser_after: Memory
    linked_from: tuple[str, ...]

    @property
    def loser_path(self) -> str:
        """Where the loser lies afterwards."""
        change = self.changes[-1]
        return change.to if isinstance(change, Move) else change.path

    @property
    def digest(self) -> str:
        """What tells this plan from any other: both notes as read, every change, the links."""
        # The winner may stay as it is, and then no change names its version.
        read = (self.winner.checksum.hex, self.loser.checksum.hex)
        parts = (*read, showing.digest_of(self.changes), *self.linked_from)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _timeless(desk: Desk) -> Desk:
    """Return the same desk at no time, in no transaction."""
    return replace(desk, transaction_id="plan", at="0001-01-01T00:00:00Z")


def _plan(desk: Desk, caller: Caller, ruling: Ruling) -> tuple[Plan, tuple[_Worked, str]]:
    """Work a ruling out; with it goes the digest that it has at no time."""
    digest = _work(_timeless(desk), caller, ruling).digest
    worked = _work(desk, caller, ruling, shown=Checksum(digest))
    return worked.plan, (worked, digest)


def _work(desk: Desk, caller: Caller, ruling: Ruling, *, shown: Checksum | None = None) -> _Worked:
    vault = desk.vault
    refuse_if_any(list(resolution.problems(ruling.resolution, vault.policy)))
    winner = desk.memory(ruling.winner.identifier, ruling.winner.proof)
    loser = desk.memory(ruling.loser.identifier, ruling.loser.proof)
    resolution.require_rivals(winner.content, loser.content, field="loser_identifier")
    after = _edited(desk, winner.content, ruling.edit)
    for kind in (winner.content.claim.kind, after.claim.kind, loser.content.claim.kind):
        vault.approval.require(caller.channel, kind=kind)
    after, loser_after, change = _give_way(desk, caller, after, loser, ruling.resolution)
    changes: tuple[Replace | Move, ...] = (change,)
    if after != winner.content:
        after = replace(after, updated=desk.at, approved_via=caller.channel)
        new = codec.patch(winner, after)
        changes = (Replace(winner.path, new, winner.checksum), change)
    event = draft(
        caller,
        _OPERATION,
        object_id=winner.content.id,
        object_kind="memory",
        scope=winner.content.claim.scope,
        approved=True,
        shown=shown,
        extra={"loser_id": loser.content.id, "loser_action": str(ruling.resolution.action)},
    )
    return _Worked(
        Plan(ChangeSet(changes), event, (ruling.winner.proof, ruling.loser.proof)),
        changes,
        winner,
        loser,
        loser_after,
        memories.linked_from(vault, loser.content.id),
    )


def _edited(desk: Desk, old: Memory, edit: ClaimEdit) -> Memory:
    """Apply the winner's new content and check what it comes to."""
    if edit.body is not None:
        edit = replace(edit, body=bodies.trimmed(edit.body))
    claim = memory.apply(old.claim, edit)
    if claim == old.claim:
        return old
    return memories.edited(desk, old, memories.MemoryEdit(edit), supersedes=old.supersedes)


def _give_way(
    desk: Desk, caller: Caller, winner: Memory, loser: Document[Memory], ruling: Resolution
) -> tuple[Memory, Memory, Replace | Move]:
    """Plan what becomes of the loser; return winner and loser as they are then, and the change."""
    match ruling.action:
        case LoserAction.SUPERSEDE:
            taken = succession.take_place(
                desk, caller, winner, (loser,), field="loser_identifier", reason=ruling.reason
            )
            (change,) = taken.changes
            gone = replace(loser.content, status=Status.SUPERSEDED)
            return taken.winner, gone, change
        case LoserAction.ARCHIVE:
            after = _kept(desk, caller, loser, ruling, status=Status.ARCHIVED)
            data = codec.patch(loser, after)
            return winner, after, Replace(loser.path, data, loser.checksum)
        case LoserAction.DELETE:
            # In the trash the note says why it lies there, also when it is restored.
            after = _kept(desk, caller, loser, ruling, status=loser.content.status)
            trashed = drafting.to_trash(desk, loser)
            return winner, after, replace(trashed, data=codec.patch(loser, after))


def _kept(
    desk: Desk, caller: Caller, loser: Document[Memory], ruling: Resolution, *, status: Status
) -> Memory:
    return replace(
        loser.content,
        status=status,
        updated=desk.at,
        approved_via=caller.channel,
        resolution_reason=ruling.reason,
    )
