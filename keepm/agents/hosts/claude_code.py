"""Claude Code: `.mcp.json`, `CLAUDE.md`, `.claude/settings.json`."""

from __future__ import annotations

from keepm.agents.hooks import JsonHooks
from keepm.agents.hosts.host import Context, Host, Part, Role, policy_parts
from keepm.agents.merging import JsonServer


def _parts(context: Context) -> tuple[Part, ...]:
    server = JsonServer(context.program, context.server_arguments)
    parts = (
        Part(".mcp.json", Role.REGISTRATION, server),
        *policy_parts(context, "CLAUDE.md"),
    )
    if not context.hooks:
        return parts
    hooks = JsonHooks(
        context.program,
        context.root,
        matcher="startup|resume|clear|compact|fork",
        exec_form=True,
    )
    return (*parts, Part(".claude/settings.json", Role.HOOKS, hooks))


HOST = Host(
    name="claude-code",
    title="Claude Code",
    programs=("claude",),
    home_marks=(".claude", ".claude.json"),
    project_marks=(".claude", ".mcp.json", "CLAUDE.md"),
    parts=_parts,
    next_steps=(
        "Claude Code: start it in this project and approve the server `keepm` (see /mcp).",
    ),
)
