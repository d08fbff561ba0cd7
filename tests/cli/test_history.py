"""`keepm history`."""

from __future__ import annotations

from keepm.operations import memories
from keepm.operations.vault import Vault
from tests.cli.support import CommandLine
from tests.operations.support import AGENT, Machine, claim, edit, proof


def changed(machine: Machine, vault: Vault) -> str:
    first = memories.create(vault, AGENT, claim()).document
    memories.update(
        vault, AGENT, "build-command", edit(body="Second.\n"), proof(vault, "build-command")
    )
    return first.checksum.hex


def test_it_lists_versions_with_hand_edits(
    machine: Machine, vault: Vault, keepm: CommandLine
) -> None:
    changed(machine, vault)
    machine.put("Memory/projects/widgets/build-command.md", "By hand.\n")

    data = keepm.json("history", "build-command")
    assert [each["operation"] for each in data["versions"]] == ["external-edit", "update", "create"]
    code, out = keepm.run("history", "build-command")
    assert code == 0
    assert len(out.splitlines()) == 3


def test_it_shows_what_changed_and_one_version(
    machine: Machine, vault: Vault, keepm: CommandLine
) -> None:
    first = changed(machine, vault)

    assert "-The text of build-command." in keepm.run("history", "build-command", "--diff")[1]
    assert "+Second." in keepm.json("history", "build-command", "--diff")["versions"][0]["diff"]
    code, out = keepm.run("history", "build-command", "--version", first[:10])
    assert code == 0
    assert "The text of build-command." in out


def test_a_deleted_note_has_its_history_while_the_trash_holds_it(
    machine: Machine, vault: Vault, keepm: CommandLine
) -> None:
    first = changed(machine, vault)
    assert keepm.json("history", "build-command")["deleted_at"] is None
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))

    data = keepm.json("history", "Build Command", "--diff")

    assert data["deleted_at"]
    assert [each["operation"] for each in data["versions"]] == ["update", "create"]
    assert "+Second." in data["versions"][0]["diff"]
    code, out = keepm.run("history", "build-command", "--version", first[:10])
    assert (code, "The text of build-command." in out) == (0, True)


def test_another_projects_deleted_note_stays_unknown(
    machine: Machine, vault: Vault, keepm: CommandLine
) -> None:
    changed(machine, vault)
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))
    machine.project("gadgets")

    error = keepm.json("history", "build-command", "--project", "gadgets", code=2)["error"]

    assert error["code"] == "not_found"


def test_an_unknown_note_is_refused(machine: Machine, vault: Vault, keepm: CommandLine) -> None:
    assert keepm.json("history", "nothing", code=2)["error"]["code"] == "not_found"
