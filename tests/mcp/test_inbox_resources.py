"""The Inbox as resources: data of this server's scope, and no stored text in what lists them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mcp_types
import pytest

from tests.mcp.client import Tools
from tests.operations.support import Machine

IDEA = {"description": "zzdescriptionzz", "kind": "reference", "proposal_reason": "zzreasonzz"}


def opened(tools: Tools, uri: str = "keepm://inbox") -> dict[str, Any]:
    async def read() -> str:
        (content,) = await tools.client.read_resource(uri)
        assert isinstance(content, mcp_types.TextResourceContents)
        assert content.mime_type == "application/json"
        return content.text

    told: dict[str, Any] = json.loads(tools.portal.call(read))
    return told


def proposed(tools: Tools, name: str, **fields: Any) -> str:
    made = tools.done("propose", name=name, **{**IDEA, "body": f"Text of {name}.", **fields})
    return str(made["proposal"]["id"])


def test_what_lists_the_resources_holds_no_stored_text(tools: Tools) -> None:
    proposed(tools, "zznamezz")
    listed = tools.portal.call(tools.client.list_resources)
    templates = tools.portal.call(tools.client.list_resource_templates)

    assert [str(each.uri) for each in listed] == ["keepm://inbox"]
    assert [each.uri_template for each in templates] == ["keepm://inbox/{identifier}"]
    told = "".join(each.model_dump_json() for each in (*listed, *templates))
    assert "zz" not in told and "no memory" in told


def test_the_list_names_what_waits_and_what_is_overdue(tools: Tools, machine: Machine) -> None:
    assert opened(tools)["items"] == []
    old = proposed(tools, "old")
    machine.clock.forward(days=31)
    new = proposed(tools, "new")

    told = opened(tools)

    assert "untrusted" in told["notice"]
    assert [(each["id"], each.get("overdue")) for each in told["items"]] == [
        (old, True),
        (new, None),
    ]
    assert (told["count"], told["total"], told["overdue"], told["review_now"]) == (2, 2, 1, True)


def test_a_proposal_is_shown_whole_and_entitles_to_nothing(tools: Tools) -> None:
    proposal = proposed(tools, "idea", body="The whole text.")

    told = opened(tools, f"keepm://inbox/{proposal}")

    assert told["proposal"]["body"] == "The whole text."
    assert len(told["checksum"]) == 64
    assert "update_token" not in told


def test_what_cannot_be_read_is_listed_and_shown_too(tools: Tools, machine: Machine) -> None:
    machine.put("Memory/Inbox/pending/global/odd.md", "---\nid: [\n---\nwords\n")
    (item,) = opened(tools)["items"]
    assert "words" in opened(tools, f"keepm://inbox/{item['id']}")["proposal"]["body"]


def test_a_decided_proposal_waits_no_more(tools: Tools) -> None:
    proposal = proposed(tools, "idea")
    read = tools.done("inbox_read", identifier=proposal)
    tools.done("inbox_reject", **tools.proof_of(read, proposal))
    assert opened(tools)["total"] == 0


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_another_projects_proposals_are_neither_listed_nor_opened(
    machine: Machine, connect: Callable[..., Tools], era: str
) -> None:
    gadgets = connect(machine.project("gadgets"), era)
    agent = connect(machine.folder / "work/widgets", era)
    outside = connect(None, era)
    foreign = proposed(gadgets, "zznamezz")
    everywhere = proposed(gadgets, "shared", scope="global")

    for stranger in (agent, outside):
        told = opened(stranger)
        assert [each["id"] for each in told["items"]] == [everywhere]
        refused = opened(stranger, f"keepm://inbox/{foreign}")
        assert refused["error"]["code"] == "not_found"
        assert "zz" not in json.dumps(refused)
        by_name = opened(stranger, "keepm://inbox/zznamezz")
        assert by_name == refused
    assert opened(gadgets)["total"] == 2
    assert opened(gadgets, f"keepm://inbox/{foreign}")["proposal"]["name"] == "zznamezz"
