"""A project's doctor speaks of that project and of global memory, and of nobody else's."""

from __future__ import annotations

import os
from dataclasses import replace

from keepm.operations import diagnosis, sync
from keepm.operations.vault import Vault
from tests.fakes.marks import MarkedDisk
from tests.operations.diagnosis.support import found, look, note, owners_view
from tests.operations.support import OWNER, Machine, Opening

CANARY = "quokka"


def spoil(machine: Machine) -> None:
    """Give another project one fault of every sort, with a word that must not be seen."""
    machine.project(CANARY)
    here = f"Memory/projects/{CANARY}"
    machine.put(f"{here}/{CANARY}-broken.md", f"---\n{CANARY}: a: b\n---\n")
    machine.put(f"{here}/{CANARY}-twin-a.md", note(1, project_id=CANARY, name=CANARY))
    machine.put(f"{here}/{CANARY}-twin-b.md", note(1, project_id=CANARY, name=CANARY))
    machine.put(f"{here}/{CANARY}-link.md", note(3, f"[[{CANARY}-gone]]", project_id=CANARY))
    machine.put(f"{here}/{CANARY}-source.md", note(4, project_id=CANARY, sources=f"{CANARY}.py"))
    machine.put(f"Memory/projects/{CANARY}-stray.md", "Stray.\n")
    machine.put(f"Memory/{CANARY}-stray.md", "Stray.\n")
    machine.put(f"Memory/Inbox/pending/projects/{CANARY}/{CANARY}.md", "No proposal.\n")
    machine.put(f"Memory/.handoffs/pending/projects/{CANARY}/{CANARY}.md", "---\na: b: c\n---\n")
    (machine.root / here / f"{CANARY}-link-away.md").symlink_to(os.devnull)


def test_another_projects_faults_are_not_told(machine: Machine, vault: Vault) -> None:
    """Fault 45 of KeepM 3."""
    spoil(machine)
    machine.put("Memory/projects/widgets/a.md", note(9, kind="decision"))
    machine.put("Memory/global/b.md", note(8, "", scope="global", project_id=""))

    said = look(vault)

    assert [each.rule.code for each in said] == ["empty_body", *["contract_missing"] * 2]
    assert CANARY not in repr(said)


def test_the_owner_is_told_of_all_of_them(machine: Machine, opened: Opening) -> None:
    spoil(machine)

    said = look(owners_view(opened(None)))

    codes = {each.rule.code for each in said}
    assert codes >= {
        "invalid_yaml",
        "duplicate_id",
        "duplicate_name",
        "unresolved_link",
        "source_pointer_missing",
        "misplaced",
        "missing_id",
        "pending_stuck",
        "symlink",
    }
    stray = {each.path for each in said if each.rule.code == "misplaced"}
    assert stray == {f"Memory/{CANARY}-stray.md", f"Memory/projects/{CANARY}-stray.md"}


def test_without_a_project_only_global_memory_is_spoken_of(
    machine: Machine, opened: Opening
) -> None:
    spoil(machine)
    machine.put("Memory/global/b.md", note(8, "", scope="global", project_id=""))

    assert found(opened(None)) == ["empty_body global/b.md"]


def test_no_finding_holds_a_path_of_this_machine(machine: Machine, vault: Vault) -> None:
    spoil(machine)

    assert str(machine.folder) not in repr(look(owners_view(vault)))


def test_the_order_is_the_same_each_time(machine: Machine, vault: Vault) -> None:
    spoil(machine)
    first = diagnosis.examine(owners_view(vault), OWNER)

    assert diagnosis.examine(owners_view(vault), OWNER).findings == first.findings
    places = [each.path or "" for each in first.findings if each.rule.area == "vault"]
    assert places == sorted(places)


def test_each_file_is_opened_once_however_many_there_are(machine: Machine, vault: Vault) -> None:
    """Fault 49 of KeepM 3: each note was compared with every other one."""
    for number in range(1, 41):
        machine.put(
            f"Memory/projects/widgets/n{number}.md",
            note(number, f"Like [[note-{number % 40 + 1}]]."),
        )
    sync.reconcile(vault)
    disk = MarkedDisk({})

    diagnosis.examine(replace(vault, root=replace(vault.root, disk=disk)), OWNER)

    assert sorted(disk.opened) == sorted(f"n{number}.md" for number in range(1, 41))


def test_nothing_is_said_twice(machine: Machine, vault: Vault) -> None:
    """Fault 56 of KeepM 3: what isn't UTF-8, and another scope, were told twice."""
    machine.put("Memory/projects/widgets/a.md", b"---\nname: a\n---\n\xff\n")
    machine.put("Memory/projects/widgets/b.md", note(2, project_id="gadgets"))

    codes = [each.rule.code for each in look(vault)]

    assert codes == ["not_utf8", "scope_mismatch"]
