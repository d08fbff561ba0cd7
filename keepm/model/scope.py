"""Scope and the one predicate of what may be seen; light, for hooks and queries import it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a document belongs: one project, or global (no project id)."""

    project_id: str | None = None

    @property
    def label(self) -> str:
        """`global` or `project`, as the front matter writes it."""
        return "global" if self.project_id is None else "project"

    @property
    def key(self) -> str:
        """The project id, or the empty string for global: how the index stores a scope."""
        return self.project_id or ""

    @classmethod
    def from_key(cls, key: str) -> Scope:
        """The inverse of `key`."""
        return cls(key or None)


GLOBAL = Scope()


@dataclass(frozen=True, slots=True)
class Visibility:
    """The one scope predicate: what a face that serves this project may see.

    `everything` is the owner's view (`--all`); no MCP server has it.
    """

    project_id: str | None = None
    everything: bool = False

    def sees(self, scope: Scope) -> bool:
        """Tell whether a document of that scope is visible."""
        return self.everything or scope.project_id is None or scope.project_id == self.project_id
