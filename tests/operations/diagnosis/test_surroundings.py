"""What surrounds the vault: what it lies on, and whose memory a project id is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.model.filesystems import Filesystem
from keepm.operations.vault import Vault
from tests.operations import git
from tests.operations.diagnosis.support import look, note, owners_view
from tests.operations.support import Machine, Opening


def said(vault: Vault) -> list[tuple[str, str | None]]:
    return [(each.rule.code, each.subject) for each in look(vault)]


@pytest.mark.parametrize("what", ["vault", "index"])
def test_a_network_and_a_synced_folder_are_warned_of(vault: Vault, what: str) -> None:
    """Case 29. Fault 4 of KeepM 3: a second machine was neither seen nor spoken of."""
    bad = Filesystem("nfs4", network=True, synced_by="Dropbox")
    placement = vault.placement
    here = replace(placement, vault=bad) if what == "vault" else replace(placement, index=bad)
    spoilt = replace(vault, placement=here)

    found = look(spoilt)

    assert [(each.rule.code, each.subject) for each in found] == [
        ("network_filesystem", what),
        ("sync_folder", what),
    ]
    assert "nfs4" in found[0].reason and "Dropbox" in found[1].reason
    assert all(each.path is None for each in found)


def test_a_line_that_is_no_setting_is_told_by_its_name(machine: Machine, opened: Opening) -> None:
    """A misspelt setting is one that somebody relies on."""
    machine.configure({"deep_reconcile_secs": 60})

    assert said(opened(machine.folder / "work/widgets")) == [
        ("unknown_setting", "deep_reconcile_secs")
    ]


def test_two_repositories_with_one_id_are_told_and_a_clone_is_not(
    machine: Machine, opened: Opening
) -> None:
    """Fault 1 of KeepM 3: repositories that had nothing in common shared their memory."""
    work = machine.folder / "work"
    one = git.repository(work / "one")
    git.clone(one, work / "again")
    git.repository(work / "other")
    shared = {"roots": [str(one), str(work / "again")]}
    machine.configure({"projects": {"gadgets": shared}})
    assert said(opened(one)) == []

    shared["roots"].append(str(work / "other"))
    machine.configure({"projects": {"gadgets": shared}})

    assert said(opened(one)) == [("project_id_shared", "gadgets")]
    assert said(opened(work / "widgets")) == []


def test_the_owner_hears_of_twins_and_of_projects_that_this_machine_doesnt_know(
    machine: Machine, opened: Opening
) -> None:
    machine.configure({"projects": {"Widgets": {"roots": [str(machine.folder / "W")]}}})
    machine.put("Memory/projects/gadgets/a.md", note(1, project_id="gadgets"))

    found = said(owners_view(opened(None)))

    assert found == [
        ("project_id_twin", "Widgets"),
        ("project_id_twin", "widgets"),
        ("project_not_set_up", "gadgets"),
    ]
    assert said(opened(machine.folder / "work/widgets")) == []
