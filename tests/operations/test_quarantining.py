"""Quarantine: what one origin wrote is out of every read until the owner lifts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from keepm.errors import (
    AlreadyExists,
    ApprovalRequired,
    ConfirmationRequired,
    InvalidInput,
    NotFound,
    TooSimilar,
    WrongState,
)
from keepm.model.approval import Channel
from keepm.model.memory import ClaimEdit
from keepm.model.proposal import TargetAction
from keepm.operations import (
    context,
    handoffs,
    history,
    inbox,
    memories,
    promotion,
    quarantining,
    retrieval,
    reviewing,
    status,
    sync,
    undoing,
    vouching,
    waiting,
)
from keepm.operations.inbox import Suggestion, SuggestionEdit
from keepm.operations.quarantining import QuarantineRequest
from keepm.operations.retrieval import Wanted
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Caller, Vault
from keepm.operations.waiting import InboxFilter
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    HANDOFF,
    OWNER,
    FixedClock,
    Machine,
    Opening,
    claim,
    edit,
    events,
    look,
    proof,
    written_proof,
)

BAD = replace(AGENT, client="bad", session="bad-session")
BY_CLIENT = QuarantineRequest(client="bad")


def withhold(vault: Vault, request: QuarantineRequest = BY_CLIENT) -> str:
    """Put an origin in quarantine; return the event's id."""
    plan = quarantining.plan(vault, OWNER, request)
    return quarantining.add(vault, OWNER, request, digest=plan.digest).event.transaction_id


def lift(vault: Vault, identifier: str) -> None:
    plan = quarantining.plan_lift(vault, OWNER, identifier)
    quarantining.lift(vault, OWNER, identifier, digest=plan.digest)


def names(vault: Vault) -> set[str]:
    return {item.name for item in retrieval.catalog(vault, limit=100).items}


def propose(vault: Vault, caller: Caller, name: str = "idea", **fields: object) -> WriteProof:
    made = inbox.propose(vault, caller, Suggestion(claim(name, **fields), reason="because"))
    return WriteProof(made.token, made.document.checksum)


# ---- what it takes -------------------------------------------------------------------------------


def test_all_that_a_client_left_is_out_of_reads_and_comes_back_when_it_is_lifted(
    vault: Vault, machine: Machine
) -> None:
    memories.create(vault, AGENT, claim("fine"))
    memories.create(vault, BAD, claim("poison", pinned=True))
    propose(vault, BAD)
    handoffs.create(vault, BAD, replace(HANDOFF, title="bad work"))
    before = machine.files()

    plan = quarantining.plan(vault, OWNER, BY_CLIENT)
    assert [(each.kind, each.name) for each in plan.taken] == [
        ("memory", "poison"),
        ("proposal", "idea"),
        ("handoff", "bad work"),
    ]
    assert names(vault) == {"fine", "poison"}, "a preview changes nothing"
    done = withhold(vault)

    assert names(vault) == {"fine"}
    assert [item.name for item in context.context(vault).items] == ["fine"]
    assert context.context(vault).handoff is None
    assert waiting.list_page(vault, InboxFilter(), limit=9).total == 0
    assert waiting.summary(vault).pending == 0
    for read in (
        lambda: memories.read(vault, "poison", max_chars=9),
        lambda: inbox.read(vault, "idea", max_chars=9),
        lambda: handoffs.read(vault),
    ):
        with pytest.raises(NotFound) as refused:
            read()
        assert refused.value.details == {"reason": "withheld", "withheld": 1}
    found = retrieval.search(vault, Wanted("poison"))
    assert (found.items, found.reason, found.withheld) == ([], "withheld", 1)
    assert status.status(vault).withheld == 3
    assert machine.files() == before

    lift(vault, done[:8])
    assert names(vault) == {"fine", "poison"}
    assert memories.read(vault, "poison", max_chars=99).token
    assert handoffs.read(vault).token
    assert waiting.summary(vault).pending == 1
    assert status.status(vault).withheld is None
    assert machine.files() == before


def test_it_survives_a_lost_index_and_another_process(
    vault: Vault, machine: Machine, opened: Opening
) -> None:
    memories.create(vault, BAD, claim("poison"))
    memories.create(vault, AGENT, claim("fine"))
    other = opened(machine.folder / "work/widgets")
    look(other)
    done = withhold(vault)
    assert names(other) == {"fine"}

    for each in (vault, other):
        each.close()
    for path in machine.index_files():
        path.unlink()
    fresh = opened(machine.folder / "work/widgets")
    look(fresh)
    assert names(fresh) == {"fine"}
    assert [each.standing.transaction_id for each in quarantining.listing(fresh)] == [done]
    lift(fresh, done)
    assert names(fresh) == {"fine", "poison"}


def test_an_open_rule_takes_what_comes_later_and_a_span_does_not(
    vault: Vault, clock: FixedClock
) -> None:
    span = QuarantineRequest(since="2026-11-29", until="2026-11-29T18:16:00Z")
    memories.create(vault, BAD, claim("early"))
    withhold(vault, span)
    clock.forward(days=1)
    memories.create(vault, BAD, claim("late"))
    assert names(vault) == {"late"}
    withhold(vault)
    made = memories.create(vault, BAD, claim("later"))
    assert names(vault) == set()
    # Nothing is refused to the writer, but what it wrote isn't there to be changed.
    with pytest.raises(NotFound):
        memories.update(vault, BAD, "later", edit(description="x"), written_proof(made))


def test_a_date_as_an_end_is_the_whole_day(vault: Vault) -> None:
    memories.create(vault, BAD, claim("poison"))
    withhold(vault, QuarantineRequest(since="2026-11-28", until="2026-11-29"))
    assert names(vault) == set()


def test_what_others_touched_up_stays_withheld_and_what_the_owner_took_on_stays(
    vault: Vault,
) -> None:
    memories.create(vault, BAD, claim("touched"))
    memories.update(vault, AGENT, "touched", edit(description="Better"), proof(vault, "touched"))
    memories.create(vault, BAD, claim("vouched"))
    vouching.confirm(vault, OWNER, vouching.look(vault, "vouched"))
    propose(vault, BAD, "reviewed")
    reviewing.approve(vault, OWNER, reviewing.look(vault, "reviewed"))
    idea = propose(vault, BAD, "relayed")
    promotion.promote(vault, AGENT, "relayed", idea)

    plan = quarantining.plan(vault, OWNER, BY_CLIENT)
    assert [each.name for each in plan.spared] == ["reviewed", "vouched"]
    assert {e.name for e in plan.taken if e.kind == "memory"} == {"touched", "relayed"}
    withhold(vault)
    assert names(vault) == {"vouched", "reviewed"}


def test_an_approved_note_goes_along_when_it_is_named(vault: Vault) -> None:
    propose(vault, BAD, "reviewed")
    reviewing.approve(vault, OWNER, reviewing.look(vault, "reviewed"))
    memories.create(vault, BAD, claim("vouched"))
    vouching.confirm(vault, OWNER, vouching.look(vault, "vouched"))

    done = withhold(vault, replace(BY_CLIENT, include=("Reviewed",)))
    assert names(vault) == {"vouched"}
    lift(vault, done)
    assert names(vault) == {"vouched", "reviewed"}
    with pytest.raises(NotFound):
        quarantining.plan(vault, OWNER, replace(BY_CLIENT, include=("nobody's",)))


def test_a_rejected_proposal_is_withheld_although_the_owner_decided_on_it(vault: Vault) -> None:
    propose(vault, BAD)
    reviewing.reject(vault, OWNER, reviewing.look(vault, "idea"))
    withhold(vault)
    assert waiting.list_page(vault, InboxFilter(status=None), limit=9).total == 0


def test_an_undo_of_the_poison_leaves_the_good_version_and_brings_none_back(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("note"))
    memories.update(vault, BAD, "note", edit(body="Poison.\n"), proof(vault, "note"))
    done = withhold(vault)
    assert names(vault) == set()
    request = UndoRequest(client="bad")
    plan = undoing.plan(vault, OWNER, request)
    undoing.undo(vault, OWNER, request, digest=plan.digest)
    assert memories.read(vault, "note", max_chars=99).part.text == "The text of note."
    assert history.history(vault, "note").versions[0].operation == "undo"
    lift(vault, done)


def test_earlier_poison_is_in_no_history(vault: Vault) -> None:
    memories.create(vault, BAD, claim("note", body="Poison.\n"))
    bad = memories.read(vault, "note", max_chars=99).document.checksum.hex
    memories.update(vault, OWNER, "note", edit(body="Good.\n"), proof(vault, "note"))
    assert bad in {each.digest for each in history.history(vault, "note").versions}
    done = withhold(vault)
    assert bad not in {each.digest for each in history.history(vault, "note").versions}
    with pytest.raises(NotFound):
        history.version(vault, "note", bad)
    lift(vault, done)
    assert history.version(vault, "note", bad).document.checksum.hex == bad


def test_a_rule_of_one_project_leaves_the_others_alone(
    vault: Vault, machine: Machine, opened: Opening
) -> None:
    gadgets = opened(machine.project("gadgets"))
    memories.create(gadgets, BAD, claim("theirs", scope=gadgets.scope("project")))
    memories.create(vault, BAD, claim("ours"))
    memories.create(vault, BAD, claim("everybody's", scope=vault.scope("global")))
    plan = quarantining.plan(vault, OWNER, BY_CLIENT)
    assert {each.name for each in plan.taken} == {"ours", "everybody's"}
    withhold(vault)
    assert names(vault) == set()
    assert names(gadgets) == {"theirs"}
    assert quarantining.listing(gadgets) == []


# ---- what it leaves alone ------------------------------------------------------------------------


def test_a_withheld_note_keeps_its_slot_and_no_refusal_names_it(
    vault: Vault, machine: Machine
) -> None:
    """It can neither be overwritten nor get a rival that it would meet when it comes back."""
    made = memories.create(vault, BAD, claim("Build_Command", aliases=("secret-alias",)))
    idea = propose(vault, BAD, "Some_Idea")
    note_id = made.document.content.id
    done = withhold(vault)
    before = machine.files()

    attempts: list[Callable[[], object]] = [
        lambda: memories.create(vault, AGENT, claim("build-command")),
        lambda: inbox.propose(vault, AGENT, Suggestion(claim("build-command"), reason="r")),
        lambda: inbox.propose(vault, AGENT, Suggestion(claim("some-idea"), reason="r")),
        # The very same candidate would otherwise be handed out with its token.
        lambda: inbox.propose(vault, BAD, Suggestion(claim("Some_Idea"), reason="because")),
        lambda: memories.create(vault, OWNER, claim("build-command")),
    ]
    for attempt in attempts:
        with pytest.raises(AlreadyExists) as refused:
            attempt()
        told = f"{refused.value.message} {refused.value.next_step} {refused.value.details}"
        assert note_id not in told
        assert "Build_Command" not in told and "Some_Idea" not in told
        assert refused.value.details == {"reason": "withheld"}
    memories.create(vault, AGENT, claim("other"))
    with pytest.raises(AlreadyExists):
        memories.update(vault, AGENT, "other", edit(name="build command"), proof(vault, "other"))
    assert {path: machine.files()[path] for path in before} == before
    lift(vault, done)
    assert inbox.update(vault, BAD, "Some_Idea", SuggestionEdit(ClaimEdit(description="x")), idea)


def test_no_refusal_as_too_similar_names_what_is_withheld(vault: Vault) -> None:
    memories.create(vault, BAD, claim("release checklist"))
    with pytest.raises(TooSimilar):
        memories.create(vault, AGENT, claim("release checklist v2"))
    withhold(vault)
    memories.create(vault, AGENT, claim("release checklist v2"))


def test_a_correction_of_a_withheld_note_finds_no_target(vault: Vault) -> None:
    memories.create(vault, BAD, claim("poison"))
    withhold(vault)
    correction = Suggestion(
        claim("poison"),
        reason="r",
        target_identifier="poison",
        target_action=TargetAction.UPDATE,
    )
    with pytest.raises(NotFound):
        inbox.propose(vault, AGENT, correction)


def test_a_token_from_before_changes_nothing_withheld(vault: Vault, machine: Machine) -> None:
    memories.create(vault, BAD, claim("poison"))
    held = proof(vault, "poison")
    withhold(vault)
    before = machine.files()
    for change in (
        lambda: memories.update(vault, AGENT, "poison", edit(description="x"), held),
        lambda: memories.delete(vault, AGENT, "poison", held),
    ):
        with pytest.raises(NotFound):
            change()
    assert machine.files() == before


def test_a_copy_by_hand_of_what_is_withheld_is_withheld_too(vault: Vault, machine: Machine) -> None:
    memories.create(vault, BAD, claim("poison"))
    withhold(vault)
    data = machine.files()["Memory/projects/widgets/poison.md"]
    machine.put("Memory/projects/widgets/sub/copy.md", data)
    look(vault)
    assert names(vault) == set()


def test_a_line_added_by_hand_lets_nothing_out(vault: Vault, machine: Machine) -> None:
    """An agent with a shell can do that; the owner lifts instead."""
    memories.create(vault, BAD, claim("poison"))
    withhold(vault)
    path = "Memory/projects/widgets/poison.md"
    for seconds in (0, 60):  # within the second of the quarantine, and later
        machine.clock.forward(seconds=seconds)
        machine.put(path, machine.files()[path] + b"\nOne more line.\n")
        look(vault)
        sync.refresh(vault)
        assert names(vault) == set()


def test_removing_a_note_and_writing_it_again_by_hand_lets_nothing_out(
    vault: Vault, machine: Machine
) -> None:
    memories.create(vault, BAD, claim("poison"))
    withhold(vault)
    path = machine.root / "Memory/projects/widgets/poison.md"
    data = path.read_bytes()
    path.unlink()
    look(vault)
    sync.refresh(vault)
    machine.clock.forward(seconds=5)
    path.write_bytes(data + b"\nOne more line.\n")
    look(vault)
    sync.refresh(vault)
    assert names(vault) == set()


# ---- who and how ---------------------------------------------------------------------------------


def test_the_event_tells_the_rule_and_no_text(vault: Vault) -> None:
    memories.create(vault, BAD, claim("poison", body="zzcanaryzz\n"))
    done = withhold(vault)
    lift(vault, done)
    add, lifted = events(vault)[-2:]
    assert (add.operation, add.channel, add.changes) == ("quarantine", "owner-cli", ())
    assert add.extra == {
        "ruling": "quarantine",
        "subject": '{"client":"bad","reach":"widgets"}',
        "terminal": "tty",
    }
    assert (lifted.operation, lifted.extra["subject"]) == ("quarantine_lift", done)
    assert "zzcanaryzz" not in add.line().decode() + lifted.line().decode()


def test_an_agent_can_neither_withhold_nor_lift(vault: Vault) -> None:
    memories.create(vault, BAD, claim("poison"))
    plan = quarantining.plan(vault, OWNER, BY_CLIENT)
    for caller in (AGENT, replace(AGENT, channel=Channel.HOST)):
        with pytest.raises(ApprovalRequired):
            quarantining.add(vault, caller, BY_CLIENT, digest=plan.digest)
    done = withhold(vault)
    lifting = quarantining.plan_lift(vault, OWNER, done)
    for caller in (AGENT, replace(AGENT, channel=Channel.HOST)):
        with pytest.raises(ApprovalRequired):
            quarantining.lift(vault, caller, done, digest=lifting.digest)
    assert names(vault) == set()


def test_an_origin_cannot_hold_its_quarantine_off_by_writing(vault: Vault) -> None:
    memories.create(vault, BAD, claim("poison"))
    day = QuarantineRequest(since="2026-11-29", until="2026-11-29")
    plans = {each: quarantining.plan(vault, OWNER, each) for each in (BY_CLIENT, day)}
    memories.update(vault, BAD, "poison", edit(body="Else.\n"), proof(vault, "poison"))
    quarantining.add(vault, OWNER, day, digest=plans[day].digest)
    memories.create(vault, BAD, claim("more poison"))
    done = quarantining.add(vault, OWNER, BY_CLIENT, digest=plans[BY_CLIENT].digest)
    assert {each.name for each in done.plan.taken} == {"poison", "more poison"}
    assert names(vault) == set()


def test_only_the_plan_that_was_shown_is_carried_out(vault: Vault) -> None:
    day = QuarantineRequest(since="2026-11-29", until="2026-11-29")
    plan = quarantining.plan(vault, OWNER, day)
    memories.create(vault, BAD, claim("poison"))
    with pytest.raises(ConfirmationRequired):
        quarantining.add(vault, OWNER, day, digest=plan.digest)
    named = replace(BY_CLIENT, client="other")
    with pytest.raises(ConfirmationRequired):
        quarantining.add(
            vault, OWNER, named, digest=quarantining.plan(vault, OWNER, BY_CLIENT).digest
        )
    done = withhold(vault)
    lifting = quarantining.plan_lift(vault, OWNER, done)
    memories.create(vault, BAD, claim("more poison"))
    with pytest.raises(ConfirmationRequired):
        quarantining.lift(vault, OWNER, done, digest=lifting.digest)


def test_an_undo_takes_a_quarantine_back_like_any_event(vault: Vault) -> None:
    memories.create(vault, BAD, claim("poison"))
    done = withhold(vault)
    for seen in ({"poison"}, set()):
        request = UndoRequest(event=events(vault)[-1].transaction_id)
        plan = undoing.plan(vault, OWNER, request)
        undoing.undo(vault, OWNER, request, digest=plan.digest)
        assert names(vault) == seen
    assert [each.standing.transaction_id for each in quarantining.listing(vault)] == [done]


@pytest.mark.parametrize(
    "request_",
    [
        QuarantineRequest(),
        QuarantineRequest(client=""),
        QuarantineRequest(session=" "),
        QuarantineRequest(client="a", session="b"),
        QuarantineRequest(since="yesterday", until="2026-11-29"),
        QuarantineRequest(since="2026-11-30", until="2026-11-29"),
    ],
)
def test_an_origin_is_named_exactly_once(vault: Vault, request_: QuarantineRequest) -> None:
    with pytest.raises(InvalidInput):
        quarantining.plan(vault, OWNER, request_)


def test_the_same_origin_twice_is_refused_and_an_unknown_quarantine_not_lifted(
    vault: Vault,
) -> None:
    done = withhold(vault)
    with pytest.raises(WrongState):
        quarantining.plan(vault, OWNER, BY_CLIENT)
    for identifier in ("", done[:3], "ffffffff"):
        with pytest.raises(NotFound):
            quarantining.plan_lift(vault, OWNER, identifier)


def test_what_two_rules_withhold_comes_back_with_the_second(vault: Vault) -> None:
    memories.create(vault, BAD, claim("poison"))
    one = withhold(vault)
    two = withhold(vault, QuarantineRequest(session="bad-session"))
    assert quarantining.plan_lift(vault, OWNER, one).back == ()
    lift(vault, one)
    assert names(vault) == set()
    assert [e.name for e in quarantining.plan_lift(vault, OWNER, two).back] == ["poison"]
    lift(vault, two)
    assert names(vault) == {"poison"}


def test_a_request_comes_back_from_a_plans_file() -> None:
    for request in (
        BY_CLIENT,
        QuarantineRequest(since="a", until="b", include=("one", "two words")),
    ):
        assert QuarantineRequest.from_record(request.as_record()) == request
