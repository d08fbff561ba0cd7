"""What no retrieval tool brings back, in each state that a note, proposal or handoff can be in."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keepm.model.memory import Kind
from keepm.operations import memories, quarantining
from keepm.operations.quarantining import QuarantineRequest
from keepm.operations.vault import Vault
from tests.mcp.client import Answer, Tools
from tests.operations.support import AGENT, OWNER, Machine, claim

CASES = tomllib.loads(
    (Path(__file__).parent.parent / "cases/negative/cases.toml").read_text("utf-8")
)
NOTE, LINKER = CASES["note"], CASES["linker"]
CANARIES = ("zzdescriptionzz", "zzbodyzz", "zztagzz", "zzaliaszz", "zzsourcezz")
Start = Callable[..., Tools]


def quarantined(vault: Vault) -> str:
    """Let another client write the note, and withhold all that this client wrote."""
    other = replace(AGENT, client="bad", session="bad-session")
    note = claim(
        NOTE["name"],
        description=NOTE["description"],
        kind=Kind(NOTE["kind"]),
        body=NOTE["body"],
        tags=tuple(NOTE["tags"]),
        aliases=tuple(NOTE["aliases"]),
        sources=tuple(NOTE["sources"]),
    )
    made = memories.create(vault, other, note).document.content.id
    request = QuarantineRequest(client="bad")
    plan = quarantining.plan(vault, OWNER, request)
    quarantining.add(vault, OWNER, request, digest=plan.digest)
    return made


def change(state: str, own: Tools, other: Callable[[], Tools], vault: Vault) -> str:
    """Bring the note into a state; return its id."""
    match state:
        case "quarantined":
            return quarantined(vault)
        case "out-of-scope":
            return str(other().done("create", **NOTE)["memory"]["id"])
        case "pending" | "rejected":
            made = own.done("propose", **NOTE, proposal_reason="It came up.")
            if state == "rejected":
                own.done("inbox_reject", **own.proof_of(made, made["proposal"]["id"]))
            return str(made["proposal"]["id"])
        case "handoff":
            made = own.done(
                "handoff_create",
                title=NOTE["name"],
                goal=NOTE["description"],
                current_state=NOTE["body"],
                next_steps=[*NOTE["tags"], *NOTE["aliases"], *NOTE["sources"]],
            )
            return str(made["handoff"]["id"])
    made = own.done("create", **NOTE)
    note_id = str(made["memory"]["id"])
    match state:
        case "deleted":
            own.done("delete", **own.proof_of(made, note_id))
        case "archived":
            own.done("update", **own.proof_of(made, note_id), status="archived")
        case "superseded":
            plain = {"description": "Nobody decides", "kind": "reference", "body": "Gone."}
            own.done("create", name="no office", supersedes=[note_id], **plain)
        case _:
            assert state == "active"
    return note_id


def probes(tools: Tools) -> Iterator[tuple[str, Answer]]:
    """Ask every retrieval tool for the note, by everything that it holds."""
    for word in (*CANARIES, "harbour master", "channel 12"):
        yield "search", tools.done("search", query=word, explain=True)
        yield "context", tools.done("context", query=word, max_chars=20000)
    yield "typo", tools.done("search", query="zzbodyzzx")
    yield "tags", tools.done("search", query="office", tags=["zztagzz"])
    yield "briefing", tools.done("context", max_chars=20000)
    yield "catalog", tools.done("catalog", max_chars=20000)
    yield "source", tools.done("catalog", source_path="src/zzsourcezz.py")
    yield "linker", tools.done("search", query="harbour")
    yield "links", tools.done("links", identifier="harbour")


def told(answer: Answer) -> str:
    """Return all that was answered, but for the handoff that context is there to show."""
    handoff: Any = answer.data.get("handoff")
    if handoff is None:
        return answer.whole
    return json.dumps({**answer.data, "handoff": None}, ensure_ascii=False)


def renewed(machine: Machine, start: Start) -> Tools:
    """Delete the index and start another server."""
    for path in machine.index_files():
        path.unlink()
    return start(machine.folder / "work/widgets")


@pytest.mark.parametrize("state", CASES["states"])
def test_no_tool_brings_it_back_not_even_from_a_new_index(
    machine: Machine, connect: Start, vault: Vault, state: str
) -> None:
    own = connect(machine.folder / "work/widgets")
    own.done("create", **LINKER)
    hidden = change(state, own, lambda: connect(machine.project("gadgets")), vault)

    for tools in (own, renewed(machine, connect)):
        for kind, answer in probes(tools):
            whole = told(answer)
            assert not [word for word in CANARIES if word in whole], (kind, whole)
            if kind != "links" or not CASES["states"][state]["reachable"]:
                assert hidden not in whole, (kind, whole)
            assert "channel: 9 / 12" not in whole, kind


def test_every_tool_brings_the_active_note_back(
    machine: Machine, connect: Start, vault: Vault
) -> None:
    """The control of all cases: each probe can find what it is there to miss."""
    own = connect(machine.folder / "work/widgets")
    own.done("create", **LINKER)
    shown = change("active", own, lambda: own, vault)

    for tools in (own, renewed(machine, connect)):
        found = dict.fromkeys(kind for kind, answer in probes(tools) if shown in told(answer))
        assert {kind for kind, _ in probes(tools)} - found.keys() == {"typo"}
        assert tools.done("search", query="zzbodyzzx")["did_you_mean"] == ["zzbodyzz"]
        for kind in ("search", "context"):
            (hint,) = tools.done(kind, query="harbour")["conflict_hints"]
            assert hint["detail"] in ("channel: 9 / 12", "channel: 12 / 9")


def test_the_cases_are_those_that_memory_can_be_in() -> None:
    assert set(CASES["states"]) == {
        *("out-of-scope", "deleted", "archived", "superseded", "rejected", "pending", "handoff"),
        "quarantined",
    }
