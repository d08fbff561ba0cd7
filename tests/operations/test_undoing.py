"""Undo: exactly back, in one event, and never over what came later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.errors import (
    AlreadyExists,
    AmbiguousIdentifier,
    ConfirmationRequired,
    InvalidInput,
    KeepMError,
    NotFound,
    WrongState,
)
from keepm.model.approval import Channel
from keepm.model.handoff import HandoffEdit
from keepm.model.memory import GLOBAL, ClaimEdit, Status
from keepm.model.proposal import TargetAction
from keepm.model.resolution import LoserAction, Resolution
from keepm.operations import (
    conflicts,
    handoffs,
    inbox,
    memories,
    promotion,
    pruning,
    recording,
    sync,
    undoing,
)
from keepm.operations.conflicts import Ruling, Side
from keepm.operations.inbox import Suggestion
from keepm.operations.memories import MemoryEdit
from keepm.operations.promotion import Target
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Caller, Vault
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, OWNER, Machine, claim, edit, events, proof

OTHER = Caller(surface="mcp", channel=Channel.RELAYED, client="other", session="s-2")
FIRST = Caller(surface="mcp", channel=Channel.RELAYED, client="tester", session="s-1")
Open = Callable[[Path | None], Vault]


def undo(vault: Vault, event: str | None = None, **origin: str) -> undoing.Undone:
    request = UndoRequest(event, **origin)
    plan = undoing.plan(vault, OWNER, request)
    return undoing.undo(vault, OWNER, request, digest=plan.digest)


def documents(machine: Machine) -> dict[str, bytes]:
    """Return the vault's documents, the trash apart."""
    return {p: d for p, d in machine.files().items() if "/.trash/" not in p}


def look(vault: Vault) -> None:
    sync.reconcile(vault)
    recording.record(vault)


def change(
    vault: Vault, note: str = "build-command", caller: Caller = AGENT, **fields: object
) -> None:
    memories.update(vault, caller, note, edit(**fields), proof(vault, note))


def propose(vault: Vault, name: str = "idea", **more: object) -> str:
    suggestion = Suggestion(claim(name), reason="seen", **more)  # type: ignore[arg-type]
    return inbox.propose(vault, AGENT, suggestion).document.content.id


def inbox_proof(vault: Vault, identifier: str) -> WriteProof:
    found = inbox.read(vault, identifier, max_chars=99_999)
    assert found.token
    return WriteProof(found.token, found.document.checksum)


def handoff_proof(vault: Vault) -> WriteProof:
    found = handoffs.read(vault)
    assert found.token
    return WriteProof(found.token, found.document.checksum)


HANDOFF = HandoffEdit(title="Move", goal="One.", current_state="Half.")


def _create(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim("new"))


def _update(vault: Vault, machine: Machine) -> None:
    change(vault, body="Changed.\n", tags=("new",))


def _rename(vault: Vault, machine: Machine) -> None:
    change(vault, name="another-name")


def _move(vault: Vault, machine: Machine) -> None:
    change(vault, scope=GLOBAL)


def _archive(vault: Vault, machine: Machine) -> None:
    archived = MemoryEdit(edit().claim, Status.ARCHIVED)
    memories.update(vault, AGENT, "build-command", archived, proof(vault, "build-command"))


def _delete(vault: Vault, machine: Machine) -> None:
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))


def _supersede(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim("better"), supersedes=("build-command",))


def _propose(vault: Vault, machine: Machine) -> None:
    propose(vault, "second-thought")


def _promote(vault: Vault, machine: Machine) -> None:
    promotion.promote(vault, AGENT, "idea", inbox_proof(vault, "idea"))


def _promote_into(vault: Vault, machine: Machine) -> None:
    target = Target("build-command", proof(vault, "build-command"))
    promotion.promote(vault, AGENT, "idea", inbox_proof(vault, "idea"), target=target)


def _reject(vault: Vault, machine: Machine) -> None:
    inbox.reject(vault, AGENT, "idea", inbox_proof(vault, "idea"), reason="no")


def _inbox_update(vault: Vault, machine: Machine) -> None:
    new = inbox.SuggestionEdit(edit(name="a-better-name").claim)
    inbox.update(vault, AGENT, "idea", new, inbox_proof(vault, "idea"))


def _prune(vault: Vault, machine: Machine) -> None:
    machine.clock.forward(days=90)
    plan = pruning.plan_prune(vault, older_than_days=30)
    assert len(plan.candidates) == 1
    pruning.prune(vault, AGENT, older_than_days=30, token=plan.token)


def _handoff_create(vault: Vault, machine: Machine) -> None:
    handoffs.create(vault, AGENT, HandoffEdit(title="B", goal="B.", current_state="B."))


def _handoff_update(vault: Vault, machine: Machine) -> None:
    handoffs.update(vault, AGENT, None, HandoffEdit(goal="Two."), handoff_proof(vault))


def _handoff_complete(vault: Vault, machine: Machine) -> None:
    handoffs.complete(vault, AGENT, None, handoff_proof(vault))


def _hand_edit(vault: Vault, machine: Machine) -> None:
    machine.put("Memory/projects/widgets/build-command.md", "By hand.\n")
    look(vault)


def _hand_removal(vault: Vault, machine: Machine) -> None:
    (machine.root / "Memory/projects/widgets/build-command.md").unlink()
    look(vault)


def _hand_made(vault: Vault, machine: Machine) -> None:
    machine.put("Memory/global/by-hand.md", "By hand.\n")
    look(vault)


MUTATIONS = {
    each.__name__.strip("_"): each
    for each in (
        _create,
        _update,
        _rename,
        _move,
        _archive,
        _delete,
        _supersede,
        _propose,
        _promote,
        _promote_into,
        _reject,
        _inbox_update,
        _prune,
        _handoff_create,
        _handoff_update,
        _handoff_complete,
        _hand_edit,
        _hand_removal,
        _hand_made,
    )
}


@pytest.fixture
def filled(vault: Vault, machine: Machine) -> Vault:
    """A vault with a note, a pending and a decided proposal, and a handoff."""
    memories.create(vault, AGENT, claim())
    propose(vault)
    decided = propose(vault, "decided")
    inbox.reject(vault, AGENT, decided, inbox_proof(vault, decided))
    handoffs.create(vault, AGENT, HANDOFF)
    return vault


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_change_is_taken_back_exactly_and_redone_exactly(
    name: str, filled: Vault, machine: Machine
) -> None:
    before = documents(machine)
    MUTATIONS[name](filled, machine)
    after = documents(machine)
    assert after != before
    undone_event = events(filled)[-1]

    done = undo(filled)

    assert documents(machine) == before
    assert done.plan.events == (undone_event,)
    event = events(filled)[-1]
    assert (event.operation, event.channel, event.surface) == ("undo", "owner-cli", "cli")
    assert event.extra["undoes"] == undone_event.transaction_id

    undo(filled, event.transaction_id)
    assert documents(machine) == after
    undo(filled, events(filled)[-1].transaction_id[:8])
    assert documents(machine) == before
    look(filled)
    assert [e.operation for e in events(filled)][-3:] == ["undo"] * 3


def test_undo_steps_back_through_what_happened(filled: Vault, machine: Machine) -> None:
    states = [documents(machine)]
    for text in ("One.\n", "Two.\n"):
        change(filled, body=text)
        states.append(documents(machine))

    for expected in (states[1], states[0]):
        undo(filled)
        assert documents(machine) == expected


def test_an_event_is_undone_once(vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    created = events(vault)[0]
    undo(vault, "1")

    with pytest.raises(WrongState):
        undo(vault, "1")
    with pytest.raises(NotFound):
        undo(vault)
    assert undoing.standing(undoing.all_events(vault))[0].operation == "undo"
    assert created.transaction_id not in [
        e.transaction_id for e in undoing.standing(undoing.all_events(vault))
    ]


def test_a_later_change_is_never_undone_along(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim())
    change(vault, body="Mine.\n")
    machine.clock.forward(seconds=5)
    change(vault, caller=OTHER, body="Theirs.\n")
    before = documents(machine)

    with pytest.raises(WrongState) as refused:
        undo(vault, "2")

    assert refused.value.details["later_operation"] == "update"
    assert refused.value.details["later_client"] == "other"
    assert documents(machine) == before


def test_a_hand_edit_on_top_is_never_undone_along(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim())
    machine.put("Memory/projects/widgets/build-command.md", "By hand.\n")

    with pytest.raises(WrongState):
        undo(vault, "1")
    look(vault)
    with pytest.raises(WrongState) as refused:
        undo(vault, "1")
    assert refused.value.details["later_operation"] == "external-edit"


def test_a_slot_that_was_taken_meanwhile_is_named(vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))
    other = memories.create(vault, AGENT, claim()).document

    with pytest.raises(AlreadyExists) as refused:
        undo(vault, "2")
    assert refused.value.details["id"] == other.content.id


def test_a_proposal_does_not_come_back_beside_another(filled: Vault) -> None:
    _reject(filled, Machine(Path()))
    rejection = events(filled)[-1].transaction_id
    other = propose(filled)

    with pytest.raises(AlreadyExists) as refused:
        undo(filled, rejection)
    assert refused.value.details["id"] == other


@pytest.mark.parametrize(
    ("event", "refusal"),
    [
        ("99", NotFound),
        ("zzzz", NotFound),
        ("00", NotFound),
        ("", NotFound),
        ("../x", NotFound),
    ],
)
def test_what_is_no_event_is_refused(event: str, refusal: type[KeepMError], vault: Vault) -> None:
    with pytest.raises(refusal):
        undoing.plan(vault, OWNER, UndoRequest(event or None))


def test_a_beginning_that_fits_several_is_ambiguous(vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    first = events(vault)[0]

    with pytest.raises(AmbiguousIdentifier):
        undoing.find(vault, [first, first], first.transaction_id[:8])


def test_a_plan_that_changed_is_not_carried_out(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim())
    plan = undoing.plan(vault, OWNER, UndoRequest())
    memories.create(vault, AGENT, claim("second"))
    before = documents(machine)

    with pytest.raises(ConfirmationRequired):
        undoing.undo(vault, OWNER, UndoRequest(), digest=plan.digest)
    assert documents(machine) == before


def test_a_preview_changes_nothing(filled: Vault, machine: Machine) -> None:
    change(filled, body="New.\n")
    before, known = machine.files(), len(events(filled))
    plan = undoing.plan(filled, OWNER, UndoRequest())

    assert (machine.files(), len(events(filled))) == (before, known)
    (planned,) = plan.changes
    assert planned.becomes == "another version"
    assert "-New." in planned.diff
    assert "+The text of build-command." in planned.diff


# ---- all of one origin ---------------------------------------------------------------------------


def test_all_of_a_session_is_taken_back_in_one_event(filled: Vault, machine: Machine) -> None:
    before = documents(machine)
    count = len(events(filled))
    made = memories.create(filled, FIRST, claim("one"))
    change(filled, "one", FIRST, name="uno")
    change(filled, caller=FIRST, body="One.\n")
    change(filled, caller=FIRST, name="renamed", body="Two.\n")
    memories.create(filled, FIRST, claim("two"))
    memories.delete(filled, FIRST, "two", proof(filled, "two"))
    promotion.promote(filled, FIRST, "idea", inbox_proof(filled, "idea"))
    memories.create(filled, OTHER, claim("theirs"))

    done = undo(filled, session="s-1")

    after = documents(machine)
    theirs = after.pop("Memory/projects/widgets/theirs.md")
    assert b"theirs" in theirs
    assert after == before
    assert len(events(filled)) == count + 9
    assert len(done.plan.events) == 7
    assert made.document.path not in documents(machine)
    undo(filled, done.event.transaction_id)
    assert "Memory/projects/widgets/renamed.md" in documents(machine)


@pytest.mark.parametrize(
    "origin", [{"client": "tester"}, {"since": "2026-11-29T18:20:00Z"}, {"since": "2026-11-30"}]
)
def test_an_origin_is_a_client_or_a_time(
    origin: dict[str, str], vault: Vault, machine: Machine
) -> None:
    memories.create(vault, OTHER, claim())
    before = documents(machine)
    machine.clock.forward(days=1)
    memories.create(vault, FIRST, claim("one"))
    change(vault, caller=FIRST, body="One.\n")

    undo(vault, **origin)

    assert documents(machine) == before


def test_someone_else_s_change_in_between_is_named(vault: Vault, machine: Machine) -> None:
    memories.create(vault, FIRST, claim())
    change(vault, caller=OTHER, body="Theirs.\n")
    change(vault, caller=FIRST, body="Mine again.\n")
    before = documents(machine)

    with pytest.raises(WrongState) as refused:
        undo(vault, session="s-1")

    assert refused.value.details["later_client"] == "other"
    assert documents(machine) == before


def test_what_was_undone_already_is_left_out(vault: Vault, machine: Machine) -> None:
    memories.create(vault, FIRST, claim("one"))
    memories.create(vault, FIRST, claim("two"))
    undo(vault, "1")

    done = undo(vault, session="s-1")

    assert [event.sequence for event in done.plan.events] == [2]
    assert documents(machine) == {}
    with pytest.raises(NotFound):
        undo(vault, session="s-1")


def test_back_to_a_time_redoes_what_was_undone_since(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim())
    before = documents(machine)
    machine.clock.forward(days=1)
    undo(vault)
    assert documents(machine) == {}

    undo(vault, since="2026-11-30")
    assert documents(machine) == before


def test_back_to_a_time_redoes_nothing_of_what_came_after_it(
    vault: Vault, machine: Machine
) -> None:
    """An edit and its undo, both since then: taking back the undo alone brought the edit back."""
    memories.create(vault, AGENT, claim())
    before = documents(machine)
    machine.clock.forward(days=1)
    change(vault, body="Twice.\n")
    undo(vault)
    made = memories.create(vault, AGENT, claim("another"))
    memories.update(
        vault,
        AGENT,
        "another",
        edit(body="More.\n"),
        WriteProof(made.token, made.document.checksum),
    )
    undo(vault)
    put = machine.root / "Memory/projects/widgets/build-command.md"
    put.unlink()
    look(vault)
    undo(vault)  # made again
    after = documents(machine)

    done = undo(vault, since="2026-11-30")
    assert documents(machine) == before
    with pytest.raises(NotFound):
        undo(vault, client="tester", since="2026-11-30")

    undo(vault, done.event.transaction_id)
    assert documents(machine) == after
    undo(vault, since="2026-11-30")
    assert documents(machine) == before


def delete_after_a_change(vault: Vault) -> None:
    change(vault, body="Twice.\n")
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))


def undo_and_delete(vault: Vault) -> None:
    undo(vault)
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))


def undo_twice(vault: Vault) -> None:
    undo(vault)
    undo(vault)


@pytest.mark.parametrize("since", [delete_after_a_change, undo_and_delete, undo_twice])
def test_what_went_back_to_a_time_comes_forward_again(
    vault: Vault, machine: Machine, since: Callable[[Vault], None]
) -> None:
    """What an undo took out of the trash and changed lay in the folder of notes afterwards."""
    memories.create(vault, AGENT, claim())
    change(vault, body="Once.\n")
    before = documents(machine)
    machine.clock.forward(days=1)
    since(vault)
    after = documents(machine)
    assert after == {}

    for _ in range(2):
        back = undo(vault, since="2026-11-30")
        assert documents(machine) == before
        forward = undo(vault, back.event.transaction_id)
        assert documents(machine) == after
        undo(vault, forward.event.transaction_id)
        assert documents(machine) == before
        undo(vault, back.event.transaction_id)
        assert documents(machine) == after


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "12"])
def test_a_time_that_is_none_is_refused(since: str, vault: Vault) -> None:
    with pytest.raises(InvalidInput):
        undoing.plan(vault, OWNER, UndoRequest(since=since))


def test_one_event_and_an_origin_exclude_each_other(vault: Vault) -> None:
    with pytest.raises(InvalidInput):
        undoing.plan(vault, OWNER, UndoRequest("1", session="s-1"))


# ---- scope ---------------------------------------------------------------------------------------


def test_another_project_s_events_are_not_there(machine: Machine, opened: Open) -> None:
    widgets = opened(machine.folder / "work/widgets")
    memories.create(widgets, AGENT, claim())
    gadgets = opened(machine.project("gadgets"))

    for request in (UndoRequest(), UndoRequest("1"), UndoRequest(client="tester")):
        with pytest.raises(NotFound):
            undoing.plan(gadgets, OWNER, request)
    assert undo(widgets).event.operation == "undo"


def test_a_note_is_not_taken_back_into_a_project_that_is_not_this_folder_s(
    machine: Machine, opened: Open
) -> None:
    widgets = opened(machine.folder / "work/widgets")
    memories.create(widgets, AGENT, claim())
    change(widgets, scope=GLOBAL)
    gadgets = opened(machine.project("gadgets"))
    before = documents(machine)

    with pytest.raises(NotFound):
        undoing.plan(gadgets, OWNER, UndoRequest())
    assert documents(machine) == before


def test_a_superseded_note_comes_back_with_its_proposal(filled: Vault, machine: Machine) -> None:
    propose(
        filled,
        "better",
        target_identifier="build-command",
        target_action=TargetAction.SUPERSEDE,
    )
    before = documents(machine)
    target = Target("build-command", proof(filled, "build-command"))
    promotion.promote(filled, AGENT, "better", inbox_proof(filled, "better"), target=target)

    undo(filled)

    assert documents(machine) == before


@pytest.mark.parametrize("field", ["event", "session", "client", "since"])
def test_an_empty_choice_is_no_choice(vault: Vault, field: str) -> None:
    """`keepm undo --client "$NAME"` with no NAME must not take back the last event."""
    memories.create(vault, AGENT, claim())
    for text in ("", " "):
        with pytest.raises(InvalidInput) as caught:
            undoing.plan(vault, AGENT, UndoRequest(**{field: text}))
        assert caught.value.details["problems"][0]["field"] == field  # type: ignore[index]


@pytest.mark.parametrize("action", LoserAction)
def test_a_ruling_can_be_undone_and_redone_again_and_again(
    vault: Vault, machine: Machine, action: LoserAction
) -> None:
    """What a ruling changed on its way to the trash goes back there, and out again."""
    for name in ("winner", "loser"):
        memories.create(vault, AGENT, claim(name))
    winner, loser = (Side(name, proof(vault, name)) for name in ("winner", "loser"))
    ruling = Ruling(winner, loser, Resolution(action, "ruled"), ClaimEdit())
    states = [documents(machine)]
    token = conflicts.plan_resolution(vault, AGENT, ruling).token
    conflicts.resolve(vault, AGENT, ruling, token=token)
    states.append(documents(machine))

    for number in range(5):
        undo(vault, events(vault)[-1].transaction_id)
        assert documents(machine) == states[number % 2], f"undo {number + 1}"
