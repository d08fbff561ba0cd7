"""Names of files and folders as file systems, editors and people have them."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from keepm.errors import AlreadyExists
from keepm.index import writing
from keepm.model.approval import Channel
from keepm.operations import memories, recording, restoring, retrieval
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.operations.support import (
    AGENT,
    OWNER,
    Machine,
    Opening,
    claim,
    edit,
    events,
    look,
    proof,
)

HERE = "Memory/projects/widgets"


def note(name: str, note_id: str = "id-1") -> str:
    return f"---\nid: {note_id}\nname: {name}\n---\nlighthouse\n"


def found(vault: Vault) -> list[str]:
    return sorted(hit.name for hit in retrieval.search(vault, Wanted("lighthouse")).items)


def test_a_projects_folder_with_parted_letters_is_that_project(
    machine: Machine, opened: Opening
) -> None:
    """HFS+ and some archives part letters from their accents; an id has one spelling."""
    project = machine.project("café")
    folder = unicodedata.normalize("NFD", "Memory/projects/café")
    assert folder != "Memory/projects/café"
    machine.put(f"{folder}/note.md", note("note"))
    vault = opened(project)
    look(vault)
    assert found(vault) == ["note"]
    memories.update(vault, AGENT, "note", edit(aliases=("n",)), proof(vault, "note"))
    assert memories.read(vault, "n", max_chars=9).document.path == f"{folder}/note.md"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_file_keeps_its_form_of_letters(
    vault: Vault, machine: Machine, form: Literal["NFC", "NFD"]
) -> None:
    path = unicodedata.normalize(form, f"{HERE}/café.md")
    machine.put(path, note("café"))
    look(vault)
    memories.update(vault, AGENT, "café", edit(aliases=("n",)), proof(vault, "café"))
    names = {os.fsdecode(name) for name in os.listdir(os.fsencode(machine.root / HERE))}
    assert names == {path.rsplit("/", 1)[1]}


def test_a_renamed_note_is_the_same_and_leaves_no_trace_of_loss(
    vault: Vault, machine: Machine
) -> None:
    made = memories.create(vault, AGENT, claim("note"))
    folder = machine.root / HERE / "by topic" / "深"
    folder.mkdir(parents=True)
    (machine.root / made.document.path).rename(folder / "Another name.md")
    look(vault)
    recording.record(vault)
    read = memories.read(vault, made.document.content.id, max_chars=99)
    assert (read.document.path, read.approved_via) == (
        f"{HERE}/by topic/深/Another name.md",
        "relayed",
    )
    assert [event.operation for event in events(vault)] == ["create"]


def test_what_editors_and_programs_leave_is_not_walked(vault: Vault, machine: Machine) -> None:
    machine.put(f"{HERE}/note.md", note("note"))
    for number, name in enumerate(
        (
            ".obsidian/templates/t.md",
            ".git/x.md",
            "node_modules/pkg/README.md",
            ".note.md.swp",
            "~$note.md",
            "note.md~",
            "#note.md#",
            ".#note.md",
            "note.md.tmp",
            "~syncthing~note.md.tmp",
            ".syncthing.note.md.tmp",
            ".keepm-t1-0.tmp",
            ".keepm-t1-0.md",
        )
    ):
        machine.put(f"{HERE}/{name}", note(f"canary {number}", f"id-{number + 2}"))
    look(vault)
    assert found(vault) == ["note"]
    assert set(writing.files(vault.database)) == {f"{HERE}/note.md"}


def test_a_name_that_another_system_cannot_have_is_named_and_not_served(
    vault: Vault, machine: Machine
) -> None:
    machine.put(f"{HERE}/note.md", note("note"))
    for name in ("con.md", "aux.notes.md", "a:b.md", "a\\b.md", "ends in dot./x.md"):
        machine.put(f"{HERE}/{name}", note("canary", "id-2"))
    look(vault)
    assert found(vault) == ["note"]
    reasons = {row.reason for row in writing.files(vault.database).values()} - {None}
    assert reasons == {"name"}


@pytest.mark.parametrize("stem", ["n" * 252, "长" * 84, "n" * 245], ids=len)
def test_a_note_with_the_longest_name_is_changed_deleted_and_brought_back(
    vault: Vault, machine: Machine, stem: str
) -> None:
    """A placeholder of its name can't be: asking for one ended every change of the vault."""
    place = machine.put(f"{HERE}/{stem}.md", note("long"))
    look(vault)
    memories.update(vault, AGENT, "long", edit(body="new\n"), proof(vault, "long"))
    memories.delete(vault, AGENT, "long", proof(vault, "long"))
    look(vault)
    memories.create(vault, AGENT, claim("another"))
    restoring.restore(vault, OWNER, "long")
    place.unlink()  # by hand
    look(vault)
    memories.create(vault, AGENT, claim("a-third"))
    assert events(vault)[-2].operation == "external-edit"


def test_a_note_as_deep_as_any_can_be_deleted(vault: Vault, machine: Machine) -> None:
    """Its place in the trash lies deeper."""
    folder = HERE + "/d" * 100
    for depth in range(55, 65):
        place = "/".join(folder.split("/")[:depth])
        machine.put(f"{place}/n{depth}.md", note(f"n{depth}", f"id-{depth}"))
    look(vault)

    names = found(vault)
    assert 0 < len(names) < 10
    for name in names:
        memories.delete(vault, AGENT, name, proof(vault, name))
    assert len(restoring.listing(vault)) == len(names)


def test_a_long_name_is_read_and_an_overlong_one_is_made_to_fit(
    vault: Vault, machine: Machine
) -> None:
    machine.put(f"{HERE}/{'长' * 84}.md", note("long"))  # 255 bytes
    look(vault)
    made = memories.create(
        vault, AGENT, claim("名" * 120, body="A lighthouse that stands elsewhere.")
    )
    assert len(Path(made.document.path).name.encode()) <= 255
    assert len(found(vault)) == 2


def test_a_root_behind_a_symlink_is_fine(machine: Machine, tmp_path: Path) -> None:
    real = machine.folder / "real"
    real.mkdir()
    machine.root.symlink_to(real)
    vault = machine.open(machine.folder / "work/widgets")
    try:
        made = memories.create(vault, AGENT, claim("note"))
        assert (real / made.document.path).is_file()
        look(vault)
        assert memories.read(vault, "note", max_chars=99).part.complete
    finally:
        vault.close()


def test_a_new_note_takes_no_name_that_differs_in_case_or_form_only(
    vault: Vault, machine: Machine
) -> None:
    """On another file system, of a machine the vault is synced to, the two would be one file."""
    machine.put(f"{HERE}/BUILD-COMMAND.md", note("another slot"))
    machine.put(f"{HERE}/{unicodedata.normalize('NFD', 'café')}.md", note("a third", "id-2"))
    look(vault)
    for slot in ("build-command", "café"):
        made = memories.create(vault, AGENT, claim(slot, body=f"What {slot} says."))
        assert made.document.path == f"{HERE}/{slot}-2.md"
    assert memories.create(vault, AGENT, claim("free")).document.path == f"{HERE}/free.md"


@pytest.mark.parametrize("other", ["BUILD-COMMAND.md", "build-command.md"])
def test_nothing_comes_back_beside_a_name_that_differs_in_case_only(
    vault: Vault, machine: Machine, other: str
) -> None:
    memories.create(vault, AGENT, claim("build-command"))
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))
    machine.put(f"{HERE}/{other}", note("another slot"))
    look(vault)
    owner = replace(AGENT, channel=Channel.OWNER_CLI)

    with pytest.raises(AlreadyExists):
        restoring.restore(vault, owner, "build-command")

    (machine.root / HERE / other).unlink()
    look(vault)
    assert (
        restoring.restore(vault, owner, "build-command").item.target == f"{HERE}/build-command.md"
    )
