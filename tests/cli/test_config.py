"""`keepm config`."""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path

import pytest

from keepm import config
from keepm.cli import config as command
from keepm.errors import ApprovalRequired, ConfigurationError
from tests.cli.support import MARKS


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    places = ("KEEPM_LANGUAGE", "KEEPM_ROOT", "KEEPM_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
    for name in (*places, *MARKS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEEPM_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config.toml"


def run(*words: str, root: str | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.set_defaults(root=root, project_dir=None)
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["config", *words])
    code: int = args.run(args)
    return code


def shown(capsys: pytest.CaptureFixture[str], *, root: str | None = None) -> dict[str, list[str]]:
    assert run("show", "--format", "json", root=root) == 0
    data = json.loads(capsys.readouterr().out)
    return {row["name"]: [row["value"], row["origin"]] for row in data["settings"]}


def test_each_value_is_shown_with_its_origin(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text('inbox_review_days = 7\n[approval.kinds]\ndecision = "owner"\n', "utf-8")
    monkeypatch.setenv("KEEPM_LANGUAGE", "zh")

    rows = shown(capsys, root=str(file.parent / "vault"))

    assert rows["root"] == [str(file.parent / "vault"), "flag --root"]
    assert rows["language"] == ["zh", "KEEPM_LANGUAGE"]
    assert rows["inbox_review_days"] == ["7", str(file)]
    assert rows["approval.kinds.decision"] == ["owner", str(file)]
    assert rows["sqlite_journal_mode"] == ["wal", "default"]
    assert rows["project_dir"] == [str(file.parent), "working directory"]


def test_without_an_action_the_settings_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    alone = capsys.readouterr().out
    assert run("show") == 0
    assert capsys.readouterr().out == alone


def test_a_setting_is_written_and_read_back(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("# mine\nfuture = 1\n", "utf-8")
    for name, value in (
        ("language", "ZH"),
        ("approval.minimum", "host"),
        ("approval.kinds.decision", "owner"),
        ("deep_reconcile_seconds", "0"),
        ("root", "notes"),
    ):
        assert run("set", name, value) == 0
    assert capsys.readouterr().out == ""

    text = file.read_text("utf-8")
    assert text.startswith("# mine\nfuture = 1\n")
    assert tomllib.loads(text)["approval"] == {"minimum": "host", "kinds": {"decision": "owner"}}
    rows = shown(capsys)
    assert rows["deep_reconcile_seconds"] == ["0", str(file)]
    assert rows["root"] == [str(file.parent / "notes"), str(file)]


def test_a_wrong_value_in_the_file_can_be_mended(file: Path) -> None:
    file.write_text('language = "xx"\n', "utf-8")
    with pytest.raises(ConfigurationError):
        run("show")

    assert run("set", "language", "en") == 0
    assert run("show") == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("colour", "red"),
        ("language", "fr"),
        ("inbox_review_days", "0"),
        ("inbox_review_days", "many"),
        ("approval.kinds.decisions", "owner"),
        ("approval.kinds.decision", "anyone"),
        ("root", "/"),
        ("root", "${NOTES}/vault"),
    ],
)
def test_what_is_no_setting_or_value_is_refused_and_not_written(
    file: Path, name: str, value: str
) -> None:
    with pytest.raises(ConfigurationError):
        run("set", name, value)
    assert not file.exists()


def test_the_files_place_is_told(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("path") == 0
    assert capsys.readouterr().out == f"{file}\n"


def test_a_variable_that_comes_before_the_file_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEEPM_LANGUAGE", "zh")
    run("set", "language", "en")

    assert "KEEPM_LANGUAGE" in capsys.readouterr().err


@pytest.mark.parametrize("mark", MARKS)
def test_in_an_agents_shell_the_gate_keeps_its_settings(
    file: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """An agent that could lower the minimum could let in what it likes."""
    assert run("set", "approval.minimum", "owner") == 0
    before = file.read_bytes()
    monkeypatch.setenv(mark, "1")
    gate = [name for name in config.NAMES if name.startswith("approval.")]
    assert len(gate) >= 2
    for name in (*gate, "approval.kinds.decision"):
        with pytest.raises(ApprovalRequired):
            run("set", name, "relayed")
    assert file.read_bytes() == before
    # What says nothing about the gate can be set there.
    assert run("set", "language", "zh") == 0
