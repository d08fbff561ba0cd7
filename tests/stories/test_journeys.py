"""Whole journeys over real stdio: the gate, two projects on one root, Chinese names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from keepm import config

config.isolate_sdk()

from fastmcp import Client  # noqa: E402 - the SDK reads its settings when it is imported
from fastmcp.client.transports import StdioTransport  # noqa: E402

from keepm.operations import projects  # noqa: E402
from keepm.store import transaction  # noqa: E402
from keepm.store.disk import OSDisk  # noqa: E402
from keepm.store.paths import VaultPaths  # noqa: E402
from tests.operations.support import CONTRACT, Machine  # noqa: E402
from tests.stories.server import environment, serving  # noqa: E402


def test_an_agent_remembers_through_the_gate(tmp_path: Path) -> None:
    """The demo's steps by the SDK's own client, in a vault with blanks and Chinese in its path
    and a project without git under a Chinese name (fault 19)."""
    folder = tmp_path / "我的 记忆 (a b)"
    folder.mkdir()
    machine = Machine(folder)
    project = folder / "work" / "我的项目"
    project.mkdir(parents=True)
    projects.bind(machine.settings(project), "我的项目")
    transaction.initialise(VaultPaths(machine.root), OSDisk())
    transport = StdioTransport(
        sys.executable,
        ["-m", "keepm", "serve", "--root", str(machine.root)],
        env=environment(machine, {}),
        cwd=str(project),
        keep_alive=False,
    )

    async def journey() -> None:
        async with Client(transport) as client:

            async def call(tool: str, **arguments: Any) -> dict[str, Any]:
                result = await client.call_tool(f"memory_{tool}", arguments, raise_on_error=False)
                return dict(result.structured_content or {})

            await steps(call)

    anyio.run(journey)
    here = "Memory/projects/我的项目/"
    assert {path for path in machine.files() if path.startswith(here)} == {f"{here}数据库端口.md"}
    assert not any(str(folder).encode() in data for data in machine.files().values())


def proof(answer: dict[str, Any], identifier: str) -> dict[str, str]:
    return {
        "identifier": identifier,
        "expected_checksum": answer["checksum"],
        "update_token": answer["update_token"],
    }


async def steps(call: Callable[..., Any]) -> None:
    suggestion = {"kind": "decision", "body": CONTRACT, "proposal_reason": "在日志中看到"}
    p1 = await call("propose", name="数据库端口", description="端口", **suggestion)
    other = {**suggestion, "body": f"{CONTRACT}\n\n用 pnpm。"}
    p2 = await call("propose", name="包管理器", description="pnpm?", **other)
    assert (p1["created"], p2["created"]) == (True, True)
    assert (await call("search", query="端口"))["items"] == []
    assert (await call("context"))["inbox_summary"]["pending"] == 2

    shown = await call("inbox_read", identifier="数据库端口")
    assert shown["checksum"] == p1["checksum"]
    note = await call("inbox_promote", **proof(shown, "数据库端口"))
    rejected = await call("inbox_reject", **proof(p2, "包管理器"), reason="不是")
    assert (note["memory"]["approved_via"], rejected["proposal"]["status"]) == (
        "relayed",
        "rejected",
    )

    (hit,) = (await call("search", query="端口"))["items"]
    assert hit["name"] == "数据库端口"
    read = await call("read", identifier="数据库端口")
    update = {**proof(read, "数据库端口"), "description": "PostgreSQL 的端口"}
    changed = await call("update", **update)
    assert changed["memory"]["description"] == "PostgreSQL 的端口"
    assert (await call("update", **update))["error"]["code"] == "checksum_mismatch"

    saved = await call("handoff_create", title="迁移", goal="完成迁移", current_state="一半")
    resumed = await call("handoff_read")
    assert resumed["handoff"]["goal"] == "完成迁移"
    done = await call("handoff_complete", **proof(resumed, "迁移"))
    assert (saved["handoff"]["id"], done["handoff"]["status"]) == (
        resumed["handoff"]["id"],
        "completed",
    )


def test_two_projects_on_one_root_never_see_each_other(tmp_path: Path) -> None:
    """Case 71, faults 1 to 3: each has its own memory, and both the global one."""
    machine = Machine(tmp_path)
    a, b = machine.project("a"), machine.project("b")
    (b / ".keepm.toml").write_text('project = "a"\n')
    (a / "pkg/x").mkdir(parents=True)
    with serving(machine, a / "pkg/x") as in_a, serving(machine, b) as in_b:
        in_a.initialize()
        in_b.initialize()
        plain = {"description": "d", "kind": "reference"}
        in_a.done("create", name="word-a", body="code word watermelon", **plain)
        in_b.done("create", name="word-b", body="code word harmonica", **plain)
        in_b.done("create", name="word-g", body="code word global", scope="global", **plain)
        in_a.done("handoff_create", title="t", goal="watermelon", current_state="s")
        in_a.done("propose", name="p", body="watermelon", proposal_reason="r", **plain)

        for server, own, other in (
            (in_a, "watermelon", "harmonica"),
            (in_b, "harmonica", "watermelon"),
        ):
            found = server.done("search", query="code word")
            assert found["total"] == 2
            told = found.whole + server.done("context", query="code word").whole
            told += server.done("catalog").whole + server.done("inbox_list").whole
            assert own in told
            assert other not in told
        assert in_b.call("read", identifier="word-a").code == "not_found"
        assert in_b.call("handoff_read").code == "not_found"
        assert in_b.done("inbox_list")["total"] == 0
        assert in_a.done("status")["project"] == "a"
        assert (in_a.close(), in_b.close()) == (0, 0)
