"""The leak matrix: what every surface of a server may tell of each sort of document, and no more.

A document of each sort has a canary in each field. Every tool, resource and prompt is asked with
everything that could bring it up: its canaries, its id, its name taken again, its text said again.
What was told is compared with the table: a leak fails, and so does a cell of the table that isn't
told any more, so that each is its own positive control. From another project nothing is told.

To add a sort, give it a maker and a row in `ROWS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mcp_types
import pytest

from keepm.operations import quarantining
from keepm.operations.quarantining import QuarantineRequest
from tests.mcp.client import Answer, Tools
from tests.operations.support import OWNER, Machine

Told = set[tuple[str, str]]
"""Which surface told which field."""
Maker = Callable[[Tools, Machine], list[str]]
"""Makes a document full of canaries and returns its ids."""

NOTE = ("name", "description", "body", "tag", "alias", "source")
IDEA = (*NOTE, "reason", "ref")
HANDOFF = ("title", "goal", "state", "item")
FIELDS = tuple(dict.fromkeys((*IDEA, *HANDOFF, "why")))
WRONG = {"expected_checksum": "0" * 64, "update_token": "guessed"}
PLAIN = {"description": "d", "kind": "reference"}


def word(field: str) -> str:
    return f"zz{field}zz"


CLAIM: Mapping[str, Any] = {
    "name": word("name"),
    "description": f"About {word('description')}",
    "kind": "reference",
    "body": f"Common words, and {word('body')}. See [[anchor]].\n\n- needs:: [[anchor]]\n",
    "tags": [word("tag")],
    "aliases": [word("alias")],
    "sources": [f"{word('source')}.py"],
}


# ---- makers --------------------------------------------------------------------------------------


def note(tools: Tools, _: Machine) -> list[str]:
    return [tools.done("create", **CLAIM)["memory"]["id"]]


def archived(tools: Tools, machine: Machine) -> list[str]:
    made = note(tools, machine)
    tools.done("update", **tools.proof(made[0]), status="archived")
    return made


def superseded(tools: Tools, machine: Machine) -> list[str]:
    made = note(tools, machine)
    body = {"name": "successor", **PLAIN, "body": "What holds now."}
    tools.done("create", **body, supersedes=made)
    return made


def deleted(tools: Tools, machine: Machine) -> list[str]:
    made = note(tools, machine)
    tools.done("delete", **tools.proof(made[0]))
    return made


def overwritten(tools: Tools, machine: Machine) -> list[str]:
    """A note whose present version says none of it; the name stays as its alias."""
    made = note(tools, machine)
    fields = {"name": "present", "description": "d", "body": "Present text."}
    cleared: dict[str, Any] = {"tags": [], "aliases": [], "sources": []}
    tools.done("update", **tools.proof(made[0]), **fields, **cleared)
    return made


def _proposed(tools: Tools, **more: str) -> Answer:
    told = {"proposal_reason": word("reason"), "source_ref": word("ref")}
    return tools.done("propose", **CLAIM, **told, **more)


def proposal(tools: Tools, _: Machine) -> list[str]:
    return [_proposed(tools)["proposal"]["id"]]


def correction(tools: Tools, _: Machine) -> list[str]:
    (anchor,) = (each for each in tools.done("catalog")["items"] if each["name"] == "anchor")
    made = _proposed(tools, target_identifier=anchor["id"], target_action="update")
    return [made["proposal"]["id"]]


def rejected(tools: Tools, _: Machine) -> list[str]:
    made = _proposed(tools)
    handle = made["proposal"]["id"]
    tools.done("inbox_reject", **tools.proof_of(made, handle), reason=word("why"))
    return [handle]


def pruned(tools: Tools, machine: Machine) -> list[str]:
    made = rejected(tools, machine)
    machine.clock.forward(seconds=1)
    plan = tools.done("inbox_prune", older_than_days=0)
    confirmed = {"dry_run": False, "confirm": True, "prune_token": plan["prune_token"]}
    tools.done("inbox_prune", older_than_days=0, **confirmed)
    return made


def quarantined(tools: Tools, machine: Machine) -> list[str]:
    machine.clock.forward(days=1)
    made = note(tools, machine)
    moment = machine.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    machine.clock.forward(days=1)
    vault = machine.open(machine.folder / "work" / tools.done("status")["project"])
    request = QuarantineRequest(since=moment, until=moment)
    plan = quarantining.plan(vault, OWNER, request)
    quarantining.add(vault, OWNER, request, digest=plan.digest)
    vault.close()
    return made


def handoff(tools: Tools, _: Machine) -> list[str]:
    made = tools.done(
        "handoff_create",
        title=word("title"),
        goal=word("goal"),
        current_state=word("state"),
        next_steps=[word("item")],
    )
    return [made["handoff"]["id"]]


def finished(tools: Tools, machine: Machine) -> list[str]:
    made = handoff(tools, machine)
    read = tools.done("handoff_read")
    tools.done("handoff_complete", **tools.proof_of(read, made[0]))
    return made


# ---- the table -----------------------------------------------------------------------------------

_LISTED = {"inbox_list": ("name", "description")}
ROWS: Mapping[str, tuple[Maker, Mapping[str, tuple[str, ...]]]] = {
    "note": (
        note,
        {
            "search": ("name", "description", "body"),
            "context": ("name", "description", "body"),
            "catalog": ("name", "description"),
            "links": ("name",),
            "read": NOTE,
            "create": ("name",),
            "propose": ("name",),
            "doctor": ("name",),
        },
    ),
    # A link is there whatever became of the note that holds it: its handle, and no more.
    "archived": (archived, {"read": NOTE, "links": ("name",)}),
    "superseded": (superseded, {"read": NOTE, "links": ("name",)}),
    "overwritten": (overwritten, {"read": ("name",)}),
    "deleted": (deleted, {}),
    "quarantined": (quarantined, {}),
    "proposal": (proposal, {**_LISTED, "inbox_read": IDEA, "propose": ("name",)}),
    "correction": (correction, {**_LISTED, "inbox_read": IDEA, "propose": ("name",)}),
    "rejected": (rejected, {**_LISTED, "inbox_read": (*IDEA, "why")}),
    "pruned": (pruned, {}),
    "handoff": (handoff, {"context": HANDOFF, "handoff_read": HANDOFF}),
    "finished": (finished, {"handoff_read": HANDOFF}),
}
"""What may be told of a document of this server's scope: by which surface, which fields."""


def expected(sort: str) -> Told:
    return {(surface, field) for surface, fields in ROWS[sort][1].items() for field in fields}


# ---- asking --------------------------------------------------------------------------------------


def questions(ids: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield calls with everything that could bring a document up."""
    words = [word(field) for field in FIELDS]
    yield "status", {}
    yield "context", {"max_chars": 100_000, "limit": 100}
    yield "catalog", {"max_chars": 100_000, "limit": 100}
    yield "catalog", {"source_path": f"{word('source')}.py"}
    yield "catalog", {"source_path": "."}
    yield "inbox_list", {"status": "all", "limit": 100}
    yield "inbox_list", {"review_overdue": True}
    yield "inbox_prune", {"older_than_days": 0}
    yield "handoff_read", {}
    yield "search", {"query": "common words", "limit": 100, "explain": True}
    yield "search", {"query": "common", "tags": [word("tag")]}
    yield "search", {"query": "about"}
    for each in ("anchor", "successor", "present"):
        yield "links", {"identifier": each}
        yield "links", {"identifier": each, "relation_type": "needs"}
        yield "read", {"identifier": each}
        yield "read", {"identifier": each, "history": True}
    for each in words:
        yield "search", {"query": each}
        yield "search", {"query": each[:-3] + "x"}  # a misspelling may be answered with a hint
        yield "context", {"query": each}
    for each in (*map(word, ("name", "alias", "title")), *ids):
        named = {"identifier": each}
        yield "read", named
        yield "read", {**named, "history": True}
        yield "links", named
        yield "inbox_read", named
        yield "handoff_read", named
        yield "update", {**named, **WRONG, "description": "x"}
        yield "delete", {**named, **WRONG}
        yield "inbox_update", {**named, **WRONG, "description": "x"}
        yield "inbox_promote", {**named, **WRONG}
        yield "inbox_reject", {**named, **WRONG}
        yield "handoff_update", {**named, **WRONG, "goal": "x"}
        yield "handoff_complete", {**named, **WRONG}
    for text in (
        {"name": word("name"), "body": "Other text."},
        {"name": word("alias"), "body": "Other text."},
        {"name": "other", "body": CLAIM["body"]},
        {"name": "other", "body": "Other text.", "aliases": [word("name")]},
    ):
        yield "create", {**PLAIN, **text}
        yield "propose", {**PLAIN, **text, "proposal_reason": "r"}


def answers(tools: Tools, ids: list[str]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Ask every surface; what a call makes is taken away again."""
    asked = set()
    for tool, arguments in questions(ids):
        asked.add(f"memory_{tool}")
        answer = tools.call(tool, **arguments)
        yield tool, arguments, answer.whole
        if tool == "create" and not answer.is_error:
            tools.done("delete", **tools.proof_of(answer, answer["memory"]["id"]))
        if tool == "propose" and not answer.is_error:
            proof = tools.proof_of(answer, answer["proposal"]["id"])
            handle = tools.done("inbox_reject", **proof)["proposal"]["id"]
            plan = tools.done("inbox_prune", older_than_days=0)
            if handle in plan.text and len(plan["candidates"]) == 1:
                token = {"dry_run": False, "confirm": True, "prune_token": plan["prune_token"]}
                tools.done("inbox_prune", older_than_days=0, **token)
    for listed in tools.listed():
        yield "tools/list", {}, listed.model_dump_json()
        if listed.name not in asked and not listed.input_schema.get("required"):
            yield listed.name.removeprefix("memory_"), {}, tools.raw(listed.name, {}).whole
    yield from _resources(tools, ids)


def _resources(tools: Tools, ids: list[str]) -> Iterator[tuple[str, dict[str, Any], str]]:
    async def ask() -> list[tuple[str, dict[str, Any], str]]:
        client = tools.client
        told: list[tuple[str, dict[str, Any], str]] = []
        listed = [*await client.list_resources(), *await client.list_resource_templates()]
        told += [("resources/list", {}, each.model_dump_json()) for each in listed]
        told += [("prompts/list", {}, p.model_dump_json()) for p in await client.list_prompts()]
        told.append(("prompt", {}, (await client.get_prompt("review")).model_dump_json()))
        for handle in ("", *ids, word("name")):
            uri = f"keepm://inbox/{handle}".removesuffix("/")
            (content,) = await client.read_resource(uri)
            assert isinstance(content, mcp_types.TextResourceContents)
            told.append(("inbox_read" if handle else "inbox_list", {"uri": uri}, content.text))
        return told

    yield from tools.portal.call(ask)


def told(tools: Tools, ids: list[str]) -> Told:
    """Return what was told that wasn't in the question."""
    return {
        (surface, field)
        for surface, arguments, answer in answers(tools, ids)
        for field in FIELDS
        if word(field) in answer and word(field) not in json.dumps(arguments)
    }


# ---- the matrix ----------------------------------------------------------------------------------


def anchored(tools: Tools) -> Tools:
    """Give a project a note that the canaries' links lead to."""
    tools.done("create", name="anchor", **PLAIN, body="Holds.")
    return tools


@pytest.mark.parametrize("sort", ROWS)
def test_of_its_own_documents_a_server_tells_what_the_table_says(
    agent: Tools, machine: Machine, sort: str
) -> None:
    ids = ROWS[sort][0](anchored(agent), machine)
    assert told(agent, ids) == expected(sort)


# One predicate tells both apart from the owner: without a project a few sorts do for it here.
@pytest.mark.parametrize(
    ("sort", "bound"),
    [pytest.param(sort, True, id=f"{sort}-another project") for sort in ROWS]
    + [
        pytest.param(
            sort,
            False,
            id=f"{sort}-no project",
            marks=() if number % 4 == 0 else pytest.mark.campaign,
        )
        for number, sort in enumerate(ROWS)
    ],
)
def test_of_another_projects_documents_nothing_is_told_or_counted(
    machine: Machine, connect: Callable[..., Tools], sort: str, bound: bool
) -> None:
    gadgets = anchored(connect(machine.project("gadgets")))
    stranger = connect(machine.folder / "work/widgets" if bound else None)
    stranger.done("create", name="anchor", scope="global", **PLAIN, body="Holds.")
    before = counted(stranger)

    ids = ROWS[sort][0](gadgets, machine)

    assert counted(stranger) == before
    assert told(stranger, ids) == set()


def counted(tools: Tools) -> list[Any]:
    """Return every figure and list that what others have could change."""
    # The first is of the whole machine; the others tell of the clock and of who looks just now.
    passing = ("ledger_head", "deep_scan_due", "last_checksum_scan", "index_state")
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        ("status", {}),
        ("context", {}),
        ("catalog", {}),
        ("search", {"query": "holds"}),
        ("search", {"query": word("body")}),
        ("links", {"identifier": "anchor"}),
        ("inbox_list", {"status": "all"}),
        ("inbox_prune", {"older_than_days": 0}),
    )
    found = [tools.done(tool, **arguments).data for tool, arguments in asked]
    del found[0]["filesystem"]["watch"]  # it begins beside the first answers
    return [{key: told[key] for key in told if key not in passing} for told in found]
