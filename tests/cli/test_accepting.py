"""`keepm review --edits`: hand edits listed, shown, accepted, put back, skipped."""

from __future__ import annotations

import pytest

from keepm.operations import memories, retrieval
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.cli.support import CommandLine
from tests.operations.support import AGENT, Machine, Opening, claim, events, look

NOTE = "Memory/projects/widgets/note.md"
NEW = "Memory/projects/widgets/new.md"


@pytest.fixture
def edited(machine: Machine, opened: Opening) -> Vault:
    """A note that was edited by hand while the owner wants to look at such edits first."""
    machine.configure({"approval": {"external_edits": "review"}})
    vault = opened(machine.folder / "work/widgets")
    memories.create(vault, AGENT, claim("note"))
    machine.put(NOTE, machine.files()[NOTE] + b"\nzzword\n")
    return vault


def is_read(vault: Vault) -> bool:
    look(vault)
    return bool(retrieval.search(vault, Wanted("zzword")).items)


def listed(keepm: CommandLine) -> list[dict[str, str]]:
    found: list[dict[str, str]] = keepm.json("review", "--edits", "--list")["items"]
    return found


def test_the_list_names_what_waits_and_the_inbox_says_that_something_does(
    edited: Vault, keepm: CommandLine
) -> None:
    (item,) = listed(keepm)
    assert (item["path"], item["object_kind"], item["name"]) == (NOTE, "memory", "note")
    assert not is_read(edited)
    keepm.run("review", "--list")
    assert "Hand edits that wait for your look: 1" in keepm.said


def test_without_a_terminal_the_version_is_named_and_the_owner_says_so(
    edited: Vault, keepm: CommandLine
) -> None:
    (item,) = listed(keepm)
    version = f"{item['id']}@{item['checksum'][:12]}"
    refusals = (
        ("accept", version),
        ("accept", version, "--yes"),
        ("accept", item["id"], "--yes", "--as-owner"),
        ("accept", f"{item['id']}@{'0' * 12}", "--yes", "--as-owner"),
    )
    for words in refusals:
        assert keepm.run("review", *words, "--format", "json")[0] == 2
        assert not is_read(edited)
    done = keepm.json("review", "accept", version, "--yes", "--as-owner")
    assert done["items"][0]["done"] == "accepted"
    assert is_read(edited)
    assert events(edited)[-1].shown == item["checksum"]
    assert listed(keepm) == []


def test_a_shell_that_an_agents_host_started_decides_nothing(
    edited: Vault, keepm: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    keepm.typing("y\n")
    for action in ("accept", "put-back"):
        assert keepm.run("review", action, "note")[0] == 2
        assert "approval_required" in keepm.said
    assert not is_read(edited)


def test_one_key_accepts_after_the_diff_and_the_whole_file_were_shown(
    edited: Vault, keepm: CommandLine
) -> None:
    keepm.typing("s\n")
    keepm.run("review", "--edits")
    assert "+zzword" in keepm.said
    assert "As stored: " + NOTE in keepm.said
    assert "0 accepted, 0 put back, 1 left." in keepm.said
    assert not is_read(edited)
    keepm.typing("a\n")
    keepm.run("review", "--edits")
    assert "1 accepted, 0 put back, 0 left." in keepm.said
    assert is_read(edited)


def test_one_key_puts_the_version_before_back(
    edited: Vault, machine: Machine, keepm: CommandLine
) -> None:
    keepm.typing("b\nn\nb\ny\n")
    keepm.run("review", "--edits")
    assert "0 accepted, 1 put back, 0 left." in keepm.said
    assert b"zzword" not in machine.files()[NOTE]
    look(edited)
    assert retrieval.search(edited, Wanted("note")).total == 1


def test_a_new_file_is_said_to_be_new_and_hidden_text_is_pointed_out(
    edited: Vault, machine: Machine, keepm: CommandLine
) -> None:
    machine.put(NEW, "---\nname: new\nkind: reference\n---\nfine\u202eevil\n")
    keepm.typing("n\n")
    keepm.run("review", "accept", NEW)
    assert "A new file, which nobody wrote through KeepM" in keepm.said
    assert "\u202e" not in keepm.said
    assert "U+202E" in keepm.said
    keepm.typing("y\n")
    keepm.run("review", "put-back", NEW)
    assert NEW not in machine.files()


def test_it_speaks_chinese(edited: Vault, machine: Machine, keepm: CommandLine) -> None:
    machine.configure({"language": "zh"})
    keepm.typing("q\n")
    keepm.run("review", "--edits")
    assert "有 1 处手工编辑等你查看" in keepm.said
    assert "手工改动之处" in keepm.said
