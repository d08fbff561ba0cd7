"""Proving a setup: the registered server is started and spoken to, the hooks are run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from keepm.agents import handshake, hooks, installing
from keepm.agents.handshake import HandshakeFailed, Spoken
from keepm.agents.hosts import Context, Host, Part, Role
from keepm.agents.installing import Plan
from keepm.agents.report import Row, State
from keepm.errors import KeepMError

_HOOK_SECONDS = 20


def check(
    hosts: Sequence[Host],
    plan: Plan,
    context: Context,
    *,
    top: Path,
    project_id: str,
    environ: Mapping[str, str],
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Return a row for each thing, and what was really done to know it.

    `environ` is what a host hands to a server.
    """
    line = context.program.line(*context.server_arguments)
    spoken: Spoken | None = None
    trouble = ""
    try:
        spoken = handshake.converse(line, environ, cwd=top)
        served = spoken.status.get("project")
        if served != project_id:
            trouble = f"the server serves {served or 'no project'} instead of {project_id}"
    except HandshakeFailed as error:
        trouble = str(error)
    checked = [f"started {' '.join(line)}: initialize, tools/list, tools/call memory_status"]
    hook_trouble = ""
    if context.hooks and any(host.has_hooks for host in hosts):
        hook_trouble = _hook_trouble(context, top, environ)
        checked.append("ran both hooks with a host's input")

    rows: list[Row] = []
    for host in hosts:
        parts = host.parts(context)
        rows.append(_registration(host, parts, plan, top, spoken=spoken, trouble=trouble))
        rows.append(_policy(host, parts, plan, top))
        rows.append(_hooks(host, parts, context, plan, top, trouble=hook_trouble))
    rows += _server_rows(spoken)
    rows.append(Row("elicitation", State.DEFERRED, "known when a host opens its first session"))
    return tuple(rows), tuple(checked)


def _registration(
    host: Host,
    parts: Sequence[Part],
    plan: Plan,
    top: Path,
    *,
    spoken: Spoken | None,
    trouble: str,
) -> Row:
    files, missing = _files(parts, Role.REGISTRATION, plan, top)
    if trouble or missing or spoken is None:
        return Row("registration", State.FAILED, trouble or f"{missing} is not there", host.name)
    if host.registration_note:
        return Row("registration", State.DEFERRED, host.registration_note, host.name)
    answer = f"answered as KeepM {spoken.version} with {len(spoken.tools)} tools"
    return Row("registration", State.OK, f"{files}; the server {answer}", host.name)


def _policy(host: Host, parts: Sequence[Part], plan: Plan, top: Path) -> Row:
    files, missing = _files(parts, Role.POLICY, plan, top)
    if missing:
        return Row("policy", State.FAILED, f"{missing} is not there", host.name)
    return Row("policy", State.OK, files, host.name)


def _hooks(
    host: Host, parts: Sequence[Part], context: Context, plan: Plan, top: Path, *, trouble: str
) -> Row:
    if not host.has_hooks:
        return Row("hooks", State.NOT_APPLICABLE, f"{host.title} has no shell hooks", host.name)
    if not context.hooks:
        return Row("hooks", State.NOT_APPLICABLE, "not wanted (--no-hooks)", host.name)
    files, missing = _files(parts, Role.HOOKS, plan, top)
    if trouble or missing:
        return Row("hooks", State.FAILED, trouble or f"{missing} is not there", host.name)
    return Row("hooks", State.OK, f"{files}; both ran", host.name)


def _files(parts: Sequence[Part], role: Role, plan: Plan, top: Path) -> tuple[str, str]:
    """Return the files of a role as the report shows them, and the first that isn't as planned."""
    expected = {change.path: change.after for change in plan.changes}
    shown = []
    for part in parts:
        if part.role is not role:
            continue
        if part.path in plan.elsewhere:
            shown.append(f"{part.path} (imports AGENTS.md)")
            continue
        path = plan.places[part.path]
        try:
            present = installing.read(top, path)
        except KeepMError:
            present = None
        if present is None or present != expected[path]:
            return "", part.path
        shown.append(part.path)
    return ", ".join(shown), ""


def _server_rows(spoken: Spoken | None) -> list[Row]:
    if spoken is None:
        return [
            Row(what, State.FAILED, "the server did not answer") for what in ("ledger", "index")
        ]
    head = spoken.status.get("ledger_head")
    sequence = head.get("sequence") if isinstance(head, dict) else None
    if isinstance(sequence, int):
        note = f"{sequence} events" if sequence else "empty, begins with the first change"
        ledger = Row("ledger", State.OK, note)
    else:
        ledger = Row("ledger", State.FAILED, "the server names no ledger head")
    state = str(spoken.status.get("index_state") or "")
    if not state:
        return [ledger, Row("index", State.FAILED, "the server names no state of its index")]
    return [ledger, Row("index", State.OK, state)]


def _hook_trouble(context: Context, top: Path, environ: Mapping[str, str]) -> str:
    """Run both hooks as a host does; return what is wrong, or nothing."""
    own = hooks.JsonHooks(context.program, context.root, matcher="", exec_form=True)
    for event, verb in hooks.EVENTS:
        given = {"hook_event_name": event, "cwd": str(top), "source": "startup"}
        try:
            done = subprocess.run(  # noqa: S603 - the very command that is registered
                own.line(verb),
                cwd=top,
                env=dict(environ),
                input=json.dumps(given).encode(),
                capture_output=True,
                timeout=_HOOK_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return f"the {event} hook doesn't run"
        if done.returncode or bool(done.stdout.strip()) is (event == "Stop"):
            return f"the {event} hook answers wrongly (exit code {done.returncode})"
    return ""
