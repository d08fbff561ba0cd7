"""A handoff: the state of an unfinished task, for the session that takes it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from keepm.config import Policy
from keepm.errors import Problem, WrongState
from keepm.model import limits, screening
from keepm.model.memory import Language


class HandoffStatus(StrEnum):
    ACTIVE = "active"
    COMPLETED = "completed"


LISTS = ("completed", "unresolved", "next_steps", "verification")


@dataclass(frozen=True, slots=True)
class Handoff:
    """One task's state. Handoffs belong to a project."""

    id: str
    project_id: str
    title: str
    goal: str
    current_state: str
    completed: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    language: Language = Language.EN
    status: HandoffStatus = HandoffStatus.ACTIVE
    created: str = ""
    updated: str = ""
    source_client: str = ""


@dataclass(frozen=True, slots=True)
class HandoffEdit:
    """A change of a handoff: `None` stays as it is, an empty list clears."""

    title: str | None = None
    goal: str | None = None
    current_state: str | None = None
    completed: tuple[str, ...] | None = None
    unresolved: tuple[str, ...] | None = None
    next_steps: tuple[str, ...] | None = None
    verification: tuple[str, ...] | None = None
    language: Language | None = None


def apply(handoff: Handoff, edit: HandoffEdit) -> Handoff:
    """Return the handoff with the edit's present fields."""
    present = {
        field: getattr(edit, field)
        for field in HandoffEdit.__dataclass_fields__
        if getattr(edit, field) is not None
    }
    return replace(handoff, **present)


def require_active(handoff: Handoff) -> None:
    """Let a step on an unfinished handoff pass.

    Raises:
        WrongState: it was completed already.
    """
    if handoff.status is not HandoffStatus.ACTIVE:
        raise WrongState(
            "this handoff was completed already",
            hint="Start a new one with memory_handoff_create.",
            details={"id": handoff.id},
        )


def problems(handoff: Handoff, policy: Policy) -> Iterator[Problem]:
    """Yield what is wrong with a handoff's fields (the file's size is checked when rendered)."""
    most, rules = policy.handoff, policy.screening
    for field in ("title", "goal", "current_state"):
        value = getattr(handoff, field)
        if not value.strip():
            yield Problem(field, "must not be empty")
        yield from screening.text(field, value, rules=rules, one_line=field == "title")
        limit = most.title_characters if field == "title" else most.text_characters
        yield from limits.characters(field, value, limit)
    for field in LISTS:
        values = getattr(handoff, field)
        yield from limits.items(field, values, count=most.items, each=most.item_characters)
        for number, value in enumerate(values):
            yield from screening.text(f"{field}[{number}]", value, rules=rules)
            if not value.strip():
                yield Problem(f"{field}[{number}]", "must not be empty")
