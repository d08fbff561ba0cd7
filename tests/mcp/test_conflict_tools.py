"""memory_resolve_conflict, and `supersedes` of create and update, as a client meets them."""

from __future__ import annotations

from typing import Any

import pytest

from keepm import config
from tests.mcp.client import Tools
from tests.operations.support import Machine

POLICY = config.load_policy()


def create(tools: Tools, name: str, **fields: Any) -> dict[str, Any]:
    given = {"description": f"What {name} is", "kind": "reference", "body": f"Text of {name}."}
    return dict(tools.done("create", name=name, **{**given, **fields}).data)


def both(tools: Tools, winner: str = "a", loser: str = "b") -> dict[str, Any]:
    """Read both notes completely and return the arguments that prove it."""
    return {
        **tools.proof(winner, prefix="winner_"),
        **tools.proof(loser, prefix="loser_"),
        "loser_action": "supersede",
        "resolution_reason": "The port moved",
    }


def test_a_conflict_is_resolved_in_two_calls(tools: Tools) -> None:
    create(tools, "a"), create(tools, "b")
    arguments = {**both(tools), "winner_body": "Both.", "winner_tags": ["net"]}

    shown = tools.done("resolve_conflict", **arguments)
    assert (shown["plan"]["winner"]["name"], shown["plan"]["loser"]["name"]) == ("a", "b")
    assert len(shown["plan"]["changes"]) == 2
    assert "+Both." in shown.text and "status: superseded" in shown.text
    assert shown["resolution_token"] in shown.text

    done = tools.done(
        "resolve_conflict",
        **arguments,
        dry_run=False,
        confirm=True,
        resolution_token=shown["resolution_token"],
    )
    assert done["memory"]["supersedes"] == [done["loser"]["id"]]
    assert done["loser"]["status"] == "superseded"
    read = tools.done("read", identifier="a")
    assert (read["memory"]["body"], read["checksum"]) == ("Both.", done["checksum"])
    lost = tools.done("read", identifier=done["loser"]["id"])["memory"]
    assert lost["superseded_by"] == [done["memory"]["id"]]
    assert lost["resolution_reason"] == "The port moved"
    assert "superseded_by" in tools.done("read", identifier=done["loser"]["id"]).text
    # The answer's token allows the next change.
    tools.done("delete", **tools.proof_of(done, "a"))


@pytest.mark.parametrize(
    "given",
    [
        {"dry_run": False},
        {"dry_run": False, "confirm": True},
        {"dry_run": False, "confirm": True, "resolution_token": "guessed"},
        {"dry_run": False, "confirm": False, "resolution_token": "the plan's"},
    ],
    ids=["unconfirmed", "without a plan", "a guessed token", "a token alone"],
)
def test_nothing_happens_without_the_confirmed_plan(
    agent: Tools, machine: Machine, given: dict[str, Any]
) -> None:
    create(agent, "a"), create(agent, "b")
    arguments = both(agent)
    token = agent.done("resolve_conflict", **arguments)["resolution_token"]
    if given.get("resolution_token") == "the plan's":
        given = {**given, "resolution_token": token}
    before = machine.files()
    assert agent.call("resolve_conflict", **arguments, **given).code == "confirmation_required"
    assert machine.files() == before


def test_a_refusal_names_the_parameter(agent: Tools) -> None:
    create(agent, "a"), create(agent, "b")
    arguments = both(agent)
    itself = {**arguments, **agent.proof("a", prefix="loser_")}
    assert agent.call("resolve_conflict", **itself).problems == {
        "loser_identifier": "invalid_input"
    }
    blank = {**arguments, "resolution_reason": "  "}
    assert agent.call("resolve_conflict", **blank).problems == {
        "resolution_reason": "invalid_input"
    }
    wrong = {**arguments, "loser_expected_checksum": "0" * 64}
    assert agent.call("resolve_conflict", **wrong).code == "checksum_mismatch"


def test_deleting_the_loser_says_where_it_lies_and_who_links_to_it(agent: Tools) -> None:
    create(agent, "a"), create(agent, "b"), create(agent, "c", body="See [[b]].")
    arguments = {**both(agent), "loser_action": "delete"}
    shown = agent.done("resolve_conflict", **arguments)
    assert shown["plan"]["links_to_loser"] == ["c"]
    (change,) = shown["plan"]["changes"]
    assert change["to"].startswith("Memory/.trash/")
    done = agent.done(
        "resolve_conflict",
        **arguments,
        dry_run=False,
        confirm=True,
        resolution_token=shown["resolution_token"],
    )
    assert done["loser"]["path"].startswith("Memory/.trash/")
    assert agent.call("read", identifier="b").code == "not_found"


def test_new_replaces_old_in_one_call(agent: Tools) -> None:
    """Fault 29."""
    old = create(agent, "api-port", aliases=["gateway"])["memory"]["id"]
    new = create(agent, "api-port", body="9443", supersedes=["gateway"])
    assert new["memory"]["supersedes"] == [old]
    assert agent.done("read", identifier="api-port")["memory"]["id"] == new["memory"]["id"]
    cleared = agent.done(
        "update",
        **agent.proof_of(agent.done("read", identifier="api-port"), "api-port"),
        supersedes=[],
    )
    assert "supersedes" not in cleared["memory"]


def test_the_bounds_are_the_policys(agent: Tools) -> None:
    (tool,) = [tool for tool in agent.listed() if tool.name == "memory_resolve_conflict"]
    known = tool.input_schema["properties"]
    most = POLICY.memory
    assert known["resolution_reason"]["maxLength"] == POLICY.proposal.reason_characters
    assert known["winner_body"]["maxLength"] == most.body_bytes
    assert known["winner_description"]["maxLength"] == most.description_characters
    for name, count, each in (
        ("tags", most.tags, most.tag_characters),
        ("aliases", most.aliases, most.alias_characters),
        ("sources", most.sources, most.source_characters),
    ):
        rule = known[f"winner_{name}"]
        assert (rule["maxItems"], rule["items"]["maxLength"]) == (count, each)
    assert tool.annotations is not None
    assert tool.annotations.destructive_hint is True
    assert tool.annotations.read_only_hint is False
