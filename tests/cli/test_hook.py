"""`keepm hook`: quick, quiet, and never in a session's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepm import config
from keepm.config import Settings
from keepm.model.approval import Channel
from keepm.model.handoff import HandoffEdit
from keepm.model.memory import Claim, Kind, Scope
from keepm.operations import digest, handoffs, inbox, memories, places, projects, sync
from keepm.operations.inbox import Suggestion
from keepm.operations.vault import Caller, Vault, open_vault
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.root import initialise
from tests.agents.support import case_bytes

CASES: list[Any] = json.loads(case_bytes("65-hooks-contract/inputs.json"))
BAD = [json.dumps(each) if each == {} else each for each in CASES if each in ({}, "not json", "")]
HEAVY = {"fastmcp", "mcp", "pydantic", "yaml", "tomlkit", "questionary", "asyncio", "filelock"}
CALLER = Caller("mcp", Channel.RELAYED)
WIDGETS = Scope("widgets")
SOURCES = ("startup", "compact")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path


def settings_of(home: Path) -> Settings:
    return config.load({"project_dir": str(home / "project")}, {}, home)


@pytest.fixture
def vault(home: Path) -> Iterator[Vault]:
    projects.bind(settings_of(home), "widgets")
    settings = settings_of(home)
    initialise(VaultPaths(settings.root), OSDisk())
    opened = open_vault(settings)
    sync.reconcile(opened)
    yield opened
    opened.close()


def note(vault: Vault, name: str, *, pinned: bool = True, description: str = "about it") -> None:
    claim = Claim(
        name=name,
        description=description,
        kind=Kind.REFERENCE,
        body="text",
        scope=WIDGETS,
        pinned=pinned,
    )
    memories.create(vault, CALLER, claim)


def call(
    home: Path, event: str, text: object, *arguments: str, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    given = text if isinstance(text, str) else json.dumps(text)
    return subprocess.run(
        [sys.executable, "-m", "keepm", "hook", event, *arguments],
        cwd=home / "project",
        env={"PATH": os.environ["PATH"], "HOME": str(home)} | (environ or {}),
        input=given.encode(),
        capture_output=True,
        timeout=30,
        check=False,
    )


def session(home: Path, source: str = "startup", **more: str) -> dict[str, str]:
    where = str(home / "project")
    return {"hook_event_name": "SessionStart", "source": source, "cwd": where} | more


def test_a_session_begins_with_what_matters(vault: Vault, home: Path) -> None:
    """Fault 62: a fixed sentence, and neither pinned notes nor handoff."""
    note(vault, "build-command", description="How to build {everything}")
    note(vault, "not-pinned", pinned=False)
    suggestion = Suggestion(
        claim=Claim("guess", "a guess", Kind.REFERENCE, "text", scope=WIDGETS), reason="seen"
    )
    inbox.propose(vault, CALLER, suggestion)
    edit = HandoffEdit(title="Move to pnpm", goal="one tool", current_state="half")
    handoffs.create(vault, CALLER, edit)

    done = call(home, "session-start", session(home))

    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "widgets" in text
    assert "- build-command (reference): How to build {everything}" in text
    assert "Move to pnpm" in text
    assert "1 pending" in text
    assert "untrusted" in text and "memory_context" in text
    assert "not-pinned" not in text and "guess" not in text
    assert text.lstrip()[0] != "{"


def test_startup_and_compact_get_the_same_bytes(vault: Vault, home: Path) -> None:
    note(vault, "build-command")

    answers = {call(home, "session-start", session(home, each)).stdout for each in SOURCES}

    assert len(answers) == 1


def test_another_project_is_not_shown(vault: Vault, home: Path) -> None:
    note(vault, "canary-of-widgets")
    (home / "other").mkdir()

    done = call(home, "session-start", session(home, cwd=str(home / "other")))

    assert done.returncode == 0
    assert b"canary" not in done.stdout
    assert b"keepm setup" in done.stdout


def test_the_digest_keeps_its_budget_and_says_what_it_left_out(vault: Vault) -> None:
    for number in range(25):
        note(vault, f"笔记 {number:02d} " + "名" * 90, description="描述" * 150)

    text = _digest(vault)

    assert digest.tokens(text) <= digest.TOKENS
    assert len(text) < 9000
    assert "…" in text.splitlines()[-1]


def test_many_pinned_notes_are_counted(vault: Vault) -> None:
    for number in range(25):
        note(vault, f"n{number:02d}", description="d")

    assert "5 more" in _digest(vault)


def test_names_cannot_break_out_of_their_line(vault: Vault) -> None:
    path = vault.settings.root / "Memory" / "projects" / "widgets" / "x.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '---\nid: 6f0c7f3e-0000-4000-8000-000000000001\nname: x\ndescription: "a\\n# b\\u202ec"\n'
        "scope: project\nproject_id: widgets\nkind: reference\nlanguage: en\nstatus: active\n"
        "pinned: true\ncreated: '2026-01-01'\nupdated: '2026-01-01'\n---\nbody\n",
        "utf-8",
    )
    sync.reconcile(vault)

    text = _digest(vault)

    assert "\u202e" not in text
    assert not any(line.startswith("# b") for line in text.splitlines())


def _digest(vault: Vault) -> str:
    return digest.digest(
        places.index_path(vault.settings),
        places.vault_id(vault.settings),
        project_id="widgets",
        language="en",
        introduction="intro",
    )


def test_without_an_index_a_short_text_says_so(home: Path) -> None:
    done = call(home, "session-start", session(home))

    assert done.returncode == 0
    assert 0 < len(done.stdout) < 1500
    assert not (home / ".local").exists()


def test_a_folder_that_is_gone_is_no_obstacle(vault: Vault, home: Path) -> None:
    done = call(home, "session-start", session(home, "resume", cwd="/gone"))

    assert done.returncode == 0
    assert done.stdout


def test_the_vault_itself_is_not_needed(vault: Vault, home: Path) -> None:
    note(vault, "build-command")
    vault.settings.root.rename(home / "unmounted")

    done = call(home, "session-start", session(home), "--root", str(vault.settings.root))

    assert b"build-command" in done.stdout


def test_another_root_has_another_index(vault: Vault, home: Path) -> None:
    note(vault, "build-command")

    done = call(home, "session-start", session(home), "--root", str(home / "other"))

    assert done.returncode == 0
    assert b"build-command" not in done.stdout


def test_the_projects_language_is_spoken(vault: Vault, home: Path) -> None:
    done = call(home, "session-start", session(home), environ={"KEEPM_LANGUAGE": "zh"})

    assert "项目：widgets" in done.stdout.decode()


@pytest.mark.parametrize("active", [True, False])
def test_the_end_of_a_turn_is_left_alone(home: Path, active: bool) -> None:
    """Fault 62: each first stop cost one more turn of the model."""
    done = call(home, "stop", {"hook_event_name": "Stop", "stop_hook_active": active})

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("event", ["session-start", "stop"])
@pytest.mark.parametrize("text", [*BAD, "[]", "[" * 100_000, '{"hook_event_name": 1}', "\x00"])
def test_bad_input_is_one_line_on_stderr(home: Path, event: str, text: str) -> None:
    done = call(home, event, text)

    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("where", ["root", "cwd"])
def test_a_loop_of_links_is_no_traceback(home: Path, where: str) -> None:
    (loop := home / "loop").symlink_to(loop)
    given = {"cwd": str(loop)} if where == "cwd" else {}

    done = call(
        home,
        "session-start",
        session(home, "startup", **given),
        *(["--root", str(loop)] if where == "root" else []),
    )

    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"doesn't answer" not in done.stderr


def test_broken_settings_do_not_break_a_session(home: Path) -> None:
    (home / ".config" / "keepm").mkdir(parents=True)
    (home / ".config" / "keepm" / "config.toml").write_text("root = \n")

    done = call(home, "session-start", session(home))

    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1


def test_a_hook_that_no_host_calls_is_a_usage_error(home: Path) -> None:
    assert call(home, "pre-compact", {}).returncode == 2
    assert call(home, "stop", {}, "--what").returncode == 2


@pytest.mark.parametrize("event", ["session-start", "stop"])
def test_nothing_heavy_is_imported(vault: Vault, home: Path, event: str) -> None:
    given = session(home) if event == "session-start" else {"hook_event_name": "Stop"}
    code = (
        "import sys; from keepm.__main__ import main; main(['hook', sys.argv[1]]);"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, event],
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        input=json.dumps(given).encode(),
        capture_output=True,
        check=True,
    )

    loaded = {name.split(".")[0] for name in done.stderr.decode().split()}
    ours = {name for name in done.stderr.decode().split() if name.startswith("keepm.")}
    assert not loaded & HEAVY
    unneeded = ("keepm.mcp", "keepm.markdown", "keepm.config.policy", "keepm.config.screening")
    assert not {name for name in ours if name.startswith(unneeded)}
    if event == "stop":
        assert ours == {"keepm.__main__", "keepm.cli", "keepm.cli.hook"}
        assert "sqlite3" not in loaded


def test_a_dead_mount_does_not_hold_up_a_session(vault: Vault, home: Path) -> None:
    code = """
import os, sys, time
healthy = os.path.realpath

def realpath(path, **options):
    if "dead" in str(path):
        time.sleep(60)
    return healthy(path, **options)

os.path.realpath = realpath
from keepm.__main__ import main
sys.exit(main(["hook", "session-start", "--root", "/dead/vault"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        input=json.dumps(session(home)).encode(),
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1
