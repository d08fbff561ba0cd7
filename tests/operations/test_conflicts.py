"""One note stays, the other gives way: the plan, its confirmation, and what stands afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from keepm.errors import (
    ApprovalRequired,
    ChecksumMismatch,
    ConfirmationRequired,
    ContractMissing,
    InvalidInput,
    LimitExceeded,
    NotFound,
    TokenInvalid,
    WrongState,
)
from keepm.index import catalog, lineage
from keepm.model.memory import GLOBAL, ClaimEdit, Kind, Memory, Status
from keepm.model.proposal import TargetAction
from keepm.model.resolution import LoserAction, Resolution
from keepm.operations import conflicts, context, inbox, memories, promotion, retrieval
from keepm.operations.conflicts import Resolved, Ruling, Side
from keepm.operations.inbox import Suggestion
from keepm.operations.memories import MemoryEdit, MemoryWritten
from keepm.operations.promotion import Target
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    FixedClock,
    Machine,
    claim,
    edit,
    events,
    look,
    proof,
)

CASES = Path(__file__).parents[1] / "cases"
SUPERSEDE, ARCHIVE, DELETE = LoserAction
REASON = "The port moved with the gateway"


def made(vault: Vault, name: str, **fields: object) -> MemoryWritten:
    return memories.create(vault, AGENT, claim(name, **fields))


def ruling(
    vault: Vault,
    winner: str,
    loser: str,
    *,
    action: LoserAction = SUPERSEDE,
    reason: str = REASON,
    change: ClaimEdit | None = None,
) -> Ruling:
    return Ruling(
        Side(winner, proof(vault, winner)),
        Side(loser, proof(vault, loser)),
        Resolution(action, reason),
        change or ClaimEdit(),
    )


def resolved(vault: Vault, winner: str, loser: str, **wanted: object) -> Resolved:
    asked = ruling(vault, winner, loser, **wanted)  # type: ignore[arg-type]  # by name
    token = conflicts.plan_resolution(vault, AGENT, asked).token
    return conflicts.resolve(vault, AGENT, asked, token=token)


def stored(vault: Vault, identifier: str) -> Memory:
    content = memories.read(vault, identifier, max_chars=100_000).document.content
    assert isinstance(content, Memory)
    return content


def recalled(vault: Vault, query: str) -> set[str]:
    """Return the names that search, catalog and context give."""
    found = {item.name for item in retrieval.search(vault, Wanted(query)).items}
    found |= {item.name for item in retrieval.catalog(vault).items}
    return found | {item.name for item in context.context(vault, query=query).items}


def test_a_superseded_note_is_out_of_recall_and_readable_by_id(vault: Vault) -> None:
    old, new = made(vault, "api-port-old"), made(vault, "api-port")
    assert recalled(vault, "port") == {"api-port-old", "api-port"}

    done = resolved(vault, "api-port", "api-port-old")

    assert done.winner.content.supersedes == (old.document.content.id,)
    assert (done.loser.status, done.loser_path) == (Status.SUPERSEDED, old.document.path)
    assert recalled(vault, "port") == {"api-port"}
    reading = memories.read(vault, old.document.content.id, max_chars=1000)
    assert isinstance(reading.document.content, Memory)
    assert reading.document.content.resolution_reason == REASON
    assert reading.superseded_by == (new.document.content.id,)


def test_a_resolution_is_one_event_with_both_ids(vault: Vault) -> None:
    old, new = made(vault, "b"), made(vault, "a")
    resolved(vault, "a", "b")
    event = events(vault)[-1]
    assert (event.operation, event.object_id) == ("resolve", new.document.content.id)
    assert event.extra == {"loser_id": old.document.content.id, "loser_action": "supersede"}
    assert len(event.changes) == 2
    assert len(events(vault)) == 3
    assert event.channel == "relayed"


def test_the_answers_token_allows_the_next_change(vault: Vault) -> None:
    made(vault, "b"), made(vault, "a")
    done = resolved(vault, "a", "b")
    following = WriteProof(done.token, done.winner.checksum)
    memories.update(vault, AGENT, "a", edit(description="Newer"), following)


def test_a_dry_run_changes_nothing_and_says_what_would_be(machine: Machine, vault: Vault) -> None:
    old = made(vault, "b")
    made(vault, "a")
    made(vault, "linking", body="See [[b]].")
    before = machine.files()

    plan = conflicts.plan_resolution(
        vault, AGENT, ruling(vault, "a", "b", change=ClaimEdit(body="Both texts."))
    )

    assert machine.files() == before
    assert len(events(vault)) == 3
    assert plan.linked_from == ("linking",)
    winner, loser = plan.changes
    assert (loser.path, loser.to) == (old.document.path, None)
    assert f"+supersedes: {old.document.content.id}" in winner.diff.splitlines()
    assert "+Both texts." in winner.diff.splitlines()
    assert {"-status: active", "+status: superseded"} <= set(loser.diff.splitlines())


def test_what_the_plan_shows_is_what_is_written(
    machine: Machine, vault: Vault, clock: FixedClock
) -> None:
    """The time differs between plan and act; nothing else does."""
    made(vault, "b"), made(vault, "a")
    asked = ruling(vault, "a", "b", change=ClaimEdit(description="Newer"))
    plan = conflicts.plan_resolution(vault, AGENT, asked)
    clock.forward(seconds=60)
    conflicts.resolve(vault, AGENT, asked, token=plan.token)
    for change in plan.changes:
        lines = machine.files()[change.path].decode().splitlines()
        for added in (line[1:] for line in change.diff.splitlines()[2:] if line[0] == "+"):
            assert added in lines or added.startswith("updated:")


@pytest.mark.parametrize("action", [ARCHIVE, DELETE])
def test_a_loser_keeps_the_reason_where_it_goes(
    machine: Machine, vault: Vault, action: LoserAction
) -> None:
    """Fault 28: the reason that was asked for was kept nowhere."""
    old, new = made(vault, "b"), made(vault, "a")
    done = resolved(vault, "a", "b", action=action)

    assert done.winner.checksum == new.document.checksum, "without new content it stays as it is"
    text = machine.files()[done.loser_path].decode()
    assert f"resolution_reason: {REASON}\n" in text
    if action is ARCHIVE:
        assert stored(vault, old.document.content.id).status is Status.ARCHIVED
    else:
        assert done.loser_path.startswith("Memory/.trash/")
        assert done.loser_path.endswith("/projects/widgets/b.md")
        with pytest.raises(NotFound):
            memories.read(vault, "b", max_chars=10)
    assert recalled(vault, "text") == {"a"}
    assert [len(event.changes) for event in events(vault)] == [1, 1, 1]


def test_new_content_comes_in_the_same_transaction(vault: Vault) -> None:
    made(vault, "b"), made(vault, "a")
    change = ClaimEdit(description="Both", body="Port 9443.\n", tags=("net",), pinned=True)
    done = resolved(vault, "a", "b", change=change)
    said = stored(vault, "a").claim
    assert (said.description, said.body, said.tags, said.pinned) == (
        "Both", "Port 9443.", ("net",), True,
    )  # fmt: skip
    assert done.winner.content.claim == said
    assert len(events(vault)) == 3


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (ClaimEdit(kind=Kind.DECISION), ContractMissing),
        (ClaimEdit(body="x" * 16385), LimitExceeded),
        (ClaimEdit(description=""), InvalidInput),
    ],
)
def test_new_content_meets_the_rules_of_any_note(
    machine: Machine, vault: Vault, change: ClaimEdit, refusal: type[Exception]
) -> None:
    made(vault, "b"), made(vault, "a")
    before = machine.files()
    with pytest.raises(refusal):
        conflicts.plan_resolution(vault, AGENT, ruling(vault, "a", "b", change=change))
    assert machine.files() == before


def test_merging_three_duplicates_works(vault: Vault) -> None:
    """Fault 27."""
    ids = [made(vault, name).document.content.id for name in ("b", "c")]
    made(vault, "a")
    resolved(vault, "a", "b")
    resolved(vault, "a", "c")
    assert stored(vault, "a").supersedes == tuple(ids)
    assert recalled(vault, "text") == {"a"}


@pytest.mark.parametrize("changed", ["a", "b"])
def test_an_edit_after_the_plan_is_refused_and_kept(
    machine: Machine, vault: Vault, changed: str
) -> None:
    made(vault, "b"), made(vault, "a")
    asked = ruling(vault, "a", "b")
    token = conflicts.plan_resolution(vault, AGENT, asked).token
    path = f"Memory/projects/widgets/{changed}.md"
    machine.put(path, machine.files()[path] + b"\nBy hand.\n")
    before = machine.files()
    with pytest.raises(ChecksumMismatch):
        conflicts.resolve(vault, AGENT, asked, token=token)
    assert machine.files() == before


@pytest.mark.parametrize(
    "other",
    [
        {"reason": "Another reason"},
        {"action": ARCHIVE},
        {"change": ClaimEdit(description="Another")},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_token_confirms_one_plan_only(vault: Vault, other: dict[str, object]) -> None:
    made(vault, "b"), made(vault, "a")
    asked = ruling(vault, "a", "b")
    token = conflicts.plan_resolution(vault, AGENT, asked).token
    changed = ruling(vault, "a", "b", **other)  # type: ignore[arg-type]  # by name
    with pytest.raises(ConfirmationRequired):
        conflicts.resolve(vault, AGENT, changed, token=token)
    conflicts.resolve(vault, AGENT, asked, token=token)
    with pytest.raises(ChecksumMismatch):
        conflicts.resolve(vault, AGENT, asked, token=token)


def test_a_token_is_bound_to_the_winner_as_read_though_it_stays_as_it_is(vault: Vault) -> None:
    made(vault, "b"), made(vault, "a")
    asked = ruling(vault, "a", "b", action=ARCHIVE)
    token = conflicts.plan_resolution(vault, AGENT, asked).token
    memories.update(vault, AGENT, "a", edit(description="Another"), proof(vault, "a"))
    read_again = replace(asked, winner=Side("a", proof(vault, "a")))
    with pytest.raises(ConfirmationRequired):
        conflicts.resolve(vault, AGENT, read_again, token=token)


def test_a_link_that_appears_after_the_plan_asks_for_another_look(vault: Vault) -> None:
    made(vault, "b"), made(vault, "a")
    asked = ruling(vault, "a", "b")
    token = conflicts.plan_resolution(vault, AGENT, asked).token
    made(vault, "linking", body="See [[b]].")
    with pytest.raises(ConfirmationRequired):
        conflicts.resolve(vault, AGENT, asked, token=token)


@pytest.mark.parametrize("side", ["winner", "loser"])
def test_both_notes_need_the_proof_of_their_read(vault: Vault, side: str) -> None:
    made(vault, "b"), made(vault, "a")
    asked = ruling(vault, "a", "b")
    there: Side = getattr(asked, side)
    forged = replace(there, proof=WriteProof("forged", there.proof.checksum))
    with pytest.raises(TokenInvalid):
        conflicts.plan_resolution(vault, AGENT, replace(asked, **{side: forged}))  # type: ignore[arg-type]


def test_a_refusal_spends_nothing_and_success_spends_both(vault: Vault) -> None:
    made(vault, "b"), made(vault, "a")
    asked = ruling(vault, "a", "b", action=ARCHIVE)
    with pytest.raises(ConfirmationRequired):
        conflicts.resolve(vault, AGENT, asked, token="none")
    token = conflicts.plan_resolution(vault, AGENT, asked).token
    conflicts.resolve(vault, AGENT, asked, token=token)
    with pytest.raises(TokenInvalid):  # the winner didn't change, its proof is spent all the same
        memories.update(vault, AGENT, "a", edit(description="x"), asked.winner.proof)


def test_a_note_does_not_give_way_to_itself(vault: Vault) -> None:
    written = made(vault, "a", aliases=("other",))
    asked = ruling(vault, "a", "other")
    assert asked.winner.proof.checksum == written.document.checksum
    with pytest.raises(InvalidInput) as refused:
        conflicts.plan_resolution(vault, AGENT, asked)
    assert refused.value.problems[0].field == "loser_identifier"


def test_two_scopes_are_no_conflict(vault: Vault) -> None:
    made(vault, "a"), made(vault, "b", scope=GLOBAL)
    with pytest.raises(InvalidInput):
        conflicts.plan_resolution(vault, AGENT, ruling(vault, "a", "b"))


def test_a_winner_must_be_active(vault: Vault) -> None:
    made(vault, "b"), made(vault, "a")
    archive = MemoryEdit(ClaimEdit(), Status.ARCHIVED)
    memories.update(vault, AGENT, "a", archive, proof(vault, "a"))
    with pytest.raises(WrongState):
        conflicts.plan_resolution(vault, AGENT, ruling(vault, "a", "b"))


@pytest.mark.parametrize("reason", ["", "x" * 601])
def test_a_reason_is_needed(vault: Vault, reason: str) -> None:
    made(vault, "b"), made(vault, "a")
    with pytest.raises(InvalidInput):
        conflicts.plan_resolution(vault, AGENT, ruling(vault, "a", "b", reason=reason))


def test_a_reason_of_several_lines_is_kept_as_it_is(vault: Vault) -> None:
    old = made(vault, "b")
    made(vault, "a")
    resolved(vault, "a", "b", reason='- one: x\n# two\n  "three"')
    kept = stored(vault, old.document.content.id).resolution_reason
    assert kept == '- one: x\n# two\n  "three"'


def test_the_configured_minimum_holds(machine: Machine) -> None:
    machine.configure({"approval": {"kinds": {"decision": "owner"}}})
    vault = machine.open(machine.folder / "work/widgets")
    made(vault, "b"), made(vault, "a")
    change = ClaimEdit(
        kind=Kind.DECISION,
        body="## Decision and constraints\n\nx\n\n## Reproducible parameters\n\n- y\n",
    )
    with pytest.raises(ApprovalRequired):
        conflicts.plan_resolution(vault, AGENT, ruling(vault, "a", "b", change=change))
    vault.close()


# ---- circles -----------------------------------------------------------------------------------


def by_hand(machine: Machine, name: str, note_id: str, supersedes: str) -> None:
    machine.put(
        f"Memory/global/{name}.md",
        f"---\nid: {note_id}\nname: {name}\ndescription: A note\nsupersedes: {supersedes}\n---\n\n"
        f"Text {name}.\n",
    )


@pytest.mark.parametrize("length", [2, 3, 5])
def test_a_circle_made_by_hand_is_reported_and_hides_nothing(
    machine: Machine, vault: Vault, length: int
) -> None:
    """Case 70: both notes of a circle stay to be seen, as unclear."""
    for number in range(length):
        by_hand(machine, f"n{number}", f"mem-{number}", f"mem-{(number + 1) % length}")
    look(vault)
    assert recalled(vault, "Text") == {f"n{number}" for number in range(length)}
    reading = memories.read(vault, "mem-0", max_chars=1000)
    assert "supersedes_circle" in [finding.code for finding in reading.document.findings]
    with pytest.raises(InvalidInput):
        conflicts.plan_resolution(vault, AGENT, ruling(vault, "n0", "n1"))
    # The way out.
    memories.update(vault, AGENT, "n1", MemoryEdit(ClaimEdit(), supersedes=()), proof(vault, "n1"))
    assert "n1" not in recalled(vault, "Text")


def test_no_step_of_ours_closes_a_circle(machine: Machine, vault: Vault) -> None:
    """Both call themselves active: the older one was overtaken by a line in the newer."""
    by_hand(machine, "old", "mem-1", "[]")
    by_hand(machine, "middle", "mem-2", "mem-1")
    by_hand(machine, "new", "mem-3", "mem-2")
    look(vault)
    before = machine.files()
    for takes in (
        lambda: resolved(vault, "mem-1", "mem-3"),
        lambda: memories.update(
            vault,
            AGENT,
            "mem-1",
            MemoryEdit(ClaimEdit(), supersedes=("new",)),
            proof(vault, "mem-1"),
        ),
    ):
        with pytest.raises(InvalidInput) as refused:
            takes()
        assert refused.value.details["circle"] == ["mem-1", "mem-2", "mem-3"]
    assert machine.files() == before
    assert lineage.of_scope(vault.database, GLOBAL) == {"mem-2": ("mem-1",), "mem-3": ("mem-2",)}


def test_a_correction_by_hand_takes_the_old_note_out(machine: Machine, vault: Vault) -> None:
    """Case 70: the new note alone answers; the old one says what replaced it."""
    for name in ("old", "new"):
        source = (CASES / "70-supersede" / f"{name}.md").read_bytes()
        machine.put(f"Memory/global/{name}.md", source)
    look(vault)
    assert [item.id for item in retrieval.search(vault, Wanted("API port")).items] == ["mem-7002"]
    assert memories.read(vault, "mem-7001", max_chars=1000).superseded_by == ("mem-7002",)

    (machine.root / "Memory/global/new.md").unlink()
    look(vault)
    assert [item.id for item in retrieval.search(vault, Wanted("API port")).items] == ["mem-7001"]


# ---- create and update ------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["id", "name", "alias"])
def test_a_new_note_replaces_an_active_one_in_one_step(vault: Vault, by: str) -> None:
    """Fault 29."""
    old = made(vault, "api-port", aliases=("gateway-port",)).document
    named = {"id": old.content.id, "name": "API port", "alias": "gateway-port"}[by]
    new = memories.create(vault, AGENT, claim("api-port", body="9443"), supersedes=(named,))
    assert new.document.content.supersedes == (old.content.id,)
    assert new.document.path != old.path
    assert stored(vault, old.content.id).status is Status.SUPERSEDED
    assert stored(vault, "api-port").id == new.document.content.id, "the slot is the new note's"
    event = events(vault)[-1]
    assert (event.operation, event.extra) == ("create", {"superseded": old.content.id})
    assert [item.id for item in retrieval.catalog(vault).items] == [new.document.content.id]


def test_a_new_note_may_replace_several(vault: Vault) -> None:
    ids = tuple(made(vault, name).document.content.id for name in ("a", "b"))
    new = memories.create(vault, AGENT, claim("c"), supersedes=("a", "b", "A"))
    assert new.document.content.supersedes == ids


def test_what_a_new_note_replaces_must_be_there_active_and_of_its_scope(
    machine: Machine, vault: Vault
) -> None:
    gone = made(vault, "gone").document.content.id
    memories.create(vault, AGENT, claim("heir"), supersedes=("gone",))
    made(vault, "everywhere", scope=GLOBAL)
    before = machine.files()
    for named, refusal in (
        ("nothing", NotFound),
        (gone, WrongState),
        ("everywhere", InvalidInput),
    ):
        with pytest.raises(refusal):
            memories.create(vault, AGENT, claim("new"), supersedes=(named,))
    assert machine.files() == before


def test_another_note_in_the_slot_still_holds_it(vault: Vault) -> None:
    made(vault, "a"), made(vault, "b")
    with pytest.raises(Exception) as refused:
        memories.create(vault, AGENT, claim("a"), supersedes=("b",))
    assert getattr(refused.value, "code", "") == "already_exists"
    assert stored(vault, "b").status is Status.ACTIVE


def test_update_edits_what_a_note_supersedes(vault: Vault) -> None:
    old = made(vault, "b").document.content.id
    made(vault, "a")
    takes = MemoryEdit(ClaimEdit(), supersedes=("b",))
    memories.update(vault, AGENT, "a", takes, proof(vault, "a"))
    assert stored(vault, "a").supersedes == (old,)
    assert stored(vault, old).status is Status.SUPERSEDED

    memories.update(vault, AGENT, "a", edit(description="x"), proof(vault, "a"))
    assert stored(vault, "a").supersedes == (old,), "absent stays"
    memories.update(vault, AGENT, "a", MemoryEdit(ClaimEdit(), supersedes=()), proof(vault, "a"))
    assert stored(vault, "a").supersedes == (), "empty clears"
    memories.update(
        vault, AGENT, "a", MemoryEdit(ClaimEdit(), supersedes=(old,)), proof(vault, "a")
    )
    assert stored(vault, "a").supersedes == (old,), "a superseded note may be listed again"


def test_update_takes_over_the_slot_of_the_note_that_gives_way(vault: Vault) -> None:
    old = made(vault, "port").document.content.id
    made(vault, "port-candidate")
    takes = MemoryEdit(ClaimEdit(name="port"), supersedes=("port",))
    memories.update(vault, AGENT, "port-candidate", takes, proof(vault, "port-candidate"))
    assert stored(vault, "port").supersedes == (old,)


def test_update_refuses_itself_and_unknown_notes(vault: Vault) -> None:
    made(vault, "a")
    for named, refusal in (("a", InvalidInput), ("nothing", NotFound)):
        with pytest.raises(refusal):
            memories.update(
                vault, AGENT, "a", MemoryEdit(ClaimEdit(), supersedes=(named,)), proof(vault, "a")
            )


# ---- promotion ---------------------------------------------------------------------------------


def test_a_promoted_correction_keeps_its_reason_with_the_note_it_replaces(vault: Vault) -> None:
    old = made(vault, "api-port").document.content.id
    proposed = inbox.propose(
        vault,
        AGENT,
        Suggestion(
            claim("api-port", body="9443"),
            "The compose file says so",
            target_identifier="api-port",
            target_action=TargetAction.SUPERSEDE,
        ),
    )
    assert stored(vault, "api-port").id == old, "a pending proposal has no effect"
    promotion.promote(
        vault,
        AGENT,
        proposed.document.content.id,
        WriteProof(proposed.token, proposed.document.checksum),
        target=Target("api-port", proof(vault, "api-port")),
    )
    loser = stored(vault, old)
    assert loser.status is Status.SUPERSEDED
    assert loser.resolution_reason == "The compose file says so"
    assert recalled(vault, "9443") == {"api-port"}


def test_a_rebuilt_index_knows_the_same_statuses(machine: Machine, vault: Vault) -> None:
    by_hand(machine, "one", "mem-1", "mem-2")
    by_hand(machine, "two", "mem-2", "mem-3")
    by_hand(machine, "three", "mem-3", "[]")
    by_hand(machine, "four", "mem-4", "mem-1")
    look(vault)

    def statuses(there: Vault) -> dict[str, str]:
        return {
            name: str(catalog.find(there.database, name, there.visibility)[0].status)
            for name in ("one", "two", "three", "four")
        }

    live = statuses(vault)
    assert live == {
        "four": "active", "one": "superseded", "two": "superseded", "three": "superseded",
    }  # fmt: skip
    vault.close()
    for path in machine.index_files():
        path.unlink()
    again = machine.open(machine.folder / "work/widgets")
    look(again)
    assert statuses(again) == live
    again.close()
