"""Codex: `.codex/config.toml`, `AGENTS.md`, `.codex/hooks.json`."""

from __future__ import annotations

from keepm.agents.codextoml import TomlServer
from keepm.agents.hooks import JsonHooks
from keepm.agents.hosts.host import Context, Host, Part, Role, policy_parts

DOC_BYTES = 32768
"""How much Codex reads of all `AGENTS.md` from the top to its folder (`project_doc_max_bytes`)."""


def _parts(context: Context) -> tuple[Part, ...]:
    server = TomlServer(context.program, context.server_arguments, context.forwarded)
    parts = (
        Part(".codex/config.toml", Role.REGISTRATION, server),
        *policy_parts(context, "AGENTS.md"),
    )
    if not context.hooks:
        return parts
    hooks = JsonHooks(
        context.program, context.root, matcher="startup|resume|clear|compact", exec_form=False
    )
    return (*parts, Part(".codex/hooks.json", Role.HOOKS, hooks))


HOST = Host(
    name="codex",
    title="Codex",
    programs=("codex",),
    home_marks=(".codex",),
    project_marks=(".codex",),
    parts=_parts,
    next_steps=(
        "Codex: trust this project when it asks; then open /hooks once and trust the two hooks.",
    ),
)
