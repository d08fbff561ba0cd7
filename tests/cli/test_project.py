"""`keepm project`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from keepm.cli import project as command
from keepm.errors import ApprovalRequired, ConfirmationRequired
from tests.cli.support import MARKS
from tests.operations import git


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("KEEPM_ROOT", "KEEPM_PROJECT_DIR", "CLAUDE_PROJECT_DIR", *MARKS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEEPM_CONFIG", str(tmp_path / "config.toml"))
    return tmp_path


def run(folder: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    parser.set_defaults(root=None, project_dir=str(folder))
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["project", *words])
    code: int = args.run(args)
    return code


def answer(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> dict[str, Any]:
    assert run(folder, *words, "--format", "json") == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def test_a_folder_that_is_not_set_up_shows_what_would_be_proposed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = git.repository(home / "a", remote="https://git.example.org/acme/widgets")

    shown = answer(capsys, a, "show")

    assert shown["project_id"] is None
    assert shown["proposed"] == {
        "project_id": "widgets",
        "source": "remote",
        "known": False,
        "note": "",
    }


def test_binding_without_an_id_takes_the_free_proposal(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = git.repository(home / "工具")

    assert answer(capsys, a, "bind")["project_id"] == "工具"

    assert answer(capsys, a, "show")["project_id"] == "工具"
    listed = answer(capsys, a, "list")
    assert listed["here"] == "工具"
    assert [each["roots"] for each in listed["projects"]] == [[str(a)]]


def test_an_id_the_vault_has_already_must_be_given_by_name(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = git.repository(home / "a")
    (home / "keepm/Memory/projects/a").mkdir(parents=True)

    with pytest.raises(ConfirmationRequired):
        run(a, "bind")
    assert answer(capsys, a, "show")["project_id"] is None

    assert run(a, "bind", "a") == 0
    capsys.readouterr()
    assert answer(capsys, a, "show")["project_id"] == "a"


def test_a_folder_that_is_not_there_is_shown_without_a_project(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = answer(capsys, home / "gone", "show")

    assert (shown["project_id"], shown["proposed"]) == (None, None)


@pytest.mark.parametrize("action", [("show",), ()])
def test_the_text_says_the_next_step(
    home: Path, capsys: pytest.CaptureFixture[str], action: tuple[str, ...]
) -> None:
    run(git.repository(home / "a"), *action)

    assert "keepm project bind" in capsys.readouterr().out


def test_in_an_agents_shell_a_folder_joins_no_project_that_is_known(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = git.repository(home / "a"), git.repository(home / "b")
    assert run(a, "bind", "widgets") == 0
    monkeypatch.setenv(MARKS[0], "1")

    for name in ("widgets", "Widgets"):
        with pytest.raises(ApprovalRequired):
            run(b, "bind", name)
    assert run(a, "bind", "widgets") == 0
    assert run(b, "bind", "gadgets") == 0


def test_in_an_agent_s_shell_other_projects_aren_t_listed(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = git.repository(home / "a"), git.repository(home / "b")
    assert run(a, "bind", "widgets") == 0
    monkeypatch.setenv(MARKS[0], "1")
    capsys.readouterr()

    with pytest.raises(ApprovalRequired):
        run(b, "list")

    assert "widgets" not in capsys.readouterr().out


def test_in_an_agent_s_shell_a_folder_isn_t_taken_out_of_its_project(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would lose its memory, and its id would be free for another folder."""
    a = git.repository(home / "a")
    assert run(a, "bind", "widgets") == 0
    monkeypatch.setenv(MARKS[0], "1")

    with pytest.raises(ApprovalRequired):
        run(a, "bind", "gadgets")

    capsys.readouterr()
    assert answer(capsys, a, "show")["project_id"] == "widgets"
    assert run(a, "bind", "widgets") == 0, "what it is already"
