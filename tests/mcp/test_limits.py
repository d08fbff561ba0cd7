"""Every limit of the policy through the tools: below and at it passes, one over is refused."""

from __future__ import annotations

from typing import Any

import pytest

from keepm import config
from tests.mcp.client import Tools
from tests.operations.support import Machine

POLICY = config.load_policy()
MEMORY, PROPOSAL, HANDOFF = POLICY.memory, POLICY.proposal, POLICY.handoff


def items(count: int, characters: int) -> list[str]:
    """Return so many different items of just that length."""
    return [f"{number:02}".ljust(characters, "x") for number in range(count)]


def claim(less: int = 0) -> dict[str, Any]:
    """Return a claim of which every field is at its limit, or that much below."""
    return {
        "name": "名" * (MEMORY.name_characters - less),
        "description": "述" * (MEMORY.description_characters - less),
        "kind": "reference",
        "body": "b" * (MEMORY.body_bytes - less),
        "tags": items(MEMORY.tags - less, MEMORY.tag_characters - less),
        "aliases": items(MEMORY.aliases - less, MEMORY.alias_characters - less),
        "sources": items(MEMORY.sources - less, MEMORY.source_characters - less),
    }


def suggestion(less: int = 0) -> dict[str, Any]:
    return {
        **claim(less),
        "proposal_reason": "因" * (PROPOSAL.reason_characters - less),
        "source_ref": "r" * (PROPOSAL.reference_characters - less),
    }


def handoff(less: int = 0) -> dict[str, Any]:
    return {
        "title": "题" * (HANDOFF.title_characters - less),
        "goal": "g" * (HANDOFF.text_characters - less),
        "current_state": "s" * (HANDOFF.text_characters - less),
        "next_steps": items(HANDOFF.items - less, HANDOFF.item_characters - less),
    }


@pytest.mark.parametrize("less", [0, 1], ids=["at", "below"])
def test_what_is_at_a_limit_or_below_is_stored_whole(agent: Tools, less: int) -> None:
    """Fault 25: a body of 16,384 bytes and twelve aliases were refused."""
    wanted = claim(less)
    made = agent.done("create", **wanted)
    read = agent.done("read", identifier=wanted["name"])
    assert {field: read["memory"][field] for field in wanted} == wanted
    assert read["update_token"]
    assert made["checksum"] == read["checksum"]

    wanted = {
        **suggestion(less),
        "name": "p" * (MEMORY.name_characters - less),
        "body": "c" * (MEMORY.body_bytes - less),
        "aliases": [f"p{alias[:-1]}" for alias in wanted["aliases"]],
    }
    agent.done("propose", **wanted)
    proposal = agent.done("inbox_read", identifier=wanted["name"])
    assert {field: proposal["proposal"][field] for field in wanted} == wanted
    agent.done("inbox_promote", **agent.proof_of(proposal, wanted["name"]))

    agent.done("handoff_create", **handoff(less))
    saved = agent.done("handoff_read")["handoff"]
    assert {field: saved[field] for field in handoff()} == handoff(less)


OVER: dict[str, Any] = {
    "name": "n" * (MEMORY.name_characters + 1),
    "description": "d" * (MEMORY.description_characters + 1),
    "body": "b" * (MEMORY.body_bytes + 1),
    "tags": items(MEMORY.tags + 1, 9),
    "tags[0]": ["t" * (MEMORY.tag_characters + 1)],
    "aliases": items(MEMORY.aliases + 1, 9),
    "aliases[0]": ["a" * (MEMORY.alias_characters + 1)],
    "sources": items(MEMORY.sources + 1, 9),
    "sources[0]": ["s" * (MEMORY.source_characters + 1)],
    "proposal_reason": "r" * (PROPOSAL.reason_characters + 1),
    "source_ref": "r" * (PROPOSAL.reference_characters + 1),
    "title": "t" * (HANDOFF.title_characters + 1),
    "goal": "g" * (HANDOFF.text_characters + 1),
    "current_state": "s" * (HANDOFF.text_characters + 1),
    **{name: items(HANDOFF.items + 1, 9) for name in ("completed", "next_steps")},
    **{
        f"{name}[0]": ["i" * (HANDOFF.item_characters + 1)]
        for name in ("unresolved", "verification")
    },
}
PLAIN = {"name": "n", "description": "d", "kind": "reference", "body": "b"}
SAVED = {"title": "t", "goal": "g", "current_state": "s"}


def test_one_over_any_limit_is_refused_with_both_figures(agent: Tools, machine: Machine) -> None:
    made = agent.done("create", **PLAIN)
    proposed = agent.done("propose", **{**PLAIN, "name": "p"}, proposal_reason="r")
    handed = agent.done("handoff_create", **SAVED)
    before = machine.files()
    tried = 0
    for field, value in OVER.items():
        argument = {field.partition("[")[0]: value}
        for tool, arguments in (
            ("create", {**PLAIN, **argument}),
            ("update", {**agent.proof_of(made, "n"), **argument}),
            ("propose", {**PLAIN, "name": "q", "proposal_reason": "r", **argument}),
            ("inbox_update", {**agent.proof_of(proposed, "p"), **argument}),
            ("handoff_create", {**SAVED, **argument}),
            ("handoff_update", {**agent.proof_of(handed, "t"), **argument}),
        ):
            answer = agent.call(tool, **arguments)
            assert answer.is_error
            if answer.problems == {next(iter(argument)): "invalid_input"}:
                continue  # the tool has no such parameter
            tried += 1
            assert answer.problems == {field: "limit_exceeded"}, (tool, field)
            assert answer.code == "limit_exceeded"
            (problem,) = answer["error"]["details"]["problems"]
            assert problem["actual"] == problem["limit"] + 1
    assert tried > 50
    assert machine.files() == before


def test_a_body_is_measured_in_bytes(agent: Tools) -> None:
    at = "字" * (MEMORY.body_bytes // 3) + "b"
    assert len(at.encode()) == MEMORY.body_bytes
    agent.done("create", **{**PLAIN, "body": at})
    answer = agent.call("create", **{**PLAIN, "name": "m", "body": f"{at}b"})
    assert answer.problems == {"body": "limit_exceeded"}
    (problem,) = answer["error"]["details"]["problems"]
    assert (problem["limit"], problem["actual"]) == (MEMORY.body_bytes, MEMORY.body_bytes + 1)


def test_a_reason_for_a_rejection_is_limited(agent: Tools) -> None:
    made = agent.done("propose", **PLAIN, proposal_reason="r")
    over = "r" * (PROPOSAL.reason_characters + 1)
    answer = agent.call("inbox_reject", **agent.proof_of(made, "n"), reason=over)
    assert answer.problems == {"reason": "limit_exceeded"}
    filed = agent.done("inbox_reject", **agent.proof_of(made, "n"), reason=over[1:])
    assert filed["proposal"]["rejection_reason"] == over[1:]


def test_a_long_query_is_answered(agent: Tools) -> None:
    """Fault 48: a query of 100 kB gave an error of SQLite."""
    agent.done("create", **{**PLAIN, "body": "zebra"})
    assert agent.done("search", query="zebra " + "x" * 10_000)["total"] == 1
    assert agent.done("search", query="q" * 20_000)["items"] == []
    assert agent.done("context", query="q" * 20_000)["items"] == []
    assert agent.call("search", query="q" * 100_000).code == "limit_exceeded"
    assert agent.call("context", query="q" * 100_000).code == "limit_exceeded"


def test_numbers_are_bounded_on_both_sides(agent: Tools) -> None:
    for tool, field, low, high in (
        ("search", "limit", 1, 100),
        ("catalog", "limit", 1, 100),
        ("catalog", "max_chars", 500, 100_000),
        ("context", "max_chars", 500, 100_000),
        ("inbox_prune", "older_than_days", 0, 36500),
    ):
        query = {"query": "x"} if tool == "search" else {}
        for good in (low, high):
            agent.done(tool, **query, **{field: good})
        for bad in (low - 1, high + 1, -(10**30), 10**30, 1.5, "many"):
            answer = agent.call(tool, **query, **{field: bad})
            assert answer.problems == {field: "invalid_input"}
