"""All tools of the server, in the order in which hosts list them, its prompt and resources."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP

from keepm.mcp import (
    care_tools,
    conflict_tools,
    diagnosis_tools,
    handoff_tools,
    inbox_resources,
    inbox_tools,
    memory_tools,
    prompts,
    retrieval_tools,
)
from keepm.mcp.session import Session


def furnish(server: FastMCP[Any], session: Session) -> None:
    """Put every tool, the prompt and the resources on the server."""
    retrieval_tools.register(server, session)
    memory_tools.register(server, session)
    conflict_tools.register(server, session)
    inbox_tools.register(server, session)
    handoff_tools.register(server, session)
    diagnosis_tools.register(server, session)
    care_tools.register(server, session)
    prompts.register(server, session)
    inbox_resources.register(server, session)
