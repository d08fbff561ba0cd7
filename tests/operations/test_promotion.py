"""The gate: a proposal becomes memory as a whole, by a channel, with every proof."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.errors import (
    AlreadyExists,
    ApprovalRequired,
    ChecksumMismatch,
    IncompleteRead,
    InvalidInput,
    TokenInvalid,
    WrongState,
)
from keepm.model.approval import Channel
from keepm.model.memory import GLOBAL, Kind, Status
from keepm.model.proposal import ProposalStatus, TargetAction
from keepm.operations import handoffs, inbox, memories, promotion, provenance, retrieval
from keepm.operations.asking import ConsentNeeded
from keepm.operations.inbox import ProposalWritten, Suggestion
from keepm.operations.promotion import Target
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    CONTRACT,
    HAND_MADE,
    HANDOFF,
    Machine,
    Opening,
    claim,
    edit,
    events,
    proof,
    written_proof,
)


def propose(vault: Vault, slot: str = "build-command", **fields: object) -> ProposalWritten:
    return inbox.propose(vault, AGENT, Suggestion(claim(slot, **fields), reason="seen"))


def correct(vault: Vault, target: str, action: TargetAction, **fields: object) -> ProposalWritten:
    suggestion = Suggestion(
        claim(target, **fields),
        reason="seen",
        target_identifier=target,
        target_action=action,
    )
    return inbox.propose(vault, AGENT, suggestion)


def proven(written: ProposalWritten) -> WriteProof:
    return WriteProof(written.token, written.document.checksum)


# ---- new -------------------------------------------------------------------------------------


def test_a_promoted_proposal_is_a_note_and_filed_away(vault: Vault, machine: Machine) -> None:
    made = propose(vault, tags=("ci",), sources=("a.py#x",))
    done = promotion.promote(vault, AGENT, "build-command", proven(made))

    note, proposal = done.memory.content, done.proposal.content
    assert machine.files() == {
        "Memory/projects/widgets/build-command.md": done.memory.data,
        made.document.path.replace("/pending/", "/archive/"): done.proposal.data,
    }
    assert note.claim == made.document.content.claim
    assert (note.approved_via, note.id != proposal.id) == (Channel.RELAYED, True)
    assert (proposal.status, proposal.promoted_memory_id) == (ProposalStatus.PROMOTED, note.id)
    _, event = events(vault)
    assert (event.operation, event.channel, event.object_id, event.shown) == (
        "promote",
        "relayed",
        note.id,
        made.document.checksum.hex,
    )
    assert event.extra["proposal_id"] == proposal.id
    assert [item.id for item in retrieval.search(vault, Wanted("text")).items] == [note.id]


def test_a_promotion_answers_with_the_token_for_the_next_change(vault: Vault) -> None:
    done = promotion.promote(vault, AGENT, "build-command", proven(propose(vault)))
    memories.update(
        vault,
        AGENT,
        "build-command",
        edit(description="new"),
        WriteProof(done.token, done.memory.checksum),
    )


def test_a_promotion_needs_the_very_bytes_that_were_shown(vault: Vault, machine: Machine) -> None:
    """Case 52: approval is for the bytes the person saw."""
    made = propose(vault)
    changed = made.document.data.replace(b"The text", b"Another text")
    machine.put(made.document.path, changed)
    with pytest.raises(ChecksumMismatch):
        promotion.promote(vault, AGENT, "build-command", proven(made))
    assert machine.files() == {made.document.path: changed}

    again = inbox.read(vault, "build-command", max_chars=99)
    assert again.token is not None
    done = promotion.promote(
        vault, AGENT, "build-command", WriteProof(again.token, again.document.checksum)
    )
    assert done.memory.content.claim.body == "Another text of build-command."


def test_a_slot_that_was_taken_meanwhile_is_refused(vault: Vault, machine: Machine) -> None:
    made = propose(vault)
    memories.create(vault, AGENT, claim(description="came first"))
    before = machine.files()
    with pytest.raises(AlreadyExists):
        promotion.promote(vault, AGENT, "build-command", proven(made))
    assert machine.files() == before


def test_a_decided_proposal_is_not_promoted(vault: Vault) -> None:
    filed = inbox.reject(vault, AGENT, "build-command", proven(propose(vault)))
    forged = WriteProof(
        vault.tokens.issue(filed.document.content.id, filed.document.checksum),
        filed.document.checksum,
    )
    with pytest.raises(WrongState):
        promotion.promote(vault, AGENT, filed.document.content.id, forged)


def test_a_proposal_edited_against_its_contract_is_refused(vault: Vault, machine: Machine) -> None:
    made = propose(vault, kind=Kind.DECISION, body=CONTRACT)
    machine.put(made.document.path, made.document.data.replace(b"## Rep", b"### Rep"))
    reading = inbox.read(vault, "build-command", max_chars=999)
    assert reading.token is not None
    with pytest.raises(InvalidInput):
        promotion.promote(
            vault, AGENT, "build-command", WriteProof(reading.token, reading.document.checksum)
        )


# ---- into a target -----------------------------------------------------------------------------


def test_a_correction_goes_into_its_note(vault: Vault, machine: Machine) -> None:
    note = memories.create(vault, AGENT, claim(tags=("old",), sources=("a.py",), pinned=True))
    made = correct(vault, "build-command", TargetAction.UPDATE, body="Better.", tags=("new",))
    done = promotion.promote(
        vault,
        AGENT,
        made.document.content.id,
        proven(made),
        target=Target("build-command", written_proof(note)),
    )
    new = done.memory.content
    assert (new.id, new.claim.body, new.claim.tags, new.claim.sources, new.claim.pinned) == (
        note.document.content.id,
        "Better.",
        ("old", "new"),
        ("a.py",),
        True,
    )
    assert set(machine.files()) == {note.document.path, done.proposal.path}
    assert [event.operation for event in events(vault)] == ["create", "propose", "promote"]
    assert events(vault)[-1].extra["target_id"] == new.id


def test_a_correction_keeps_what_people_wrote_around_it(vault: Vault, machine: Machine) -> None:
    path = "Memory/projects/widgets/sorted/note.md"
    machine.put(path, HAND_MADE)
    target = Target("build-command", proof(vault, "build-command"))
    made = correct(vault, "build-command", TargetAction.UPDATE, body="Better.")
    promotion.promote(vault, AGENT, made.document.content.id, proven(made), target=target)
    after = machine.files()[path]
    for kept in ("# why: asked twice", "rating: {stars: 5}", "状态: 人写的"):
        assert f"{kept}\r\n".encode() in after


def test_a_proposal_without_a_target_may_be_given_one(vault: Vault) -> None:
    note = memories.create(vault, AGENT, claim("make"))
    made = propose(vault, "how-to-make", body="Better.")
    done = promotion.promote(
        vault, AGENT, "how-to-make", proven(made), target=Target("make", written_proof(note))
    )
    assert (done.memory.content.claim.name, done.memory.content.claim.aliases) == ("make", ())
    assert done.memory.content.claim.body == "Better."


def test_a_correction_needs_the_proof_of_its_target_too(vault: Vault, machine: Machine) -> None:
    note = memories.create(vault, AGENT, claim())
    other = memories.create(vault, AGENT, claim("other"))
    made = correct(vault, "build-command", TargetAction.UPDATE, body="Better.")
    before = machine.files()
    whole, checksum = written_proof(note), note.document.checksum
    stale = WriteProof(whole.token, made.document.checksum)
    for refused, target in (
        (IncompleteRead, None),
        (IncompleteRead, Target("build-command", WriteProof("", checksum))),
        (TokenInvalid, Target("build-command", WriteProof("guessed", checksum))),
        (TokenInvalid, Target("build-command", WriteProof(other.token, checksum))),
        (ChecksumMismatch, Target("build-command", stale)),
        (InvalidInput, Target("other", written_proof(other))),
    ):
        with pytest.raises(refused):
            promotion.promote(vault, AGENT, made.document.content.id, proven(made), target=target)
    assert machine.files() == before
    # Nothing of that spent a token.
    promotion.promote(
        vault,
        AGENT,
        made.document.content.id,
        proven(made),
        target=Target("build-command", whole),
    )


def test_a_target_edited_by_hand_is_kept(vault: Vault, machine: Machine) -> None:
    """Fault 6: promoting into a target overwrote it."""
    note = memories.create(vault, AGENT, claim())
    made = correct(vault, "build-command", TargetAction.UPDATE, body="Better.")
    machine.put(note.document.path, note.document.data + b"By hand.\n")
    before = machine.files()
    with pytest.raises(ChecksumMismatch):
        promotion.promote(
            vault,
            AGENT,
            made.document.content.id,
            proven(made),
            target=Target("build-command", written_proof(note)),
        )
    assert machine.files() == before
    assert inbox.read(vault, made.document.content.id, max_chars=99).token


def test_an_archived_target_is_refused(vault: Vault) -> None:
    note = memories.create(vault, AGENT, claim())
    made = correct(vault, "build-command", TargetAction.UPDATE, body="Better.")
    archived = memories.update(
        vault,
        AGENT,
        "build-command",
        replace(edit(), status=Status.ARCHIVED),
        written_proof(note),
    )
    with pytest.raises(WrongState):
        promotion.promote(
            vault,
            AGENT,
            made.document.content.id,
            proven(made),
            target=Target("build-command", written_proof(archived)),
        )


def test_a_target_of_another_scope_is_refused(vault: Vault) -> None:
    note = memories.create(vault, AGENT, claim("make", scope=GLOBAL))
    made = propose(vault, "how-to-make")
    with pytest.raises(InvalidInput):
        promotion.promote(
            vault, AGENT, "how-to-make", proven(made), target=Target("make", written_proof(note))
        )


def test_a_correction_may_supersede_its_note(vault: Vault, machine: Machine) -> None:
    """Case 70: the answer is the new note only; the old one is read by its id, marked."""
    old = memories.create(vault, AGENT, claim("API port", body="The API port is 8080."))
    made = correct(vault, "API port", TargetAction.SUPERSEDE, body="The API port is 9443.")
    found = retrieval.search(vault, Wanted("API port"))
    assert [item.id for item in found.items] == [old.document.content.id]  # no effect yet

    done = promotion.promote(
        vault,
        AGENT,
        made.document.content.id,
        proven(made),
        target=Target("API port", written_proof(old)),
    )
    new = done.memory.content
    assert new.supersedes == (old.document.content.id,)
    found = retrieval.search(vault, Wanted("API port"))
    assert [item.id for item in found.items] == [new.id]
    loser = memories.read(vault, old.document.content.id, max_chars=99).document.content
    assert getattr(loser, "status", None) is Status.SUPERSEDED
    assert memories.read(vault, "api-port", max_chars=99).document.content.id == new.id
    assert len(machine.files()) == 3
    assert [event.operation for event in events(vault)] == ["create", "propose", "promote"]


# ---- the channel -------------------------------------------------------------------------------


@pytest.fixture
def guarded(machine: Machine, opened: Opening) -> Vault:
    """A vault whose owner asks for more than an agent's word."""
    machine.configure({"approval": {"minimum": "host"}})
    return opened(machine.folder / "work/widgets")


def test_below_the_minimum_nothing_becomes_or_changes_memory(
    guarded: Vault, machine: Machine
) -> None:
    """Fault 10: only promotion asked; create, update and delete did not."""
    machine.put("Memory/projects/widgets/note.md", HAND_MADE)
    made = propose(guarded, "a proposal")
    before = machine.files()
    read = proof(guarded, "build-command")
    with pytest.raises(ApprovalRequired):
        memories.create(guarded, AGENT, claim("another"))
    with pytest.raises(ApprovalRequired):
        memories.update(guarded, AGENT, "build-command", edit(body="x"), read)
    with pytest.raises(ApprovalRequired):
        memories.delete(guarded, AGENT, "build-command", read)
    with pytest.raises(ApprovalRequired):
        promotion.promote(guarded, AGENT, "a proposal", proven(made))
    assert machine.files() == before
    # A proposal and a handoff need nobody's word; for the rest a host's person suffices.
    propose(guarded, "still possible")
    handoffs.create(guarded, AGENT, HANDOFF)
    host = replace(AGENT, channel=Channel.HOST)
    with pytest.raises(ConsentNeeded) as asked:
        promotion.promote(guarded, host, "a proposal", proven(made))
    host = replace(host, agreed=asked.value.question.digest)
    assert promotion.promote(guarded, host, "a proposal", proven(made)).memory.content


def test_the_minimum_may_differ_by_kind(machine: Machine, opened: Opening) -> None:
    machine.configure({"approval": {"kinds": {"constraint": "owner"}}})
    vault = opened(machine.folder / "work/widgets")
    memories.create(vault, AGENT, claim())
    with pytest.raises(ApprovalRequired):
        memories.create(vault, AGENT, claim("rule", kind=Kind.CONSTRAINT, body=CONTRACT))


@pytest.mark.parametrize("action", list(TargetAction))
def test_a_guarded_kind_is_not_changed_through_a_proposal_of_another(
    machine: Machine, opened: Opening, action: TargetAction
) -> None:
    machine.configure({"approval": {"kinds": {"constraint": "owner"}}})
    vault = opened(machine.folder / "work/widgets")
    owner = replace(AGENT, channel=Channel.OWNER_CLI)
    rule = memories.create(vault, owner, claim("rule", kind=Kind.CONSTRAINT, body=CONTRACT))
    made = correct(vault, "rule", action, body="Never mind.")
    before = machine.files()
    target = Target("rule", written_proof(rule))
    with pytest.raises(ApprovalRequired):
        promotion.promote(vault, AGENT, made.document.content.id, proven(made), target=target)
    assert machine.files() == before
    promotion.promote(vault, owner, made.document.content.id, proven(made), target=target)


def test_the_channel_reported_is_the_ledgers(vault: Vault, machine: Machine) -> None:
    note = memories.create(vault, AGENT, claim())
    assert memories.read(vault, "build-command", max_chars=9).approved_via == Channel.RELAYED

    edited = note.document.data.replace(b"approved_via: relayed", b"approved_via: owner-web")
    assert edited != note.document.data
    machine.put(note.document.path, edited)
    assert memories.read(vault, "build-command", max_chars=9).approved_via == Channel.OWNER_EDIT


def test_a_keepm_3_note_counts_as_imported(vault: Vault, machine: Machine) -> None:
    path = "Memory/global/old.md"
    machine.put(path, "---\nid: a\nname: old\ncreated: '2025-01-02'\n---\nText.\n")
    reading = memories.read(vault, "old", max_chars=9)
    assert reading.approved_via == Channel.IMPORT
    machine.put(path, "---\nid: a\nname: old\ncreated: '2026-01-02T10:00:00Z'\n---\nText.\n")
    reading = memories.read(vault, "old", max_chars=9)
    assert reading.approved_via == Channel.OWNER_EDIT
    machine.put(path, "---\nname: [\n---\n")
    assert memories.read(vault, "old", max_chars=9).approved_via == provenance.UNREADABLE


def test_the_event_tells_what_was_decided_and_by_which_rules(vault: Vault) -> None:
    made = propose(vault)
    done = promotion.promote(vault, AGENT, "build-command", proven(made))

    told = events(vault)[-1]

    assert (told.operation, told.object_id) == ("promote", done.memory.content.id)
    assert told.shown == made.document.checksum.hex
    assert told.extra["proposal_id"] == made.document.content.id
    assert told.extra["policy_version"] == vault.policy.version
    assert len(told.extra["source_ref_digest"]) == 64
    assert told.extra["confirmation"] == "relayed"
