"""`keepm repair NOTE`: shown, then done as shown, and taken back by undo."""

from __future__ import annotations

import pytest

from keepm.operations.vault import Vault
from tests.cli.support import CommandLine
from tests.operations.support import Machine, events

PATH = "Memory/projects/widgets/note.md"
TEXT = "---\nname: note\ncreated: '2026-01-01'\nupdated: '2026-01-01'\n---\nx\n"


@pytest.fixture
def note(machine: Machine, vault: Vault) -> str:
    machine.put(PATH, TEXT)
    return "note"


def test_a_note_is_mended_with_the_plans_token(
    keepm: CommandLine, machine: Machine, vault: Vault, note: str
) -> None:
    shown = keepm.json("repair", note)
    assert "+id: " in shown["plan"]["diff"]
    assert (machine.root / PATH).read_text() == TEXT
    done = keepm.json("repair", "--confirm", "--token", shown["token"])
    assert done["repaired"]
    assert "id: " in (machine.root / PATH).read_text()
    assert keepm.json("repair", note)["token"] is None
    undo = keepm.json("undo")
    keepm.json("undo", "--confirm", "--token", undo["token"])
    assert (machine.root / PATH).read_text() == TEXT
    assert [event.operation for event in events(vault)][-2:] == ["mend", "undo"]


def test_a_path_names_a_note_and_a_terminal_asks(
    keepm: CommandLine, machine: Machine, note: str
) -> None:
    keepm.typing("n\n")
    assert keepm.run("repair", PATH)[0] == 0
    assert (machine.root / PATH).read_text() == TEXT
    keepm.typing("y\n")
    code, out = keepm.run("repair", PATH)
    assert (code, "keepm undo" in out) == (0, True)
    assert "id: " in (machine.root / PATH).read_text()


def test_a_note_and_a_transaction_are_two_questions(keepm: CommandLine, note: str) -> None:
    assert keepm.run("repair", note, "--keep", "mine")[0] == 2
    assert "NOTE" in keepm.said
    assert keepm.run("repair", "nothing-like-it")[0] == 2
    assert keepm.run("repair")[0] == 0
