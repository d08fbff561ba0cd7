"""`keepm sync`, and commands on a machine whose settings or folders are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepm.cli import main
from keepm.operations import memories
from keepm.operations.vault import Vault
from tests.cli.support import CommandLine
from tests.operations.support import AGENT, Machine, claim, events, look

HERE = "Memory/projects/widgets"


def test_sync_takes_up_what_changed_and_puts_it_on_record(
    keepm: CommandLine, machine: Machine, vault: Vault
) -> None:
    made = memories.create(vault, AGENT, claim("note"))
    path = machine.root / made.document.path
    path.write_bytes(path.read_bytes() + b"By hand.\n")
    machine.put(f"{HERE}/new.md", "---\nid: new-1\nname: new\n---\ntext\n")
    done = keepm.json("sync")
    assert (done["found"]["seen"], done["found"]["read"], done["rebuilt"]) == (2, 2, False)
    assert [event.operation for event in events(vault)] == [
        "create",
        "external-edit",
        "external-edit",
    ]
    code, out = keepm.run("sync", "--full")
    assert (code, out.startswith("Index built anew: 2 files")) == (0, True)
    assert keepm.json("search", "by hand")["items"]


def test_what_is_held_back_is_a_finding_until_it_is_confirmed(
    keepm: CommandLine, machine: Machine, vault: Vault
) -> None:
    for number in range(20):
        machine.put(f"{HERE}/n{number}.md", f"---\nid: n-{number}\nname: n{number}\n---\ntext\n")
    look(vault)
    for path in (machine.root / HERE).glob("*.md"):
        path.unlink()
    assert keepm.json("sync", code=1)["found"]["held"] == 20
    code, out = keepm.run("status")
    assert code == 1
    assert "missing, held" in out
    assert keepm.json("sync", "--full")["found"]["held"] == 0
    assert keepm.run("sync")[0] == 0


@pytest.mark.parametrize("words", [("status",), ("search", "x"), ("sync",), ("read", "x")])
@pytest.mark.parametrize(
    "broken",
    ["not = toml =", 'deep_reconcile_seconds = "often"', "projects = 3", 'root = ""', "\x00"],
)
def test_a_command_with_broken_settings_says_one_sentence(
    keepm: CommandLine, machine: Machine, words: tuple[str, ...], broken: str
) -> None:
    (machine.folder / "config.toml").write_text(broken)
    if broken.startswith("root"):
        code = main.run([*words])
    else:
        code, _ = keepm.run(*words)
        assert "configuration_error" in keepm.said
        assert "→" in keepm.said
    assert code == 2
    assert "Traceback" not in keepm.said


def test_a_user_without_a_home_is_told_so(
    keepm: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", staticmethod(homeless))
    code, _ = keepm.run("status")
    assert code == 2
    assert "home folder" in keepm.said


def test_a_data_folder_that_cannot_be_written_stops_no_reading(
    keepm: CommandLine, machine: Machine
) -> None:
    machine.put(f"{HERE}/note.md", "---\nid: n-1\nname: note\n---\nlighthouse\n")
    (machine.folder / "data").write_text("no folder")
    assert keepm.json("search", "lighthouse")["total"] == 1
    assert keepm.run("read", "note")[0] == 0
    told = keepm.json("status")
    assert "temporary" in told["filesystem"]["index"]
