"""`keepm setup` from the command line, the last test with the real server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from keepm import config
from keepm.agents import handshake
from keepm.agents.hosts import ALL, DEFAULT
from keepm.agents.report import Report, Row, State
from keepm.cli import main, setup, wizard
from keepm.cli.wizard import Answers
from keepm.operations import projects
from tests.agents.support import case_bytes
from tests.agents.test_installing import fill, tree
from tests.cli.support import MARKS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(config.environment()):
        if name.startswith(("KEEPM_", "XDG_", "CLAUDE_")) or name in MARKS:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    (home / ".config").mkdir(parents=True)
    (home / ".local" / "share").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "widgets"
    top.mkdir()
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    monkeypatch.chdir(top)
    return top


def run(*arguments: str) -> int:
    return main.run(["setup", *arguments])


def test_without_a_terminal_it_asks_for_yes(top: Path, tmp_path: Path) -> None:
    before = tree(tmp_path)

    assert run() == 2
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("case", "path"),
    [
        ("56-config-dialects/array.mcp.json", ".mcp.json"),
        ("56-config-dialects/dup.mcp.json", ".mcp.json"),
        ("56-config-dialects/wrongtype.mcp.json", ".mcp.json"),
        ("56-config-dialects/truncated.settings.json", ".claude/settings.json"),
        ("59-codex-toml/dup.toml", ".codex/config.toml"),
        ("59-codex-toml/smart.toml", ".codex/config.toml"),
    ],
)
def test_a_broken_file_is_refused_and_named(
    top: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str, path: str
) -> None:
    fill(top, {path: case_bytes(case)})
    before = tree(tmp_path)

    assert run("--yes", "--agent", "claude-code", "codex", "--format", "json") == 2

    problems = json.loads(capsys.readouterr().out)["error"]["details"]["problems"]
    assert [row["path"] for row in problems] == [path]
    assert problems[0]["line"] >= 1 and problems[0]["column"] >= 1
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("--agent", "emacs"),
        ("--language", "fr"),
        ("--deep-reconcile-seconds", "-1"),
        ("--inbox-review-days", "soon"),
        ("--project-id", "../x"),
        ("--project-id", ""),
        ("--root", "/"),
        ("--project-dir", "not-there"),
    ],
)
def test_bad_flags_change_nothing(top: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    before = tree(tmp_path)

    assert run("--yes", *arguments) == 2
    assert tree(tmp_path) == before


def test_the_home_folder_is_no_project(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    before = tree(tmp_path)

    assert run("--yes") == 2
    assert tree(tmp_path) == before


def test_an_id_that_is_in_use_is_not_taken_without_a_word(top: Path, home: Path) -> None:
    (home / "keepm" / "Memory" / "projects" / "widgets").mkdir(parents=True)

    assert run("--yes") == 2
    assert not (top / ".mcp.json").exists()


def test_hosts_are_those_found_here_else_two(top: Path, home: Path) -> None:
    def found(names: list[str] | None = None) -> list[str]:
        return [host.name for host in setup._wanted_hosts(names, top, {"PATH": ""})]

    assert found() == list(DEFAULT)
    (home / ".pi").mkdir()
    assert found() == ["pi"]
    fill(top, {".codex/config.toml": b""})
    assert found() == ["codex", "pi"]
    assert found(["claude-code"]) == ["claude-code"]


def test_removing_where_nothing_was_set_up_changes_nothing(top: Path, tmp_path: Path) -> None:
    fill(top, {"AGENTS.md": b"", ".mcp.json": b"{}", ".codex/hooks.json": b'{"hooks": {}}'})
    before = tree(tmp_path)

    assert run("--remove") == 0
    assert tree(tmp_path) == before


def test_removing_tells_of_the_settings_entry_alone(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = config.load({"project_dir": str(top)})
    settings.root.mkdir(parents=True)
    projects.bind(settings, "widgets")

    assert run("--remove") == 0
    told = capsys.readouterr().out
    assert str(settings.config_file) in told and "Nothing to remove" not in told
    assert config.load().projects == ()

    assert run("--remove") == 0
    assert "Nothing to remove" in capsys.readouterr().out


def test_set_up_and_removed_with_the_real_server(
    top: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(top, {"AGENTS.md": b"# Rules\n", "src/a.py": b"", ".gitignore": b"x\n"})
    before = tree(tmp_path)

    assert run("--dry-run", "--agent", "codex") == 0
    assert tree(tmp_path) == before
    shown = capsys.readouterr().out
    assert "+++ b/.codex/config.toml" in shown and "+[projects.widgets]" in shown

    assert run("--yes", "--agent", "codex", "pi", "--root", "../vault", "--format", "json") == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    rows = {(row["what"], row["host"]): row["state"] for row in report["rows"]}
    assert rows["registration", "codex"] == rows["hooks", "codex"] == rows["index", None] == "ok"
    assert rows["registration", "pi"] == "deferred"
    assert report["project_id"] == "widgets"
    assert (tmp_path / "vault" / "Memory").is_dir()
    assert Path(report["command"][0]).is_relative_to(sys.prefix)
    assert config.load().root == tmp_path / "vault"

    # Case 64: what the owner took out by hand stays out, and serving writes no host's file.
    (top / ".codex/hooks.json").unlink()
    served = tree(top)
    apart = handshake.host_environment(config.environment())
    handshake.converse(tuple(report["command"]), apart, cwd=top)
    assert tree(top) == served

    assert run("--remove", "--dry-run") == 0
    assert "-[mcp_servers.keepm]" in capsys.readouterr().out
    assert run("--remove") == 0
    left = {name: data for name, data in tree(tmp_path).items() if not name.startswith("vault")}
    assert left == before


def test_a_report_on_a_narrow_terminal_keeps_its_columns() -> None:
    note = ".codex/config.toml; the server answered as KeepM 4.0.0.dev0 with 21 tools"
    report = Report(
        rows=(
            Row("vault", State.OK, "made: /home/user/keepm"),
            Row("registration", State.OK, note, "claude-code"),
        ),
        project_id="widgets",
        project_dir="/home/user/widgets",
        root="/home/user/keepm",
        command=("keepm",),
        written=(),
        checked=("started /a/long/place/of/a/program/keepm serve --root /home/user/keepm",),
        next_steps=(),
    )

    narrow = setup.text(report, 80)

    assert all(len(line) <= 80 for line in narrow.splitlines())
    assert narrow.split() == setup.text(report, None).split()
    assert note in setup.text(report, None)


# ---- the wizard --------------------------------------------------------------------------------

ENTER, DOWN, SPACE, STOP = "\r", "\x1b[B", " ", "\x03"


def answers(top: Path, keys: str) -> Answers | None:
    settings = config.load({"project_dir": str(top)})
    with (
        create_pipe_input() as pipe,
        create_app_session(input=pipe, output=DummyOutput()),
    ):
        pipe.send_text(keys)
        return wizard.ask(settings, top, ALL[:1], project_id=None, hooks=True)


def test_enter_accepts_what_is_proposed(top: Path, home: Path) -> None:
    said = answers(top, ENTER * 6)

    assert said is not None
    assert (said.project_id, said.hooks, said.chosen) == ("widgets", True, {})
    assert said.settings.root == home / "keepm"
    assert [host.name for host in said.hosts] == ["claude-code"]


def test_in_an_agents_shell_the_minimum_of_approval_is_not_asked(
    top: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARKS[0], "1")
    said = answers(top, f"{ENTER * 4}n")

    assert said is not None
    assert (said.hooks, said.chosen) == (False, {})


def test_in_an_agents_shell_setup_joins_no_project_that_is_known(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    projects.bind(config.load({"project_dir": str(other)}), "secret")
    monkeypatch.setenv(MARKS[0], "1")
    before = tree(tmp_path)

    assert run("--yes", "--agent", "codex", "--project-id", "secret") == 2
    assert "terminal that you opened yourself" in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_everything_can_be_answered_otherwise(top: Path, home: Path) -> None:
    erase = "\x15"
    said = answers(
        top,
        f"{DOWN}{ENTER}{erase}~/notes{ENTER}{erase}工具{ENTER}"
        f"{SPACE}{DOWN}{SPACE}{ENTER}{DOWN}{DOWN}{ENTER}n",
    )

    assert said is not None
    assert (said.project_id, said.hooks) == ("工具", False)
    assert said.chosen == {
        "root": str(home / "notes"),
        "language": "zh",
        "approval.minimum": "owner",
    }
    assert (said.settings.language, said.settings.approval_minimum) == ("zh", "owner")
    assert [host.name for host in said.hosts] == ["codex"]


def test_why_an_id_is_not_accepted_fits_a_line() -> None:
    said = wizard.check_id("我的 项目")

    assert isinstance(said, str)
    assert len(said) < 80
    assert wizard.check_id("我的项目") is True


def test_stopping_the_questions_gives_nothing(top: Path) -> None:
    assert answers(top, STOP) is None
