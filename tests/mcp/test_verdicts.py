"""Verdicts over MCP: the person's own word makes a rejection last, and every refusal says so."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import ElicitResult

from keepm.model.approval import Channel
from keepm.operations import inbox, judging
from keepm.operations.vault import Caller, Vault
from keepm.tokens import WriteProof
from tests.mcp.client import Answer, Tools
from tests.mcp.test_confirmation import Host, Person, proposed, reason
from tests.mcp.test_confirmation import era as era
from tests.mcp.test_confirmation import host as host
from tests.mcp.test_confirmation import person as person
from tests.operations.support import Machine, events

BODY = "Use pnpm 9 for every package, never npm."
RESTATED = "use **PNPM 9** for every package; never npm!"
NEW: dict[str, Any] = {"description": "Other words", "kind": "reference", "body": RESTATED}


def answered(**content: str | bool) -> ElicitResult:
    return ElicitResult(action="accept", content={**content})


def again(tools: Tools) -> Answer:
    return tools.call("propose", name="renamed", proposal_reason="seen", **NEW)


def test_a_yes_with_both_boxes_rejects_for_good(
    host: Host, person: Person, vault: Vault, machine: Machine
) -> None:
    tools = host()
    arguments = proposed(tools, body=BODY)
    person.says = answered(approve=True, remember=True)

    done = tools.done("inbox_reject", **arguments, reason="we use make")

    (form,) = person.asked
    assert form.requested_schema["required"] == ["approve", "remember"]
    assert form.requested_schema["properties"]["remember"]["default"] is True
    lines = person.seen.split("\n")
    assert lines[0] == "File this proposal away as rejected?"
    for line in (
        f"checksum: {arguments['expected_checksum']}",
        f"| {BODY}",
        "rejection_reason: we use make",
    ):
        assert line in lines
    assert done["remembered"] is True
    event = events(vault)[-1]
    assert (event.operation, event.channel) == ("reject", "host")
    assert event.extra["ruling"] == "rejected"
    refused = again(tools)
    assert refused.code == "rejected_before"
    details = refused["error"]["details"]
    assert (details["why"], details["when"]) == ("we use make", event.time)
    assert details["id"] == event.object_id
    for told in ("rejected_before", "we use make", event.time, "keepm verdict lift"):
        assert told in refused.text
    created = tools.call("create", name="elsewhere", **NEW)
    assert created.code == "rejected_before"
    assert not [path for path in machine.files() if "elsewhere" in path or "renamed" in path]


@pytest.mark.parametrize(
    "says",
    [
        answered(approve=True, remember=False),
        answered(approve=True),
        answered(approve=True, remember="true"),
    ],
    ids=["unticked", "left-out", "no-boolean"],
)
def test_a_rejection_without_the_second_box_doesn_t_last(
    host: Host, person: Person, vault: Vault, says: ElicitResult
) -> None:
    tools = host()
    arguments = proposed(tools, body=BODY)
    person.says = says

    assert tools.done("inbox_reject", **arguments)["remembered"] is False

    event = events(vault)[-1]
    assert (event.operation, event.channel) == ("reject", "host")
    assert "ruling" not in event.extra
    assert again(tools)["created"] is True


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (ElicitResult(action="decline"), "declined"),
        (ElicitResult(action="cancel"), "cancelled"),
        (answered(remember=True), "unclear"),
        (answered(approve=False, remember=True), "declined"),
    ],
)
def test_whatever_is_no_yes_leaves_it_waiting(
    host: Host, person: Person, vault: Vault, says: ElicitResult, why: str
) -> None:
    tools = host()
    arguments = proposed(tools, body=BODY)
    person.says = says

    answer = tools.call("inbox_reject", **arguments)

    assert reason(answer) == why
    assert [event.operation for event in events(vault)] == ["propose"]
    assert judging.standing(vault) == []


def test_nobody_is_asked_about_what_shall_not_last(
    host: Host, person: Person, vault: Vault
) -> None:
    tools = host()
    done = tools.done("inbox_reject", **proposed(tools, body=BODY), remember=False)

    assert done["remembered"] is False
    assert person.asked == []
    assert events(vault)[-1].channel == "relayed"
    assert again(tools)["created"] is True


def test_where_nobody_can_be_asked_an_agent_s_word_files_away_and_no_more(
    tools: Tools, vault: Vault
) -> None:
    """Fault 66: now with a reason; what lasts is the person's own word."""
    done = tools.done("inbox_reject", **proposed(tools, body=BODY), reason="not now")

    assert done["remembered"] is False
    assert done["proposal"]["status"] == "rejected"
    assert events(vault)[-1].channel == "relayed"
    assert again(tools)["created"] is True


def test_what_was_rejected_elsewhere_is_told_nowhere(
    machine: Machine, tools: Tools, vault: Vault, connect: Any
) -> None:
    made = tools.done(
        "propose", name="canary-slot", proposal_reason="seen", **{**NEW, "body": BODY}
    )
    proof = WriteProof.parse(
        made["checksum"], vault.tokens.issue(made["proposal"]["id"], _sum(made))
    )
    owner = Caller(surface="cli", channel=Channel.OWNER_CLI)
    inbox.reject(vault, owner, made["proposal"]["id"], proof, reason="canary-reason")
    assert again(tools).code == "rejected_before"

    stranger = connect(machine.project("gadgets"))
    answers = [
        stranger.call(call, name=f"x-{call}-{scope}", scope=scope, **{**NEW, **more})
        for call, more in (("propose", {"proposal_reason": "r"}), ("create", {}))
        for scope in ("project", "global")
    ]
    assert [answer.code for answer in answers] == ["", "", "", ""]
    for answer in answers:
        assert "canary" not in answer.whole
        assert "rejected" not in answer.text


def _sum(made: Answer) -> Any:
    from keepm.model.checksum import Checksum

    return Checksum(made["checksum"])
