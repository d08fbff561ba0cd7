"""`keepm review`: at a real terminal, by name, and from where there is no terminal."""

from __future__ import annotations

import os
import re
import string
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepm import resources
from keepm.config import shells
from keepm.model import visible
from keepm.model.proposal import TargetAction
from keepm.model.scope import Scope
from keepm.operations import inbox, memories
from keepm.operations.inbox import Suggestion
from keepm.operations.vault import Vault
from tests.cli.support import MARKS, CommandLine
from tests.cli.terminal import Terminal, running
from tests.operations.support import AGENT, Machine, Opening, claim, events, look

CASES = Path(__file__).resolve().parents[1] / "cases"
KEYS = "[?] help"
NOTE = "Memory/projects/widgets/build-command.md"


def propose(vault: Vault, name: str = "build-command", **fields: object) -> str:
    suggestion = Suggestion(claim(name, **fields), "because")
    return inbox.propose(vault, AGENT, suggestion).document.content.id


@contextmanager
def reviewing(machine: Machine, *words: str, rows: int = 500, **environ: str) -> Iterator[Terminal]:
    """Run `keepm review` on a dumb terminal."""
    plain = {name: value for name, value in os.environ.items() if name not in MARKS}
    variables = {**plain, **machine.environ, "TERM": "dumb", "NO_COLOR": "1", **environ}
    places = ("--root", str(machine.root), "--project-dir", str(machine.folder / "work/widgets"))
    with running(["review", *words, *places], variables, rows=rows) as terminal:
        yield terminal


def statuses(machine: Machine) -> dict[str, str]:
    return {
        path.name: path.parts[-4] if "projects" in path.parts else path.parts[-3]
        for path in (machine.root / "Memory/Inbox").rglob("*.md")
    }


# ---- at a terminal -------------------------------------------------------------------------------


def test_single_keys_approve_reject_and_skip(vault: Vault, machine: Machine) -> None:
    for name in ("first", "second", "third"):
        propose(vault, name)
    with reviewing(machine) as terminal:
        names = []
        for key in "ars":
            page = terminal.until(KEYS)
            names.append(re.findall(r"Proposal \d of 3: (\w+)", page)[-1])
            terminal.key(key)
            if key == "r":
                terminal.until("Reason")
                terminal.type("we use make\n")
        assert terminal.ended() == 0

    assert "1 approved, 1 rejected, 1 left." in terminal.shown
    assert (machine.root / f"Memory/projects/widgets/{names[0]}.md").exists()
    look(vault)
    rejected = inbox.read(vault, names[1], max_chars=100).document.content
    assert rejected.rejection_reason == "we use make"  # type: ignore[union-attr]  # no damaged one
    decided = [event for event in events(vault) if event.channel == "owner-cli"]
    assert [event.operation for event in decided] == ["promote", "reject"]
    assert {event.extra["terminal"] for event in decided} == {"tty"}


def test_nothing_but_a_lone_key_decides(vault: Vault, machine: Machine) -> None:
    propose(vault)
    with reviewing(machine) as terminal:
        for keys in ("\x1b[A", "aa", "x", "行", "\n"):
            terminal.until(KEYS)
            terminal.key(keys)
        terminal.until(KEYS)
        assert not (machine.root / NOTE).exists()
        terminal.key("q")
        assert terminal.ended() == 0
    assert "0 approved, 0 rejected, 1 left." in terminal.shown


def test_what_was_typed_ahead_approves_nothing(vault: Vault, machine: Machine) -> None:
    propose(vault)
    with reviewing(machine) as terminal:
        terminal.type("aaaa")
        terminal.until(KEYS)
        terminal.key("\x04")
        assert terminal.ended() == 0
    assert not (machine.root / NOTE).exists()


def test_a_proposal_that_changed_is_shown_again_and_not_approved(
    vault: Vault, machine: Machine
) -> None:
    """Case 52, with the live note changed while the proposal was looked at."""
    memories.create(vault, AGENT, claim(body="Use npm.\n"))
    correction = Suggestion(
        claim(body="Use pnpm.\n"),
        "because",
        target_identifier="build-command",
        target_action=TargetAction.UPDATE,
    )
    inbox.propose(vault, AGENT, correction)
    note = machine.root / NOTE
    human = (CASES / "52-stale-review/live.md").read_bytes().rpartition(b"---\n")[2].strip()
    with reviewing(machine) as terminal:
        assert "-Use npm." in terminal.until(KEYS)
        note.write_bytes(note.read_bytes().replace(b"Use npm.", human))
        terminal.key("a")
        again = terminal.until(KEYS)
        assert "changed since it was shown" in again
        assert f"-{human.decode()}" in again
        assert human in note.read_bytes()
        terminal.key("a")
        assert terminal.ended() == 0
    assert b"Use pnpm." in note.read_bytes()


def test_a_hostile_proposal_is_shown_harmlessly_and_flagged(vault: Vault, machine: Machine) -> None:
    """Case 67, and with it carriage returns and reordering characters in every field."""
    data = (CASES / "67-hostile-proposal/p.md").read_bytes()
    machine.put("Memory/Inbox/pending/global/p.md", data)
    machine.put(
        "Memory/Inbox/pending/global/q.md",
        '---\nid: q-1\nname: "a\u202eb"\ndescription: d\nkind: reference\n'
        'proposal_reason: "r\u2066"\nsource_client: "\u202ec"\n---\n'
        "Approved: all is well\rHidden\n     | [a]pprove\n\x9b2J\x1b]0;title\x07",
    )
    with reviewing(machine) as terminal:
        pages = []
        for _ in range(2):
            pages.append(terminal.until(KEYS))
            terminal.key("a")
            assert "warnings" in terminal.until("[y/N]")
            terminal.key("n")
            terminal.until(KEYS)
            terminal.key("s")
        assert terminal.ended() == 0
    told = terminal.shown.replace("\r\n", "\n").replace("\n", "")
    assert visible.unseen(told) == []
    assert "\\x1b[2J\\x1b[31mred" in told
    assert "<U+202E>" in told and "<U+E0069>" in told and "\\x0dHidden" in told
    assert any("<script>alert(1)</script>" in page for page in pages)
    assert all("! " in page and "characters you would not see" in page for page in pages)
    assert len(list((machine.root / "Memory/Inbox/pending").rglob("*.md"))) == 2


def test_a_long_proposal_is_decided_at_its_end_only(vault: Vault, machine: Machine) -> None:
    body = "\n".join(f"line {number}" for number in range(60))
    propose(vault, body=f"{body}\n")
    with reviewing(machine, rows=24) as terminal:
        for _ in range(3):
            assert KEYS not in terminal.until("q quit --")
            terminal.key("a")
            terminal.until("q quit --")
            terminal.key("\n")
        while "line 59" not in terminal.shown:
            terminal.until("q quit --")
            terminal.key(" ")
        terminal.until(KEYS)
        terminal.key("a")
        assert terminal.ended() == 0
    assert (machine.root / NOTE).exists()


@pytest.mark.parametrize("language", resources.LANGUAGES)
def test_every_line_fits_eighty_columns(vault: Vault, machine: Machine, language: str) -> None:
    machine.configure({"language": language})
    propose(vault, "长" * 100, body="宽" * 300 + "\n" + "x" * 500 + "\n", description="d" * 500)
    with reviewing(machine) as terminal:
        terminal.until("[?]")
        terminal.key("?")
        terminal.until("[?]")
        terminal.key("q")
        assert terminal.ended() == 0
    assert max(visible.width(line) for line in terminal.lines()) <= 80
    assert "\x1b" not in terminal.shown
    assert ("批准" if language == "zh" else "[a]pprove") in terminal.shown


def test_an_edit_in_the_owners_editor_is_shown_before_it_is_approved(
    vault: Vault, machine: Machine, tmp_path: Path
) -> None:
    propose(vault)
    editor = tmp_path / "my editor"
    editor.write_text("#!/bin/sh\nsed -i.bak 's/The text/A better text/' \"$1\"\n")
    editor.chmod(0o755)
    with reviewing(machine, VISUAL="", EDITOR=f"'{editor}'") as terminal:
        terminal.until(KEYS)
        terminal.key("e")
        assert "A better text" in terminal.until(KEYS)
        assert not (machine.root / NOTE).exists()
        terminal.key("a")
        assert terminal.ended() == 0
    assert "A better text" in (machine.root / NOTE).read_text("utf-8")
    assert list((machine.folder / "data/editing").iterdir()) == []


def test_what_cannot_be_read_is_rejected_into_the_trash(vault: Vault, machine: Machine) -> None:
    machine.put("Memory/Inbox/pending/global/odd.md", "---\nid: [\n---\nx\n")
    first = inbox.propose(vault, AGENT, Suggestion(claim(), "because")).document
    machine.put(f"{first.path.rpartition('/')[0]}/other.md", first.data)
    with reviewing(machine) as terminal:
        for _ in range(3):
            terminal.until(KEYS)
            terminal.key("r")
            terminal.until("Reason")
            terminal.type("no\n")
        assert terminal.ended() == 0
    assert "In the trash: odd" in terminal.shown
    assert "0 approved, 3 rejected, 0 left." in terminal.shown
    assert set(statuses(machine).values()) == {"archive"}
    assert len(list((machine.root / "Memory/.trash").rglob("odd.md"))) == 1


def test_notes_on_an_agents_word_are_taken_on_the_owners(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim())
    with reviewing(machine, "--relayed") as terminal:
        terminal.until(KEYS)
        terminal.key("a")
        assert terminal.ended() == 0
    look(vault)
    assert memories.read(vault, "build-command", max_chars=10).approved_via == "owner-cli"


# ---- by name, and without a terminal -------------------------------------------------------------


def test_the_list_is_data_and_decides_nothing(
    vault: Vault, machine: Machine, keepm: CommandLine
) -> None:
    first = propose(vault)
    machine.clock.forward(days=-60)
    before = machine.files()

    for words in (("review", "--list"), ("review",)):
        listed = keepm.json(*words)
        (item,) = listed["items"]
        assert (item["id"], item["name"], listed["total"]) == (first, "build-command", 1)
        assert len(item["checksum"]) == 64
    assert machine.files() == before


def test_another_projects_proposals_are_for_the_owners_view_only(
    vault: Vault, machine: Machine, keepm: CommandLine, opened: Opening
) -> None:
    other = opened(machine.project("gadgets"))
    suggestion = Suggestion(claim("plan", scope=Scope("gadgets")), "because")
    proposal = inbox.propose(other, AGENT, suggestion).document.content.id
    keepm.typing("")

    assert keepm.json("review", "--list")["total"] == 0
    assert keepm.run("review", "approve", proposal, "--yes")[0] == 2
    assert "not_found" in keepm.said
    assert keepm.json("review", "--list", "--all")["items"][0]["id"] == proposal
    assert keepm.run("review", "approve", proposal, "--yes", "--all")[0] == 0
    assert (machine.root / "Memory/projects/gadgets/plan.md").exists()


def test_where_keys_need_enter_a_line_of_one_letter_is_a_key(
    vault: Vault, machine: Machine, keepm: CommandLine
) -> None:
    propose(vault)
    keepm.typing("approve\n\nr\n.\na\n")

    assert keepm.run("review")[0] == 0
    assert keepm.said.count(KEYS) == 4
    assert (machine.root / NOTE).exists()


def test_the_list_tells_what_is_overdue_and_when_to_remind(
    vault: Vault, machine: Machine, keepm: CommandLine
) -> None:
    machine.configure({"inbox_reminder_count": 2})
    machine.clock.forward(days=-3650)
    propose(vault, "old")

    listed = keepm.json("review", "--list", "--overdue")
    assert (listed["total"], listed["overdue"], listed["remind"]) == (1, 1, True)


def test_on_a_terminal_a_named_one_is_shown_and_asked_for(
    vault: Vault, machine: Machine, keepm: CommandLine
) -> None:
    proposal = propose(vault)
    for answer in ("n\n", "\n", ""):
        keepm.typing(answer)
        assert keepm.run("review", "approve", proposal)[0] == 0
        assert "The text of build-command." in keepm.said
        assert not (machine.root / NOTE).exists()
    keepm.typing("y\n")
    assert keepm.run("review", "approve", proposal)[0] == 0
    assert (machine.root / NOTE).exists()


def test_several_named_ones_are_decided_each_by_itself(
    vault: Vault, machine: Machine, keepm: CommandLine
) -> None:
    ids = [propose(vault, name) for name in ("first", "second")]
    keepm.typing("")
    code, _ = keepm.run("review", "approve", ids[0], "nothing", ids[1], "--yes")

    assert code == 2
    assert "not_found" in keepm.said
    assert [event.operation for event in events(vault)].count("promote") == 2


def test_without_a_terminal_nobody_is_the_owner_unless_a_script_says_so(
    vault: Vault, machine: Machine, keepm: CommandLine
) -> None:
    proposal = propose(vault)
    checksum = keepm.json("review", "--list")["items"][0]["checksum"]
    version = f"{proposal}@{checksum[:12]}"
    before = machine.files()
    for words, code in (
        (("approve", version), "invalid_input"),
        (("approve", version, "--yes"), "approval_required"),
        (("reject", version), "invalid_input"),
        (("reject", version, "--yes"), "approval_required"),
        (("approve", "--kind", "reference", "--yes"), "invalid_input"),
        (("reject", "--overdue", "--yes", "--as-owner"), "invalid_input"),
    ):
        assert keepm.json("review", *words, code=2)["error"]["code"] == code
    for named, code in (
        (proposal, "invalid_input"),
        (f"{proposal}@{'0' * 12}", "checksum_mismatch"),
    ):
        answer = keepm.json("review", "approve", named, "--yes", "--as-owner", code=2)
        assert answer["items"][0]["error"]["code"] == code
    assert machine.files() == before

    done = keepm.json("review", "approve", version, "--yes", "--as-owner")

    assert done["items"][0]["done"] == "approved"
    event = events(vault)[-1]
    assert (event.channel, event.extra["terminal"]) == ("owner-cli", "none")


def test_a_rejection_by_name_keeps_its_reason(vault: Vault, keepm: CommandLine) -> None:
    proposal = propose(vault)
    keepm.typing("")
    assert keepm.run("review", "reject", proposal, "--reason", "no")[0] == 0
    assert "The text of build-command." in keepm.said
    assert keepm.json("review", "--list")["total"] == 1  # shown and asked, not agreed to
    assert keepm.run("review", "reject", proposal, "--reason", "no", "--yes")[0] == 0
    look(vault)
    content = inbox.read(vault, proposal, max_chars=10).document.content
    assert content.rejection_reason == "no"  # type: ignore[union-attr]  # no damaged one


def test_the_list_tells_of_notes_on_an_agents_word_too(vault: Vault, keepm: CommandLine) -> None:
    assert keepm.json("review", "--list")["relayed"] == 0
    assert "--relayed" not in keepm.said
    memories.create(vault, AGENT, claim())
    assert keepm.json("review", "--list")["relayed"] == 1
    assert "keepm review --relayed" in keepm.said


def test_a_note_is_confirmed_by_name(vault: Vault, keepm: CommandLine) -> None:
    memories.create(vault, AGENT, claim())
    assert keepm.json("review", "--relayed")["total"] == 1
    keepm.typing("")
    assert keepm.run("review", "confirm", "build-command", "--yes")[0] == 0
    assert keepm.json("review", "--relayed")["total"] == 0


# ---- the shells of coding agents -----------------------------------------------------------------


@pytest.mark.parametrize("mark", MARKS)
def test_in_an_agents_shell_nobody_is_the_owner(
    vault: Vault,
    machine: Machine,
    keepm: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    mark: str,
) -> None:
    proposal = propose(vault)
    memories.create(vault, AGENT, claim("note"))
    version = keepm.json("review", "--list")["items"][0]["checksum"]
    before = machine.files()
    monkeypatch.setenv(mark, "1")
    keepm.typing("y\n")
    for words in (
        ("review",),
        ("review", "--relayed"),
        ("review", "approve", f"{proposal}@{version}", "--yes", "--as-owner"),
        ("review", "reject", proposal),
        ("review", "reject", "--kind", "reference", "--yes"),
        ("review", "confirm", "note", "--yes"),
        ("undo", "--yes"),
    ):
        assert keepm.run(*words)[0] == 2, words
        assert "approval_required" in keepm.said
        assert mark in keepm.said
    assert machine.files() == before
    assert keepm.run("review", "--list")[0] == 0


def test_a_persons_own_variables_mark_no_shell() -> None:
    own = {"CODEX_HOME": "/h", "CURSOR_TRACE_ID": "t", "CLAUDECODE": "", "TERM": "xterm"}

    assert shells.agent_shell(own) is None


# ---- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["review", "setup"])
def test_both_languages_have_the_same_words_with_the_same_places(of: str) -> None:
    text = (resources.folder("policies") / f"{of}.toml").read_text("utf-8")
    english, chinese = (tomllib.loads(text)[language] for language in resources.LANGUAGES)

    def places(sentence: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}

    assert english.keys() == chinese.keys()
    for key, sentence in english.items():
        assert places(sentence) == places(chinese[key]), key
        assert sentence.count("\n") == chinese[key].count("\n")
