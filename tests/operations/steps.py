"""The kinds of change that `world.World` takes, each with what must be there afterwards."""

from __future__ import annotations

from keepm.model.handoff import HandoffEdit, HandoffStatus
from keepm.model.memory import ClaimEdit, Scope, Status
from keepm.model.proposal import ProposalStatus
from keepm.model.resolution import LoserAction, Resolution
from keepm.operations import conflicts, handoffs, inbox, memories, promotion, pruning, undoing
from keepm.operations.conflicts import Ruling, Side
from keepm.operations.inbox import Suggestion, SuggestionEdit
from keepm.operations.memories import MemoryEdit
from keepm.operations.promotion import Target
from keepm.operations.undoing import UndoRequest
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, OWNER, claim
from tests.operations.world import NEW, Snapshot, Step, World, changed


def note_proof(world: World, note_id: str) -> WriteProof:
    """Read a note completely."""
    reading = memories.read(world.vault, note_id, max_chars=100_000)
    assert reading.token is not None
    return WriteProof(reading.token, reading.document.checksum)


def proposal_proof(world: World, proposal_id: str) -> WriteProof:
    """Read a proposal completely."""
    reading = inbox.read(world.vault, proposal_id, max_chars=100_000)
    assert reading.token is not None
    return WriteProof(reading.token, reading.document.checksum)


def handoff_proof(world: World, handoff_id: str) -> WriteProof:
    """Read a handoff completely."""
    reading = handoffs.read(world.vault, handoff_id)
    assert reading.token is not None
    return WriteProof(reading.token, reading.document.checksum)


def create(world: World, name: str, *, supersedes: str = "", body: str = "text") -> Step:
    known = world.snapshot()
    after = {**known, NEW: ("note", name, body, "widgets", (_ids(supersedes), ""), "active")}
    if supersedes:
        after[supersedes] = changed(known[supersedes], status="superseded")
    wanted = claim(name, body=body)
    return Step(
        "create",
        lambda vault: memories.create(vault, AGENT, wanted, supersedes=_ids(supersedes)),
        after,
        frozenset(_ids(supersedes)),
    )


def update(world: World, note_id: str, body: str, proof: WriteProof | None = None) -> Step:
    known = world.snapshot()
    after = {**known, note_id: changed(known[note_id], body=body)}
    return _note_edit(world, "update", note_id, ClaimEdit(body=body), after, proof)


def rename(world: World, note_id: str, name: str) -> Step:
    known = world.snapshot()
    after = {**known, note_id: changed(known[note_id], name=name)}
    return _note_edit(world, "rename", note_id, ClaimEdit(name=name), after)


def move(world: World, note_id: str) -> Step:
    """Move a note to the other scope."""
    known = world.snapshot()
    key = "" if known[note_id][3] else "widgets"
    after = {**known, note_id: changed(known[note_id], scope=key)}
    return _note_edit(world, "move", note_id, ClaimEdit(scope=Scope.from_key(key)), after)


def _note_edit(
    world: World,
    name: str,
    note_id: str,
    edit: ClaimEdit,
    after: Snapshot,
    proof: WriteProof | None = None,
) -> Step:
    given = proof or note_proof(world, note_id)
    return Step(
        name,
        lambda vault: memories.update(vault, AGENT, note_id, MemoryEdit(edit), given),
        after,
        frozenset({note_id}),
    )


def delete(world: World, note_id: str) -> Step:
    given = note_proof(world, note_id)
    after = {i: s for i, s in world.snapshot().items() if i != note_id}
    return Step(
        "delete",
        lambda vault: memories.delete(vault, AGENT, note_id, given),
        after,
        frozenset({note_id}),
    )


def resolve(world: World, winner: str, loser: str, action: LoserAction) -> Step:
    """The plan is made beforehand; the step is its execution."""
    known = world.snapshot()
    after = dict(known)
    if action is LoserAction.DELETE:
        del after[loser]
    else:
        status = Status.SUPERSEDED if action is LoserAction.SUPERSEDE else Status.ARCHIVED
        after[loser] = changed(known[loser], status=str(status), reason="ruled")
    if action is LoserAction.SUPERSEDE:
        listed = (*known[winner][4][0], loser)  # type: ignore[index]
        after[winner] = changed(known[winner], supersedes=tuple(dict.fromkeys(listed)))
    ruling = Ruling(
        Side(winner, note_proof(world, winner)),
        Side(loser, note_proof(world, loser)),
        Resolution(action, "ruled"),
        ClaimEdit(),
    )
    token = conflicts.plan_resolution(world.vault, AGENT, ruling).token
    return Step(
        f"resolve by {action}",
        lambda vault: conflicts.resolve(vault, AGENT, ruling, token=token),
        after,
        frozenset({winner, loser}),
    )


def propose(world: World, name: str, *, body: str = "") -> Step:
    body = body or f"proposed text of {name}"
    after = {**world.snapshot(), NEW: ("proposal", name, body, "widgets", "pending")}
    suggestion = Suggestion(claim(name, body=body), "seen")
    return Step(
        "propose", lambda vault: inbox.propose(vault, AGENT, suggestion), after, frozenset()
    )


def inbox_update(world: World, proposal_id: str, body: str) -> Step:
    known = world.snapshot()
    kind, name, _, scope, status = known[proposal_id]
    after = {**known, proposal_id: (kind, name, body, scope, status)}
    given = proposal_proof(world, proposal_id)
    edit = SuggestionEdit(ClaimEdit(body=body))
    return Step(
        "inbox_update",
        lambda vault: inbox.update(vault, AGENT, proposal_id, edit, given),
        after,
        frozenset({proposal_id}),
    )


def promote(world: World, proposal_id: str, *, into: str = "") -> Step:
    known = world.snapshot()
    _, name, body, scope, _ = known[proposal_id]
    after = dict(known)
    if into:
        after[into] = changed(known[into], body=str(body))
    else:
        after[NEW] = ("note", name, body, scope, ((), ""), "active")
    after[proposal_id] = ("proposal", name, body, scope, str(ProposalStatus.PROMOTED))
    given = proposal_proof(world, proposal_id)
    target = Target(into, note_proof(world, into)) if into else None
    return Step(
        "promote into a note" if into else "promote",
        lambda vault: promotion.promote(vault, AGENT, proposal_id, given, target=target),
        after,
        frozenset({proposal_id, *_ids(into)}),
    )


def reject(world: World, proposal_id: str) -> Step:
    known = world.snapshot()
    after = {**known, proposal_id: (*known[proposal_id][:-1], str(ProposalStatus.REJECTED))}
    given = proposal_proof(world, proposal_id)
    return Step(
        "reject",
        lambda vault: inbox.reject(vault, AGENT, proposal_id, given),
        after,
        frozenset({proposal_id}),
    )


def prune(world: World) -> Step:
    world.machine.clock.forward(days=1)
    known = world.snapshot()
    decided = {i for i, s in known.items() if s[0] == "proposal" and s[-1] != "pending"}
    token = pruning.plan_prune(world.vault, older_than_days=0).token
    return Step(
        "prune",
        lambda vault: pruning.prune(vault, AGENT, older_than_days=0, token=token),
        {i: s for i, s in known.items() if i not in decided},
        frozenset(decided),
    )


def handoff_create(world: World, title: str) -> Step:
    after = {**world.snapshot(), NEW: ("handoff", title, "goal", "active")}
    edit = HandoffEdit(title=title, goal="goal", current_state="half")
    return Step(
        "handoff_create", lambda vault: handoffs.create(vault, AGENT, edit), after, frozenset()
    )


def handoff_update(world: World, handoff_id: str, goal: str) -> Step:
    known = world.snapshot()
    kind, title, _, status = known[handoff_id]
    given = handoff_proof(world, handoff_id)
    edit = HandoffEdit(goal=goal)
    return Step(
        "handoff_update",
        lambda vault: handoffs.update(vault, AGENT, handoff_id, edit, given),
        {**known, handoff_id: (kind, title, goal, status)},
        frozenset({handoff_id}),
    )


def handoff_complete(world: World, handoff_id: str) -> Step:
    known = world.snapshot()
    given = handoff_proof(world, handoff_id)
    return Step(
        "handoff_complete",
        lambda vault: handoffs.complete(vault, AGENT, handoff_id, given),
        {**known, handoff_id: (*known[handoff_id][:-1], str(HandoffStatus.COMPLETED))},
        frozenset({handoff_id}),
    )


def undo(world: World) -> Step | None:
    """Take back the last change, when no hand edit came after it."""
    if world.undoable is None:
        return None
    last = [event for event in world.ledger() if event.operation != "external-edit"][-1]
    wanted = UndoRequest(event=last.transaction_id)
    digest = undoing.plan(world.vault, OWNER, wanted).digest
    known, after = world.snapshot(), world.undoable
    return Step(
        "undo",
        lambda vault: undoing.undo(vault, OWNER, wanted, digest=digest),
        after,
        frozenset(i for i in known.keys() | after.keys() if known.get(i) != after.get(i)),
    )


def _ids(note_id: str) -> tuple[str, ...]:
    return (note_id,) if note_id else ()
