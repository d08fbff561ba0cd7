from __future__ import annotations

from dataclasses import replace

import pytest

from keepm import config
from keepm.errors import WrongState
from keepm.model import handoff
from keepm.model.handoff import Handoff, HandoffEdit, HandoffStatus

POLICY = config.load_policy()
HANDOFF = Handoff("id", "widgets", "Title", "Goal", "State", completed=("a",), next_steps=("b",))


def fields(candidate: Handoff) -> list[str]:
    return [problem.field for problem in handoff.problems(candidate, POLICY)]


def test_what_is_absent_from_an_edit_stays_and_an_empty_list_clears() -> None:
    assert handoff.apply(HANDOFF, HandoffEdit()) == HANDOFF
    changed = handoff.apply(HANDOFF, HandoffEdit(goal="New", completed=()))
    assert changed == replace(HANDOFF, goal="New", completed=())


def test_a_completed_handoff_is_closed() -> None:
    handoff.require_active(HANDOFF)
    with pytest.raises(WrongState):
        handoff.require_active(replace(HANDOFF, status=HandoffStatus.COMPLETED))


@pytest.mark.parametrize(
    ("field", "limit"), [("title", 120), ("goal", 2000), ("current_state", 2000)]
)
def test_texts_pass_at_their_limit_and_not_above(field: str, limit: int) -> None:
    at, above = ({field: "记" * n} for n in (limit, limit + 1))
    assert fields(replace(HANDOFF, **at)) == []  # type: ignore[arg-type]  # a text field
    assert fields(replace(HANDOFF, **above)) == [field]  # type: ignore[arg-type]
    assert fields(replace(HANDOFF, **{field: " "})) == [field]  # type: ignore[arg-type]


@pytest.mark.parametrize("field", handoff.LISTS)
def test_lists_pass_at_their_limits_and_not_above(field: str) -> None:
    twelve = ("x" * 800,) * 12
    assert fields(replace(HANDOFF, **{field: twelve})) == []  # type: ignore[arg-type]  # a list
    assert fields(replace(HANDOFF, **{field: (*twelve, "x")})) == [field]  # type: ignore[arg-type]
    assert fields(replace(HANDOFF, **{field: ("x" * 801,)})) == [f"{field}[0]"]  # type: ignore[arg-type]
    assert fields(replace(HANDOFF, **{field: (" ",)})) == [f"{field}[0]"]  # type: ignore[arg-type]


def test_a_title_is_one_line_and_no_text_holds_control_characters() -> None:
    assert fields(replace(HANDOFF, title="a\nb")) == ["title"]
    assert fields(replace(HANDOFF, goal="a\nb")) == []
    assert fields(replace(HANDOFF, next_steps=("a\x00",))) == ["next_steps[0]"]
