"""`approval.external_edits = "review"`: nothing reads a hand edit before a person has looked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from keepm.errors import (
    AlreadyExists,
    ApprovalRequired,
    ChecksumMismatch,
    ConfigurationError,
    NotFound,
    WrongState,
)
from keepm.model.approval import Channel
from keepm.operations import (
    context,
    edits,
    handoffs,
    inbox,
    memories,
    pruning,
    quarantining,
    recording,
    retrieval,
    status,
    sync,
    undoing,
    waiting,
)
from keepm.operations.inbox import Suggestion
from keepm.operations.quarantining import QuarantineRequest
from keepm.operations.retrieval import Wanted
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Vault
from keepm.operations.waiting import InboxFilter
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    HAND_MADE,
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
)

NOTE = "Memory/projects/widgets/note.md"
NEW = "Memory/projects/widgets/new.md"
TEXT = "---\nid: 6f0c0a4e-51a5-4a7e-9a57-3d1f5a3c0009\nname: new\nkind: reference\n---\nzzword\n"


@pytest.fixture
def machine(machine: Machine) -> Machine:
    machine.configure({"approval": {"external_edits": "review"}})
    return machine


@pytest.fixture
def note(vault: Vault) -> str:
    """A note that came through KeepM; returns its id."""
    return memories.create(vault, AGENT, claim("note")).document.content.id


def write(vault: Vault, machine: Machine, path: str, text: str | bytes) -> None:
    """Write a file by hand and let the vault see and record it."""
    machine.clock.forward(seconds=1)
    machine.put(path, text)
    seen(vault)


def seen(vault: Vault) -> None:
    look(vault)
    recording.record(vault)


def longer(machine: Machine, path: str = NOTE, line: str = "zzword") -> bytes:
    return machine.files()[path] + f"\n{line}\n".encode()


def names(vault: Vault) -> set[str]:
    return {item.name for item in retrieval.catalog(vault, limit=100).items}


def paths(vault: Vault) -> list[str]:
    return [each.path for each in edits.listing(vault)]


def accept(vault: Vault, identifier: str) -> None:
    edits.accept(vault, OWNER, edits.look(vault, identifier))


# ---- what waits ----------------------------------------------------------------------------------


def test_an_edited_note_is_out_of_every_read_until_it_is_accepted(
    vault: Vault, machine: Machine, note: str
) -> None:
    write(vault, machine, NOTE, longer(machine))

    assert names(vault) == set()
    found = retrieval.search(vault, Wanted("zzword"))
    assert (found.items, found.reason, found.withheld) == ([], "withheld", 1)
    # Neither is the version before served: it isn't what the file says.
    assert retrieval.search(vault, Wanted("note")).items == []
    assert context.context(vault).items == []
    with pytest.raises(NotFound) as refused:
        memories.read(vault, note, max_chars=99)
    assert refused.value.details == {"reason": "withheld", "withheld": 1}
    assert status.status(vault).withheld == 1

    before = machine.files()
    review = edits.look(vault, note)
    assert "+zzword" in review.diff
    assert not review.is_new
    edits.accept(vault, OWNER, review)

    assert machine.files() == before
    assert "zzword" in memories.read(vault, note, max_chars=999).part.text
    assert retrieval.search(vault, Wanted("zzword")).total == 1
    assert paths(vault) == []


def test_a_new_file_waits_and_is_shown_as_new(vault: Vault, machine: Machine, note: str) -> None:
    write(vault, machine, NEW, TEXT)
    assert names(vault) == {"note"}
    review = edits.look(vault, "new")
    assert review.is_new
    assert "+zzword" in review.diff
    accept(vault, NEW)
    assert names(vault) == {"note", "new"}


@pytest.mark.parametrize("kind", ["proposal", "handoff"])
def test_proposals_and_handoffs_by_hand_wait_too(vault: Vault, machine: Machine, kind: str) -> None:
    inbox.propose(vault, AGENT, Suggestion(claim("idea"), reason="because"))
    handoffs.create(vault, AGENT, HANDOFF)
    path = next(
        path
        for path in machine.files()
        if ("Inbox" in path if kind == "proposal" else ".handoffs" in path)
    )
    write(vault, machine, path, longer(machine, path))
    pending = waiting.summary(vault).pending
    assert pending == (0 if kind == "proposal" else 1)
    if kind == "handoff":
        with pytest.raises(NotFound):
            handoffs.read(vault)
    assert paths(vault) == [path]
    accept(vault, path)
    assert waiting.summary(vault).pending == 1
    assert handoffs.read(vault).token


def test_the_ledger_shows_each_edit_and_each_decision(
    vault: Vault, machine: Machine, note: str
) -> None:
    write(vault, machine, NOTE, longer(machine))
    review = edits.look(vault, note)
    edits.accept(vault, OWNER, review)
    made, accepted = events(vault)[-2:]
    digest = review.document.checksum.hex
    assert (made.operation, made.channel) == ("external-edit", "owner-edit")
    assert made.extra == {"ruling": "unreviewed", "subject": f"memory:{digest}"}
    assert (accepted.operation, accepted.channel) == ("edit_accept", "owner-cli")
    assert (accepted.shown, accepted.changes) == (digest, ())
    assert accepted.extra == {
        "ruling": "lifted",
        "subjects": made.transaction_id,
        "terminal": "tty",
    }


def test_by_default_hand_edits_are_the_owners_and_wait_for_nobody(
    vault: Vault, machine: Machine, opened: Opening, note: str
) -> None:
    """The positive control."""
    vault.close()
    machine.configure({"approval": {"external_edits": "owner-edit"}})
    plain = opened(machine.folder / "work/widgets")
    write(plain, machine, NOTE, longer(machine))
    assert retrieval.search(plain, Wanted("zzword")).total == 1
    assert paths(plain) == []


def test_what_was_edited_before_the_setting_waits_for_nobody_and_what_waits_goes_on_waiting(
    vault: Vault, machine: Machine, opened: Opening, note: str
) -> None:
    write(vault, machine, NOTE, longer(machine))
    vault.close()
    machine.configure({"approval": {"external_edits": "owner-edit"}})
    plain = opened(machine.folder / "work/widgets")
    write(plain, machine, NEW, TEXT)
    assert names(plain) == {"new"}
    plain.close()
    machine.configure({"approval": {"external_edits": "review"}})
    again = opened(machine.folder / "work/widgets")
    look(again)
    assert (names(again), paths(again)) == ({"new"}, [NOTE])


def test_a_vault_that_is_taken_over_is_read_as_it_stands(vault: Vault, machine: Machine) -> None:
    machine.put(NEW, HAND_MADE)
    seen(vault)
    assert names(vault) == {"build-command"}
    write(vault, machine, NOTE, TEXT)  # after the first look, without any event yet
    assert names(vault) == {"build-command"}
    assert paths(vault) == [NOTE]


def test_only_the_two_values_are_a_setting(machine: Machine) -> None:
    machine.configure({"approval": {"external_edits": "never"}})
    with pytest.raises(ConfigurationError):
        machine.settings()


# ---- no way around -------------------------------------------------------------------------------


def test_an_edit_is_not_read_before_anybody_looked_at_the_files(
    vault: Vault, machine: Machine, note: str
) -> None:
    """The index still has the version before when the read comes."""
    look(vault)
    machine.put(NOTE, longer(machine))
    with pytest.raises(NotFound):
        memories.read(vault, note, max_chars=99)


def test_an_edit_is_not_built_on_under_the_lock(vault: Vault, machine: Machine, note: str) -> None:
    """Taking its place would make a new version of it, which came through KeepM."""
    look(vault)
    machine.put(NOTE, longer(machine))
    before = machine.files()
    with pytest.raises(NotFound):
        memories.create(vault, AGENT, claim("heir"), supersedes=(note,))
    assert machine.files() == before


def test_a_lost_index_lets_nothing_in(
    vault: Vault, machine: Machine, opened: Opening, note: str
) -> None:
    write(vault, machine, NOTE, longer(machine))
    vault.close()
    for path in machine.index_files():
        path.unlink()
    machine.put(NEW, TEXT)  # and a file that no index ever knew
    fresh = opened(machine.folder / "work/widgets")
    seen(fresh)
    assert names(fresh) == set()
    assert paths(fresh) == [NEW, NOTE]


def test_a_new_file_that_was_only_noted_waits_after_a_lost_index(
    vault: Vault, machine: Machine, opened: Opening, note: str
) -> None:
    """Keeping its version must not make it one that was there before."""
    look(vault)
    machine.put(NEW, TEXT)
    look(vault)
    recording.keep_seen(vault)
    vault.close()
    for path in machine.index_files():
        path.unlink()
    fresh = opened(machine.folder / "work/widgets")
    seen(fresh)
    assert (names(fresh), paths(fresh)) == ({"note"}, [NEW])


def test_a_rebuild_makes_nothing_wait_that_was_read_before(vault: Vault, machine: Machine) -> None:
    machine.put(NEW, TEXT)
    seen(vault)
    memories.create(vault, AGENT, claim("note"))
    assert names(vault) == {"new", "note"}
    sync.rebuild(vault)
    seen(vault)
    assert (names(vault), paths(vault)) == ({"new", "note"}, [])


def test_an_older_version_put_back_by_hand_waits(vault: Vault, machine: Machine, note: str) -> None:
    old = machine.files()[NOTE]
    memories.update(vault, AGENT, "note", edit(description="Better"), proof(vault, "note"))
    write(vault, machine, NOTE, old)
    assert paths(vault) == [NOTE]
    accept(vault, NOTE)
    assert names(vault) == {"note"}


def test_a_deleted_note_put_back_by_hand_waits(vault: Vault, machine: Machine, note: str) -> None:
    data = machine.files()[NOTE]
    memories.delete(vault, AGENT, "note", proof(vault, "note"))
    write(vault, machine, NOTE, data)
    assert paths(vault) == [NOTE]
    assert names(vault) == set()
    edits.put_back(vault, OWNER, edits.look(vault, NOTE))
    assert NOTE not in machine.files()


def test_a_proposal_moved_among_the_notes_waits_and_is_on_record(
    vault: Vault, machine: Machine
) -> None:
    """Whoever has a shell can move a file; that is no promotion."""
    inbox.propose(vault, AGENT, Suggestion(claim("idea", body="zzword\n"), reason="because"))
    (path,) = machine.files()
    data = machine.files()[path]
    (machine.root / path).unlink()
    write(vault, machine, NEW, data)
    assert names(vault) == set()
    assert paths(vault) == [NEW]
    assert events(vault)[-1].operation == "external-edit"


def test_a_note_moved_by_hand_into_global_memory_waits(
    vault: Vault, machine: Machine, note: str
) -> None:
    data = machine.files()[NOTE]
    write(vault, machine, "Memory/global/note.md", data)
    assert paths(vault) == ["Memory/global/note.md"]


def test_a_rename_by_hand_is_no_edit(vault: Vault, machine: Machine, note: str) -> None:
    data = machine.files()[NOTE]
    (machine.root / NOTE).unlink()
    write(vault, machine, "Memory/projects/widgets/sub/note.md", data)
    assert (names(vault), paths(vault)) == ({"note"}, [])


def test_writing_through_keepm_waits_for_nobody(vault: Vault, machine: Machine, note: str) -> None:
    memories.update(vault, AGENT, "note", edit(description="Better"), proof(vault, "note"))
    seen(vault)
    assert (names(vault), paths(vault)) == ({"note"}, [])


def test_a_withheld_edit_keeps_its_slot(vault: Vault, machine: Machine, note: str) -> None:
    write(vault, machine, NOTE, longer(machine))
    with pytest.raises(AlreadyExists) as refused:
        memories.create(vault, AGENT, claim("note"))
    assert note not in str(refused.value.details)


def test_pruning_leaves_what_waits_alone(vault: Vault, machine: Machine, clock: FixedClock) -> None:
    inbox.propose(vault, AGENT, Suggestion(claim("idea"), reason="because"))
    read = inbox.read(vault, "idea", max_chars=999)
    assert read.token
    inbox.reject(vault, AGENT, "idea", WriteProof(read.token, read.document.checksum))
    (path,) = machine.files()
    write(vault, machine, path, longer(machine, path))
    clock.forward(days=90)
    assert pruning.plan_prune(vault, older_than_days=1).candidates == ()
    assert waiting.list_page(vault, InboxFilter(status=None), limit=9).total == 0


# ---- deciding ------------------------------------------------------------------------------------


def test_putting_back_brings_the_last_accepted_version_over_several_edits(
    vault: Vault, machine: Machine, note: str
) -> None:
    good = machine.files()[NOTE]
    write(vault, machine, NOTE, longer(machine, line="zzone"))
    write(vault, machine, NOTE, longer(machine, line="zztwo"))
    review = edits.look(vault, note)
    assert "+zzone" in review.diff and "+zztwo" in review.diff
    event = edits.put_back(vault, OWNER, review)
    assert machine.files()[NOTE] == good
    assert (names(vault), paths(vault)) == ({"note"}, [])
    assert (event.operation, event.shown) == ("undo", review.document.checksum.hex)

    # Taken back itself, the edit waits as before.
    request = UndoRequest(event=event.transaction_id)
    plan = undoing.plan(vault, OWNER, request)
    undoing.undo(vault, OWNER, request, digest=plan.digest)
    assert (names(vault), paths(vault)) == (set(), [NOTE])


def test_putting_back_an_edit_of_an_accepted_one_brings_that_back(
    vault: Vault, machine: Machine, note: str
) -> None:
    write(vault, machine, NOTE, longer(machine, line="zzone"))
    accept(vault, note)
    accepted = machine.files()[NOTE]
    write(vault, machine, NOTE, longer(machine, line="zztwo"))
    review = edits.look(vault, note)
    assert "+zztwo" in review.diff and "+zzone" not in review.diff
    edits.put_back(vault, OWNER, review)
    assert machine.files()[NOTE] == accepted


def test_a_new_file_is_put_back_into_the_trash(vault: Vault, machine: Machine, note: str) -> None:
    write(vault, machine, NEW, TEXT)
    edits.put_back(vault, OWNER, edits.look(vault, NEW))
    assert NEW not in machine.files()
    assert any(path.startswith("Memory/.trash/") for path in machine.files())


@pytest.mark.parametrize("decide", [edits.accept, edits.put_back])
def test_a_decision_is_on_the_bytes_that_were_shown_and_only_the_owners(
    vault: Vault, machine: Machine, note: str, decide: Callable[..., object]
) -> None:
    write(vault, machine, NOTE, longer(machine, line="zzone"))
    review = edits.look(vault, note)
    for caller in (AGENT, replace(AGENT, channel=Channel.HOST)):
        with pytest.raises(ApprovalRequired):
            decide(vault, caller, review)
    machine.put(NOTE, longer(machine, line="zztwo"))
    before = machine.files()
    with pytest.raises(ChecksumMismatch):
        decide(vault, OWNER, review)
    assert machine.files() == before
    assert names(vault) == set()
    decide(vault, OWNER, edits.look(vault, note))
    with pytest.raises(WrongState):
        decide(vault, OWNER, review)


def test_an_accepted_edit_of_a_quarantined_note_stays_in_quarantine(
    vault: Vault, machine: Machine
) -> None:
    """Accepting an edit says nothing for the text before it; each is ended by itself."""
    memories.create(vault, replace(AGENT, client="bad"), claim("note"))
    request = QuarantineRequest(client="bad")
    plan = quarantining.plan(vault, OWNER, request)
    done = quarantining.add(vault, OWNER, request, digest=plan.digest).event.transaction_id
    write(vault, machine, NOTE, longer(machine))
    accept(vault, NOTE)
    assert names(vault) == set()
    lifting = quarantining.plan_lift(vault, OWNER, done)
    quarantining.lift(vault, OWNER, done, digest=lifting.digest)
    assert names(vault) == {"note"}


def test_what_does_not_wait_is_not_shown_for_a_decision(vault: Vault, note: str) -> None:
    for identifier in (note, "note", NOTE, "nothing", ""):
        with pytest.raises(NotFound):
            edits.look(vault, identifier)


def test_another_project_neither_sees_nor_decides(
    vault: Vault, machine: Machine, opened: Opening, note: str
) -> None:
    write(vault, machine, NOTE, longer(machine))
    gadgets = opened(machine.project("gadgets"))
    look(gadgets)
    assert paths(gadgets) == []
    assert status.status(gadgets).withheld is None
    with pytest.raises(NotFound):
        edits.look(gadgets, NOTE)
