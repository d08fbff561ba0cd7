"""Every state in which something waits for a person: who lists it, who reads it, the ways out.

The table is that of `docs/security.md`. Each state is walked on each face and through each exit;
afterwards nothing waits any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.support import CommandLine
from tests.mcp.client import Tools
from tests.mcp.test_inbox_resources import opened as resource
from tests.operations.support import Machine

DOCS = Path(__file__).resolve().parents[2] / "docs/security.md"
PENDING = "Memory/Inbox/pending/projects/widgets"
PLAIN = {"description": "d", "kind": "reference", "proposal_reason": "r"}
OUT_BY_REJECTING = ("memory_inbox_reject", "keepm review reject")
OUT = (*OUT_BY_REJECTING, "memory_inbox_promote", "keepm review approve")


@dataclass(frozen=True, slots=True)
class World:
    """One machine with an agent's server and the owner's commands."""

    machine: Machine
    agent: Tools
    keepm: CommandLine

    def propose(self, name: str = "idea", **fields: str) -> str:
        """Let the agent propose something; return the proposal's id."""
        given = {**PLAIN, "body": f"Text of {name}.", **fields}
        return str(self.agent.done("propose", name=name, **given)["proposal"]["id"])

    def put(self, name: str, front: str) -> None:
        """Leave a file in the Inbox by hand."""
        self.machine.put(f"{PENDING}/{name}.md", f"---\n{front}---\nText of {name}.\n")


def plain(world: World) -> str:
    return world.propose()


def overdue(world: World) -> str:
    world.machine.clock.forward(days=-31)
    proposal = world.propose()
    world.machine.clock.forward(days=31)
    return proposal


def correction(world: World) -> str:
    world.agent.done("create", name="idea", description="d", kind="reference", body="old")
    return world.propose(target_identifier="idea", target_action="update")


def correction_of_nothing(world: World) -> str:
    proposal = correction(world)
    world.agent.done("delete", **world.agent.proof("idea"))
    return proposal


def correction_of_an_archived_note(world: World) -> str:
    proposal = correction(world)
    world.agent.done("update", **world.agent.proof("idea"), status="archived")
    return proposal


def slot_taken(world: World) -> str:
    proposal = world.propose()
    world.agent.done("create", name="idea", description="d", kind="reference", body="mine")
    return proposal


def rejected_meanwhile(world: World) -> str:
    proposal = world.propose()
    given = {**PLAIN, "body": "Text of idea!", "allow_similar": True}
    world.agent.done("propose", name="twin", **given)
    assert world.keepm.run("review", "reject", "twin", "--yes")[0] == 0
    return proposal


def refused(world: World) -> str:
    front = "id: p-1\nname: idea\ndescription: d\nkind: preference\nproposal_reason: r\n"
    world.put("idea", front)
    return "p-1"


def unreadable(world: World) -> str:
    world.put("idea", "id: [\n")
    return "idea"


def without_an_id(world: World) -> str:
    world.put("idea", "name: idea\ndescription: d\nkind: reference\nproposal_reason: r\n")
    return "idea"


def copied(world: World) -> str:
    front = "id: p-1\nname: idea\ndescription: d\nkind: reference\nproposal_reason: r\n"
    world.put("idea", front)
    world.put("second", front)
    return f"{PENDING}/idea.md"


STATES: dict[str, tuple[Callable[[World], str], tuple[str, ...]]] = {
    "a proposal": (plain, OUT),
    "an overdue proposal": (overdue, OUT),
    "a correction of a note": (correction, OUT),
    "a correction of a note that is gone": (correction_of_nothing, OUT_BY_REJECTING),
    "a correction of a note that isn't active": (correction_of_an_archived_note, OUT_BY_REJECTING),
    "a proposal whose slot was taken": (slot_taken, OUT_BY_REJECTING),
    "a proposal whose claim was rejected": (rejected_meanwhile, OUT_BY_REJECTING),
    "a proposal that a rule refuses": (refused, OUT_BY_REJECTING),
    "a file that can't be read": (unreadable, OUT_BY_REJECTING),
    "a proposal without an id": (without_an_id, OUT_BY_REJECTING),
    "copies of one proposal": (copied, OUT),
}
WALKS = [(state, way) for state, (_, ways) in STATES.items() for way in OUT]


@pytest.fixture
def world(machine: Machine, agent: Tools, keepm: CommandLine) -> World:
    keepm.typing("")
    return World(machine, agent, keepm)


@pytest.mark.parametrize(("state", "way"), WALKS)
def test_what_waits_is_listed_read_and_has_its_ways_out(world: World, state: str, way: str) -> None:
    make, ways = STATES[state]
    handle = make(world)
    agent, keepm = world.agent, world.keepm

    # Listed on each face, and counted where only counts are told.
    path = agent.done("inbox_read", identifier=handle)["proposal"]["path"]
    listed = agent.done("inbox_list")["items"]
    total = 2 if make is copied else 1
    assert len(listed) == total
    assert resource(agent)["total"] == total
    assert keepm.json("review", "--list")["total"] == total
    assert agent.done("context")["inbox_summary"]["pending"] == total
    late = bool(listed[0].get("overdue"))
    assert late is (make is overdue)
    if late:  # the commands go by the real time, in which everything here is old some day
        assert keepm.json("review", "--list", "--overdue")["total"] == 1
    assert agent.done("inbox_list", review_overdue=True)["total"] == int(late)

    # Read on each face, whole.
    read = agent.done("inbox_read", identifier=handle)
    assert "Text of idea." in read["proposal"]["body"]
    keepm.typing("n\n")
    assert keepm.run("review", "reject", handle)[0] == 0
    assert "Text of idea." in keepm.said

    done = take(world, way, handle, agent.proof_of(read, handle))

    assert done is (way in ways)
    there = (world.machine.root / path).exists()
    assert there is not done
    assert agent.done("inbox_list")["total"] == total - int(done)
    assert keepm.json("review", "--list")["total"] == total - int(done)


def take(world: World, way: str, handle: str, proof: dict[str, str]) -> bool:
    """Go one way out; tell whether it was open."""
    agent, keepm = world.agent, world.keepm
    match way:
        case "memory_inbox_reject":
            return not agent.call("inbox_reject", **proof).is_error
        case "memory_inbox_promote":
            read = agent.done("inbox_read", identifier=handle)["proposal"]
            if read.get("target_id"):
                note = agent.call("read", identifier=read["target_id"])
                if note.is_error:
                    return False
                proof |= agent.proof_of(note, read["target_id"], prefix="target_")
            return not agent.call("inbox_promote", **proof).is_error
        case "keepm review reject" | "keepm review approve":
            return keepm.run(*way.split()[1:], handle, "--yes")[0] == 0
    raise AssertionError(way)


def test_a_note_on_an_agents_word_is_told_and_has_its_ways_out(world: World) -> None:
    """The one state that is no proposal: only a person can vouch for what an agent wrote."""
    agent, keepm = world.agent, world.keepm
    for name in ("kept", "dropped", "gone"):
        agent.done("create", name=name, description="d", kind="reference", body=f"Text of {name}.")
    assert agent.done("read", identifier="kept")["memory"]["approved_via"] == "relayed"
    assert keepm.json("review", "--relayed")["total"] == 3
    keepm.typing("n\n")
    assert keepm.run("review", "confirm", "kept")[0] == 0
    assert "Text of kept." in keepm.said

    assert keepm.run("review", "confirm", "kept", "--yes")[0] == 0
    agent.done("delete", **agent.proof("gone"))
    keepm.typing("r\ny\n")
    assert keepm.run("review", "--relayed")[0] == 0

    assert keepm.json("review", "--relayed")["total"] == 0
    assert agent.done("read", identifier="kept")["memory"]["approved_via"] == "owner-cli"
    assert [each["name"] for each in agent.done("catalog")["items"]] == ["kept"]


def test_the_table_in_the_docs_names_these_states_and_ways() -> None:
    section = DOCS.read_text("utf-8").partition("## What waits")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith("| ---")
    ][1:]
    told = {state: set(re.findall(r"`((?:memory_|keepm )[^`]+)`", ways)) for state, _, ways in rows}
    assert told.pop("a note on an agent's word alone")
    assert told == {state: set(ways) for state, (_, ways) in STATES.items()}


def test_five_that_wait_or_thirty_days_are_the_reminder(machine: Machine, world: World) -> None:
    """The thresholds as they come."""
    settings = machine.settings()
    assert (settings.inbox_reminder_count, settings.inbox_review_days) == (5, 30)
    for number, name in enumerate(("one", "two", "three", "four", "five"), 1):
        world.propose(name)
        told = world.agent.done("context")["inbox_summary"]
        assert (told["pending"], told["review_now"]) == (number, number >= 5)
    for name in ("one", "two"):
        read = world.agent.done("inbox_read", identifier=name)
        world.agent.done("inbox_reject", **world.agent.proof_of(read, name))
    for days, late in ((30, False), (0.001, True)):
        machine.clock.forward(days=days)
        told = world.agent.done("context")["inbox_summary"]
        assert (told["overdue"], told["review_now"]) == (3 if late else 0, late)
        listed = world.agent.done("inbox_list")["items"]
        assert [bool(each.get("overdue")) for each in listed] == [late] * 3
