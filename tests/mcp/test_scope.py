"""What a project may see: canaries of the others over every tool and every field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.mcp.client import Answer, Tools
from tests.operations.support import Machine

CANARIES = tuple(
    f"zz{word}zz"
    for word in (
        "name",
        "description",
        "body",
        "tag",
        "alias",
        "source",
        "pinned",
        "archived",
        "proposal",
        "reason",
        "ref",
        "decided",
        "handoff",
        "goal",
        "step",
        "done",
        "damaged",
        "huge",
        "folder",
        "relation",
    )
)
WRONG = {"expected_checksum": "0" * 64, "update_token": "guessed"}
PLAIN = {"description": "d", "kind": "reference", "body": "b"}


@pytest.fixture
def gadgets(machine: Machine, connect: Callable[..., Tools]) -> Tools:
    """A client of another project, whose memory is full of canaries."""
    tools = connect(machine.project("gadgets"))
    note = tools.done(
        "create",
        name="zznamezz",
        description="zzdescriptionzz",
        kind="reference",
        body="zzbodyzz\n\n- see:: [[shared]]\n- zzrelationzz:: [[shared]]\n",
        tags=["zztagzz"],
        aliases=["zzaliaszz"],
        sources=["zzsourcezz.py"],
    )
    tools.done("create", name="zzpinnedzz", pinned=True, **PLAIN)
    archived = tools.done("create", name="zzarchivedzz", **PLAIN)
    tools.done("update", **tools.proof_of(archived, "zzarchivedzz"), status="archived")
    tools.done(
        "propose",
        **{**PLAIN, "body": "zzproposalzz"},
        name="zzproposalzz",
        proposal_reason="zzreasonzz",
        source_ref="zzrefzz",
    )
    decided = tools.done("propose", name="zzdecidedzz", proposal_reason="zzreasonzz", **PLAIN)
    tools.done("inbox_reject", **tools.proof_of(decided, "zzdecidedzz"))
    done = tools.done("handoff_create", title="zzdonezz", goal="g", current_state="s")
    tools.done("handoff_complete", **tools.proof_of(done, "zzdonezz"))
    tools.done(
        "handoff_create",
        title="zzhandoffzz",
        goal="zzgoalzz",
        current_state="s",
        next_steps=["zzstepzz"],
    )
    machine.put(
        "Memory/projects/gadgets/zzfolderzz/zzdamagedzz.md", "---\nname: [zzdamagedzz\n---\n"
    )
    machine.put("Memory/projects/gadgets/zzhugezz.md", b"x" * 1_048_577)
    assert note["memory"]["scope"] == "project"
    return tools


def ids_of(gadgets: Tools) -> list[str]:
    """Return the ids of the other project's documents: a stranger may have overheard them."""
    inbox = gadgets.done("inbox_list", status="all")
    return [
        gadgets.done("read", identifier="zznamezz")["memory"]["id"],
        *(item["id"] for item in inbox["items"]),
        gadgets.done("handoff_read")["handoff"]["id"],
    ]


def everything(tools: Tools, handles: list[str]) -> Iterator[tuple[str, dict[str, Any], Answer]]:
    """Call every tool with everything that could bring a foreign document up."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("status", {}),
        ("context", {"max_chars": 100_000, "limit": 100}),
        ("catalog", {"max_chars": 100_000, "limit": 100}),
        ("inbox_list", {"status": "all", "limit": 100}),
        ("inbox_list", {"scope": "project"}),
        ("inbox_prune", {"older_than_days": 0}),
        ("handoff_read", {}),
        ("catalog", {"source_path": "zzsourcezz.py"}),
        ("catalog", {"source_path": "."}),
        ("links", {"identifier": "shared"}),
        ("links", {"identifier": "shared", "relation_type": "zzrelationzz"}),
        ("search", {"query": " ".join(CANARIES), "limit": 100}),
        ("search", {"query": "d b", "scope": "project"}),
        ("search", {"query": "d b", "tags": ["zztagzz"]}),
    ]
    for handle in handles:
        named = {"identifier": handle}
        calls += [
            ("read", named),
            ("links", named),
            ("update", {**named, **WRONG, "description": "x"}),
            ("delete", {**named, **WRONG}),
            ("inbox_read", named),
            ("inbox_update", {**named, **WRONG, "description": "x"}),
            ("inbox_promote", {**named, **WRONG}),
            ("inbox_reject", {**named, **WRONG}),
            ("handoff_read", named),
            ("handoff_update", {**named, **WRONG, "goal": "x"}),
            ("handoff_complete", {**named, **WRONG}),
            ("search", {"query": handle}),
            ("context", {"query": handle}),
            (
                "propose",
                {
                    **PLAIN,
                    "name": "mine",
                    "proposal_reason": "r",
                    "target_identifier": handle,
                    "target_action": "update",
                },
            ),
        ]
    for tool, arguments in calls:
        yield tool, arguments, tools.call(tool, **arguments)


def leaked(arguments: dict[str, Any], answer: Answer) -> set[str]:
    """Return the canaries of an answer that weren't in the question."""
    return {word for word in CANARIES if word in answer.whole and word not in str(arguments)}


@pytest.mark.parametrize("bound", [True, False], ids=["another project", "no project"])
def test_another_projects_memory_never_appears(
    machine: Machine, connect: Callable[..., Tools], gadgets: Tools, bound: bool
) -> None:
    """Faults 1 to 3 and 45: names, paths, texts, counts and findings of other projects."""
    gadgets.done("create", name="shared", scope="global", **PLAIN)
    stranger = connect(machine.folder / "work/widgets" if bound else None)
    ids = ids_of(gadgets)
    before = machine.files()
    named = ("name", "alias", "pinned", "archived", "proposal", "decided", "handoff", "damaged")
    handles = [
        *(f"zz{word}zz" for word in named),
        *ids,
        "Memory/projects/gadgets/zznamezz.md",
        "projects/gadgets/zznamezz",
    ]
    for tool, arguments, answer in everything(stranger, handles):
        assert not leaked(arguments, answer), (tool, arguments, answer.text)
        assert "gadgets" not in answer.whole or "gadgets" in str(arguments)
        if arguments.get("identifier") in handles:
            assert answer.code == "not_found", (tool, arguments, answer.text)
    assert machine.files() == before

    status = stranger.done("status")
    assert (status["notes"], status["pending_proposals"]) == (1, 0)
    assert status["health"] == {"state": "ok", "problems": 0}
    assert stranger.done("context")["inbox_summary"]["pending"] == 0
    assert stranger.done("links", identifier="shared")["total"] == 0
    # What the stranger can see is there.
    assert stranger.done("search", query="shared")["total"] == 1


def test_the_project_itself_sees_all_of_it(gadgets: Tools) -> None:
    """The positive control of the matrix: each canary is findable from where it belongs."""
    gadgets.done("create", name="shared", scope="global", **PLAIN)
    told = "".join(
        answer.whole for _, _, answer in everything(gadgets, ["zznamezz", "zzproposalzz"])
    )
    told += gadgets.done("inbox_read", identifier="zzproposalzz").whole
    told += gadgets.done("read", identifier="zzdamagedzz").whole
    told += gadgets.done("read", identifier="zzarchivedzz").whole
    told += gadgets.done("handoff_read", identifier="zzdonezz").whole
    missing = {word for word in CANARIES if word not in told}
    assert missing == {"zzhugezz"}  # never opened, only counted
    assert gadgets.done("status")["health"] == {"state": "degraded", "problems": 2}


def test_a_taken_slot_of_another_project_is_free_here(
    gadgets: Tools, machine: Machine, agent: Tools
) -> None:
    """What another project holds neither blocks a name here nor shows by an error."""
    for name in ("zznamezz", "zzaliaszz", "zzproposalzz"):
        made = agent.done("create", name=name, **PLAIN)
        assert made["memory"]["path"].startswith("Memory/projects/widgets/")
    agent.done("handoff_create", title="zzhandoffzz", goal="mine", current_state="s")
    assert gadgets.done("read", identifier="zznamezz")["memory"]["description"] == "zzdescriptionzz"
    assert gadgets.done("handoff_read")["handoff"]["goal"] == "zzgoalzz"
    assert len([path for path in machine.files() if "/widgets/" in path]) == 4


def test_a_link_never_resolves_into_another_project(gadgets: Tools, agent: Tools) -> None:
    agent.done("create", name="mine", description="d", kind="reference", body="[[zznamezz]]")
    (link,) = agent.done("links", identifier="mine")["items"]
    assert (link["state"], link.get("id")) == ("unresolved", None)
    gadgets.done("create", name="theirs", description="d", kind="reference", body="[[zznamezz]]")
    (link,) = gadgets.done("links", identifier="theirs")["items"]
    assert (link["state"], link["name"]) == ("resolved", "zznamezz")


def test_the_context_follows_no_relation_into_another_project(gadgets: Tools, agent: Tools) -> None:
    body = "Alpha.\n\n- depends_on:: [[zznamezz]]\n"
    agent.done("create", name="mine", description="d", kind="reference", body=body)
    gadgets.done("create", name="theirs", description="d", kind="reference", body=body)
    names = {item["name"] for item in agent.done("context", query="alpha")["items"]}
    assert names == {"mine"}


def test_without_a_project_only_global_memory_is_served(
    connect: Callable[..., Tools], agent: Tools
) -> None:
    agent.done("create", name="here", **PLAIN)
    agent.done("create", name="everywhere", scope="global", **PLAIN)
    outside = connect(None)
    assert [item["name"] for item in outside.done("catalog")["items"]] == ["everywhere"]
    assert "keepm setup" in outside.done("context")["setup"]
    assert outside.done("status").data.get("project") is None
    for tool, arguments in (
        ("create", {"name": "n", **PLAIN}),
        ("create", {"name": "n", **PLAIN, "scope": "project"}),
        ("propose", {"name": "n", **PLAIN, "proposal_reason": "r"}),
        ("update", {**outside.proof("everywhere"), "scope": "project"}),
        ("handoff_create", {"title": "t", "goal": "g", "current_state": "s"}),
    ):
        answer = outside.call(tool, **arguments)
        assert answer.code == "configuration_error", tool
        assert "keepm setup" in answer["error"]["hint"]
    outside.done("create", name="n", scope="global", **PLAIN)
    assert agent.done("read", identifier="n")["memory"]["scope"] == "global"


def test_a_projects_note_shadows_the_global_one_of_its_slot(
    agent: Tools, connect: Callable[..., Tools]
) -> None:
    agent.done("create", name="manager", scope="global", **{**PLAIN, "body": "use npm"})
    agent.done("create", name="manager", **{**PLAIN, "body": "use pnpm"})
    (hit,) = agent.done("search", query="manager")["items"]
    assert hit["scope"] == "project"
    assert [item["scope"] for item in agent.done("catalog")["items"]] == ["project"]
    (hit,) = connect(None).done("search", query="manager")["items"]
    assert hit["scope"] == "global"


def test_no_argument_chooses_another_project(agent: Tools, gadgets: Tools) -> None:
    """Fault 3: workspace_path let an agent read any other project."""
    assert gadgets.done("status")["project"] == "gadgets"
    for name in ("workspace_path", "project", "project_id", "root", "cwd"):
        for tool in ("status", "context", "search"):
            query = {"query": "x"} if tool == "search" else {}
            answer = agent.call(tool, **query, **{name: "gadgets"})
            assert answer.problems == {name: "invalid_input"}
    for scope in ("gadgets", "projects/gadgets", "all", "everything"):
        assert agent.call("search", query="x", scope=scope).code == "invalid_input"
