"""Near-duplicates over MCP: the refusal leads to the note, the parameter lets one by."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.client import Tools
from tests.operations.support import Machine

PLAIN: dict[str, Any] = {"description": "d", "kind": "reference"}


def test_a_refusal_names_the_note_and_the_next_call(tools: Tools) -> None:
    made = tools.done("create", name="package-manager", body="Use pnpm.", **PLAIN)
    for tool, more in (("create", {}), ("propose", {"proposal_reason": "r"})):
        answer = tools.call(tool, name="package-manager-v2 (new)", body="x", **PLAIN, **more)
        assert answer.code == "too_similar"
        error = answer["error"]
        assert error["details"]["id"] == made["memory"]["id"]
        assert error["details"]["name"] == "package-manager"
        assert error["details"]["score"] == 1.0
        assert "allow_similar" in error["hint"]
        for told in ("too_similar", made["memory"]["id"], "package-manager", "allow_similar"):
            assert told in answer.text
    assert tools.done("read", identifier=made["memory"]["id"])["memory"]["body"] == "Use pnpm."


def test_a_proposals_answer_tells_what_it_resembles(agent: Tools) -> None:
    made = agent.done("create", name="package-manager", body="Use pnpm.", **PLAIN)
    more = {**PLAIN, "proposal_reason": "r"}
    alone = agent.done("propose", name="lock-file", body="Commit it.", **more)
    assert alone["similar"] == []
    beside = agent.done(
        "propose", name="package-manager-2", body="Use yarn.", allow_similar=True, **more
    )
    assert beside["similar"] == [
        {"id": made["memory"]["id"], "name": "package-manager", "score": 1.0, "sameness": "title"}
    ]
    assert made["memory"]["id"] in beside.text
    again = agent.done(
        "propose", name="package-manager-2", body="Use yarn.", allow_similar=True, **more
    )
    assert again["created"] is False


def test_the_third_near_duplicate_a_day_needs_the_user(agent: Tools) -> None:
    agent.done("create", name="package-manager", body="Use pnpm.", **PLAIN)
    for number in (2, 3):
        agent.done(
            "create", name=f"package-manager-{number}", body="x", allow_similar=True, **PLAIN
        )
    answer = agent.call("create", name="package-manager-4", body="x", allow_similar=True, **PLAIN)
    assert answer.code == "approval_required"
    assert answer["error"]["details"]["let_by"] == 2
    assert agent.done("catalog")["total"] == 3


TRIES: tuple[dict[str, Any], ...] = (
    {"name": "canary-wren-2", "body": "x"},
    {"name": "canary-alias", "body": "x y z"},
    {"name": "unlike", "body": "Hidden canary text of many words."},
)


@pytest.mark.parametrize("project", ["gadgets", "widgets"])
def test_another_projects_note_shows_in_no_refusal(
    agent: Tools, machine: Machine, project: str
) -> None:
    """With a control: the same note in the own project is named."""
    machine.put(
        f"Memory/projects/{project}/canary-wren.md",
        "---\nname: canary-wren\nkind: reference\naliases: [canary-alias]\n---\n"
        "Hidden canary text of many words.\n",
    )
    for each in TRIES:
        proposed = agent.call("propose", **PLAIN, **each, proposal_reason="r")
        made = agent.call("create", **PLAIN, **each)
        if project == "gadgets":
            assert not proposed.is_error
            assert not made.is_error
            continue
        for answer in (proposed, made):
            assert answer.code == "too_similar"
            assert answer["error"]["details"]["name"] == "canary-wren"
