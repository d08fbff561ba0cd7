"""What a client learns from the list of tools: names, words, bounds, annotations, size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import mcp_types
import pytest

from keepm import config
from keepm.model.memory import Kind
from tests.mcp.client import Tools

READERS = frozenset(
    f"memory_{name}"
    for name in (
        "status",
        "context",
        "catalog",
        "search",
        "read",
        "links",
        "inbox_list",
        "inbox_read",
        "handoff_read",
    )
)
ADDERS = frozenset(("memory_create", "memory_propose", "memory_handoff_create"))
CHANGERS = frozenset(
    f"memory_{name}"
    for name in (
        "update",
        "delete",
        "inbox_update",
        "inbox_promote",
        "inbox_reject",
        "inbox_prune",
        "handoff_update",
        "handoff_complete",
    )
)
FURTHER = frozenset(f"memory_{name}" for name in ("resolve_conflict", "doctor", "repair", "sync"))
"""The tools beyond the twenty of the main job."""
POLICY = config.load_policy()


@pytest.fixture
def listed(agent: Tools) -> dict[str, mcp_types.Tool]:
    return {tool.name: tool for tool in agent.listed()}


def parameters(
    listed: dict[str, mcp_types.Tool],
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, tool in listed.items():
        for parameter, schema in tool.input_schema["properties"].items():
            yield name, parameter, schema


def test_the_twenty_tools_of_the_main_job_are_there(tools: Tools) -> None:
    """Case 52: no tool approves, edits an approved text or sets a status by another name."""
    names = {tool.name for tool in tools.listed()}
    assert names - FURTHER == READERS | ADDERS | CHANGERS
    for verb in ("approve", "edit-approved", "set-status"):
        assert not any(verb.replace("-", "_") in name for name in names)


def test_every_tool_is_described_and_annotated(listed: dict[str, mcp_types.Tool]) -> None:
    for name, tool in listed.items():
        assert tool.title
        assert tool.description
        hints = tool.annotations
        assert hints is not None
        assert hints.title == tool.title
        assert hints.open_world_hint is False
        if name in FURTHER:
            continue
        assert hints.read_only_hint is (name in READERS)
        assert hints.destructive_hint is (name in CHANGERS)
        assert hints.idempotent_hint is (name in READERS)


def test_every_parameter_is_described_and_none_may_be_null(
    listed: dict[str, mcp_types.Tool],
) -> None:
    """Fault 51: none of 178 parameters was described, and all were loose."""
    for _, parameter, schema in parameters(listed):
        assert schema.get("description"), parameter
        text = json.dumps(schema)
        assert "anyOf" not in text
        assert "null" not in text


def test_no_tool_takes_what_it_does_not_list(tools: Tools) -> None:
    """Said by the server's refusal and not in each tool's schema, which every agent pays for."""
    for tool in tools.listed():
        assert "additionalProperties" not in tool.input_schema
        answer = tools.raw(tool.name, {"workspace_path": "/elsewhere"})
        assert answer.is_error
        assert answer.problems["workspace_path"] == "invalid_input"


def test_every_parameter_is_bounded(listed: dict[str, mcp_types.Tool]) -> None:
    for tool, parameter, schema in parameters(listed):
        match schema["type"]:
            case "string":
                bounded = {"maxLength", "enum", "pattern"} & set(schema)
            case "integer":
                bounded = {"minimum"} & set(schema) and {"maximum"} & set(schema)
            case "array":
                items = schema["items"]
                bounded = {"maxItems"} & set(schema) and {"maxLength"} & set(items)
            case other:
                assert other == "boolean"
                bounded = {other}
        assert bounded, (tool, parameter)


def test_the_bounds_are_the_policys(listed: dict[str, mcp_types.Tool]) -> None:
    memory, proposal, handoff = POLICY.memory, POLICY.proposal, POLICY.handoff
    texts = {
        "name": memory.name_characters,
        "description": memory.description_characters,
        "body": memory.body_bytes,
        "proposal_reason": proposal.reason_characters,
        "reason": proposal.reason_characters,
        "source_ref": proposal.reference_characters,
        "title": handoff.title_characters,
        "goal": handoff.text_characters,
        "current_state": handoff.text_characters,
    }
    lists = {
        "tags": (memory.tags, memory.tag_characters),
        "aliases": (memory.aliases, memory.alias_characters),
        "sources": (memory.sources, memory.source_characters),
        **dict.fromkeys(
            ("completed", "unresolved", "next_steps", "verification"),
            (handoff.items, handoff.item_characters),
        ),
    }
    seen = set()
    for _, parameter, schema in parameters(listed):
        if parameter in texts:
            assert schema["maxLength"] == texts[parameter], parameter
            seen.add(parameter)
        elif parameter in lists:
            assert (schema["maxItems"], schema["items"]["maxLength"]) == lists[parameter]
            seen.add(parameter)
        elif parameter == "kind":
            assert sorted(schema["enum"]) == sorted(Kind) == sorted(POLICY.kinds)
    assert seen == set(texts) | set(lists)


def test_the_required_parameters_are_those_without_which_nothing_can_be_done(
    listed: dict[str, mcp_types.Tool],
) -> None:
    required = {name: set(tool.input_schema.get("required", ())) for name, tool in listed.items()}
    proof = {"identifier", "expected_checksum", "update_token"}
    claim = {"name", "description", "kind", "body"}
    assert required["memory_update"] == required["memory_delete"] == proof
    assert required["memory_inbox_promote"] == required["memory_inbox_reject"] == proof
    assert required["memory_handoff_update"] == proof - {"identifier"}
    assert required["memory_create"] == claim
    assert required["memory_propose"] == claim | {"proposal_reason"}
    assert required["memory_search"] == {"query"}
    assert required["memory_context"] == required["memory_status"] == set()


def test_the_list_is_small(listed: dict[str, mcp_types.Tool]) -> None:
    """Names, descriptions and input schemas, as compact JSON."""
    sizes = {
        name: len(
            json.dumps(
                {"name": name, "description": tool.description, "inputSchema": tool.input_schema},
                ensure_ascii=False,
                separators=(",", ":"),
            ).encode()
        )
        for name, tool in listed.items()
    }
    assert sum(sizes.values()) <= 21_000
    assert sum(size for name, size in sizes.items() if name not in FURTHER) <= 18_200


def test_the_server_says_who_it_is_and_how_it_is_used(tools: Tools) -> None:
    """Faults 51 and 52: no instructions, and the framework's version."""
    from keepm import __version__

    told, instructions = tools.client.server_info, tools.client.instructions
    assert told is not None
    assert (told.name, told.version) == ("keepm", __version__)
    assert instructions is not None
    for word in ("untrusted", "memory_propose", "update_token", "Proposal P1"):
        assert word in instructions


def test_instructions_and_descriptions_hold_no_note_text(tools: Tools) -> None:
    canary = dict.fromkeys(("name", "description", "body"), "canary-wren")
    tools.done("create", kind="reference", **canary)
    listed = "".join(tool.model_dump_json() for tool in tools.listed())
    assert "canary-wren" not in listed + (tools.client.instructions or "")
