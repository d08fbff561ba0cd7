"""A whole setup, carried out and taken back, with a small server in KeepM's place."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepm import config
from keepm.agents import onboarding
from keepm.agents.hosts import ALL
from keepm.agents.merging import Program
from keepm.agents.onboarding import Wish
from keepm.agents.report import Report, State
from keepm.errors import ConfigurationError, RootUnavailable
from keepm.operations import places
from tests.agents.test_installing import fill, tree

FAKE = Path(__file__).parent.parent / "fakes" / "mcp_server.py"
ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.fixture
def wish(tmp_path: Path) -> Wish:
    home, top = tmp_path / "home", tmp_path / "项目 one"
    (home / ".config").mkdir(parents=True)
    (home / ".local" / "share").mkdir(parents=True)
    top.mkdir()
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    fill(top, {"AGENTS.md": b"# Rules\n", ".mcp.json": b"{}\n"})
    settings = config.load({"project_dir": str(top)}, ENVIRON, home)
    return Wish(settings, top, ALL, "widgets", program("widgets"))


def program(project: str, *, version: str = "4.0.0", fault: str = "none") -> Program:
    return Program(sys.executable, (str(FAKE), "keepm", version, project, fault))


def set_up(wish: Wish) -> Report:
    return onboarding.carry_out(wish, onboarding.prepare(wish, ENVIRON), ENVIRON)


def remove(wish: Wish) -> None:
    settings = config.load(
        {"project_dir": str(wish.top)}, ENVIRON, wish.settings.config_file.parents[2]
    )
    onboarding.remove(settings, wish.top, onboarding.removal(settings, wish.top))


def states(report: Report) -> dict[tuple[str, str | None], State]:
    return {(row.what, row.host): row.state for row in report.rows}


def test_every_part_is_reported_for_every_host(wish: Wish) -> None:
    report = set_up(wish)

    assert not report.failed
    assert states(report) == {
        ("vault", None): State.OK,
        ("registration", "claude-code"): State.OK,
        ("policy", "claude-code"): State.OK,
        ("hooks", "claude-code"): State.OK,
        ("registration", "codex"): State.OK,
        ("policy", "codex"): State.OK,
        ("hooks", "codex"): State.OK,
        ("registration", "pi"): State.DEFERRED,
        ("policy", "pi"): State.OK,
        ("hooks", "pi"): State.NOT_APPLICABLE,
        ("ledger", None): State.OK,
        ("index", None): State.OK,
        ("elicitation", None): State.DEFERRED,
    }
    adapter = next(row for row in report.rows if (row.what, row.host) == ("registration", "pi"))
    assert "pi-mcp-adapter" in adapter.note


def test_setting_up_twice_changes_nothing_more(wish: Wish) -> None:
    set_up(wish)
    top, settings = tree(wish.top), wish.settings.config_file.read_bytes()

    report = set_up(wish)

    assert report.written == ()
    assert tree(wish.top) == top
    assert wish.settings.config_file.read_bytes() == settings


def test_removing_leaves_no_trace_but_the_vault(wish: Wish, tmp_path: Path) -> None:
    before = tree(tmp_path)
    chosen = dataclasses.replace(wish, chosen=(("language", "zh"),))
    set_up(chosen)
    set_up(chosen)
    index = places.index_path(wish.settings)
    index.parent.mkdir(exist_ok=True)
    index.write_bytes(b"")

    remove(wish)

    vault = wish.settings.root.relative_to(tmp_path).as_posix()
    left = {name: data for name, data in tree(tmp_path).items() if not name.startswith(vault)}
    assert left == before
    assert (wish.settings.root / "Memory").is_dir()


def test_another_projects_setup_stays(wish: Wish, tmp_path: Path) -> None:
    set_up(wish)
    other_top = tmp_path / "two"
    other_top.mkdir()
    settings = config.load(
        {"project_dir": str(other_top)}, ENVIRON, wish.settings.config_file.parents[2]
    )
    set_up(dataclasses.replace(wish, settings=settings, top=other_top, project_id="two"))

    remove(wish)

    known = config.load({}, ENVIRON, wish.settings.config_file.parents[2]).projects
    assert [entry.project_id for entry in known] == ["two"]
    assert (other_top / ".mcp.json").is_file()


@pytest.mark.parametrize(
    ("server", "what"),
    [
        (program("widgets", fault="fails"), "registration"),
        (program("widgets", fault="noise"), "registration"),
        (program("widgets", version="3.6.0"), "registration"),
        (program("another"), "registration"),
        (program(""), "registration"),
        (Program("/nowhere/keepm"), "hooks"),
    ],
)
def test_what_does_not_work_is_reported_as_failed(wish: Wish, server: Program, what: str) -> None:
    report = set_up(dataclasses.replace(wish, program=server))

    assert report.failed
    assert states(report)[what, "codex"] is State.FAILED


def test_without_hooks_none_are_written(wish: Wish) -> None:
    report = set_up(dataclasses.replace(wish, hooks=False))

    assert states(report)["hooks", "codex"] is State.NOT_APPLICABLE
    assert not (wish.top / ".codex" / "hooks.json").exists()


def test_a_refused_file_leaves_vault_and_settings_alone(wish: Wish, tmp_path: Path) -> None:
    fill(wish.top, {".mcp.json": b"[]"})
    before = tree(tmp_path)

    with pytest.raises(ConfigurationError):
        set_up(wish)

    assert tree(tmp_path) == before


def test_files_that_cannot_be_written_take_the_settings_back(wish: Wish) -> None:
    plan = onboarding.prepare(wish, ENVIRON)
    fill(wish.top, {"AGENTS.md": b"# newer\n"})
    before = tree(wish.top)

    with pytest.raises(ConfigurationError):
        onboarding.carry_out(wish, plan, ENVIRON)

    assert tree(wish.top) == before
    assert not wish.settings.config_file.exists()


@pytest.mark.parametrize("place", [".config/keepm", ".local/share/keepm"])
def test_a_home_that_cannot_be_written_is_named_and_the_project_stays(
    wish: Wish, place: str
) -> None:
    home = wish.settings.config_file.parents[2]
    (home / place).write_text("in the way of the folder")
    before = tree(wish.top)

    with pytest.raises(ConfigurationError) as caught:
        set_up(wish)

    assert place in caught.value.message
    assert tree(wish.top) == before


def test_the_settings_file_is_among_what_was_written(wish: Wish) -> None:
    assert str(wish.settings.config_file) in set_up(wish).written
    assert set_up(wish).written == ()


def test_a_vault_that_is_gone_is_not_made_anew(wish: Wish) -> None:
    set_up(wish)
    wish.settings.root.rename(wish.settings.root.with_name("unmounted"))

    with pytest.raises(ConfigurationError):
        onboarding.prepare(wish, ENVIRON)

    assert not wish.settings.root.exists()


def test_a_vault_that_cannot_be_made_stops_everything(wish: Wish) -> None:
    wish.settings.root.mkdir()
    (wish.settings.root / "Memory").write_text("a file")
    before = tree(wish.top)

    with pytest.raises(RootUnavailable):
        set_up(wish)

    assert tree(wish.top) == before
    assert not wish.settings.config_file.exists()


def test_strict_hosts_are_told_which_variables_to_pass_on(wish: Wish) -> None:
    plan = onboarding.prepare(wish, ENVIRON | {"XDG_DATA_HOME": "/data"})

    written = {change.path: change.after or b"" for change in plan.changes}
    assert b'env_vars = ["XDG_DATA_HOME"]' in written[".codex/config.toml"]
    assert b'"env"' not in written[".mcp.json"]


def test_the_block_is_small_and_points_to_the_whole_text(wish: Wish) -> None:
    for language in ("en", "zh"):
        told = dataclasses.replace(wish.settings, language=language)
        plan = onboarding.prepare(dataclasses.replace(wish, settings=told), ENVIRON)
        written = {change.path: change.after or b"" for change in plan.changes}
        block = written["CLAUDE.md"]

        assert len(block) <= 1024
        assert b".keepm/agent-policy.md" in block
        assert written[".keepm/agent-policy.md"]
