"""Files in the Inbox that are no proposals any more: shown raw over MCP, with a way out."""

from __future__ import annotations

from tests.mcp.client import Tools
from tests.operations.support import Machine

BROKEN = "---\nid: [\n---\nwords\n"
PENDING = "Memory/Inbox/pending/projects/widgets"


def test_a_damaged_file_is_read_whole_and_rejected_into_the_trash(
    tools: Tools, machine: Machine
) -> None:
    machine.put(f"{PENDING}/odd.md", BROKEN)
    (item,) = tools.done("inbox_list")["items"]
    cut = tools.done("inbox_read", identifier=item["id"], max_chars=3)
    assert "update_token" not in cut.data
    read = tools.done("inbox_read", identifier=item["id"])
    assert read["proposal"]["body"] == BROKEN
    assert "memory_inbox_reject" in read["next_step"]
    proof = tools.proof_of(read, item["id"])
    for tool, more in (("promote", {}), ("update", {"description": "d"})):
        assert tools.call(f"inbox_{tool}", **proof, **more).code == "malformed_document"

    done = tools.done("inbox_reject", **proof, reason="broken")

    assert done["proposal"]["path"].startswith("Memory/.trash/")
    assert "keepm restore" in done["next_step"]
    assert tools.done("inbox_list", status="all")["total"] == 0
    assert machine.files() == {done["proposal"]["path"]: BROKEN.encode()}
    assert tools.call("inbox_reject", **proof).code == "not_found"


def test_a_decided_file_is_beyond_the_reach_of_reject(tools: Tools, machine: Machine) -> None:
    machine.put("Memory/Inbox/archive/projects/widgets/odd.md", BROKEN)
    read = tools.done("inbox_read", identifier="odd")
    assert "update_token" not in read.data
    guessed = {"expected_checksum": read["checksum"], "update_token": "guessed"}
    assert tools.call("inbox_reject", identifier="odd", **guessed).is_error
    assert len(machine.files()) == 1


def test_copies_with_one_id_are_told_apart_by_path(tools: Tools, machine: Machine) -> None:
    """A person copied a file in the Inbox under a name of its own."""
    text = "---\nid: p-1\nname: idea\ndescription: d\nkind: reference\n---\nText.\n"
    paths = [f"{PENDING}/{name}.md" for name in ("idea", "another")]
    for path in paths:
        machine.put(path, text)
    answer = tools.call("inbox_read", identifier="p-1")
    assert answer.code == "ambiguous_identifier"
    assert "path" in answer["error"]["hint"]
    for each in paths:
        read = tools.done("inbox_read", identifier=each)
        tools.done("inbox_reject", **tools.proof_of(read, each))
    assert tools.done("inbox_list")["total"] == 0
