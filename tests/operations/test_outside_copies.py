"""What sync programs leave: copies, unfinished merges, placeholders; shown, never served."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from keepm.errors import KeepMError, NotFound
from keepm.index import catalog, lookalikes, writing
from keepm.operations import inbox, memories, recording, retrieval, status, sync
from keepm.operations.inbox import Suggestion
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.store.disk import OSDisk
from tests.fakes import marks as fake_marks
from tests.operations.support import AGENT, Machine, Opening, claim, edit, events, look, proof

CASES = Path(__file__).parents[1] / "cases"
HERE = "Memory/projects/widgets"
OLD = 1_700_000_000_000_000_000  # nanoseconds: a stamp that proves what it says
CONFLICT = "note.sync-conflict-20261101-101500-K7QWERT"


def place(machine: Machine, folder: Path) -> None:
    for source in folder.glob("*.md"):
        machine.put(f"{HERE}/{source.name}", source.read_bytes().replace(b"\ntitle: ", b"\nname: "))


def found(vault: Vault, query: str) -> list[str]:
    return [item.id for item in retrieval.search(vault, Wanted(query, limit=100)).items]


def reasons(vault: Vault) -> dict[str, str]:
    """Return what the index skips, by the file's name."""
    rows = writing.files(vault.database).values()
    return {row.path.rsplit("/", 1)[1]: row.reason for row in rows if row.reason}


def note(name: str, body: str, note_id: str = "mem-1") -> str:
    return f"---\nid: {note_id}\nname: {name}\nkind: reference\n---\n{body}\n"


def test_one_note_answers_and_its_copies_are_listed(vault: Vault, machine: Machine) -> None:
    """Case 28."""
    place(machine, CASES / "28-conflict-copies/input")
    before = machine.files()
    look(vault)

    assert found(vault, "tag build publish announce sign") == ["mem-2801"]
    assert found(vault, "report") == ["mem-2802"]
    read = memories.read(vault, "Release steps", max_chars=99)
    assert read.document.path == f"{HERE}/Release steps.md"
    assert memories.read(vault, "mem-2801", max_chars=99).document.path == read.document.path
    listed = lookalikes.listed(vault.database, vault.visibility)
    assert len(listed) == 4
    assert sum(copy.identical for copy in listed) == 2
    assert {copy.originals for copy in listed} == {(f"{HERE}/Release steps.md",)}
    assert status.status(vault).health.problems == 4
    assert events(vault) == []
    assert machine.files() == before


def test_a_copy_is_none_of_another_projects_note(vault: Vault, machine: Machine) -> None:
    machine.put("Memory/projects/gears/note.md", note("note", "theirs"))
    machine.put(f"{HERE}/note (1).md", note("note", "ours"))
    look(vault)
    assert found(vault, "ours") == ["mem-1"]
    assert lookalikes.listed(vault.database, vault.visibility) == []


@pytest.mark.parametrize("first", ["note", CONFLICT])
def test_whichever_file_comes_first_the_note_is_the_same(
    vault: Vault, machine: Machine, first: str
) -> None:
    texts = {"note": note("note", "sound words"), CONFLICT: note("note", "other words")}
    for name in (first, *(texts.keys() - {first})):
        machine.put(f"{HERE}/{name}.md", texts[name])
        look(vault)
    assert [hit.name for hit in retrieval.search(vault, Wanted("sound")).items] == ["note"]
    assert retrieval.search(vault, Wanted("other")).items == []
    assert reasons(vault) == {f"{CONFLICT}.md": "conflict_copy"}


def test_a_copy_becomes_the_note_when_its_original_goes(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("note", body="the approved words"))
    path = machine.root / made.document.path
    copy = path.with_name("note (1).md")
    copy.write_bytes(path.read_bytes().replace(b"approved", b"conflicting"))
    look(vault)
    assert found(vault, "conflicting") == []
    assert memories.read(vault, "note", max_chars=99).approved_via == "relayed"

    memories.delete(vault, AGENT, "note", proof(vault, "note"))
    assert found(vault, "conflicting") == [made.document.content.id]
    read = memories.read(vault, "note", max_chars=99)
    assert read.approved_via == "owner-edit"  # never the approval of the bytes it isn't
    recording.record(vault)
    assert [event.operation for event in events(vault)] == ["create", "delete", "external-edit"]


def test_a_copy_is_not_touched_by_changes_of_its_note(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("note", body="words"))
    path = machine.root / made.document.path
    copy = path.with_name(f"{CONFLICT}.md")
    copy.write_bytes(path.read_bytes() + b"more\n")
    look(vault)
    data = copy.read_bytes()

    memories.update(vault, AGENT, "note", edit(body="new words"), proof(vault, "note"))
    memories.update(vault, AGENT, "note", edit(name="renamed"), proof(vault, "note"))
    assert copy.read_bytes() == data
    assert reasons(vault) == {copy.name: "conflict_copy"}
    recording.record(vault)
    assert [event.operation for event in events(vault)] == ["create", "update", "update"]


def test_a_copy_of_a_proposal_can_be_neither_listed_nor_decided(
    vault: Vault, machine: Machine
) -> None:
    made = inbox.propose(vault, AGENT, Suggestion(claim("idea"), reason="seen"))
    path = machine.root / made.document.path
    path.with_name(f"{path.stem} (1).md").write_bytes(path.read_bytes().replace(b"text", b"evil"))
    look(vault)
    rows, total = catalog.proposals(vault.database, vault.visibility)
    assert (total, rows[0].path) == (1, made.document.path)
    assert inbox.read(vault, "idea", max_chars=99).document.path == made.document.path


def test_an_unfinished_merge_is_withheld_and_one_in_a_fence_is_text(
    vault: Vault, machine: Machine
) -> None:
    """Case 31."""
    place(machine, CASES / "31-merge-markers")
    before = machine.files()
    look(vault)
    read = memories.read(vault, "m", max_chars=999)
    assert read.token is None
    assert {finding.code for finding in read.document.findings} == {"merge_markers"}
    assert all(finding.line for finding in read.document.findings)
    (item,) = retrieval.catalog(vault, limit=100).items
    assert memories.read(vault, item.id, max_chars=9).document.path == f"{HERE}/doc.md"
    assert machine.files() == before


# ---- placeholders --------------------------------------------------------------------------------


def evict(path: Path) -> None:
    """Do as iCloud does: leave a hidden placeholder in the file's place."""
    path.unlink()
    path.with_name(f".{path.name}.icloud").write_bytes(b"bplist00")


def test_an_evicted_file_is_not_deleted(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("note", body="far away words"))
    path = machine.root / made.document.path
    data = path.read_bytes()
    evict(path)
    look(vault)
    recording.record(vault)
    assert reasons(vault) == {path.name: "evicted"}
    assert status.status(vault).health.state == "ok"
    assert found(vault, "far away") == []
    with pytest.raises(NotFound):
        memories.read(vault, "note", max_chars=9)
    assert len(events(vault)) == 1

    path.with_name(f".{path.name}.icloud").unlink()
    path.write_bytes(data)
    look(vault)
    recording.record(vault)
    assert memories.read(vault, "note", max_chars=99).approved_via == "relayed"
    assert len(events(vault)) == 1


def test_a_new_note_takes_no_evicted_files_name(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("note"))
    evict(machine.root / made.document.path)
    look(vault)
    again = memories.create(vault, AGENT, claim("note", body="Another text.\n"))
    assert again.document.path == f"{HERE}/note-2.md"


AWAY = [{"st_flags": 0x4000_0000}, {"st_file_attributes": 0x0040_0000}]


@pytest.mark.parametrize("marks", AWAY, ids=["mac", "win"])
def test_a_file_without_its_bytes_is_not_fetched(
    vault: Vault, machine: Machine, monkeypatch: pytest.MonkeyPatch, marks: dict[str, int]
) -> None:
    machine.put(f"{HERE}/note.md", note("note", "words"))
    disk = fake_marks.install(monkeypatch, {"note.md": marks})
    sync.reconcile(replace(vault, root=replace(vault.root, disk=disk)))
    assert reasons(vault) == {"note.md": "evicted"}
    assert disk.opened == []


@pytest.mark.parametrize("marks", AWAY, ids=["mac", "win"])
def test_a_note_that_is_evicted_in_its_place_is_neither_fetched_nor_deleted(
    vault: Vault, machine: Machine, monkeypatch: pytest.MonkeyPatch, marks: dict[str, int]
) -> None:
    made = memories.create(vault, AGENT, claim("note", body="far away words"))
    path = machine.root / made.document.path
    path.write_bytes(path.read_bytes() + b"By hand.\n")
    look(vault)  # the edit is noted and not on record yet
    disk = fake_marks.install(monkeypatch, {"note.md": marks})
    away = replace(vault, root=replace(vault.root, disk=disk))

    with pytest.raises(NotFound):
        memories.read(away, "note", max_chars=99)
    look(away)
    recording.record(away)
    assert disk.opened == []
    assert reasons(vault) == {"note.md": "evicted"}
    assert found(away, "far away") == []
    again = memories.create(away, AGENT, claim("note", body="Another text.\n"))
    assert again.document.path == f"{HERE}/note-2.md"
    assert [event.operation for event in events(vault)] == ["create", "create"]

    memories.delete(away, AGENT, again.document.content.id, proof(away, again.document.content.id))
    disk.told.clear()
    look(away)
    recording.record(away)
    assert found(away, "far away") == [made.document.content.id]
    operations = [event.operation for event in events(vault)]
    assert operations == ["create", "create", "delete", "external-edit"]


# ---- one bad file ----------------------------------------------------------------------------


class Counting(OSDisk):
    """Counts the notes it reads."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        self.opened.append(path.name)
        return super().read(path, limit=limit)


def test_a_file_that_is_too_large_is_opened_again_only_when_it_changes(
    machine: Machine, opened: Opening
) -> None:
    """Fault 31, and one bad file harms only itself."""
    place_ = machine.put(f"{HERE}/big.md", b"x" * 5_000_000)
    os.utime(place_, ns=(OLD, OLD))
    vault = opened(machine.folder / "work/widgets")
    disk = Counting()
    counted = replace(vault, root=replace(vault.root, disk=disk))
    sync.reconcile(counted)
    sync.reconcile(counted)
    assert disk.opened == ["big.md"]
    assert reasons(vault) == {"big.md": "too_large"}
    place_.write_text(note("big", "shortened"))
    sync.reconcile(counted)
    assert found(vault, "shortened") == ["mem-1"]


def test_a_copy_can_be_read_by_nobodys_words(vault: Vault, machine: Machine) -> None:
    machine.put(f"{HERE}/note.md", note("note", "words"))
    machine.put(f"{HERE}/note (1).md", note("other name", "canary"))
    look(vault)
    for identifier in ("other name", "note (1)", f"{HERE}/note (1).md"):
        with pytest.raises(KeepMError):
            memories.read(vault, identifier, max_chars=99)
    assert retrieval.search(vault, Wanted("canary")).items == []
