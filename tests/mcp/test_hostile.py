"""Identifiers, names and paths of every hostile sort, in every parameter that takes one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.client import Answer, Tools
from tests.operations.support import CONTRACT, Machine

CASE = Path(__file__).parents[1] / "cases/25-escape-paths/paths.json"
PATHS: list[str] = [
    *json.loads(CASE.read_text("utf-8")),
    "Memory/.keepm/lock",
    "../../../../etc/passwd",
    ".",
    "..",
    "Memory/projects/gadgets/secret.md",
    "a" * 240,
    "\u202egpj.exe",
    "x\r\nchecksum: forged",
    "' OR 1=1; --",
    '"*" NEAR(a b)',
    "%s%n{0}${HOME}",
]
CLAIM = {"description": "d", "kind": "reference", "body": "b"}
WRONG = {"expected_checksum": "0" * 64, "update_token": "x"}
SUGGESTION = {**CLAIM, "proposal_reason": "r"}
DECLINED = frozenset(
    (
        "not_found",
        "invalid_identifier",
        "invalid_input",
        "limit_exceeded",
        "content_refused",
        "checksum_mismatch",
        "token_invalid",
    )
)


@pytest.fixture
def outside(machine: Machine) -> Path:
    """A folder beside the vault, with links to it inside the vault and the project."""
    folder = machine.folder / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text("---\nname: secret\n---\ncanary-outside\n")
    for place in (machine.root / "Memory/projects/widgets", machine.folder / "work/widgets"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "link-out.md").symlink_to(folder / "secret.md")
        (place / "dir-out").symlink_to(folder)
    return folder


def everything(folder: Path) -> set[str]:
    return {
        os.path.join(base, name)
        for base, folders, names in os.walk(folder)
        for name in folders + names
    }


@pytest.mark.usefixtures("outside")
def test_an_identifier_opens_nothing_but_a_visible_note(agent: Tools, machine: Machine) -> None:
    """Case 25. The control is every other test: the same calls with good identifiers pass."""
    for path in PATHS:
        refuses(agent, machine, path)
    assert not any(name.endswith(".md") for name in machine.files())


def refuses(agent: Tools, machine: Machine, path: str) -> None:
    for tool, arguments in (
        ("read", {"identifier": path}),
        ("links", {"identifier": path}),
        ("update", {"identifier": path, **WRONG, "description": "x"}),
        ("delete", {"identifier": path, **WRONG}),
        ("inbox_read", {"identifier": path}),
        ("inbox_update", {"identifier": path, **WRONG, "description": "x"}),
        ("inbox_reject", {"identifier": path, **WRONG}),
        ("inbox_promote", {"identifier": path, **WRONG}),
        ("handoff_read", {"identifier": path}),
        ("handoff_update", {"identifier": path, **WRONG, "goal": "x"}),
        ("handoff_complete", {"identifier": path, **WRONG}),
        (
            "propose",
            {**SUGGESTION, "name": "n", "target_identifier": path, "target_action": "update"},
        ),
    ):
        answer = agent.call(tool, **arguments)
        assert answer.code in DECLINED, (tool, answer.text)
        assert "checksum: forged" not in answer.text.splitlines()
        assert_tells_nothing(answer, machine)
    assert agent.done("search", query=path or "x")["items"] == []
    assert agent.done("catalog", source_path=path[:1000])["items"] == []


def test_a_name_makes_a_file_inside_or_none_at_all(
    agent: Tools, machine: Machine, outside: Path
) -> None:
    around = everything(machine.folder)
    for number, path in enumerate(PATHS):
        makes_nothing_strange(agent, machine, path, body=f"Text number {number}.")
    ours = (str(machine.root / "Memory"), str(machine.folder / "data"))
    assert all(each.startswith(ours) for each in everything(machine.folder) - around)
    for each in machine.files():
        assert not set('\\:*?"<>|\0') & set(each)
        assert ".." not in each.split("/")
    assert sorted(everything(outside)) == [str(outside / "secret.md")]


def makes_nothing_strange(agent: Tools, machine: Machine, path: str, *, body: str) -> None:
    made = agent.call("create", **{**CLAIM, "body": body}, name=path)
    proposed = agent.call("propose", **SUGGESTION, name=f"{path} proposed")
    handed = agent.call("handoff_create", title=path, goal="g", current_state="s")
    if not made.is_error:
        assert agent.done("read", identifier=made["memory"]["id"])["memory"]["name"] == path.strip()
    for answer in (made, proposed, handed):
        assert answer.code in {"", *DECLINED}
        assert_tells_nothing(answer, machine)


@pytest.mark.usefixtures("outside")
def test_a_source_is_a_path_of_the_repository_or_refused(agent: Tools, machine: Machine) -> None:
    for number, path in enumerate(PATHS):
        looks_at_nothing_outside(agent, machine, path, name=f"n{number}")


def looks_at_nothing_outside(agent: Tools, machine: Machine, path: str, *, name: str) -> None:
    body = {"kind": "decision", "body": f"{CONTRACT}- {name}\n", "description": "d"}
    made = agent.call("create", **body, name=name, sources=[path], verified_at="2026-11-29")
    assert made.code in {"", *DECLINED}
    assert_tells_nothing(made, machine)
    if not made.is_error:
        # Accepted as a relative path: still nothing outside the work tree was looked at.
        assert b"source_digests" not in machine.files()[made["memory"]["path"]]
        read = agent.done("read", identifier=name)["memory"]
        nothing = {None, "missing", "unknown"} if path != "." else {"unverified"}
        assert read.get("source_state") in nothing, path


def test_hostile_sources_are_refused(agent: Tools) -> None:
    for path in ("/etc/passwd", "../x", "a/../../x", "C:\\x", "\\\\server\\x", "~/x", "file:///x"):
        answer = agent.call("create", **CLAIM, name="n", sources=[path])
        assert answer.problems == {"sources[0]": "invalid_input"}, path
    agent.done("create", **CLAIM, name="n", sources=["./a/b.py#f", "c d.md", "...x/y"])


def assert_tells_nothing(answer: Answer, machine: Machine) -> None:
    """Neither the machine's paths nor what lies outside the vault is ever answered."""
    assert "canary-outside" not in answer.whole
    assert str(machine.folder) not in answer.whole


def test_links_out_of_the_vault_are_not_followed(agent: Tools, outside: Path) -> None:
    assert outside.is_dir()
    made: dict[str, Any] = agent.done("create", **CLAIM, name="good").data
    for query in ("canary-outside", "secret", "link-out"):
        assert agent.done("search", query=query)["items"] == []
    assert agent.done("read", identifier="good")["checksum"] == made["checksum"]
    assert agent.done("status")["health"]["state"] == "degraded"
