"""`keepm demo`: the whole idea on a throw-away vault, through a real server over stdio.

Each step is checked: a step that doesn't do what it says ends the demo with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepm import config
from keepm.agents import handshake
from keepm.agents.handshake import HandshakeFailed, Link
from keepm.cli import output
from keepm.config import Settings
from keepm.operations import projects
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.transaction import initialise

_PROJECT = "widgets"


class StepFailed(Exception):
    """A step of the demo did something else than it says."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo` to the commands."""
    parser = subparsers.add_parser(
        "demo",
        help="the whole idea in ten seconds, on a throw-away vault",
        description="Play a session on a throw-away vault through a real server process: "
        "propose, approve, reject, search, read, update, a refused stale update, a handoff. "
        "Shows each step and the Markdown it leaves.",
    )
    parser.add_argument(
        "--keep", metavar="DIR", help="make the vault in this new folder and keep it"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play the demo; 0 when every step did what it says."""
    scratch = Path(tempfile.mkdtemp(prefix="keepm-demo-"))
    root = Path(args.keep).expanduser().absolute() if args.keep else scratch / "vault"
    if args.keep and os.path.exists(root):
        output.say(f"keepm: {root} exists already; give a folder that doesn't")
        return output.USAGE
    try:
        return _play(root, scratch)
    except (StepFailed, HandshakeFailed) as failed:
        output.say(f"\nkeepm: the demo stopped: {failed}")
        return output.FINDINGS
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _play(root: Path, scratch: Path) -> int:
    project = scratch / _PROJECT
    project.mkdir()
    environ = handshake.host_environment(config.environment()) | {
        "KEEPM_CONFIG": str(scratch / "config.toml"),
        "KEEPM_DATA_DIR": str(scratch / "data"),
    }
    settings = config.load({"root": str(root), "project_dir": str(project)}, environ, scratch)
    initialise(VaultPaths(root), OSDisk())
    projects.bind(settings, _PROJECT)
    server = (sys.executable, "-m", "keepm", "serve", "--root", str(root))
    line = (*server, "--project-dir", str(project))
    with handshake.started(line, environ, cwd=project) as link:
        name, version = link.greet("keepm-demo")
        _print(f"A real server answers: {name} {version}, over stdio, on a throw-away vault.")
        _Demo(link, settings).play()
    return output.OK


@dataclass(slots=True)
class _Demo:
    """The steps in their order; each prints what it does and checks that it did."""

    link: Link
    settings: Settings
    _step: int = field(default=0)

    def play(self) -> None:
        """Play every step."""
        first = self._propose(
            "project-package-manager",
            kind="workflow",
            description="Which package manager this project uses and how to call it",
            body="How to apply: run `pnpm install --frozen-lockfile`, never `npm install`.",
            reason="The lock file is pnpm's, and the README says so",
        )
        second = self._propose(
            "user-editor",
            kind="preference",
            description="The editor the user likes",
            body="How to apply: open files in Vim.",
            reason="A .vimrc was mentioned once",
        )
        self._tell("Both wait in the Inbox. Search finds neither: what is inferred is no memory.")
        self._expect(self._search("pnpm")["total"] == 0, "a proposal showed up in search")
        self._approve(first)
        self._reject(second)
        self._find_and_read()
        self._update()
        self._hand_over()
        self._tell("Every step is on record in a hash-chained ledger:")
        status = self._call("memory_status")
        head = status["ledger_head"]
        _print(f"    {head['sequence']} events, head {head['hash'][:16]}…")
        self._expect(head["sequence"] == 7, "the ledger doesn't have one event for each change")
        _print(
            "\nThat is all of it. `keepm setup` in a project's folder sets it up for your agents."
        )

    def _propose(self, name: str, *, reason: str, **claim: str) -> str:
        label = "P1" if self._step == 0 else "P2"
        self._tell(f"The agent infers something and proposes it, as {label}: {name}")
        made = self._call("memory_propose", name=name, proposal_reason=reason, **claim)
        self._expect(made["created"], "the proposal wasn't written")
        self._show(made["proposal"]["path"])
        return str(made["proposal"]["id"])

    def _approve(self, proposal: str) -> None:
        self._tell("The user says “approve P1”: it becomes formal memory, in one transaction.")
        read = self._call("memory_inbox_read", identifier=proposal)
        done = self._call("memory_inbox_promote", identifier=proposal, **_proof(read))
        self._expect(done["proposal"]["status"] == "promoted", "the proposal wasn't filed away")
        self._show(done["memory"]["path"])

    def _reject(self, proposal: str) -> None:
        self._tell("“Reject P2, that was a joke”: it is filed away with the reason.")
        read = self._call("memory_inbox_read", identifier=proposal)
        done = self._call(
            "memory_inbox_reject", identifier=proposal, **_proof(read), reason="That was a joke"
        )
        self._expect(done["proposal"]["status"] == "rejected", "the proposal wasn't rejected")
        waiting = self._call("memory_inbox_list")
        self._expect(waiting["total"] == 0, "something still waits in the Inbox")

    def _find_and_read(self) -> None:
        self._tell("Another session searches “how do I install packages” and reads the note.")
        found = self._search("how do I install packages")
        self._expect(
            [item["name"] for item in found["items"]] == ["project-package-manager"],
            "search didn't find just the approved note",
        )
        _print(f"    {found['items'][0]['name']}: {found['items'][0]['snippet']}")

    def _update(self) -> None:
        self._tell("An update brings the checksum and the one-time token of a complete read.")
        read = self._call("memory_read", identifier="project-package-manager")
        self._expect("pnpm" in read["memory"]["body"], "the note doesn't hold the proposed text")
        body = "How to apply: run `pnpm install --frozen-lockfile`, with pnpm 10 from corepack."
        updated = self._call(
            "memory_update", identifier=read["memory"]["id"], **_proof(read), body=body
        )
        self._show(updated["memory"]["path"])
        self._tell("A second update with the old read is refused: the newer text is kept.")
        refused = self._refused(
            "memory_update", identifier=read["memory"]["id"], **_proof(read), body="Use npm."
        )
        self._expect(refused["code"] == "checksum_mismatch", f"refused as {refused['code']}")
        _print(f"    {refused['code']}: {refused['message']}")
        again = self._call("memory_read", identifier="project-package-manager")
        self._expect(
            again["checksum"] == updated["checksum"], "the refused update changed the file"
        )

    def _hand_over(self) -> None:
        self._tell("Work stops unfinished: the agent saves a handoff, the next session resumes it.")
        self._call(
            "memory_handoff_create",
            title="Move the build to pnpm 10",
            goal="CI and local builds use the same pnpm",
            current_state="package.json pins pnpm 10; CI still installs 9",
            next_steps=["Change the setup step in CI", "Delete the old cache key"],
        )
        read = self._call("memory_handoff_read")
        self._expect(len(read["handoff"]["next_steps"]) == 2, "the handoff lost its next steps")
        self._show(read["handoff"]["path"])
        done = self._call("memory_handoff_complete", **_proof(read))
        self._expect(done["handoff"]["status"] == "completed", "the handoff wasn't completed")

    # ---- speaking and checking ------------------------------------------------------------

    def _search(self, query: str) -> dict[str, Any]:
        return self._call("memory_search", query=query)

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.link.call(tool, **arguments)
        content = result.get("structuredContent")
        if result.get("isError") or not isinstance(content, dict):
            raise StepFailed(f"{tool} failed: {_error(content)}")
        return content

    def _refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.link.call(tool, **arguments)
        content = result.get("structuredContent")
        if not result.get("isError") or not isinstance(content, dict):
            raise StepFailed(f"{tool} should have been refused")
        error: dict[str, Any] = content["error"]
        return error

    def _expect(self, held: bool, otherwise: str) -> None:
        if not held:
            raise StepFailed(otherwise)

    def _tell(self, words: str) -> None:
        self._step += 1
        _print(f"\n{self._step}. {words}")

    def _show(self, path: str) -> None:
        """Print a file of the vault as it is now."""
        text = (self.settings.root / path).read_text("utf-8")
        _print(f"    {path}")
        _print(textwrap.indent(text.rstrip("\n"), "    │ ", lambda _line: True))


def _proof(read: dict[str, Any]) -> dict[str, str]:
    return {"expected_checksum": read["checksum"], "update_token": read["update_token"]}


def _error(content: Any) -> str:
    error = content.get("error", {}) if isinstance(content, dict) else {}
    return f"{error.get('message', 'no answer')} [{error.get('code', '')}]"


def _print(text: str) -> None:
    sys.stdout.write(f"{output.shown(text)}\n")
    sys.stdout.flush()
