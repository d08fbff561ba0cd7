"""What an identifier names: an id always its own document, a name one visible document."""

from __future__ import annotations

import shutil

import pytest

from keepm.errors import AlreadyExists, AmbiguousIdentifier
from keepm.model.handoff import HandoffEdit
from keepm.model.memory import Status
from keepm.operations import handoffs, inbox, memories, status
from keepm.operations.inbox import Suggestion
from keepm.operations.memories import MemoryEdit
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, Machine, claim, edit, look, written_proof


def test_an_id_names_its_note_whatever_others_are_called(vault: Vault) -> None:
    """Else `call again with the id` would lead nowhere."""
    made = memories.create(vault, AGENT, claim("first"))
    note_id = made.document.content.id
    memories.create(vault, AGENT, claim(note_id.upper()))
    memories.create(vault, AGENT, claim("third", aliases=(note_id,)), allow_similar=True)

    assert memories.read(vault, note_id, max_chars=100).document.path == made.document.path
    assert memories.read(vault, note_id.upper(), max_chars=100).document.path == made.document.path


def test_an_id_of_an_archived_note_names_it_and_not_an_active_one_called_so(vault: Vault) -> None:
    made = memories.create(vault, AGENT, claim("first"))
    note_id = made.document.content.id
    archived = MemoryEdit(edit().claim, status=Status.ARCHIVED)
    memories.update(vault, AGENT, note_id, archived, written_proof(made))
    memories.create(vault, AGENT, claim(note_id))

    assert memories.read(vault, note_id, max_chars=100).document.path == made.document.path


def test_an_id_names_its_proposal_and_its_handoff_too(vault: Vault) -> None:
    proposed = inbox.propose(vault, AGENT, Suggestion(claim("first"), reason="r")).document
    proposal_id = proposed.content.id
    inbox.propose(vault, AGENT, Suggestion(claim(proposal_id), reason="r"))
    assert inbox.read(vault, proposal_id, max_chars=100).document.path == proposed.path

    written = handoffs.create(vault, AGENT, HandoffEdit("first", "g", "s")).document
    handoff_id = written.content.id
    handoffs.create(vault, AGENT, HandoffEdit(handoff_id, "g", "s"))
    assert handoffs.read(vault, handoff_id).document.path == written.path


def test_two_files_with_one_id_are_told_apart_by_their_paths(
    vault: Vault, machine: Machine
) -> None:
    """Known fault 15: neither hides the other, and status doesn't call it healthy."""
    path = memories.create(vault, AGENT, claim("first")).document.path
    copied = path.replace("first.md", "copy.md")
    shutil.copy(machine.root / path, machine.root / copied)
    look(vault)

    with pytest.raises(AmbiguousIdentifier) as caught:
        memories.read(vault, "first", max_chars=100)
    candidates = caught.value.details["candidates"]
    assert isinstance(candidates, list)
    assert {dict(each)["path"] for each in candidates if not isinstance(each, str)} == {
        path,
        copied,
    }
    assert caught.value.next_step != AmbiguousIdentifier.hint
    assert status.status(vault).health == status.Health("degraded", 1)


def test_a_slot_is_free_as_soon_as_its_file_is_gone(vault: Vault, machine: Machine) -> None:
    gone = memories.create(vault, AGENT, claim("first")).document.path
    (machine.root / gone).unlink()
    memories.create(vault, AGENT, claim("first"))

    waiting = inbox.propose(vault, AGENT, Suggestion(claim("second"), reason="r")).document.path
    (machine.root / waiting).unlink()
    assert inbox.propose(vault, AGENT, Suggestion(claim("second"), reason="r")).created


def test_a_slot_is_free_as_soon_as_its_note_is_renamed_by_hand(
    vault: Vault, machine: Machine
) -> None:
    place = machine.root / memories.create(vault, AGENT, claim("first")).document.path
    place.write_text(place.read_text("utf-8").replace("name: first", "name: renamed"), "utf-8")
    memories.create(vault, AGENT, claim("first", body="Another text.\n"))

    with pytest.raises(AlreadyExists):
        memories.create(vault, AGENT, claim("renamed"))
