"""Who types the owner's commands, as far as that can be told."""

from __future__ import annotations

import sys

from keepm.config import Settings, shells
from keepm.errors import ApprovalRequired
from keepm.model import identity
from keepm.model.approval import Channel
from keepm.operations import projects, recognition
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


def require_own_view(settings: Settings, *, project_id: str | None, everything: bool) -> None:
    """Let a command see, or become, this folder's project; any other is for the owner alone.

    Raises:
        ApprovalRequired: a coding agent's host started this shell.
    """
    foreign = project_id is not None and project_id != projects.resolve(settings).project_id
    if everything or foreign:
        require_own_shell()


def require_own_project(settings: Settings, project_id: str) -> None:
    """Let a folder become a new project.

    To join it to one that is known, or to take it out of its own, is for the owner alone.

    Raises:
        ApprovalRequired: a coding agent's host started this shell.
    """
    own = projects.resolve(settings).project_id
    if project_id == own:
        return
    if own is not None:
        require_own_shell()
    known = (*recognition.ids(settings.projects), *projects.in_vault(settings.root))
    if identity.file_key(project_id) in {identity.file_key(each) for each in known}:
        require_own_shell()


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
