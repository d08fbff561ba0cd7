"""memory_read on a note's versions."""

from __future__ import annotations

from tests.mcp.client import Tools

NOTE = {
    "name": "build-command",
    "description": "How to build",
    "kind": "reference",
    "body": "make all\n",
}


def changed(agent: Tools) -> tuple[str, str]:
    first = agent.done("create", **NOTE)["checksum"]
    second = agent.done("update", **agent.proof("build-command"), body="ninja\n")["checksum"]
    return first, second


def test_history_lists_versions_without_their_text(agent: Tools) -> None:
    first, second = changed(agent)

    answer = agent.done("read", identifier="build-command", history=True)

    assert [each["digest"] for each in answer["versions"]] == [second, first]
    assert [each["operation"] for each in answer["versions"]] == ["update", "create"]
    assert answer["total_versions"] == 2
    assert answer["checksum"] == second
    assert "update_token" not in answer.data
    assert "body" not in answer["memory"]
    assert "make all" not in answer.whole
    assert first in answer.text


def test_a_version_is_read_and_entitles_to_nothing(agent: Tools) -> None:
    first, _ = changed(agent)

    answer = agent.done("read", identifier="build-command", version=first[:8])

    assert answer["memory"]["body"].strip() == "make all"
    assert answer["version"]["digest"] == first
    assert "update_token" not in answer.data
    assert agent.call(
        "update",
        identifier="build-command",
        expected_checksum=first,
        update_token="",
        body="make all\n",
    ).code in ("checksum_mismatch", "incomplete_read")


def test_versions_come_in_pages(agent: Tools) -> None:
    changed(agent)

    answer = agent.done("read", identifier="build-command", history=True, offset=1)

    assert [each["operation"] for each in answer["versions"]] == ["create"]
    assert answer["truncated"] is False


def test_a_version_that_does_not_exist_is_refused(agent: Tools) -> None:
    changed(agent)

    assert agent.call("read", identifier="build-command", version="0" * 64).code == "not_found"
    assert (
        agent.call("read", identifier="build-command", version="xyz").code == "invalid_identifier"
    )
