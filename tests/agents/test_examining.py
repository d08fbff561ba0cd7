"""What doctor finds in a project's host files: each fault beside a setup that is whole."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from keepm.agents import examining
from keepm.agents.hosts.host import POLICY_PATH
from keepm.agents.onboarding import Wish
from keepm.model.diagnosis import Finding
from keepm.model.document import Severity
from tests.agents.support import case_bytes
from tests.agents.test_onboarding import ENVIRON, FAKE, program, set_up
from tests.agents.test_onboarding import wish as wish

LIMIT = 32768


def examined(wish: Wish, *, folder: Path | None = None) -> list[Finding]:
    settings = replace(wish.settings, project_dir=folder or wish.top)
    home = wish.settings.config_file.parents[2]
    return list(examining.findings(settings, wish.top, "widgets", ENVIRON, home))


def codes(wish: Wish) -> list[str]:
    """Return what is found but Codex's trust, which no setup can give."""
    found = [f"{each.rule.code} {each.path}" for each in examined(wish)]
    return [each for each in found if not each.startswith("hooks_untrusted")]


def edit(wish: Wish, path: str, change: Callable[[str], str]) -> None:
    place = wish.top / path
    place.write_text(change(place.read_text("utf-8")), "utf-8")


def test_a_whole_setup_has_nothing_but_what_only_the_host_can_do(wish: Wish) -> None:
    set_up(wish)

    (only,) = examined(wish)

    assert (only.rule.code, only.severity) == ("hooks_untrusted", Severity.INFO)


def test_a_project_that_codex_trusts_has_nothing_at_all(wish: Wish) -> None:
    set_up(wish)
    codex = wish.settings.config_file.parents[2] / ".codex"
    codex.mkdir()
    trusted = f'[projects.{json.dumps(str(wish.top))}]\ntrust_level = "trusted"\n'
    (codex / "config.toml").write_text(trusted, "utf-8")

    assert examined(wish) == []


def test_where_setup_never_ran_no_host_file_is_looked_for(wish: Wish) -> None:
    (wish.top / ".mcp.json").write_text('{"mcpServers": {"keepm": {"command": "absent"}}}', "utf-8")

    assert examined(wish) == []


# ---- registration --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["dies", "noise", "fails"])
def test_a_registered_command_that_doesnt_serve_is_an_error(wish: Wish, fault: str) -> None:
    faulty = replace(wish, program=program("widgets", fault=fault))
    set_up(faulty)

    found = [each for each in examined(faulty) if each.rule.code == "registration_broken"]

    assert {each.path for each in found} == {".mcp.json", ".codex/config.toml"}
    assert {each.severity for each in found} == {Severity.ERROR}
    assert str(FAKE) not in repr(found)


def test_a_server_of_another_project_is_told_without_its_name(wish: Wish) -> None:
    other = replace(wish, program=program("gadgets"))
    set_up(other)

    assert codes(other) == [
        "registration_broken .mcp.json",
        "registration_broken .codex/config.toml",
    ]
    assert "gadgets" not in repr(examined(other))


def test_a_registration_that_somebody_took_out_is_missed(wish: Wish) -> None:
    set_up(wish)
    edit(wish, ".mcp.json", lambda _: "{}")
    (wish.top / ".codex/config.toml").unlink()

    assert codes(wish) == [
        "registration_missing .mcp.json",
        "registration_missing .codex/config.toml",
    ]


def test_what_came_with_the_repository_is_not_started(wish: Wish, tmp_path: Path) -> None:
    set_up(wish)
    mark = tmp_path / "started"
    evil = {"command": sys.executable, "args": ["-c", f"open({str(mark)!r}, 'w')", "serve"]}
    edit(wish, ".mcp.json", lambda _: json.dumps({"mcpServers": {"keepm": evil}}))
    for place in (Path(sys.prefix), Path(os.path.realpath(sys.executable)).parent):
        assert not wish.top.is_relative_to(place)

    found = [each.rule.code for each in examined(wish) if each.path == ".mcp.json"]

    if Path(sys.executable).is_relative_to(sys.prefix):
        # The interpreter of this very environment passes for ours; another one must not.
        evil["command"] = "/bin/sh"
        edit(wish, ".mcp.json", lambda _: json.dumps({"mcpServers": {"keepm": evil}}))
        mark.unlink(missing_ok=True)
        found = [each.rule.code for each in examined(wish) if each.path == ".mcp.json"]
    assert found == ["registration_changed"]
    assert not mark.exists()


# ---- hooks and texts -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", [".claude/settings.json", ".codex/hooks.json"])
def test_hooks_that_are_gone_or_of_another_version_are_told(wish: Wish, path: str) -> None:
    set_up(wish)
    whole = (wish.top / path).read_text("utf-8")

    edit(wish, path, lambda text: text.replace('"timeout": 20', '"timeout": 5', 1))
    assert codes(wish) == [f"hooks_outdated {path}"]
    edit(wish, path, lambda _: "{}")
    assert codes(wish) == [f"hooks_missing {path}"]
    edit(wish, path, lambda _: "no json")
    assert codes(wish) == [f"hooks_missing {path}"]
    edit(wish, path, lambda _: whole)
    assert codes(wish) == []


@pytest.mark.parametrize("path", ["AGENTS.md", "CLAUDE.md", POLICY_PATH])
def test_a_text_that_isnt_this_versions_is_told(wish: Wish, path: str) -> None:
    set_up(wish)
    edit(wish, path, lambda text: text.replace("memory_", "memorize_"))

    assert codes(wish) == [f"policy_outdated {path}"]


def test_what_people_write_beside_our_block_is_theirs(wish: Wish) -> None:
    set_up(wish)
    edit(wish, "AGENTS.md", lambda text: f"{text}\nMore rules.\n")

    assert codes(wish) == []


# ---- sizes ---------------------------------------------------------------------------------------


def sizes(wish: Wish, folder: Path) -> dict[str | None, str]:
    return {
        each.path: each.reason
        for each in examined(wish, folder=folder)
        if each.rule.code == "agent_file_over_limit"
    }


def test_what_codex_cuts_of_agent_files_is_told_by_its_bytes(wish: Wish) -> None:
    """Case 62."""
    below = wish.top / "sub"
    below.mkdir()
    (wish.top / "AGENTS.md").write_bytes(case_bytes("62-instruction-budget/AGENTS.md"))
    (below / "AGENTS.md").write_bytes(case_bytes("62-instruction-budget/sub/AGENTS.md"))

    found = sizes(wish, below)

    assert "its last 491 bytes" in found["AGENTS.md"]
    assert "nothing of it" in found["sub/AGENTS.md"]
    assert set(sizes(wish, wish.top)) == {"AGENTS.md"}


def test_at_the_limit_nothing_is_cut_and_a_raised_limit_counts(wish: Wish) -> None:
    agents = wish.top / "AGENTS.md"
    agents.write_bytes(b"x" * LIMIT)
    assert sizes(wish, wish.top) == {}
    agents.write_bytes(b"x" * (LIMIT + 1))
    assert set(sizes(wish, wish.top)) == {"AGENTS.md"}

    (wish.top / ".codex").mkdir()
    (wish.top / ".codex/config.toml").write_text(f"project_doc_max_bytes = {LIMIT + 1}\n", "utf-8")

    assert sizes(wish, wish.top) == {}
