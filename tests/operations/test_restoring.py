"""The trash: a file goes back exactly where it was, or the reason is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.errors import AlreadyExists, AmbiguousIdentifier, NotFound
from keepm.operations import memories, provenance, restoring, undoing
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, OWNER, Machine, claim, events, look, proof

NOTE = "Memory/projects/widgets/sorted/b.md"
Open = Callable[[Path | None], Vault]


def deleted(machine: Machine, vault: Vault) -> bytes:
    """Delete a note that its owner had sorted into a folder of another name."""
    written = memories.create(vault, AGENT, claim()).document
    place = machine.root / NOTE
    place.parent.mkdir()
    (machine.root / written.path).rename(place)
    look(vault)
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))
    assert not place.exists()
    return written.data


def test_a_deleted_note_goes_back_exactly(machine: Machine, vault: Vault) -> None:
    """Known fault 43: no restore, and the folder is not recorded."""
    data = deleted(machine, vault)
    (item,) = restoring.listing(vault)
    assert (item.name, item.kind, item.target) == ("build-command", "memory", NOTE)

    done = restoring.restore(vault, OWNER, "Build command")

    assert (machine.root / NOTE).read_bytes() == data
    assert done.event == events(vault)[-1]
    assert (done.event.operation, done.event.channel) == ("restore", "owner-cli")
    read = memories.read(vault, "build-command", max_chars=99)
    assert read.approved_via == "relayed", "a move approves nothing"
    assert restoring.listing(vault) == []
    assert provenance.channel is not None


@pytest.mark.parametrize("how", ["path", "id", "transaction"])
def test_a_file_is_named_in_several_ways(how: str, machine: Machine, vault: Vault) -> None:
    deleted(machine, vault)
    (item,) = restoring.listing(vault)
    assert item.entry.transaction_id
    names = {
        "path": item.entry.path,
        "id": item.id,
        "transaction": item.entry.transaction_id[:8],
    }

    restoring.restore(vault, OWNER, names[how])
    assert (machine.root / NOTE).exists()


def test_a_restore_can_be_undone(machine: Machine, vault: Vault) -> None:
    deleted(machine, vault)
    restoring.restore(vault, OWNER, "build-command")
    plan = undoing.plan(vault, OWNER, UndoRequest())
    undoing.undo(vault, OWNER, UndoRequest(), digest=plan.digest)

    assert not (machine.root / NOTE).exists()
    assert [item.target for item in restoring.listing(vault)] == [NOTE]


def test_a_taken_slot_refuses_with_the_note_that_holds_it(machine: Machine, vault: Vault) -> None:
    deleted(machine, vault)
    other = memories.create(vault, AGENT, claim()).document

    with pytest.raises(AlreadyExists) as refused:
        restoring.restore(vault, OWNER, "build-command")
    assert refused.value.details["id"] == other.content.id


def test_a_taken_path_refuses(machine: Machine, vault: Vault) -> None:
    deleted(machine, vault)
    machine.put(NOTE, "Another.\n")
    look(vault)

    with pytest.raises(AlreadyExists):
        restoring.restore(vault, OWNER, "build-command")
    assert (machine.root / NOTE).read_text() == "Another.\n"


def test_a_name_that_fits_several_lists_them(machine: Machine, vault: Vault) -> None:
    for _ in range(2):
        memories.create(vault, AGENT, claim())
        memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))

    with pytest.raises(AmbiguousIdentifier) as refused:
        restoring.restore(vault, OWNER, "build-command")
    candidates = refused.value.details["candidates"]
    assert candidates == [item.entry.path for item in restoring.listing(vault)]


@pytest.mark.parametrize("name", ["nothing", "", "../x", "Memory/.trash/x.md"])
def test_what_is_not_there_is_not_found(name: str, machine: Machine, vault: Vault) -> None:
    deleted(machine, vault)
    with pytest.raises(NotFound):
        restoring.restore(vault, OWNER, name)


def test_another_project_s_trash_is_not_seen(machine: Machine, vault: Vault, opened: Open) -> None:
    deleted(machine, vault)
    gadgets = opened(machine.project("gadgets"))

    assert restoring.listing(gadgets) == []
    with pytest.raises(NotFound):
        restoring.restore(gadgets, OWNER, "build-command")


def test_a_file_of_an_old_trash_goes_where_it_says_it_belongs(
    machine: Machine, vault: Vault, opened: Open
) -> None:
    text = (
        "---\nid: 6f0c1c9e-0000-4000-8000-000000000001\nname: old note\ndescription: d\n"
        "scope: project\nproject_id: widgets\nkind: reference\n---\nOld.\n"
    )
    machine.put("Memory/.trash/old-note-20260102T030405Z.md", text)
    assert restoring.listing(opened(machine.project("gadgets"))) == []

    done = restoring.restore(vault, OWNER, "old note")

    assert done.item.entry.deleted_at == "2026-01-02T03:04:05Z"
    assert (machine.root / "Memory/projects/widgets/old note.md").read_text() == text
