"""A host that asks its person, over real stdio, in each era of the protocol, in raw messages.

Each way in which a question can end: accepted, accepted when the file has changed, declined,
cancelled, an error, no answer in time, and a host that can't ask. The host here says whatever a
case needs, also what the SDK's own client would never send.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.client import Answer
from tests.operations.support import Machine
from tests.stories.server import Server, serving

PLAIN = {"description": "d", "kind": "reference", "body": "Text."}
FORMS: Mapping[str, object] = {"elicitation": {}}
TOLD = {"name": "story", "version": "1"}
ERAS = ("legacy", "modern")


class Host:
    """One session with a server. `reply` is what the person's dialog sends back."""

    def __init__(self, server: Server, era: str, capabilities: Mapping[str, object]) -> None:
        self.server = server
        self.era = era
        self.capabilities = capabilities
        self.reply: Mapping[str, object] = accepted(True)
        self.shown: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None
        if era == "legacy":
            hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
            server.ask("initialize", {**hello, "clientInfo": TOLD})
            server.notify("notifications/initialized")

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool, and answer its question if it has one."""
        params: dict[str, Any] = {"name": f"memory_{tool}", "arguments": arguments}
        result = self._modern(params) if self.era == "modern" else self._legacy(params)
        (content,) = result["content"]
        return Answer(
            result.get("structuredContent", {}), content["text"], bool(result.get("isError"))
        )

    def done(self, tool: str, /, **arguments: Any) -> Answer:
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer

    def ask(self, params: dict[str, Any]) -> dict[str, Any]:
        """Send one tool call of the modern era and return its result."""
        prefix = "io.modelcontextprotocol/"
        meta = {
            f"{prefix}protocolVersion": "2026-07-28",
            f"{prefix}clientInfo": TOLD,
            f"{prefix}clientCapabilities": self.capabilities,
        }
        return self.server.ask("tools/call", {**params, "_meta": meta})

    def _modern(self, params: dict[str, Any]) -> dict[str, Any]:
        result = self.ask(params)
        if result.get("resultType") != "input_required":
            return result
        (key, request) = self._question(result)
        answers = {key: self.reply["result"]}
        again = {"inputResponses": answers, "requestState": result["requestState"]}
        assert request["method"] == "elicitation/create"
        return self.ask({**params, **again})

    def _question(self, result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        ((key, request),) = result["inputRequests"].items()
        self._show(request["params"])
        return key, request

    def _legacy(self, params: dict[str, Any]) -> dict[str, Any]:
        self.begin(params)
        while True:
            message = self.server.message()
            if message.get("method") == "elicitation/create":
                self._show(message["params"])
                self._send({"id": message["id"], **self.reply})
            elif message.get("id") == "call":
                return dict(message["result"])

    def begin(self, params: dict[str, Any]) -> None:
        """Send a tool call of the handshake era without waiting for its answer."""
        self._send({"id": "call", "method": "tools/call", "params": params})

    def _show(self, params: Mapping[str, Any]) -> None:
        self.shown.append(params["message"])
        doing, self.meanwhile = self.meanwhile, lambda: None
        doing()

    def _send(self, message: Mapping[str, object]) -> None:
        self.server.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def accepted(said: object) -> dict[str, object]:
    return {"result": {"action": "accept", "content": {"approve": said}}}


@pytest.fixture(params=ERAS)
def host(request: pytest.FixtureRequest, machine: Machine) -> Iterator[Host]:
    with serving(machine, machine.folder / "work/widgets") as server:
        yield Host(server, request.param, FORMS)


def proposed(host: Host, name: str) -> dict[str, str]:
    made = host.done("propose", name=name, proposal_reason="seen", **PLAIN | {"body": name})
    return {
        "identifier": made["proposal"]["id"],
        "expected_checksum": made["checksum"],
        "update_token": made["update_token"],
    }


def test_a_person_decides_through_their_host(host: Host, machine: Machine) -> None:
    """Faults 9 and 67 and invariant 2, from the first "no" to the note's end in the trash.

    The person's own word reaches the server: an agent's prose about it decides nothing.
    """
    assert host.done("status")["host_confirmation"] == "elicitation"
    arguments = proposed(host, "idea")
    before = machine.files()
    replies: dict[str, list[dict[str, object]]] = {
        "declined": [{"result": {"action": "decline"}}, accepted(False)],
        "cancelled": [{"result": {"action": "cancel"}}],
        "unclear": [accepted("no"), accepted("yes"), accepted(1), {"result": {"action": "accept"}}],
    }
    if host.era == "legacy":
        replies["failed"] = [
            {"error": {"code": -32603, "message": "no terminal"}},
            {"result": {"action": "perhaps"}},
            {"result": {}},
        ]
    for reason, said in replies.items():
        for host.reply in said:
            answer = host.call("inbox_promote", **arguments)
            assert answer.code == "approval_required"
            assert answer["error"]["details"]["reason"] == reason
            assert machine.files() == before
    host.reply = accepted(True)
    assert len(set(host.shown)) == 1  # every time the same question
    assert f"checksum: {arguments['expected_checksum']}" in host.shown[0]
    note = host.done("inbox_promote", **arguments)
    assert note["memory"]["approved_via"] == "host"

    proof = {"expected_checksum": note["checksum"], "update_token": note["update_token"]}
    host.done("delete", identifier="idea", **proof)
    assert host.shown[-1].startswith("Move this note to the trash?")
    assert host.done("status")["notes"] == 0


def test_a_file_that_changes_while_the_person_thinks_stays_pending(
    host: Host, machine: Machine
) -> None:
    arguments = proposed(host, "idea")
    (path,) = machine.files()
    edited = machine.files()[path].replace(b"\nidea\n", b"\nanother text\n")
    host.meanwhile = lambda: machine.put(path, edited)
    assert host.call("inbox_promote", **arguments).code == "checksum_mismatch"
    assert machine.files() == {path: edited}
    assert host.done("inbox_list")["total"] == 1


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}], ids=["none", "url"])
def test_a_host_that_shows_no_forms_is_not_asked(
    machine: Machine, era: str, capabilities: Mapping[str, object]
) -> None:
    machine.configure({"approval": {"kinds": {"capability": "host"}}})
    with serving(machine, machine.folder / "work/widgets") as server:
        host = Host(server, era, capabilities)
        assert host.done("status")["host_confirmation"] == "proposal-protocol"
        note = host.done("inbox_promote", **proposed(host, "idea"))
        assert note["memory"]["approved_via"] == "relayed"
        refused = host.call("create", name="n", **PLAIN | {"kind": "capability"})
        assert refused.code == "approval_required"
        assert host.shown == []


def test_a_question_that_nobody_answers_is_no_approval(machine: Machine) -> None:
    """The host stays silent, the server's patience ends, and an answer after that is too late."""
    hurry = {"PYTHONPATH": str(Path(__file__).parent / "hurry")}
    with serving(machine, machine.folder / "work/widgets", hurry) as server:
        host = Host(server, "legacy", FORMS)
        arguments = proposed(host, "idea")
        before = machine.files()
        host.begin({"name": "memory_inbox_promote", "arguments": arguments})
        question = answer = server.message()
        while question.get("method") != "elicitation/create":
            question = server.message()
        while answer.get("id") != "call":
            answer = server.message()
        error = answer["result"]["structuredContent"]["error"]
        assert (error["code"], error["details"]["reason"]) == ("approval_required", "unanswered")
        host._send({"id": question["id"], **accepted(True)})
        assert host.done("inbox_list")["total"] == 1
        assert machine.files() == before


@pytest.mark.parametrize("host", ["modern"], indirect=True)
def test_a_question_that_is_never_answered_holds_nothing(host: Host, machine: Machine) -> None:
    """In the modern era nobody waits: the host just never calls again."""
    arguments = proposed(host, "idea")
    before = machine.files()
    asked = host.ask({"name": "memory_inbox_promote", "arguments": arguments})
    assert asked["resultType"] == "input_required"
    assert host.done("inbox_list")["total"] == 1
    assert machine.files() == before
    host.done("create", name="other", **PLAIN | {"body": "other"})
    assert host.server.close() == 0


@pytest.mark.parametrize("host", ["legacy"], indirect=True)
def test_a_call_that_the_host_gives_up_changes_nothing(host: Host, machine: Machine) -> None:
    """A host's own limit of time ends the call while the question still stands."""
    arguments = proposed(host, "idea")
    before = machine.files()
    host.begin({"name": "memory_inbox_promote", "arguments": arguments})
    question = host.server.message()
    while question.get("method") != "elicitation/create":
        question = host.server.message()
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": "call"}}
    host._send(cancelled)
    assert host.done("inbox_list")["total"] == 1
    host._send({"id": question["id"], **accepted(True)})  # too late
    assert host.done("inbox_list")["total"] == 1
    assert machine.files() == before


@pytest.mark.parametrize("host", ["modern"], indirect=True)
def test_an_answer_counts_only_with_its_own_question(host: Host, machine: Machine) -> None:
    arguments = proposed(host, "idea")
    other = proposed(host, "other")
    before = machine.files()
    promote = {"name": "memory_inbox_promote"}
    yes = {"inputResponses": {"approve": accepted(True)["result"]}}

    # An answer nobody asked for is no answer: the question is put.
    asked = host.ask({**promote, "arguments": arguments, **yes})
    assert asked["resultType"] == "input_required"
    state = {"requestState": asked["requestState"]}
    # Without an answer, or with one to something else, it is no approval.
    for answers in ({}, {"inputResponses": {"other": accepted(True)["result"]}}):
        result = host.ask({**promote, "arguments": arguments, **state, **answers})
        assert result["structuredContent"]["error"]["details"]["reason"] == "failed"
    # A state of our own making, or of another call, is refused before any tool runs.
    for forged in ("0" * 64, asked["requestState"][:-2] + "AA"):
        assert refused(host, {**promote, "arguments": arguments, **yes, "requestState": forged})
    assert refused(host, {**promote, "arguments": other, **yes, **state})
    assert machine.files() == before
    done = host.ask({**promote, "arguments": arguments, **yes, **state})
    assert done["structuredContent"]["memory"]["approved_via"] == "host"
    # And once it is done, the same yes does nothing more.
    again = host.ask({**promote, "arguments": arguments, **yes, **state})
    assert again["isError"]


def refused(host: Host, params: dict[str, Any]) -> bool:
    """Tell whether a call is answered with an error of the protocol."""
    with pytest.raises(AssertionError, match="Invalid or expired requestState"):
        host.ask(params)
    return True
