"""What a person rejected stays out by every way in, and what they told apart is left alone.

Known fault 66: a rejected candidate could be proposed again at once, and had no reason.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keepm.config.sameness import load_sameness
from keepm.errors import KeepMError, NotFound, RejectedBefore, TooSimilar, WrongState
from keepm.index.rulings import RulingRow
from keepm.model import verdict
from keepm.model.approval import Channel
from keepm.model.memory import GLOBAL, ClaimEdit, Scope, Status
from keepm.model.proposal import TargetAction
from keepm.model.resolution import LoserAction, Resolution
from keepm.operations import (
    cleaning,
    conflicts,
    context,
    identifying,
    inbox,
    judging,
    memories,
    promotion,
    pruning,
    recording,
    retrieval,
    reviewing,
    sync,
    undoing,
    verdicts,
)
from keepm.operations.cleaning import CleanRequest
from keepm.operations.conflicts import Ruling, Side
from keepm.operations.inbox import ProposalWritten, Suggestion, SuggestionEdit
from keepm.operations.memories import MemoryEdit
from keepm.operations.mutation import writing_time
from keepm.operations.promotion import Target
from keepm.operations.retrieval import Wanted
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Caller, Vault
from keepm.store import transaction
from keepm.store.event import EventDraft
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    OWNER,
    WIDGETS,
    FixedClock,
    Machine,
    Opening,
    claim,
    edit,
    events,
    look,
    proof,
)
from tests.operations.test_two_writers import Beside

BODY = "Use pnpm 9 for every package, never npm."
RESTATED = "use **PNPM 9** for every package; never npm!"
OTHER = "Use yarn for every package of this repository."
REASON = "we use make"


def propose(vault: Vault, name: str = "package-manager", **fields: object) -> ProposalWritten:
    wanted = claim(name, **{"body": BODY, **fields})
    return inbox.propose(vault, AGENT, Suggestion(wanted, "seen"))


def given(made: ProposalWritten) -> WriteProof:
    return WriteProof(made.token, made.document.checksum)


def reject(
    vault: Vault, made: ProposalWritten, caller: Caller = OWNER, *, remember: bool = True
) -> bool:
    identifier = made.document.content.id
    done = inbox.reject(vault, caller, identifier, given(made), reason=REASON, remember=remember)
    return done.remembered


def rejected(vault: Vault, name: str = "package-manager", **fields: object) -> str:
    """Let the owner reject a claim for good; return the proposal's id."""
    made = propose(vault, name, **fields)
    assert reject(vault, made)
    return made.document.content.id


def undo(vault: Vault, event: str | None = None) -> None:
    request = UndoRequest(event)
    plan = undoing.plan(vault, OWNER, request)
    undoing.undo(vault, OWNER, request, digest=plan.digest)


# ---- every way in --------------------------------------------------------------------------------


def by_create(vault: Vault, body: str) -> object:
    return memories.create(vault, AGENT, claim("elsewhere", body=body))


def by_create_in_place(vault: Vault, body: str) -> object:
    wanted = claim("standing", description="Other words", body=body)
    return memories.create(vault, AGENT, wanted, supersedes=("standing",))


def by_propose(vault: Vault, body: str) -> object:
    return propose(vault, "elsewhere", description="Other words", body=body)


def by_correction(vault: Vault, body: str) -> object:
    wanted = Suggestion(
        claim("fresh", body=body),
        "seen",
        target_identifier="standing",
        target_action=TargetAction.UPDATE,
    )
    return inbox.propose(vault, AGENT, wanted)


def by_inbox_update(vault: Vault, body: str) -> object:
    reading = inbox.read(vault, "waiting", max_chars=10_000)
    assert reading.token is not None
    wanted = SuggestionEdit(ClaimEdit(body=body))
    change = WriteProof(reading.token, reading.document.checksum)
    return inbox.update(vault, AGENT, "waiting", wanted, change)


def by_update(vault: Vault, body: str) -> object:
    return memories.update(vault, AGENT, "standing", edit(body=body), proof(vault, "standing"))


def by_resolution(vault: Vault, body: str) -> object:
    ruling = Ruling(
        Side("standing", proof(vault, "standing")),
        Side("rival", proof(vault, "rival")),
        Resolution(LoserAction.SUPERSEDE, "stale"),
        ClaimEdit(body=body),
    )
    plan = conflicts.plan_resolution(vault, AGENT, ruling)
    return conflicts.resolve(vault, AGENT, ruling, token=plan.token)


WAYS = [
    by_create,
    by_create_in_place,
    by_propose,
    by_correction,
    by_inbox_update,
    by_update,
    by_resolution,
]


@pytest.fixture
def furnished(vault: Vault) -> Vault:
    """A vault with two notes and a proposal that waits."""
    memories.create(vault, AGENT, claim("standing", body="The text that stands there now."))
    memories.create(vault, AGENT, claim("rival", body="What contradicts what stands there."))
    propose(vault, "waiting", body="What waits there to be decided on.")
    return vault


@pytest.mark.parametrize("way", WAYS)
def test_a_rejected_claim_comes_back_by_no_way(
    furnished: Vault, machine: Machine, way: Callable[[Vault, str], object]
) -> None:
    proposal_id = rejected(furnished)
    before, told = machine.files(), len(events(furnished))

    with pytest.raises(RejectedBefore) as caught:
        way(furnished, RESTATED)

    details = caught.value.details
    assert (details["when"], details["why"], details["id"]) == (
        "2026-11-29T18:15:00Z",
        REASON,
        proposal_id,
    )
    assert f"keepm verdict lift {details['verdict']}" in caught.value.next_step
    assert (machine.files(), len(events(furnished))) == (before, told)


@pytest.mark.parametrize("way", WAYS)
def test_another_claim_comes_in_by_each_way(
    furnished: Vault, way: Callable[[Vault, str], object]
) -> None:
    rejected(furnished)

    way(furnished, OTHER)


@pytest.mark.parametrize("channel", [Channel.RELAYED, Channel.HOST, Channel.OWNER_CLI])
def test_its_twin_that_waits_is_not_promoted_by_anybody(vault: Vault, channel: Channel) -> None:
    twin = propose(vault, "other-slot", description="Of another slot", body="pnpm")
    made = propose(vault, "package-manager", description="Of another slot", body="pnpm")
    reject(vault, made)
    caller = Caller(surface="test", channel=channel)

    with pytest.raises(RejectedBefore):
        promotion.promote(vault, caller, twin.document.content.id, given(twin))

    warned = reviewing.look(vault, twin.document.content.id).warnings
    assert [str(each.sort) for each in warned] == ["rejected_before"]


def test_a_twin_of_another_value_is_promoted(vault: Vault) -> None:
    twin = propose(vault, "other-slot", description="Of another slot", body="yarn")
    reject(vault, propose(vault, "package-manager", description="Of another slot", body="pnpm"))

    assert not reviewing.look(vault, twin.document.content.id).warnings
    promotion.promote(vault, AGENT, twin.document.content.id, given(twin))


@pytest.mark.parametrize("action", list(TargetAction))
def test_a_correction_with_a_rejected_text_is_not_promoted(
    vault: Vault, action: TargetAction
) -> None:
    memories.create(vault, AGENT, claim("manager", body="npm"))
    wanted = Suggestion(
        claim("fresh", description="d", body="pnpm"),
        "seen",
        target_identifier="manager",
        target_action=action,
    )
    waiting = inbox.propose(vault, AGENT, wanted)
    reject(vault, propose(vault, "another-slot", description="d", body="pnpm"))
    target = Target("manager", proof(vault, "manager"))

    with pytest.raises(RejectedBefore):
        promotion.promote(vault, AGENT, waiting.document.content.id, given(waiting), target=target)


def test_a_rejected_correction_comes_not_back_under_the_note_s_own_name(vault: Vault) -> None:
    """The value is small: rejected is that the note's slot has it."""
    memories.create(vault, AGENT, claim("manager", body="npm"))

    def correct(name: str, description: str) -> ProposalWritten:
        wanted = Suggestion(
            claim(name, description=description, body="pnpm"),
            "seen",
            target_identifier="manager",
            target_action=TargetAction.UPDATE,
        )
        return inbox.propose(vault, AGENT, wanted)

    reject(vault, correct("first-try", "one"))
    with pytest.raises(RejectedBefore):
        correct("second-try", "two")
    with pytest.raises(RejectedBefore):
        memories.update(vault, AGENT, "manager", edit(body="pnpm"), proof(vault, "manager"))


def test_an_archived_note_doesn_t_bring_it_back(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("manager", body=BODY))
    archive = MemoryEdit(ClaimEdit(), status=Status.ARCHIVED)
    memories.update(vault, AGENT, "manager", archive, proof(vault, "manager"))
    rejected(vault, name="package-tool")

    with pytest.raises(RejectedBefore):
        back = MemoryEdit(ClaimEdit(), status=Status.ACTIVE)
        memories.update(vault, AGENT, "manager", back, proof(vault, "manager"))
    memories.update(vault, AGENT, "manager", edit(tags=("ci",)), proof(vault, "manager"))


def test_what_a_note_says_already_doesn_t_hinder_other_changes(
    vault: Vault, machine: Machine
) -> None:
    """The owner writes what they like by hand; an agent may tend what stands there."""
    rejected(vault)
    made = memories.create(vault, AGENT, claim("manager", body=OTHER))
    path = machine.root / made.document.path
    path.write_text(path.read_text("utf-8").replace(OTHER, BODY), "utf-8")
    look(vault)

    assert BODY in memories.read(vault, "manager", max_chars=1000).part.text
    for change in (edit(tags=("ci",)), edit(name="pkg"), edit(description="How to install")):
        memories.update(vault, AGENT, made.document.content.id, change, proof(vault, "manager"))
    with pytest.raises(RejectedBefore):
        change = edit(scope=GLOBAL)
        rejected(vault, name="for-all", scope=GLOBAL)
        memories.update(vault, AGENT, "pkg", change, proof(vault, "pkg"))


def test_a_correction_that_keeps_the_text_doesn_t_reject_the_note_s_own(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("manager", body=BODY))

    def correct(description: str) -> ProposalWritten:
        wanted = Suggestion(
            claim("other-words", description=description, body=BODY),
            "seen",
            target_identifier="manager",
            target_action=TargetAction.UPDATE,
        )
        return inbox.propose(vault, AGENT, wanted)

    reject(vault, correct("Always, and everywhere"))
    with pytest.raises(RejectedBefore):
        correct("always and everywhere!")
    assert reject(vault, correct("On weekdays"), remember=False) is False
    memories.update(vault, AGENT, "manager", edit(pinned=True), proof(vault, "manager"))
    same = correct("What manager is")
    assert not reject(vault, same), "it says what the note says: there is nothing to remember"


# ---- who may rule --------------------------------------------------------------------------------


def test_an_agent_s_rejection_lasts_no_longer_than_its_file(vault: Vault) -> None:
    assert not reject(vault, propose(vault), AGENT)

    assert not reject(vault, propose(vault), OWNER, remember=False)
    propose(vault)
    assert judging.standing(vault) == []
    assert all("ruling" not in each.extra for each in events(vault))


@pytest.mark.parametrize("channel", list(Channel))
def test_a_ruling_counts_by_a_person_s_channel_only(vault: Vault, channel: Channel) -> None:
    """Whatever a ledger says: one may come from a machine that let agents rule."""
    made = propose(vault)
    caller = Caller(surface="test", channel=channel)
    lasting = verdicts.rejecting(vault, caller, made.document.content)

    assert bool(lasting) == (channel is not Channel.RELAYED)
    row = RulingRow("t", 1, vault.now(), verdicts.REJECTED, "widgets", "x", "s", str(channel))
    assert verdicts.counts(row) == (channel is not Channel.RELAYED)
    assert not verdicts.counts(replace(row, channel=None))
    assert not verdicts.counts(replace(row, channel="friend"))


@pytest.mark.parametrize("channel", ["relayed", None, "owner-cli"])
def test_an_event_that_rules_by_an_agent_s_word_rules_nothing(
    vault: Vault, channel: str | None
) -> None:
    memories.create(vault, AGENT, claim("one", body=OTHER))
    memories.create(vault, AGENT, claim("other", body=TWIN))
    ids = (identifying.note(vault, "one").id, identifying.note(vault, "other").id)
    policy, rules = vault.policy, load_sameness()
    pair = verdict.pair(*(verdicts.said_by(vault, each) or "" for each in ids))
    told = {
        verdicts.REJECTED: " ".join(verdict.rejected(claim(body=BODY), None, policy, rules)),
        verdicts.NOT_CONFLICT: pair,
    }
    for ruling, subjects in told.items():
        wanted = EventDraft(
            "reject",
            "mcp",
            object_id="x",
            object_kind="proposal",
            scope="widgets",
            channel=channel,
            extra={"ruling": ruling, "subjects": subjects},
        )
        with writing_time(vault, AGENT):
            transaction.record(
                vault.root,
                wanted,
                (),
                versions=(),
                transaction_id=vault.new_id(),
                at=vault.now(),
            )

    look(vault)
    counted = channel == "owner-cli"
    assert bool(verdicts.not_conflicting(vault, [ids])) is counted
    if counted:
        with pytest.raises(RejectedBefore):
            propose(vault)
    else:
        propose(vault)


# ---- how long ------------------------------------------------------------------------------------


def test_it_outlives_pruning_and_gc_with_its_reason_as_long_as_versions_are_kept(
    machine: Machine, vault: Vault, clock: FixedClock
) -> None:
    rejected(vault)
    clock.forward(days=40)
    plan = pruning.plan_prune(vault, older_than_days=30)
    pruning.prune(vault, OWNER, older_than_days=30, token=plan.token)
    clock.forward(days=40)
    wanted = CleanRequest(30, vault.now())
    planned = cleaning.plan(vault, OWNER, wanted)
    cleaning.clean(vault, OWNER, wanted, digest=planned.digest)
    assert not [path for path in machine.files() if "package-manager" in path]

    with pytest.raises(RejectedBefore) as caught:
        propose(vault, "renamed", body=RESTATED)
    why = caught.value.details["why"]
    assert why
    assert caught.value.details["when"] == "2026-11-29T18:15:00Z"
    (standing,) = judging.standing(vault)
    assert (standing.about[0].name, standing.reason) == (None, why)

    for kept in (machine.root / "Memory/.keepm/objects").rglob("*"):
        if kept.is_file():
            kept.unlink()
    with pytest.raises(RejectedBefore) as caught:
        propose(vault, "renamed", body=RESTATED)
    assert caught.value.details["why"] is None


def test_it_outlives_the_index_and_the_process(machine: Machine, vault: Vault) -> None:
    rejected(vault)
    vault.close()
    for file in machine.index_files():
        file.unlink()

    with_new_index = machine.open(machine.folder / "work/widgets")
    try:
        with pytest.raises(RejectedBefore):
            propose(with_new_index, "renamed", body=RESTATED)
        propose(with_new_index, "renamed", body=OTHER)
    finally:
        with_new_index.close()


def test_it_travels_with_the_vault(machine: Machine, vault: Vault, tmp_path: Path) -> None:
    """Another machine's clone of the vault, with a ledger of its own beside this one's."""
    rejected(vault)
    elsewhere = Machine(tmp_path / "elsewhere")
    shutil.copytree(machine.root, elsewhere.root)
    clone = elsewhere.open(elsewhere.project("widgets"))
    try:
        with pytest.raises(RejectedBefore):
            propose(clone, "renamed", body=RESTATED)
        rejected(clone, name="ours", body=OTHER)
        ours = f"{clone.root.writer_id}.jsonl"
        ledger = Path("Memory/.keepm/ledger") / ours
        shutil.copy(elsewhere.root / ledger, machine.root / ledger)
    finally:
        clone.close()

    with pytest.raises(RejectedBefore):
        propose(vault, "theirs", body=OTHER)


def test_a_verdict_that_another_server_gives_counts_at_once(
    machine: Machine, vault: Vault, tmp_path: Path
) -> None:
    beside = Beside(tmp_path / "beside", clock=machine.clock, vault_root=machine.root)
    (tmp_path / "beside").mkdir()
    second = beside.open(beside.project("widgets"))
    try:
        made = propose(second)
        sync.reconcile(vault)
        reject(second, made)
        with pytest.raises(RejectedBefore):
            propose(vault, "renamed", body=RESTATED)
    finally:
        second.close()


def test_an_undo_of_the_rejection_lifts_it_and_an_undo_of_that_brings_it_back(
    vault: Vault,
) -> None:
    proposal_id = rejected(vault)
    rejection = events(vault)[-1].transaction_id

    undo(vault)
    assert inbox.read(vault, proposal_id, max_chars=100).token is not None, "it waits again"
    memories.create(vault, AGENT, claim("elsewhere", body=RESTATED))
    undo(vault)
    assert judging.standing(vault) == []

    undo(vault, next(e.transaction_id for e in events(vault) if e.extra.get("undoes") == rejection))
    with pytest.raises(RejectedBefore):
        propose(vault, "renamed", body=RESTATED)


def test_the_owner_lifts_it_and_may_take_that_back(vault: Vault, clock: FixedClock) -> None:
    rejected(vault)
    (verdict,) = judging.standing(vault)
    clock.forward(seconds=60)

    (lifted,) = judging.lift(vault, OWNER, verdict.id[:8])

    assert lifted == verdict
    assert judging.standing(vault) == []
    made = propose(vault, "renamed", body=RESTATED)
    reject(vault, made, remember=False)
    with pytest.raises(NotFound):
        judging.lift(vault, OWNER, verdict.id[:8])

    lift = next(e for e in events(vault) if e.operation == judging.LIFT)
    assert (lift.extra["ruling"], lift.extra["subjects"]) == ("lifted", verdict.id)
    undo(vault, lift.transaction_id)
    assert judging.standing(vault) == [verdict]
    with pytest.raises(RejectedBefore):
        propose(vault, "renamed", body=RESTATED)


def test_a_lift_takes_every_verdict_with_it_that_rules_the_same(
    vault: Vault, clock: FixedClock
) -> None:
    first = propose(vault, "one-slot", description="Of any slot", body="pnpm")
    second = propose(vault, "two-slot", description="Of any slot", body="pnpm")
    reject(vault, first)
    clock.forward(seconds=60)
    reject(vault, second)
    rejected(vault)
    older = judging.standing(vault)[-1]

    assert len(judging.lift(vault, OWNER, older.id)) == 2
    (left,) = judging.standing(vault)
    assert left.about[0].name == "package-manager"
    propose(vault, "one-slot", description="Of any slot", body="pnpm")


# ---- scopes --------------------------------------------------------------------------------------


def test_what_a_project_rejected_does_not_come_to_it_as_global_memory(
    machine: Machine, vault: Vault, opened: Opening
) -> None:
    rejected(vault)
    with pytest.raises(RejectedBefore):
        memories.create(vault, AGENT, claim("for-all", body=RESTATED, scope=GLOBAL))
    with pytest.raises(RejectedBefore):
        propose(vault, "renamed", body=RESTATED, scope=GLOBAL)
    propose(vault, "another", body=OTHER, scope=GLOBAL)

    gadgets = opened(machine.project("gadgets"))
    memories.create(gadgets, AGENT, claim("for-all", body=RESTATED, scope=GLOBAL))


def test_it_binds_in_its_own_scope_and_is_told_to_nobody_else(
    machine: Machine, vault: Vault, opened: Opening
) -> None:
    rejected(vault)
    gadgets = opened(machine.project("gadgets"))

    inbox.propose(gadgets, AGENT, Suggestion(claim(body=BODY, scope=Scope("gadgets")), "seen"))
    memories.create(gadgets, AGENT, claim("elsewhere", body=BODY, scope=GLOBAL))
    assert judging.standing(gadgets) == []
    (verdict,) = judging.standing(vault)
    with pytest.raises(NotFound):
        judging.lift(gadgets, OWNER, verdict.id)
    with pytest.raises(RejectedBefore):
        propose(vault, "renamed", body=RESTATED)


def test_what_is_rejected_in_global_memory_binds_every_project_there(
    machine: Machine, vault: Vault, opened: Opening
) -> None:
    rejected(vault, scope=GLOBAL)
    gadgets = opened(machine.project("gadgets"))

    with pytest.raises(RejectedBefore):
        propose(gadgets, "renamed", body=RESTATED, scope=GLOBAL)
    propose(vault, "renamed", body=RESTATED, scope=WIDGETS)


# ---- not a duplicate -----------------------------------------------------------------------------

TWIN = "Deploy the gateway with the blue script."


def told_apart(vault: Vault) -> None:
    """Let the owner approve a near-duplicate that the review shows as one."""
    memories.create(vault, AGENT, claim("deploy-gateway", body=TWIN))
    wanted = Suggestion(claim("deploy-gateway-2", body=OTHER), "seen", allow_similar=True)
    made = inbox.propose(vault, AGENT, wanted)
    review = reviewing.look(vault, made.document.content.id)
    assert [str(each.sort) for each in review.warnings] == ["similar"]
    reviewing.approve(vault, OWNER, review)


def recreate(vault: Vault, body: str = OTHER, **fields: object) -> None:
    """Let an agent delete the second of the pair and write it anew."""
    memories.delete(vault, AGENT, "deploy-gateway-2", proof(vault, "deploy-gateway-2"))
    values = {"description": "What deploy-gateway-2 is", **fields, "body": body}
    memories.create(vault, AGENT, claim("deploy-gateway-2", **values))


def test_what_the_owner_let_in_beside_a_near_duplicate_is_none(vault: Vault) -> None:
    told_apart(vault)

    (verdict,) = judging.standing(vault)
    assert (verdict.kind, verdict.channel, verdict.applies) == (
        verdicts.NOT_DUPLICATE,
        "owner-cli",
        True,
    )
    assert {each.name for each in verdict.about} == {"deploy-gateway", "deploy-gateway-2"}
    recreate(vault)
    assert "similar_to" not in events(vault)[-1].extra, "what was ruled isn't counted"


def test_an_agent_s_allow_similar_rules_nothing(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("deploy-gateway", body=TWIN))
    memories.create(vault, AGENT, claim("deploy-gateway-2", body=OTHER), allow_similar=True)

    assert judging.standing(vault) == []
    assert "ruling" not in events(vault)[-1].extra
    with pytest.raises(TooSimilar):
        recreate(vault)


@pytest.mark.parametrize("channel", [Channel.HOST, Channel.OWNER_WEB])
def test_allow_similar_by_a_person_s_channel_rules(vault: Vault, channel: Channel) -> None:
    memories.create(vault, AGENT, claim("deploy-gateway", body=TWIN))
    wanted, caller = claim("deploy-gateway-2", body=OTHER), Caller(surface="t", channel=channel)
    if channel is Channel.HOST:
        from keepm.operations.asking import ConsentNeeded

        with pytest.raises(ConsentNeeded) as asked:
            memories.create(vault, caller, wanted, allow_similar=True)
        caller = replace(caller, agreed=asked.value.question.digest)
    memories.create(vault, caller, wanted, allow_similar=True)

    recreate(vault)


def test_it_survives_moves_renames_and_changes_of_other_parts(
    machine: Machine, vault: Vault
) -> None:
    told_apart(vault)
    one, other = "deploy-gateway", "deploy-gateway-2"
    memories.update(vault, AGENT, one, edit(tags=("ci",), aliases=("gw",)), proof(vault, one))
    memories.update(vault, AGENT, one, edit(name="deploy-gateways"), proof(vault, one))
    memories.update(vault, AGENT, other, edit(pinned=True), proof(vault, other))
    for each in ("deploy-gateways", other):
        memories.update(vault, AGENT, each, edit(scope=GLOBAL), proof(vault, each))
    for file in machine.index_files():
        file.unlink()
    vault.database.close()
    anew = machine.open(machine.folder / "work/widgets")
    try:
        recreate(anew, scope=GLOBAL)
    finally:
        anew.close()


@pytest.mark.parametrize(
    "change", [{"body": "Deploy it with the green script."}, {"description": "Something else"}]
)
def test_changed_content_asks_anew(vault: Vault, change: dict[str, object]) -> None:
    told_apart(vault)
    memories.update(vault, AGENT, "deploy-gateway", edit(**change), proof(vault, "deploy-gateway"))

    assert [each.applies for each in judging.standing(vault)] == [False]
    with pytest.raises(TooSimilar):
        recreate(vault)


def test_a_restated_content_doesn_t(vault: Vault) -> None:
    told_apart(vault)
    change = edit(body=f"- {TWIN.upper()}")
    memories.update(vault, AGENT, "deploy-gateway", change, proof(vault, "deploy-gateway"))

    recreate(vault, OTHER.replace(".", "!"))


def test_the_owner_tells_two_documents_apart_beforehand(vault: Vault) -> None:
    """A proposal can't be compared with a note by an agent that was refused; the owner can."""
    memories.create(vault, AGENT, claim("deploy-gateway", body=TWIN))
    wanted = Suggestion(claim("deploy-gateway-2", body=OTHER), "seen", allow_similar=True)
    made = inbox.propose(vault, AGENT, wanted)
    pair = ("deploy-gateway", "deploy-gateway-2")

    judging.tell_apart(vault, OWNER, verdicts.NOT_DUPLICATE, pair)

    assert not reviewing.look(vault, made.document.content.id).warnings
    with pytest.raises(WrongState):
        judging.tell_apart(vault, OWNER, verdicts.NOT_DUPLICATE, (pair[1], pair[0]))
    undo(vault)
    assert reviewing.look(vault, made.document.content.id).warnings
    undone = events(vault)[-1]
    assert undone.changes == ()
    assert undone.extra["undoes"] == events(vault)[-2].transaction_id


# ---- not a conflict ------------------------------------------------------------------------------


def rivals(machine: Machine, vault: Vault, count: int = 2) -> list[str]:
    """Put notes of one name into one scope, as a person may; return their ids."""
    for number in range(count):
        made = f"6f0c0a4e-51a5-4a7e-9a57-3d1f5a3c00{number:02}"
        machine.put(
            f"Memory/projects/widgets/n{number}.md",
            f"---\nid: {made}\nname: port\ndescription: d\nkind: reference\n---\n\n"
            f"Port {number}.\n",
        )
    sync.reconcile(vault)
    recording.record(vault)
    return [f"6f0c0a4e-51a5-4a7e-9a57-3d1f5a3c00{number:02}" for number in range(count)]


def hints(vault: Vault) -> list[set[str]]:
    found = retrieval.search(vault, Wanted("port"))
    return [set(each.ids) for each in found.conflict_hints or ()]


def test_what_is_no_conflict_is_hinted_at_no_longer(machine: Machine, vault: Vault) -> None:
    one, other, third = rivals(machine, vault, 3)
    assert len(hints(vault)) == 3

    made = judging.tell_apart(vault, OWNER, verdicts.NOT_CONFLICT, (one, other))

    assert hints(vault) == [{one, third}, {other, third}]
    briefed = context.context(vault, query="port").conflict_hints or ()
    assert [set(each.ids) for each in briefed] == hints(vault)
    judging.lift(vault, OWNER, made.id)
    assert len(hints(vault)) == 3


def test_a_verdict_crowds_out_no_other_hint(machine: Machine, vault: Vault) -> None:
    ids = rivals(machine, vault, 5)  # ten pairs, of which five are shown
    for first, second in [(ids[0], each) for each in ids[1:]] + [(ids[1], ids[2])]:
        judging.tell_apart(vault, OWNER, verdicts.NOT_CONFLICT, (first, second))

    assert len(hints(vault)) == 5
    assert not any({ids[0]} & each for each in hints(vault))


def test_a_note_that_says_something_else_may_conflict_again(machine: Machine, vault: Vault) -> None:
    one, other = rivals(machine, vault)
    judging.tell_apart(vault, OWNER, verdicts.NOT_CONFLICT, (one, other))
    path = machine.root / "Memory/projects/widgets/n1.md"

    path.write_text(path.read_text("utf-8").replace("kind", "tags: [x]\nkind"), "utf-8")
    look(vault)
    assert hints(vault) == []
    path.write_text(path.read_text("utf-8").replace("Port 1", "Port 9"), "utf-8")
    look(vault)
    assert hints(vault) == [{one, other}]


def test_pairs_come_back_as_they_were_asked_for(machine: Machine, vault: Vault) -> None:
    one, other, third = rivals(machine, vault, 3)
    judging.tell_apart(vault, OWNER, verdicts.NOT_CONFLICT, (one, other))

    asked = [(one, other), (other, one), (one, third), (one, "nobody")]
    assert verdicts.not_conflicting(vault, asked) == {(one, other), (other, one)}
    assert verdicts.not_conflicting(vault, []) == frozenset()
    copy = (machine.root / "Memory/projects/widgets/n0.md").read_text("utf-8")
    machine.put("Memory/projects/widgets/sub/another.md", copy.replace("Port 0", "Port 7"))
    look(vault)
    assert not verdicts.not_conflicting(vault, asked), "the id may mean the other text"


@pytest.mark.parametrize(
    ("kind", "pair", "refusal"),
    [
        (verdicts.NOT_CONFLICT, ("standing", "standing"), KeepMError),
        (verdicts.NOT_CONFLICT, ("standing", "waiting"), NotFound),
        (verdicts.NOT_DUPLICATE, ("standing", "nothing"), NotFound),
    ],
)
def test_a_pair_that_makes_no_sense_is_refused(
    furnished: Vault, kind: str, pair: tuple[str, str], refusal: type[KeepMError]
) -> None:
    with pytest.raises(refusal):
        judging.tell_apart(furnished, OWNER, kind, pair)
    assert judging.standing(furnished) == []


def test_a_pair_with_a_project_s_note_is_that_project_s_alone(
    machine: Machine, vault: Vault, opened: Opening
) -> None:
    memories.create(vault, AGENT, claim("ours", body=BODY))
    memories.create(vault, AGENT, claim("everybody-s", body=OTHER, scope=GLOBAL))

    made = judging.tell_apart(vault, OWNER, verdicts.NOT_CONFLICT, ("everybody-s", "ours"))

    assert made.scope == WIDGETS
    gadgets = opened(machine.project("gadgets"))
    assert judging.standing(gadgets) == []
    memories.create(gadgets, AGENT, claim("ours", body=BODY, scope=Scope("gadgets")))
    for seen_from, ruled in ((vault, True), (gadgets, False)):
        ids = tuple(identifying.note(seen_from, each).id for each in ("everybody-s", "ours"))
        assert bool(verdicts.not_conflicting(seen_from, [(ids[0], ids[1])])) is ruled
    assert judging.standing(vault) == [made]
