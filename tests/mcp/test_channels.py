"""The gate over MCP: an agent's word is `relayed`, whatever it calls and says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keepm.operations.vault import Vault
from tests.mcp.client import Tools
from tests.mcp.test_answers import journey, refusals
from tests.operations.support import HAND_MADE, Machine, events

PLAIN = {"description": "d", "kind": "reference", "body": "b"}


def test_no_sequence_of_calls_yields_an_owners_channel(agent: Tools, vault: Vault) -> None:
    for _ in refusals(agent):
        pass
    agent.done("delete", **agent.proof("build-command"))
    idea = agent.done("inbox_read", identifier="idea")
    agent.done("inbox_reject", **agent.proof_of(idea, "idea"))
    move = agent.done("handoff_read", identifier="Move")
    agent.done("handoff_complete", **agent.proof_of(move, "Move"))
    for _ in journey(agent):
        pass
    written = events(vault)
    assert len(written) > 10
    assert {event.channel for event in written} == {None, "relayed"}
    assert {event.surface for event in written} == {"mcp"}
    assert {event.session for event in written} == {"session-1"}


@pytest.mark.parametrize("field", ["approved_via", "channel", "approved", "confirm", "client"])
def test_no_argument_says_by_whom_it_was_approved(agent: Tools, field: str) -> None:
    made = agent.done("propose", name="idea", proposal_reason="r", **PLAIN)
    for tool, arguments in (
        ("create", {"name": "n", **PLAIN}),
        ("propose", {"name": "n", "proposal_reason": "r", **PLAIN}),
        ("inbox_promote", agent.proof_of(made, "idea")),
    ):
        answer = agent.call(tool, **arguments, **{field: "owner-cli"})
        assert answer.problems == {field: "invalid_input"}
    done = agent.done("inbox_promote", **agent.proof_of(made, "idea"))
    assert done["memory"]["approved_via"] == "relayed"


@pytest.mark.parametrize("minimum", ["host", "owner"])
def test_below_the_minimum_only_proposals_and_handoffs_work(
    machine: Machine, connect: Callable[..., Tools], minimum: str
) -> None:
    """Fault 10: every way into memory asks for the minimum, not promotion alone."""
    machine.configure({"approval": {"minimum": minimum}})
    machine.put("Memory/projects/widgets/note.md", HAND_MADE)
    agent = connect(machine.folder / "work/widgets")
    made = agent.done("propose", name="idea", proposal_reason="r", **PLAIN)
    before = machine.files()
    for tool, arguments in (
        ("create", {"name": "n", **PLAIN}),
        ("update", {**agent.proof("build-command"), "description": "x"}),
        ("update", {**agent.proof("build-command"), "status": "archived"}),
        ("delete", agent.proof("build-command")),
        ("inbox_promote", agent.proof_of(made, "idea")),
        (
            "inbox_promote",
            {**agent.proof_of(made, "idea"), **agent.proof("build-command", prefix="target_")},
        ),
    ):
        answer = agent.call(tool, **arguments)
        assert answer.code == "approval_required", tool
        assert answer["error"]["details"]["minimum"] == minimum
    assert machine.files() == before
    assert agent.done("status")["approval_minimum"] == minimum
    changed = agent.done("inbox_update", **agent.proof_of(made, "idea"), tags=["x"])
    agent.done("inbox_reject", **agent.proof_of(changed, "idea"))
    agent.done("handoff_create", title="t", goal="g", current_state="s")


def test_reads_report_the_ledgers_channel_not_the_notes_word(
    agent: Tools, machine: Machine
) -> None:
    made = agent.done("create", name="n", **PLAIN)
    path = made["memory"]["path"]
    assert agent.done("read", identifier="n")["memory"]["approved_via"] == "relayed"

    claims = machine.files()[path].replace(b"approved_via: relayed", b"approved_via: owner-cli")
    machine.put(path, claims)
    assert agent.done("read", identifier="n")["memory"]["approved_via"] == "owner-edit"

    machine.put(path, HAND_MADE.replace("kind:", "created: 2025-01-02\r\nkind:"))
    imported = agent.done("read", identifier="build-command")
    assert imported["memory"]["approved_via"] == "import"


def test_a_promotion_into_a_note_takes_both_proofs(agent: Tools, vault: Vault) -> None:
    target = agent.done("create", name="manager", **{**PLAIN, "body": "npm"})
    made = agent.done(
        "propose",
        **{**PLAIN, "body": "pnpm"},
        name="manager",
        proposal_reason="seen",
        target_identifier="manager",
        target_action="update",
    )
    proofs: dict[str, Any] = {
        **agent.proof_of(made, made["proposal"]["id"]),
        **agent.proof_of(target, "manager", prefix="target_"),
    }
    for left_out in ("target_identifier", "target_expected_checksum", "target_update_token"):
        some = {key: value for key, value in proofs.items() if key != left_out}
        assert agent.call("inbox_promote", **some).problems == {left_out: "invalid_input"}
    alone = agent.call("inbox_promote", **agent.proof_of(made, made["proposal"]["id"]))
    assert alone.code == "incomplete_read"
    done = agent.done("inbox_promote", **proofs)
    assert done["memory"]["id"] == target["memory"]["id"]
    assert agent.done("read", identifier="manager")["memory"]["body"] == "pnpm"
    assert [event.operation for event in events(vault)] == ["create", "propose", "promote"]


def test_the_client_is_taken_from_the_handshake(tools: Tools) -> None:
    made = tools.done("propose", name="idea", proposal_reason="r", **PLAIN)
    assert made["proposal"]["source_client"] == "tester"
