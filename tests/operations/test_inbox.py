"""The Inbox: what waits there, how it changes, and that it is no memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.errors import (
    AlreadyExists,
    ChecksumMismatch,
    IncompleteRead,
    InvalidInput,
    LimitExceeded,
    MalformedDocument,
    NotFound,
    TokenInvalid,
    WrongState,
)
from keepm.model.memory import GLOBAL, ClaimEdit, Kind
from keepm.model.proposal import ProposalStatus, TargetAction
from keepm.operations import inbox, memories, retrieval, waiting
from keepm.operations.inbox import Suggestion, SuggestionEdit
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.operations.waiting import InboxFilter
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, CONTRACT, FixedClock, Machine, claim, events, look


def suggest(slot: str = "build-command", **fields: object) -> Suggestion:
    return Suggestion(claim(slot, **fields), reason="seen in a build log")


def pending_names(vault: Vault) -> list[str]:
    return [item.row.name for item in waiting.list_page(vault, InboxFilter(), limit=100).items]


def decided(written: inbox.ProposalWritten) -> WriteProof:
    return WriteProof(written.token, written.document.checksum)


def test_a_proposal_is_a_file_in_the_inbox_and_one_event(vault: Vault, machine: Machine) -> None:
    made = inbox.propose(vault, AGENT, suggest())

    assert made.created
    assert machine.files() == {made.document.path: made.document.data}
    assert made.document.path.startswith("Memory/Inbox/pending/projects/widgets/build-command-")
    (event,) = events(vault)
    assert (event.operation, event.channel, event.object_kind) == ("propose", None, "proposal")
    assert made.document.content.source_client == "tester"
    assert pending_names(vault) == ["build-command"]


def test_the_very_same_candidate_again_writes_nothing(vault: Vault, machine: Machine) -> None:
    made = inbox.propose(vault, AGENT, suggest(body="Text.\n\n"))
    again = inbox.propose(vault, AGENT, suggest(body="\nText."))

    assert (made.created, again.created) == (True, False)
    assert again.document == made.document
    assert len(machine.files()) == len(events(vault)) == 1
    inbox.reject(vault, AGENT, "build-command", decided(again))


def test_another_candidate_for_a_pending_slot_is_refused(vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, suggest())
    with pytest.raises(AlreadyExists) as caught:
        inbox.propose(vault, AGENT, suggest(body="Something else."))
    assert caught.value.details["id"] == made.document.content.id


def test_a_slot_of_an_active_note_can_only_be_corrected(vault: Vault) -> None:
    """Fault 30: a change of an existing memory could not be proposed under its own name."""
    note = memories.create(vault, AGENT, claim())
    with pytest.raises(AlreadyExists) as caught:
        inbox.propose(vault, AGENT, suggest(body="Better."))
    assert caught.value.details["id"] == note.document.content.id

    correction = replace(
        suggest(body="Better."),
        target_identifier="build-command",
        target_action=TargetAction.UPDATE,
    )
    made = inbox.propose(vault, AGENT, correction)
    assert made.document.content.target_id == note.document.content.id
    assert made.document.content.claim.name == "build-command"


def test_a_correction_stands_in_the_scope_of_its_note(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("shared", scope=GLOBAL))
    made = inbox.propose(
        vault,
        AGENT,
        replace(
            suggest("shared"), target_identifier="shared", target_action=TargetAction.SUPERSEDE
        ),
    )
    assert made.document.content.claim.scope == GLOBAL


@pytest.mark.parametrize(
    "half",
    [{"target_identifier": "build-command"}, {"target_action": TargetAction.UPDATE}],
    ids=["no action", "no target"],
)
def test_target_and_action_go_together(vault: Vault, half: dict[str, object]) -> None:
    memories.create(vault, AGENT, claim())
    with pytest.raises(InvalidInput):
        inbox.propose(vault, AGENT, replace(suggest("x"), **half))  # type: ignore[arg-type]


def test_a_proposal_must_give_reason_and_contract(vault: Vault, machine: Machine) -> None:
    wrong = Suggestion(claim(kind=Kind.DECISION, body="none"), reason=" ", source_ref="a\nb")
    with pytest.raises(InvalidInput) as caught:
        inbox.propose(vault, AGENT, wrong)
    assert {problem.field for problem in caught.value.problems} >= {
        "proposal_reason",
        "source_ref",
        "body",
    }
    assert machine.files() == {}


def test_a_long_client_name_is_cut_to_what_a_file_may_hold(vault: Vault) -> None:
    made = inbox.propose(vault, replace(AGENT, client="c" * 200), suggest())
    assert made.document.content.source_client == "c" * 80


# ---- read, list ------------------------------------------------------------------------------


def test_only_a_complete_read_lets_decide(vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, suggest(body="ten chars."))
    part = inbox.read(vault, "build-command", max_chars=9)
    assert (part.token, part.part.total) == (None, 10)
    with pytest.raises(IncompleteRead):
        inbox.reject(vault, AGENT, "build-command", WriteProof("", made.document.checksum))

    whole = inbox.read(vault, "build-command", max_chars=10)
    assert whole.token is not None
    inbox.reject(vault, AGENT, "build-command", WriteProof(whole.token, whole.document.checksum))


def test_the_oldest_waits_first_and_says_when_it_is_overdue(
    vault: Vault, clock: FixedClock
) -> None:
    inbox.propose(vault, AGENT, suggest("z-first"))
    clock.forward(days=20)
    inbox.propose(vault, AGENT, suggest("a-second"))
    clock.forward(days=10, seconds=1)

    page = waiting.list_page(vault, InboxFilter(), limit=1)
    assert ([item.row.name for item in page.items], page.total) == (["z-first"], 2)
    rest = waiting.list_page(vault, InboxFilter(), limit=1, offset=1)
    assert [(item.row.name, item.overdue) for item in rest.items] == [("a-second", False)]
    late = waiting.list_page(vault, InboxFilter(overdue_only=True), limit=9)
    assert ([item.row.name for item in late.items], late.total) == (["z-first"], 1)
    assert waiting.summary(vault) == waiting.InboxSummary(pending=2, overdue=1, remind=True)


def test_five_waiting_proposals_are_many(vault: Vault) -> None:
    for number in range(4):
        inbox.propose(vault, AGENT, suggest(f"p{number}"))
    assert not waiting.summary(vault).remind
    inbox.propose(vault, AGENT, suggest("p5"))
    assert waiting.summary(vault).remind


def test_a_list_is_filtered_by_status_scope_and_kind(vault: Vault) -> None:
    inbox.propose(vault, AGENT, suggest("here"))
    inbox.propose(vault, AGENT, suggest("everywhere", scope=GLOBAL))
    inbox.propose(vault, AGENT, suggest("ruled", kind=Kind.DECISION, body=CONTRACT))
    inbox.reject(vault, AGENT, "here", decided(inbox.propose(vault, AGENT, suggest("here"))))

    def names(wanted: InboxFilter) -> set[str]:
        return {item.row.name for item in waiting.list_page(vault, wanted, limit=9).items}

    assert names(InboxFilter()) == {"everywhere", "ruled"}
    assert names(InboxFilter(status=None)) == {"here", "everywhere", "ruled"}
    assert names(InboxFilter(status=ProposalStatus.REJECTED)) == {"here"}
    assert names(InboxFilter(scope="global")) == {"everywhere"}
    assert names(InboxFilter(kind=Kind.DECISION)) == {"ruled"}


# ---- update ----------------------------------------------------------------------------------


def test_a_change_keeps_what_it_leaves_out(vault: Vault, machine: Machine) -> None:
    made = inbox.propose(vault, AGENT, suggest(tags=("ci",), sources=("a.py",)))
    changed = inbox.update(
        vault,
        AGENT,
        "build-command",
        SuggestionEdit(ClaimEdit(body="Better.\n")),
        decided(made),
    )
    claim_now = changed.document.content.claim
    assert (claim_now.body, claim_now.tags, claim_now.sources) == ("Better.", ("ci",), ("a.py",))
    assert changed.document.content.reason == "seen in a build log"
    assert machine.files() == {made.document.path: changed.document.data}
    assert [event.operation for event in events(vault)] == ["propose", "inbox_update"]


def test_a_renamed_proposal_moves_and_leaves_no_alias(vault: Vault, machine: Machine) -> None:
    """Fault 30: the invented name became an alias of the target for ever."""
    made = inbox.propose(vault, AGENT, suggest(aliases=("build",)))
    changed = inbox.update(
        vault, AGENT, "build-command", SuggestionEdit(ClaimEdit(name="make")), decided(made)
    )
    assert set(machine.files()) == {changed.document.path}
    assert "/make-" in changed.document.path
    assert changed.document.content.claim.aliases == ("build",)
    with pytest.raises(NotFound):
        inbox.read(vault, "build-command", max_chars=9)


@pytest.mark.parametrize("holder", ["note", "proposal"])
def test_a_proposal_is_not_renamed_into_a_taken_slot(vault: Vault, holder: str) -> None:
    made = inbox.propose(vault, AGENT, suggest())
    if holder == "note":
        memories.create(vault, AGENT, claim("make"))
    else:
        inbox.propose(vault, AGENT, suggest("make"))
    with pytest.raises(AlreadyExists):
        inbox.update(
            vault, AGENT, "build-command", SuggestionEdit(ClaimEdit(name="make")), decided(made)
        )


def test_a_change_that_changes_nothing_is_refused_and_spends_nothing(vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, suggest())
    for same in (ClaimEdit(), ClaimEdit(body="The text of build-command.\n")):
        with pytest.raises(InvalidInput):
            inbox.update(vault, AGENT, "build-command", SuggestionEdit(same), decided(made))
    inbox.update(
        vault, AGENT, "build-command", SuggestionEdit(ClaimEdit(), reason="why"), decided(made)
    )


def test_a_hand_edited_proposal_is_read_again_before_a_decision(
    vault: Vault, machine: Machine
) -> None:
    made = inbox.propose(vault, AGENT, suggest())
    machine.put(made.document.path, made.document.data + b"More.\n")
    with pytest.raises(ChecksumMismatch):
        inbox.reject(vault, AGENT, "build-command", decided(made))
    with pytest.raises(ChecksumMismatch):
        inbox.update(
            vault, AGENT, "build-command", SuggestionEdit(ClaimEdit(body="x")), decided(made)
        )
    assert machine.files() == {made.document.path: made.document.data + b"More.\n"}


# ---- reject ----------------------------------------------------------------------------------


def test_a_rejected_proposal_is_filed_away_with_its_reason(vault: Vault, machine: Machine) -> None:
    """Fault 66: a rejection had no reason."""
    made = inbox.propose(vault, AGENT, suggest())
    filed = inbox.reject(vault, AGENT, "build-command", decided(made), reason="not true")

    assert set(machine.files()) == {made.document.path.replace("/pending/", "/archive/")}
    proposal = filed.document.content
    assert (proposal.status, proposal.rejection_reason, proposal.resolved_at) == (
        ProposalStatus.REJECTED,
        "not true",
        "2026-11-29T18:15:00Z",
    )
    (_, event) = events(vault)
    assert (event.operation, event.channel, event.shown) == (
        "reject",
        "relayed",
        made.document.checksum.hex,
    )


def test_a_decided_proposal_is_not_decided_again(vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, suggest())
    filed = inbox.reject(vault, AGENT, "build-command", decided(made))
    reading = inbox.read(vault, "build-command", max_chars=99)
    assert reading.token is None
    forged = WriteProof(
        vault.tokens.issue(filed.document.content.id, filed.document.checksum),
        filed.document.checksum,
    )
    with pytest.raises(WrongState):
        inbox.reject(vault, AGENT, filed.document.content.id, forged)
    with pytest.raises(WrongState):
        inbox.update(
            vault,
            AGENT,
            filed.document.content.id,
            SuggestionEdit(ClaimEdit(body="x")),
            forged,
        )


def test_a_token_of_another_proposal_is_refused(vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, suggest())
    other = inbox.propose(vault, AGENT, suggest("other"))
    with pytest.raises(TokenInvalid):
        inbox.reject(vault, AGENT, "build-command", WriteProof(other.token, made.document.checksum))


def test_a_reason_over_the_limit_is_refused(vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, suggest())
    with pytest.raises(LimitExceeded):
        inbox.reject(vault, AGENT, "build-command", decided(made), reason="x" * 601)
    inbox.reject(vault, AGENT, "build-command", decided(made), reason="x" * 600)


@pytest.mark.parametrize("left", [0.6, 0.0], ids=["cut to 60 %", "empty"])
def test_a_torn_proposal_is_shown_and_neither_decided_nor_found(
    vault: Vault, machine: Machine, left: float
) -> None:
    """Case 49: an item that was cut off is never written back or approved."""
    made = inbox.propose(vault, AGENT, suggest(description="A canary sings. " * 30))
    torn = made.document.data[: int(len(made.document.data) * left)]
    machine.put(made.document.path, torn)
    look(vault)

    (item,) = waiting.list_page(vault, InboxFilter(), limit=9).items
    reading = inbox.read(vault, item.row.id, max_chars=9999)
    checksum = reading.document.checksum
    forged = WriteProof(vault.tokens.issue(reading.document.content.id, checksum), checksum)
    with pytest.raises(MalformedDocument):
        inbox.reject(vault, AGENT, item.row.id, forged)
    assert machine.files() == {made.document.path: torn}
    assert retrieval.search(vault, Wanted("canary sings")).total == 0
    with pytest.raises(NotFound):
        memories.read(vault, item.row.id, max_chars=9)
