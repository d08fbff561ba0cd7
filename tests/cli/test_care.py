"""`keepm restore`, `keepm gc` and `keepm repair`."""

from __future__ import annotations

import pytest

from keepm.operations import memories
from keepm.operations.vault import Vault
from tests.cli.support import CommandLine
from tests.operations import test_repairing
from tests.operations.support import AGENT, Machine, claim, proof

NOTE = "Memory/projects/widgets/build-command.md"


@pytest.fixture
def deleted(machine: Machine, vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))


@pytest.mark.usefixtures("deleted")
def test_restore_lists_the_trash_and_puts_one_back(machine: Machine, keepm: CommandLine) -> None:
    (item,) = keepm.json("restore")["items"]
    assert (item["name"], item["old_path"]) == ("build-command", NOTE)

    assert keepm.json("restore", "build-command")["restored"] is True
    assert (machine.root / NOTE).exists()
    code, out = keepm.run("restore")
    assert (code, out.strip()) == (0, "")
    assert "empty" in keepm.said


@pytest.mark.usefixtures("deleted")
def test_restore_says_why_not(vault: Vault, keepm: CommandLine) -> None:
    memories.create(vault, AGENT, claim())

    assert keepm.json("restore", "build-command", code=2)["error"]["code"] == "already_exists"
    assert keepm.json("restore", "nothing", code=2)["error"]["code"] == "not_found"


def test_gc_shows_then_deletes_exactly_that(machine: Machine, keepm: CommandLine) -> None:
    machine.open().close()
    old = machine.put("Memory/.trash/old-20200101T000000Z.md", "x")
    shown = keepm.json("gc")
    assert [each["path"] for each in shown["plan"]["files"]] == [
        "Memory/.trash/old-20200101T000000Z.md"
    ]
    assert old.exists()

    wrong = ("gc", "--older-than-days", "7", "--confirm", "--token", shown["token"])
    assert keepm.json(*wrong, code=2)["error"]["code"] == "confirmation_required"
    assert keepm.json("gc", "--confirm", "--token", shown["token"])["cleaned"] is True
    assert not old.exists()
    again = keepm.json("gc", "--confirm", "--token", shown["token"], code=2)
    assert again["error"]["code"] == "confirmation_required"


def test_gc_with_nothing_to_do_hands_out_no_token(machine: Machine, keepm: CommandLine) -> None:
    machine.open().close()

    shown = keepm.json("gc", "--older-than-days", "7")
    assert shown["token"] is None
    assert shown["plan"]["files"] == []


def test_repair_lists_decides_and_is_done(
    machine: Machine, vault: Vault, keepm: CommandLine
) -> None:
    memories.create(vault, AGENT, claim())
    assert keepm.json("repair") == {"blocked": []}
    waiting = test_repairing.blocked("update", machine, vault)

    (listed,) = keepm.json("repair", code=1)["blocked"]
    assert listed["transaction"] == waiting
    assert keepm.json("repair", "--transaction", waiting, code=2)["error"]["code"] == (
        "invalid_input"
    )
    shown = keepm.json("repair", "--transaction", waiting[:8], "--keep", "theirs")
    done = keepm.json("repair", "--confirm", "--token", shown["token"])
    assert done["repaired"] is True
    assert keepm.json("repair") == {"blocked": []}
    assert (machine.root / NOTE).read_bytes() == test_repairing.STRANGER


@pytest.mark.parametrize("command", ["undo", "restore", "gc", "repair", "ledger", "history"])
def test_help_teaches_with_examples(command: str, keepm: CommandLine) -> None:
    code, out = keepm.run(command, "--help")
    assert code == 0
    assert f"  keepm {command}" in out
