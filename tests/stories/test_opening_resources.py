"""A host opens the Inbox's resources, over real stdio, in each era of the protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.operations.support import Machine
from tests.stories.server import HELLO, Server, serving

IDEA = {"description": "d", "kind": "reference", "body": "Text.", "proposal_reason": "r"}
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": HELLO["clientInfo"],
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_host_finds_lists_and_reads_what_waits(machine: Machine, era: str) -> None:
    meta: dict[str, Any] = MODERN if era == "modern" else {}

    def ask(server: Server, method: str, **params: Any) -> dict[str, Any]:
        return server.ask(method, {**params, **meta})

    with serving(machine, machine.folder / "work/widgets") as server:
        if era == "legacy":
            assert "resources" in server.initialize()["capabilities"]
        else:
            assert "resources" in ask(server, "server/discover")["capabilities"]
        arguments = {"name": "idea", **IDEA}
        made = ask(server, "tools/call", name="memory_propose", arguments=arguments)
        proposal = made["structuredContent"]["proposal"]["id"]

        (resource,) = ask(server, "resources/list")["resources"]
        (template,) = ask(server, "resources/templates/list")["resourceTemplates"]
        (listed,) = ask(server, "resources/read", uri=resource["uri"])["contents"]
        uri = template["uriTemplate"].format(identifier=proposal)
        (shown,) = ask(server, "resources/read", uri=uri)["contents"]

        assert [each["id"] for each in json.loads(listed["text"])["items"]] == [proposal]
        assert json.loads(shown["text"])["proposal"]["body"] == "Text."
        assert server.close() == 0
    assert b"".join(server.errors) == b""
