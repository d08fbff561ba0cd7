"""The hosts that setup knows, a file a host: which files are theirs and what we put into them."""

from __future__ import annotations

from keepm.agents.hosts import claude_code, codex, pi
from keepm.agents.hosts.host import Context, Host, Part, Role

ALL: tuple[Host, ...] = (claude_code.HOST, codex.HOST, pi.HOST)
DEFAULT: tuple[str, ...] = ("claude-code", "codex")
"""Registered when no host is found anywhere."""
NAMES: tuple[str, ...] = tuple(host.name for host in ALL)

__all__ = ["ALL", "DEFAULT", "NAMES", "Context", "Host", "Part", "Role"]
