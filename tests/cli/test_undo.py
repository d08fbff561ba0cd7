"""`keepm undo`, and the two ways to confirm a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepm.operations import memories
from keepm.operations.vault import Vault
from tests.cli.support import CommandLine
from tests.operations.support import AGENT, Machine, claim, events

NOTE = "Memory/projects/widgets/build-command.md"


@pytest.fixture
def note(machine: Machine, vault: Vault) -> Path:
    memories.create(vault, AGENT, claim())
    return machine.root / NOTE


def plans(machine: Machine) -> list[Path]:
    return list((machine.folder / "data/plans").glob("*.json"))


def test_without_a_terminal_a_token_confirms_the_plan(
    machine: Machine, vault: Vault, keepm: CommandLine, note: Path
) -> None:
    shown = keepm.json("undo")
    assert shown["plan"]["events"][0]["operation"] == "create"
    assert note.exists()
    (kept,) = plans(machine)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert shown["token"] not in kept.name + kept.read_text("utf-8")

    done = keepm.json("undo", "--confirm", "--token", shown["token"])

    assert done["undone"] is True
    assert not note.exists()
    assert plans(machine) == []
    assert [event.operation for event in events(vault)] == ["create", "undo"]
    refused = keepm.json("undo", "--confirm", "--token", shown["token"], code=2)
    assert refused["error"]["code"] == "confirmation_required"


def test_on_a_terminal_a_plain_yes_confirms(
    keepm: CommandLine, machine: Machine, note: Path
) -> None:
    for answer in ("n\n", "\n", "ok\n", ""):
        keepm.typing(answer)
        assert keepm.run("undo")[0] == 0
        assert note.exists()
    keepm.typing("y\n")
    code, out = keepm.run("undo")
    assert code == 0
    assert out.startswith("Took back 1 event")
    assert "create" in keepm.said
    assert not note.exists()


def test_yes_skips_the_question_on_a_terminal_only(keepm: CommandLine, note: Path) -> None:
    assert keepm.run("undo", "--yes")[0] == 2
    assert note.exists()

    keepm.typing("")
    assert keepm.run("undo", "--yes")[0] == 0
    assert not note.exists()


@pytest.mark.parametrize("token", ["", "guessed", "../../etc/passwd", "x" * 500])
def test_a_token_that_is_none_confirms_nothing(token: str, keepm: CommandLine, note: Path) -> None:
    keepm.json("undo")

    refused = keepm.json("undo", "--confirm", "--token", token, code=2)
    assert refused["error"]["code"] == "confirmation_required"
    assert note.exists()


def test_a_token_is_of_one_plan(
    machine: Machine, vault: Vault, keepm: CommandLine, note: Path
) -> None:
    token = keepm.json("undo", "1")["token"]
    other = keepm.json("undo", "2", "--confirm", "--token", token, code=2)
    assert other["error"]["code"] == "confirmation_required"

    keepm.run("undo", "1", "--confirm", "--token", token)
    assert not note.exists()


def test_a_plan_that_changed_is_refused(
    vault: Vault, machine: Machine, keepm: CommandLine, note: Path
) -> None:
    token = keepm.json("undo")["token"]
    memories.create(vault, AGENT, claim("second"))

    refused = keepm.json("undo", "--confirm", "--token", token, code=2)
    assert refused["error"]["code"] == "confirmation_required"
    assert note.exists()


def test_the_reason_of_a_refusal_is_printed(keepm: CommandLine, note: Path) -> None:
    note.write_bytes(b"By hand.\n")
    code, _ = keepm.run("undo", "1")

    assert code == 2
    assert "external-edit" in keepm.said
