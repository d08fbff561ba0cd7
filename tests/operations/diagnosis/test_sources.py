"""Sources against the work tree, and how long ago a note was verified: told, never failing."""

from __future__ import annotations

import shutil

from keepm.model.document import Severity
from keepm.model.memory import Kind
from keepm.operations import memories
from keepm.operations.vault import Vault
from tests.operations.diagnosis.support import found, look, note, owners_view
from tests.operations.support import AGENT, CONTRACT, FixedClock, Machine, Opening, claim


def verified(machine: Machine, vault: Vault, *sources: str) -> None:
    """Write a note that was verified against files of the work tree as they are."""
    for number, source in enumerate(sources):
        place = machine.folder / "work/widgets" / source
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"number = {number}\n" * 20, "utf-8")
    made = claim("port", sources=sources, verified_at=vault.today())
    memories.create(vault, AGENT, made)


def codes(vault: Vault) -> list[str]:
    said = look(vault)
    assert {each.severity for each in said} <= {Severity.INFO}
    return [each.rule.code for each in said]


def test_each_source_is_told_by_its_own_state(
    machine: Machine, vault: Vault, opened: Opening
) -> None:
    verified(machine, vault, "same.py", "changed.py", "gone.py", "old/moved.py")
    assert codes(vault) == []
    tree = machine.folder / "work/widgets"

    (tree / "changed.py").write_text("x = 2\n", "utf-8")
    (tree / "gone.py").unlink()
    (tree / "new").mkdir()
    shutil.move(tree / "old/moved.py", tree / "new/moved.py")

    assert sorted(codes(opened(tree))) == [
        "source_pointer_changed",
        "source_pointer_missing",
        "source_pointer_moved",
    ]


def test_a_source_that_was_never_verified_is_only_missed_when_it_is_gone(
    machine: Machine, vault: Vault
) -> None:
    machine.put("Memory/projects/widgets/a.md", note(1, sources="[app.py, gone.py]"))
    (machine.folder / "work/widgets/app.py").write_text("x = 1\n", "utf-8")

    assert found(vault) == ["source_pointer_missing a.md:11"]


def test_sources_of_a_project_without_a_work_tree_here_are_skipped_once(
    machine: Machine, opened: Opening
) -> None:
    for number in (1, 2):
        text = note(number, project_id="gadgets", sources="app.py")
        machine.put(f"Memory/projects/gadgets/{number}.md", text)
    machine.put("Memory/projects/gadgets/3.md", note(3, project_id="gadgets"))

    skipped = [
        each
        for each in look(owners_view(opened(None)))
        if each.rule.code == "source_pointer_check_skipped"
    ]

    assert [(each.subject, each.reason.split()[0]) for each in skipped] == [("gadgets", "2")]


def test_the_owner_sees_sources_compared_where_the_work_tree_still_is_that_project(
    machine: Machine, opened: Opening
) -> None:
    machine.project("gadgets")
    machine.put("Memory/projects/gadgets/1.md", note(1, project_id="gadgets", sources="gone.py"))
    everything = owners_view(opened(None))
    assert codes(everything) == ["source_pointer_missing"]

    (machine.folder / "work/gadgets").rename(machine.folder / "work/renamed")

    assert "source_pointer_check_skipped" in codes(everything)
    assert "source_pointer_missing" not in codes(everything)


def test_a_constraint_is_overdue_after_the_configured_days(vault: Vault, clock: FixedClock) -> None:
    for name, checked in (("checked", vault.today()), ("never", None)):
        made = claim(name, kind=Kind.CONSTRAINT, body=f"{CONTRACT}{name}", verified_at=checked)
        memories.create(vault, AGENT, made)
    memories.create(vault, AGENT, claim("other"))
    clock.forward(days=vault.settings.verification_review_days)
    assert codes(vault) == []

    clock.forward(days=1)

    assert sorted(codes(vault)) == ["verification_missing", "verification_overdue"]
