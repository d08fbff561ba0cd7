"""What a host is to setup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from keepm.agents.merging import MarkdownBlock, Merge, Program, WholeText

POLICY_PATH = ".keepm/agent-policy.md"
"""Where a project holds the complete rules, readable without KeepM."""


class Role(StrEnum):
    """What one of our parts is for; a line of the report each."""

    REGISTRATION = "registration"
    POLICY = "policy"
    HOOKS = "hooks"


@dataclass(frozen=True, slots=True)
class Context:
    """What all parts are made of."""

    program: Program
    root: str
    block: str
    policy: str
    forwarded: tuple[str, ...] = ()  # variables that a strict host has to pass on by name
    hooks: bool = True

    @property
    def server_arguments(self) -> tuple[str, ...]:
        """Return how the server is started: the root by argument, the project by where it runs."""
        return ("serve", "--root", self.root)


@dataclass(frozen=True, slots=True)
class Part:
    """One of our parts: a file of the project, and the merge that puts it there.

    Where the file holds the line `imports[0]` and `imports[1]` is written too, this part is
    already in that other file, and twice would cost the model twice.
    """

    path: str
    role: Role
    merge: Merge
    imports: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """One host program.

    `registration` and `hooks` say why that isn't simply checked, where it isn't.
    """

    name: str
    title: str
    programs: tuple[str, ...]  # found on the search path: the host is here
    home_marks: tuple[str, ...]  # in the home folder: the host has been used here
    project_marks: tuple[str, ...]  # in the project: it is configured for the host
    parts: Callable[[Context], tuple[Part, ...]]
    next_steps: tuple[str, ...]
    registration_note: str | None = None  # why it is deferred
    has_hooks: bool = True


def policy_parts(context: Context, *files: str) -> tuple[Part, ...]:
    """Return the block for each instruction file, and the complete rules they point to."""
    blocks = tuple(
        Part(
            path,
            Role.POLICY,
            MarkdownBlock(context.block),
            imports=("@AGENTS.md", "AGENTS.md")
            if PurePosixPath(path).name == "CLAUDE.md"
            else None,
        )
        for path in files
    )
    return (*blocks, Part(POLICY_PATH, Role.POLICY, WholeText(context.policy)))
