"""Near-duplicates: refused by name, let by at the user's word, counted, and never across scopes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.errors import AlreadyExists, ApprovalRequired, KeepMError, TooSimilar
from keepm.model.approval import Channel
from keepm.model.memory import GLOBAL, ClaimEdit, Kind, Status
from keepm.model.proposal import TargetAction
from keepm.operations import inbox, memories, promotion
from keepm.operations.inbox import ProposalWritten, Suggestion, SuggestionEdit
from keepm.operations.memories import MemoryEdit, MemoryWritten
from keepm.operations.promotion import Target
from keepm.operations.vault import Caller, Vault
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
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


def create(vault: Vault, name: str, *, allow_similar: bool = False, **fields: object) -> str:
    made = memories.create(vault, AGENT, claim(name, **fields), allow_similar=allow_similar)
    return made.document.content.id


def propose(
    vault: Vault, name: str, *, allow_similar: bool = False, **fields: object
) -> ProposalWritten:
    wanted = Suggestion(claim(name, **fields), reason="seen", allow_similar=allow_similar)
    return inbox.propose(vault, AGENT, wanted)


def promote(vault: Vault, made: ProposalWritten, caller: Caller = AGENT) -> str:
    given = WriteProof(made.token, made.document.checksum)
    done = promotion.promote(vault, caller, made.document.content.id, given)
    return done.memory.content.id


def change(
    vault: Vault, made: ProposalWritten, caller: Caller = AGENT, **fields: object
) -> ProposalWritten:
    given = WriteProof(made.token, made.document.checksum)
    wanted = SuggestionEdit(ClaimEdit(**fields))  # type: ignore[arg-type]  # fields by name
    return inbox.update(vault, caller, made.document.content.id, wanted, given)


def correct(
    vault: Vault, target: str, action: TargetAction, name: str, **fields: object
) -> ProposalWritten:
    wanted = Suggestion(
        claim(name, **fields), "seen", target_identifier=target, target_action=action
    )
    return inbox.propose(vault, AGENT, wanted)


def similar_to(vault: Vault) -> list[str]:
    """Return what each event says it was let by to resemble."""
    return [event.extra.get("similar_to", "") for event in events(vault)]


def test_a_refusal_names_the_note_and_how_it_is_the_same(vault: Vault, machine: Machine) -> None:
    """Fault 26: the error didn't say which note has the same text."""
    there = create(vault, "package-manager", body="Use pnpm everywhere.", aliases=("pnpm-setup",))
    files = machine.files()
    for name, fields, kind in (
        ("package-manager-2026-09-16", {}, "title"),
        ("pacakge-manager", {}, "near_title"),
        ("dependency-tool", {"body": "Use pnpm\neverywhere."}, "body"),
        ("dependency-tool", {"aliases": ("Package Manager",)}, "alias"),
        ("pnpm setup", {}, "alias"),
    ):
        for attempt in (create, propose):
            with pytest.raises(TooSimilar) as caught:
                attempt(vault, name, **fields)
            details = caught.value.details
            assert (details["id"], details["name"]) == (there, "package-manager")
            assert details["sameness"] == kind
            assert 0 < float(str(details["score"])) <= 1
            assert "allow_similar" in caught.value.next_step
    assert machine.files() == files


def test_the_very_slot_is_still_taken_and_not_merely_similar(vault: Vault) -> None:
    create(vault, "package-manager")
    with pytest.raises(AlreadyExists):
        create(vault, "Package_Manager", allow_similar=True)


def test_only_active_notes_count(vault: Vault) -> None:
    """Fault 26: archived and superseded notes blocked names and texts for ever."""
    create(vault, "package-manager", body="Use pnpm everywhere.")
    archived = MemoryEdit(ClaimEdit(), Status.ARCHIVED)
    memories.update(vault, AGENT, "package-manager", archived, proof(vault, "package-manager"))
    create(vault, "package-manager-2", body="Use pnpm everywhere.")


def test_the_note_that_gives_way_is_no_hindrance(vault: Vault) -> None:
    """Fault 29: new replaces old, in one call."""
    old = create(vault, "package-manager", body="Use pnpm everywhere.")
    wanted = claim("package-manager-2026", body="Use pnpm everywhere.", aliases=("pnpm",))
    memories.create(vault, AGENT, wanted, supersedes=(old,))
    assert similar_to(vault) == ["", ""]


def test_a_changed_and_a_deleted_note_count_as_they_are_now(vault: Vault, machine: Machine) -> None:
    create(vault, "package-manager")
    changed = edit(name="lock-file", body="Commit pnpm-lock.yaml.", aliases=())
    memories.update(vault, AGENT, "package-manager", changed, proof(vault, "package-manager"))
    create(vault, "package-manager-2")
    with pytest.raises(TooSimilar):
        create(vault, "new-lock-file")
    memories.delete(vault, AGENT, "lock-file", proof(vault, "lock-file"))
    create(vault, "new-lock-file")


def test_a_file_taken_away_by_hand_just_now_is_no_hindrance(vault: Vault, machine: Machine) -> None:
    create(vault, "package-manager")
    (machine.root / "Memory/projects/widgets/package-manager.md").unlink()
    create(vault, "package-manager-2")


def test_a_hand_made_note_counts(vault: Vault, machine: Machine) -> None:
    machine.put(
        "Memory/projects/widgets/sub/by-hand.md",
        "---\nname: Package manager\nkind: reference\n---\nUse pnpm.\n",
    )
    look(vault)
    with pytest.raises(TooSimilar):
        create(vault, "package-manager (new)")


def test_another_scope_never_shows_and_never_hinders(
    machine: Machine, vault: Vault, opened: Opening
) -> None:
    """A project's note may shadow a global one; other projects are nobody's business."""
    text = "Use pnpm everywhere."
    other = opened(machine.project("gadgets"))
    gadget = claim("package-manager", scope=other.scope("project"), body=text)
    memories.create(other, AGENT, gadget)
    create(vault, "package-manager-2", body=text)
    create(vault, "package-manager-3", scope=GLOBAL, body=text)
    with pytest.raises(TooSimilar) as caught:
        create(vault, "package-manager-v2-final", body=text)
    assert caught.value.details["name"] == "package-manager-2"


def test_a_proposal_is_compared_with_pending_ones_too(vault: Vault) -> None:
    """Else the Inbox is worn down by one inference in many dresses."""
    first = propose(vault, "package-manager")
    with pytest.raises(TooSimilar) as caught:
        propose(vault, "package-manager-updated")
    assert caught.value.details["id"] == first.document.content.id
    assert caught.value.details["is_proposal"] is True
    assert "memory_inbox_read" in caught.value.next_step
    create(vault, "package-manager-updated")  # what waits is no memory and hinders none


def test_a_decided_proposal_is_compared_no_longer(vault: Vault) -> None:
    made = propose(vault, "package-manager")
    given = WriteProof(made.token, made.document.checksum)
    inbox.reject(vault, AGENT, made.document.content.id, given)
    propose(vault, "package-manager-updated")


def test_the_very_same_candidate_is_the_pending_one_and_no_duplicate(vault: Vault) -> None:
    first, again = propose(vault, "package-manager"), propose(vault, "package-manager")
    assert (again.created, again.document.content.id) == (False, first.document.content.id)


def test_the_users_word_lets_one_by_and_the_ledger_counts_it(vault: Vault) -> None:
    there = create(vault, "package-manager")
    create(vault, "unlike", allow_similar=True)
    made = propose(vault, "package-manager-2", allow_similar=True)
    assert [alike.id for alike in made.similar] == [there]
    assert similar_to(vault) == ["", "", there], "only where it was needed"
    promote(vault, made)
    assert similar_to(vault)[-1] == "", "it was counted when it was proposed"


def test_the_third_within_a_day_needs_a_persons_own_confirmation(
    vault: Vault, clock: FixedClock
) -> None:
    create(vault, "package-manager")
    create(vault, "package-manager-2", allow_similar=True)
    propose(vault, "package-manager-3", allow_similar=True)
    for attempt in (create, propose):
        with pytest.raises(ApprovalRequired):
            attempt(vault, "package-manager-4", allow_similar=True)
    with pytest.raises(TooSimilar):
        create(vault, "package-manager-4")
    host = replace(AGENT, channel=Channel.OWNER_CLI)
    memories.create(vault, host, claim("package-manager-5"), allow_similar=True)

    clock.forward(days=1, seconds=1)
    create(vault, "package-manager-4", allow_similar=True)


def test_the_count_is_the_vaults_not_the_processes(
    machine: Machine, vault: Vault, opened: Opening
) -> None:
    create(vault, "package-manager")
    create(vault, "package-manager-2", allow_similar=True)
    second = opened(machine.folder / "work/widgets")
    create(second, "package-manager-3", allow_similar=True)
    for each in (vault, second, opened(machine.folder / "work/widgets")):
        with pytest.raises(ApprovalRequired):
            create(each, "package-manager-4", allow_similar=True)


def test_a_renamed_proposal_is_compared_anew(vault: Vault) -> None:
    create(vault, "package-manager", body="Use pnpm everywhere.")
    create(vault, "build-tool", scope=GLOBAL, body="Use make everywhere.")
    for fields in (
        {"name": "package-manager-2"},
        {"aliases": ("package-manager",)},
        {"body": "Use pnpm everywhere."},
    ):
        made = propose(vault, "dependency-tool")
        with pytest.raises(TooSimilar) as caught:
            change(vault, made, **fields)
        assert caught.value.details["name"] == "package-manager"
    made = propose(vault, "build-tool-new")
    with pytest.raises(TooSimilar):
        change(vault, made, scope=GLOBAL)
    changed = change(vault, made, description="Which tool builds")
    changed = change(vault, changed, OWNER, scope=GLOBAL)
    assert similar_to(vault)[-1]
    promote(vault, changed)


def test_a_promotion_is_compared_with_what_came_meanwhile(vault: Vault) -> None:
    made = propose(vault, "package-manager-updated")
    there = create(vault, "package-manager")
    with pytest.raises(TooSimilar) as caught:
        promote(vault, made)
    assert caught.value.details["id"] == there
    assert "target_identifier" in caught.value.next_step
    promote(vault, made, OWNER)
    assert similar_to(vault)[-1] == there


def test_the_note_that_a_permitted_proposal_became_is_permitted_too(vault: Vault) -> None:
    first = propose(vault, "package-manager")
    second = propose(vault, "package-manager-2", allow_similar=True)
    promote(vault, first)
    promote(vault, second)
    assert similar_to(vault)[-2:] == ["", ""]


def test_a_proposal_goes_into_the_note_it_resembles(vault: Vault) -> None:
    made = propose(vault, "package-manager-updated", body="Use pnpm 11.")
    note = memories.create(vault, AGENT, claim("package-manager"))
    done = promotion.promote(
        vault,
        AGENT,
        made.document.content.id,
        WriteProof(made.token, made.document.checksum),
        target=Target("package-manager", written_proof(note)),
    )
    assert done.memory.content.claim.body == "Use pnpm 11."


@pytest.mark.parametrize("action", TargetAction)
def test_a_correction_isnt_compared_with_what_it_corrects(
    vault: Vault, action: TargetAction
) -> None:
    """Fault 30: a change of a note could not be proposed under its own name."""
    note = memories.create(vault, AGENT, claim("package-manager", body="Use npm everywhere."))
    create(vault, "package-manager-2", allow_similar=True, body="Use yarn everywhere.")
    made = correct(vault, "package-manager", action, "package-manager", body="Use pnpm everywhere.")
    assert made.similar == ()
    done = promotion.promote(
        vault,
        AGENT,
        made.document.content.id,
        WriteProof(made.token, made.document.checksum),
        target=Target("package-manager", written_proof(note)),
    )
    assert done.memory.content.claim.body == "Use pnpm everywhere."


def test_a_correction_may_not_say_what_another_note_says(vault: Vault) -> None:
    create(vault, "package-manager")
    create(vault, "lock-file", body="Commit pnpm-lock.yaml.")
    with pytest.raises(TooSimilar) as caught:
        correct(
            vault,
            "package-manager",
            TargetAction.UPDATE,
            "package-manager",
            body="Commit pnpm-lock.yaml.",
        )
    assert caught.value.details["name"] == "lock-file"


def test_numbers_that_both_titles_bear_tell_them_apart(vault: Vault) -> None:
    for name in ("api-v1", "api-v2", "postgres-14-upgrade", "postgres-15-upgrade", "C++", "C#"):
        create(vault, name)
    for name in ("api", "api-v2-updated", "API v2 (copy)"):
        with pytest.raises(TooSimilar):
            create(vault, name)


def test_a_large_family_hides_no_duplicate(vault: Vault, machine: Machine) -> None:
    """Looks are bounded, and what is surely the same comes before what is merely near."""
    for number in range(600):
        machine.put(
            f"Memory/projects/widgets/n{number}.md",
            f"---\nname: service-notes-{number}\nkind: reference\n---\nText of {number} here.\n",
        )
    look(vault)
    create(vault, "service-notes-600")
    for name, there in (
        ("service-notes-577 (1)", "service-notes-577"),
        ("new-service-notes-3", "service-notes-3"),
    ):
        with pytest.raises(TooSimilar) as caught:
            create(vault, name)
        assert caught.value.details["name"] == there
    with pytest.raises(TooSimilar):
        create(vault, "service-notes")


def test_no_kind_of_refusal_changes_anything(vault: Vault, machine: Machine) -> None:
    note: MemoryWritten = memories.create(vault, AGENT, claim("package-manager"))
    made = propose(vault, "dependency-tool", kind=Kind.REFERENCE)
    files, written = machine.files(), len(events(vault))
    with pytest.raises(KeepMError):
        create(vault, "package-manager-2")
    with pytest.raises(KeepMError):
        change(vault, made, name="package-manager-2")
    assert (machine.files(), len(events(vault))) == (files, written)
    promote(vault, made)  # the token wasn't spent
    assert note.token
