"""What is wrong between notes: ids, names, links, and what supersedes what."""

from __future__ import annotations

import pytest

from keepm.model.document import Severity
from keepm.operations.vault import Vault
from tests.operations.diagnosis.support import ID, case, found, look, note, owners_view
from tests.operations.support import Machine

WIDGETS = "Memory/projects/widgets"
CASE_28 = (
    "Release steps.md",
    "Release steps (1).md",
    "Release steps (Sam's conflicted copy 2026-11-01).md",
    "Release steps (conflicted copy 2026-11-01 101500).md",
    "Release steps.sync-conflict-20261101-101500-K7QWERT.md",
    "Report (1).md",
)


def test_conflict_copies_are_listed_and_the_identical_ones_said_to_be_so(
    machine: Machine, vault: Vault
) -> None:
    """Case 28: the name alone is no proof, the shared id is."""
    for name in CASE_28:
        machine.put(f"{WIDGETS}/{name}", case("28-conflict-copies", name))

    copies = [each for each in look(vault) if each.rule.code == "conflict_copy"]

    assert {each.path for each in copies} == {f"{WIDGETS}/{name}" for name in CASE_28[1:5]}
    assert sum("very same bytes" in each.reason for each in copies) == 2
    assert not any("duplicate_id" in each for each in found(vault))


def test_a_copy_is_told_of_once(machine: Machine, vault: Vault) -> None:
    """Its approval, its sources and its date of verification are the note's."""
    more = {"approved_via": "host", "sources": "[docs/gone.md]", "verified_at": "2020-01-01"}
    machine.put(f"{WIDGETS}/a.md", note(1, kind="constraint", **more))
    machine.put(f"{WIDGETS}/a (1).md", note(1, "Another text.", kind="constraint", **more))
    machine.put(f"{WIDGETS}/b.md", note(1, "Not a copy's name."))

    told = [each for each in look(vault) if each.path == f"{WIDGETS}/a (1).md"]

    assert [each.rule.code for each in told if each.rule.code != "contract_missing"] == [
        "conflict_copy"
    ]


def test_an_identical_copy_names_only_what_it_is_identical_to(
    machine: Machine, vault: Vault
) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1))
    machine.put(f"{WIDGETS}/a (1).md", note(1))
    machine.put(f"{WIDGETS}/b.md", note(1, "Another text."))

    (only,) = (each for each in look(vault) if each.rule.code == "conflict_copy")

    assert only.reason.startswith(f"a copy of {WIDGETS}/a.md, with the very same bytes")


def test_a_copys_name_and_a_note_of_another_scope_make_no_copy(
    machine: Machine, vault: Vault
) -> None:
    """The index serves both, so both have to hear of it."""
    machine.put("Memory/global/a.md", note(1, scope="global", project_id=""))
    machine.put(f"{WIDGETS}/a (1).md", note(1))

    assert {each.split()[0] for each in found(vault)} == {"duplicate_id"}


def test_two_files_with_one_id_are_both_named_at_their_lines(
    machine: Machine, vault: Vault
) -> None:
    """Fault 15 of KeepM 3: the last one replaced the other in silence."""
    machine.put(f"{WIDGETS}/a.md", note(1))
    machine.put(f"{WIDGETS}/b.md", note(2, id=ID.format(1)))
    machine.put(f"{WIDGETS}/c.md", note(3))

    assert found(vault) == ["duplicate_id a.md:2", "duplicate_id b.md:2"]
    assert {each.severity for each in look(vault)} == {Severity.ERROR}


def test_two_active_notes_with_one_name_and_an_alias_that_is_taken(
    machine: Machine, vault: Vault
) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, name="Build command"))
    machine.put(f"{WIDGETS}/b.md", note(2, name="build_command"))
    machine.put(f"{WIDGETS}/c.md", note(3, aliases="build-command"))
    machine.put(f"{WIDGETS}/d.md", note(4, name="build command", status="archived"))

    assert found(vault) == [
        "duplicate_name a.md:3",
        "duplicate_name b.md:3",
        "duplicate_alias c.md:11",
    ]


def test_a_project_may_shadow_a_global_name(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, name="port"))
    machine.put("Memory/global/port.md", note(2, name="port", scope="global", project_id=""))

    assert found(vault) == []


# ---- what supersedes what ------------------------------------------------------------------------


def test_notes_that_supersede_one_another_are_errors(machine: Machine, vault: Vault) -> None:
    """Case 70."""
    for name in ("loop-a", "loop-b", "new", "old"):
        machine.put(f"{WIDGETS}/{name}.md", case("70-supersede", f"{name}.md"))

    codes = [each for each in found(vault) if "supersede" in each]

    assert codes == [
        "supersedes_circle loop-a.md:3",
        "supersedes_circle loop-b.md:3",
        "superseded_but_active old.md:4",
    ]
    circle = next(each for each in look(vault) if each.rule.code == "supersedes_circle")
    assert circle.severity is Severity.ERROR


def test_a_note_that_supersedes_itself_or_nothing(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, supersedes=ID.format(1)))
    machine.put(f"{WIDGETS}/b.md", note(2, supersedes=ID.format(9)))
    machine.put(f"{WIDGETS}/c.md", note(3, supersedes=ID.format(4)))
    machine.put(f"{WIDGETS}/d.md", note(4, status="superseded"))

    assert found(vault) == ["supersedes_circle a.md:11", "unresolved_supersedes b.md:11"]


# ---- links ---------------------------------------------------------------------------------------


def test_a_link_to_no_note_is_told_at_its_line_in_the_file(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, "Text.\n\nSee [[nowhere]] and [[note-2|two]].\n"))
    machine.put(f"{WIDGETS}/b.md", note(2, "In code `[[nowhere]]`, a picture ![[x.png]]."))

    assert found(vault) == ["unresolved_link a.md:15"]
    assert "nowhere" not in repr(look(vault))


def test_a_link_in_the_front_matter_is_told_at_its_key(machine: Machine, vault: Vault) -> None:
    """Case 16."""
    machine.put(f"{WIDGETS}/a.md", case("16-obsidian-values", "v.md"))

    links = [each for each in found(vault) if each.startswith("unresolved_link")]
    assert links == ["unresolved_link a.md:5", "unresolved_link a.md:6"]


def test_a_link_that_may_mean_two_notes(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, "See [[two]]."))
    for number, alias in ((2, "two"), (3, "two")):
        machine.put(f"{WIDGETS}/{number}.md", note(number, aliases=alias))

    assert "ambiguous_link a.md:13" in found(vault)


def test_a_link_of_what_was_laid_aside_is_nobodys_care(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, "See [[nowhere]].", status="archived"))

    assert found(vault) == []


@pytest.mark.parametrize("everything", [False, True])
def test_links_are_resolved_within_their_own_scope(
    machine: Machine, vault: Vault, everything: bool
) -> None:
    machine.project("gadgets")
    machine.put(f"{WIDGETS}/a.md", note(1, "See [[note-2]] and [[note-3]]."))
    machine.put("Memory/global/c.md", note(3, scope="global", project_id=""))
    machine.put("Memory/projects/gadgets/b.md", note(2, project_id="gadgets"))
    seen = owners_view(vault) if everything else vault

    links = [each for each in found(seen) if each.startswith("unresolved_link")]

    assert links == ["unresolved_link a.md:13"]
