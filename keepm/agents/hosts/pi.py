"""pi: `AGENTS.md`, and the shared `.mcp.json` that an adapter package reads.

pi has no MCP client of its own and no shell hooks; a bare "ok" would be untrue.
"""

from __future__ import annotations

from keepm.agents.hosts.host import Context, Host, Part, Role, policy_parts
from keepm.agents.merging import JsonServer


def _parts(context: Context) -> tuple[Part, ...]:
    server = JsonServer(context.program, context.server_arguments)
    return (
        Part(".mcp.json", Role.REGISTRATION, server),
        *policy_parts(context, "AGENTS.md"),
    )


HOST = Host(
    name="pi",
    title="pi",
    programs=("pi",),
    home_marks=(".pi",),
    project_marks=(".pi",),
    parts=_parts,
    next_steps=("pi: install the package pi-mcp-adapter, without which pi reads no .mcp.json.",),
    registration_note="written to .mcp.json, which pi reads only through the package "
    "pi-mcp-adapter",
    has_hooks=False,
)
