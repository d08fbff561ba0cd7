"""What setup has to say at its end: one line for each thing, never a bare success."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a thing stands."""

    OK = "ok"
    FAILED = "failed"
    DEFERRED = "deferred"
    NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing, for one host or (without) for all."""

    what: str  # vault | registration | policy | hooks | ledger | index | elicitation
    state: State
    note: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was done and found."""

    rows: tuple[Row, ...]
    project_id: str
    project_dir: str
    root: str
    command: tuple[str, ...]
    written: tuple[str, ...]
    checked: tuple[str, ...]
    next_steps: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Tell whether anything doesn't work."""
        return any(row.state is State.FAILED for row in self.rows)
