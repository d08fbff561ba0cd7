"""Who types the owner's commands, as far as that can be told."""

from __future__ import annotations

import sys

from keepm.config import shells
from keepm.errors import ApprovalRequired
from keepm.model.approval import Channel
from keepm.operations.vault import Caller


def caller() -> Caller:
    """Return the owner as the caller of this command, with whether a terminal is there.

    Raises:
        ApprovalRequired: a coding agent's host started this shell.
    """
    require_own_shell()
    terminal = "tty" if at_terminal() else "none"
    return Caller(surface="cli", channel=Channel.OWNER_CLI, terminal=terminal)


def require_own_shell() -> None:
    """Let a command pass that is for the owner alone.

    Raises:
        ApprovalRequired: a coding agent's host started this shell.
    """
    shell = shells.agent_shell()
    if shell is not None:
        raise ApprovalRequired(
            f"this shell was started by {shell.host} ({shell.variable} is set), so the owner "
            "can't be told from the agent",
            hint="Run it in a terminal that you opened yourself.",
            details={"host": shell.host, "variable": shell.variable},
        )


def deciding(*, as_owner: bool) -> Caller:
    """Return the owner as the one who decides on what may become memory.

    Raises:
        ApprovalRequired: as `caller`; or there is no terminal, and nothing says that it is the
            owner all the same.
    """
    owner = caller()
    if owner.terminal != "tty" and not as_owner:
        raise ApprovalRequired(
            "there is no terminal here, so nobody can be asked",
            hint="Decide on a terminal. A script of your own may say --as-owner; see docs/cli.md.",
        )
    return owner


def at_terminal() -> bool:
    """Tell whether a person can be asked."""
    return sys.stdin.isatty()
