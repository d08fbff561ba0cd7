"""Canaries in what is withheld, over every tool, prompt, resource and the session's digest.

Each matrix stands between two positive controls: before it is withheld and after it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import mcp_types
import pytest

from keepm.model.memory import Kind, Status
from keepm.operations import digest, edits, handoffs, inbox, memories, quarantining
from keepm.operations.inbox import Suggestion
from keepm.operations.quarantining import QuarantineRequest
from keepm.operations.vault import Caller, Vault, index_path, vault_id
from tests.mcp.client import Tools
from tests.mcp.test_scope import CANARIES, PLAIN, everything, leaked
from tests.operations.support import (
    AGENT,
    CONTRACT,
    HANDOFF,
    OWNER,
    Machine,
    Opening,
    claim,
    edit,
    look,
    written_proof,
)

BAD = replace(AGENT, client="bad", session="bad-session")
SHOWN = set(CANARIES) - {f"zz{word}zz" for word in ("decided", "done", "damaged", "huge", "folder")}
"""The canaries that this vault's documents hold."""


def poison(vault: Vault, caller: Caller) -> list[str]:
    """Write canaries into notes, a proposal and a handoff; return every handle of them."""
    note = claim(
        "zznamezz",
        description="zzdescriptionzz",
        kind=Kind.DECISION,
        body=f"zzbodyzz [[shared]]\n\n- zzrelationzz:: [[shared]]\n\n{CONTRACT}",
        tags=("zztagzz",),
        aliases=("zzaliaszz",),
        sources=("zzsourcezz.py",),
    )
    ids = [memories.create(vault, caller, note).document.content.id]
    ids.append(memories.create(vault, caller, claim("zzpinnedzz", pinned=True)).document.content.id)
    archived = memories.create(vault, caller, claim("zzarchivedzz"))
    memories.update(
        vault,
        caller,
        "zzarchivedzz",
        replace(edit(), status=Status.ARCHIVED),
        written_proof(archived),
    )
    made = inbox.propose(
        vault,
        caller,
        Suggestion(
            claim("zzproposalzz", body="zzproposalzz\n"), reason="zzreasonzz", source_ref="zzrefzz"
        ),
    )
    ids.append(made.document.content.id)
    task = replace(HANDOFF, title="zzhandoffzz", goal="zzgoalzz", next_steps=("zzstepzz",))
    ids.append(handoffs.create(vault, caller, task).document.content.id)
    return [
        *(f"zz{word}zz" for word in ("name", "alias", "pinned", "archived", "proposal", "handoff")),
        *ids,
        "Memory/projects/widgets/zznamezz.md",
    ]


def beside(tools: Tools, vault: Vault) -> Iterator[str]:
    """Yield what hosts are given without a tool's call: prompt, resources, a session's digest."""

    async def prompt() -> str:
        (message,) = (await tools.client.get_prompt("review")).messages
        assert isinstance(message.content, mcp_types.TextContent)
        return message.content.text

    async def resource() -> str:
        (content,) = await tools.client.read_resource("keepm://inbox")
        assert isinstance(content, mcp_types.TextResourceContents)
        return content.text

    yield tools.portal.call(prompt)
    yield tools.portal.call(resource)
    settings = vault.settings
    yield digest.digest(
        index_path(settings),
        vault_id(settings),
        project_id="widgets",
        language="en",
        introduction="",
    )


def told(tools: Tools, vault: Vault, handles: list[str]) -> str:
    """Return all that anybody is told who asks for the canaries and for everything."""
    answers = (answer.whole for _, _, answer in everything(tools, handles))
    history = (tools.call("read", identifier=each, history=True).whole for each in handles)
    return "".join([*answers, *history, *beside(tools, vault), tools.done("doctor").whole])


def check_hidden(tools: Tools, vault: Vault, handles: list[str]) -> None:
    """Nothing tells a canary, and what is asked for by handle isn't there."""
    for tool, arguments, answer in everything(tools, handles):
        assert not leaked(arguments, answer), (tool, arguments, answer.text)
        if arguments.get("identifier") in handles:
            assert answer.code == "not_found", (tool, arguments, answer.text)
            # The same words whether the handle is of something withheld or of nothing.
            nothing = tools.call(tool, **{**arguments, "identifier": "nothing"})
            assert nothing.text == answer.text
    for each in handles:
        answer = tools.call("read", identifier=each, history=True)
        assert answer.code == "not_found"
    for text in (*beside(tools, vault), tools.done("doctor").whole):
        assert not {word for word in CANARIES if word in text}, text


def check_shown(tools: Tools, vault: Vault, handles: list[str]) -> None:
    """The positive control: each canary is told to whoever asks."""
    look(vault)
    whole = told(tools, vault, handles)
    whole += tools.done("inbox_read", identifier="zzproposalzz").whole
    assert {word for word in SHOWN if word not in whole} == set()
    mine = tools.done("inbox_read", identifier="mine")  # what the matrix itself proposed
    tools.done("inbox_reject", **tools.proof_of(mine, "mine"))


def test_nothing_of_a_quarantined_origin_is_told_anywhere(
    agent: Tools, vault: Vault, machine: Machine
) -> None:
    """Notes, a proposal and a handoff of one origin, through every face of the server."""
    agent.done("create", name="shared", **PLAIN)
    handles = poison(vault, BAD)
    check_shown(agent, vault, handles)

    request = QuarantineRequest(client="bad")
    plan = quarantining.plan(vault, OWNER, request)
    done = quarantining.add(vault, OWNER, request, digest=plan.digest).event.transaction_id
    before = machine.files()
    check_hidden(agent, vault, handles)
    assert machine.files() == before

    state = agent.done("status")
    assert (state["notes"], state["pending_proposals"], state["withheld"]) == (1, 0, 5)
    assert state["health"] == {"state": "ok", "problems": 0}
    assert agent.done("context")["inbox_summary"]["pending"] == 0
    inbox_list = agent.done("inbox_list")
    assert (inbox_list["reason"], inbox_list["withheld"]) == ("withheld", 1)
    assert agent.done("links", identifier="shared")["total"] == 0
    empty = agent.done("search", query="zzbodyzz")
    assert (empty["reason"], empty["withheld"]) == ("withheld", 3)
    assert agent.done("catalog", source_path="zzsourcezz.py")["reason"] == "withheld"
    refused = agent.call("read", identifier="zznamezz")
    assert refused["error"]["details"] == {"reason": "withheld", "withheld": 3}
    (finding,) = [each for each in agent.done("doctor")["findings"] if each["code"] == "withheld"]
    assert "5 kept out of every read" in finding["reason"]

    lifting = quarantining.plan_lift(vault, OWNER, done)
    quarantining.lift(vault, OWNER, done, digest=lifting.digest)
    check_shown(agent, vault, handles)


@pytest.mark.parametrize("shelf", ["note", "proposal", "handoff"])
def test_nothing_of_an_unreviewed_edit_is_told_anywhere(
    machine: Machine, opened: Opening, connect: Callable[..., Tools], shelf: str
) -> None:
    """Canaries that somebody wrote into files by hand, where the owner wants to look first."""
    machine.configure({"approval": {"external_edits": "review"}})
    vault = opened(machine.folder / "work/widgets")
    tools = connect(machine.folder / "work/widgets")
    tools.done("create", name="shared", **PLAIN)
    if shelf == "note":
        memories.create(vault, AGENT, claim("plain"))
    elif shelf == "proposal":
        inbox.propose(vault, AGENT, Suggestion(claim("plain"), reason="because"))
    else:
        handoffs.create(vault, AGENT, replace(HANDOFF, title="plain", goal="plain"))
    look(vault)
    (path,) = [path for path in machine.files() if "plain" in path]
    text = machine.files()[path].decode()
    machine.clock.forward(seconds=1)
    machine.put(path, text.replace("plain", "zznamezz") + "\nzzbodyzz\n")
    handles = ["zznamezz", text.split("\nid: ")[1].split("\n")[0], path]
    look(vault)

    check_hidden(tools, vault, handles)

    edits.accept(vault, OWNER, edits.look(vault, path))
    assert "zznamezz" in told(tools, vault, handles)


def test_doctor_says_nothing_of_one_file_that_is_withheld(
    machine: Machine, opened: Opening, connect: Callable[..., Tools]
) -> None:
    """Not what is wrong in it, nor that a note which others correct is gone."""
    machine.configure({"approval": {"external_edits": "review"}})
    vault = opened(machine.folder / "work/widgets")
    tools = connect(machine.folder / "work/widgets")
    made = tools.done("create", name="shared", **PLAIN)["memory"]["id"]
    target = {"target_identifier": made, "target_action": "update"}
    tools.done("propose", name="shared", proposal_reason="r", **{**PLAIN, "body": "c"}, **target)
    look(vault)
    shared = "Memory/projects/widgets/shared.md"
    machine.put(shared, machine.files()[shared] + b"\nzzbodyzz\n")
    machine.put("Memory/projects/widgets/zzdamagedzz.md", "---\nname: [zzdamagedzz\n---\n")
    look(vault)

    found = tools.done("doctor")
    assert not {word for word in CANARIES if word in found.whole}
    codes = {each["code"] for each in found["findings"]}
    assert "withheld" in codes
    assert not codes & {"invalid_yaml", "pending_target_missing"}

    for path in (shared, "Memory/projects/widgets/zzdamagedzz.md"):
        edits.accept(vault, OWNER, edits.look(vault, path))
    found = tools.done("doctor")
    assert "zzdamagedzz" in found.whole
    assert "invalid_yaml" in {each["code"] for each in found["findings"]}


def test_a_link_to_what_is_withheld_leads_nowhere(agent: Tools, vault: Vault) -> None:
    memories.create(vault, BAD, claim("zznamezz"))
    agent.done("create", name="linking", **{**PLAIN, "body": "See [[zzna-me]] and [[zznamezz]]."})
    (_, link) = agent.done("links", identifier="linking")["items"]
    assert link["state"] == "resolved"
    request = QuarantineRequest(client="bad")
    plan = quarantining.plan(vault, OWNER, request)
    quarantining.add(vault, OWNER, request, digest=plan.digest)
    (_, link) = agent.done("links", identifier="linking")["items"]
    assert link["state"] == "unresolved"
    assert "id" not in link
