"""`keepm status | search | read`: what people see, on stdout and on stderr."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keepm.model.proposal import TargetAction
from keepm.operations import inbox, memories
from keepm.operations.inbox import Suggestion
from keepm.operations.vault import Vault
from tests.cli.support import MARKS, CommandLine
from tests.operations.support import AGENT, claim

BROKEN = b"---\nname: [a\n---\nwords about a \x1b[31mred\xe2\x80\xae lantern\n"


def note(vault: Vault, name: str) -> None:
    memories.create(vault, AGENT, claim(name))


@pytest.fixture
def broken(keepm: CommandLine) -> Path:
    path = keepm.machine.root / "Memory/global/broken.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(BROKEN)
    return path


def test_a_degraded_vault_names_the_files(vault: Vault, keepm: CommandLine, broken: Path) -> None:
    note(vault, "sound")

    code, out = keepm.run("status")

    assert code == 1
    assert "Memory/global/broken.md" in out
    assert "sound.md" not in out
    assert keepm.json("status", code=1)["health"] == {"state": "degraded", "problems": 1}


def test_many_files_are_counted_not_listed(vault: Vault, keepm: CommandLine, broken: Path) -> None:
    for number in range(20):
        broken.with_name(f"broken-{number}.md").write_bytes(BROKEN)

    _, out = keepm.run("status")

    assert out.count("broken") == 10
    assert "11 more" in out


def test_a_damaged_note_is_found_and_shown_as_it_is(
    vault: Vault, keepm: CommandLine, broken: Path
) -> None:
    code, out = keepm.run("search", "lantern")
    assert code == 0
    assert "(global, damaged)" in out
    (item,) = keepm.json("search", "lantern")["items"]
    assert "kind" not in item

    code, out = keepm.run("read", "broken")
    assert code == 1
    assert "lantern" in out
    assert "invalid_yaml" in keepm.said
    assert keepm.json("read", "broken", code=1)["damaged"] is True
    assert broken.read_bytes() == BROKEN


def test_no_note_drives_the_terminal(vault: Vault, keepm: CommandLine, broken: Path) -> None:
    for words in (("search", "lantern"), ("read", "broken")):
        _, out = keepm.run(*words)
        assert "\x1b" not in out + keepm.said
        assert "\\x1b[31mred<U+202E> lantern" in out


def test_what_is_not_there_is_told_with_a_command_not_a_tool(
    vault: Vault, keepm: CommandLine
) -> None:
    code, out = keepm.run("read", "nothing-of-the-kind")

    assert (code, out) == (2, "")
    assert "keepm search" in keepm.said
    assert "memory_" not in keepm.said
    error = keepm.json("read", "nothing-of-the-kind", code=2)["error"]
    assert error["code"] == "not_found"
    assert "memory_" not in error["hint"]


def test_notes_that_share_a_name_are_told_apart_in_words(
    vault: Vault, keepm: CommandLine, broken: Path
) -> None:
    for id_ in ("one", "two"):
        broken.with_name(f"{id_}.md").write_text(f"---\nid: {id_}\nname: twin\n---\nwords\n")

    code, _ = keepm.run("read", "twin")

    assert code == 2
    assert "  - one  twin  global\n" in keepm.said


def test_an_empty_search_says_why_on_stderr(vault: Vault, keepm: CommandLine) -> None:
    note(vault, "sound")

    assert keepm.run("search", "zyzzyva") == (0, "0 notes\n")
    assert "1" in keepm.said
    assert keepm.json("search", "zyzzyva")["reason"] == "no_match"


def test_a_misspelt_word_is_answered_with_a_known_one(vault: Vault, keepm: CommandLine) -> None:
    note(vault, "deployment")

    assert keepm.run("search", "deploymnet") == (0, "0 notes\n")
    assert "Did you mean: deployment?" in keepm.said
    assert keepm.json("search", "deploymnet")["did_you_mean"] == ["deployment"]
    assert "did_you_mean" not in keepm.json("search", "deployment")


@pytest.mark.parametrize("command", ["history", "undo", "gc", "search", "setup", "config"])
def test_help_is_folded_for_a_terminal(
    keepm: CommandLine, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    code, out = keepm.run(command, "--help")

    assert code == 0
    assert max(len(line) for line in out.splitlines() if "{" not in line) <= 100


def test_a_note_comes_out_as_it_is_on_disk(vault: Vault, keepm: CommandLine) -> None:
    note(vault, "build-command")
    path = keepm.machine.root / "Memory/projects/widgets/build-command.md"

    code, out = keepm.run("read", "build-command")

    assert (code, out.encode().rstrip()) == (0, path.read_bytes().rstrip())
    assert os.fspath(keepm.machine.root) not in out + keepm.said
    assert keepm.json("read", "Build_Command")["text"] == path.read_text("utf-8")


def test_a_project_can_be_named_instead_of_the_folders(vault: Vault, keepm: CommandLine) -> None:
    note(vault, "lantern-post")

    mine = keepm.json("search", "lantern")["items"]
    other = keepm.json("search", "--project", "elsewhere", "lantern")["items"]

    assert [item["name"] for item in mine] == ["lantern-post"]
    assert other == []
    assert keepm.run("search", "--project", "../x", "lantern")[0] == 2


def test_a_correction_that_waits_is_told_by_search_and_read(
    vault: Vault, keepm: CommandLine
) -> None:
    note(vault, "lantern")
    suggestion = Suggestion(
        claim("lantern", body="zzbodyzz"), "r", "", "lantern", TargetAction.UPDATE
    )
    proposal = inbox.propose(vault, AGENT, suggestion).document.content.id

    assert "a correction waits for review" in keepm.run("search", "lantern")[1]
    assert keepm.run("read", "lantern")[0] == 0
    assert proposal in keepm.said and "keepm review" in keepm.said
    told = {"total": 1, "proposals": [proposal]}
    assert keepm.json("read", "lantern")["pending_corrections"] == told
    (item,) = keepm.json("search", "lantern")["items"]
    assert item["pending_corrections"] == told


@pytest.mark.parametrize(
    "words",
    [
        ("verdict", "list"),
        ("quarantine", "list"),
        ("ledger", "show"),
        ("ledger", "export"),
        ("restore",),
        ("repair",),
        ("review", "--list"),
    ],
)
def test_an_empty_list_has_no_line(
    words: tuple[str, ...], vault: Vault, keepm: CommandLine
) -> None:
    """A script that counts lines counts none; what it means stands on stderr."""
    assert keepm.run(*words) == (0, "")


@pytest.mark.parametrize("words", [("--all",), ("--project", "gadgets"), ("--project", "none")])
@pytest.mark.parametrize(
    "command", [("search", "lantern"), ("read", "sound"), ("history", "sound")]
)
def test_an_agents_shell_sees_no_other_project(
    vault: Vault,
    keepm: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    note(vault, "sound")
    monkeypatch.setenv(MARKS[0], "1")

    refused = keepm.json(*command, *words, code=2)

    assert refused["error"]["code"] == "approval_required"
    assert keepm.run(*command)[0] == 0
    assert keepm.run(*command, "--project", "widgets")[0] == 0
