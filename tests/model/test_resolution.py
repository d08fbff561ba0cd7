"""What may supersede what, and that circles are found and never walked for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm import config
from keepm.errors import InvalidInput, WrongState
from keepm.model import resolution
from keepm.model.approval import Channel
from keepm.model.memory import Claim, Kind, Memory, Scope, Status
from keepm.model.resolution import LoserAction, Resolution

POLICY = config.load_policy()
IDS = [f"n{number}" for number in range(7)]
LINEAGES = st.dictionaries(
    st.sampled_from(IDS), st.lists(st.sampled_from(IDS), unique=True, max_size=4).map(tuple)
)


def note(note_id: str, **fields: object) -> Memory:
    return replace(Memory(note_id, Claim(note_id, "d", Kind.REFERENCE, "b")), **fields)  # type: ignore[arg-type]


def reach(lineage: Mapping[str, tuple[str, ...]], start: str) -> set[str]:
    """Return what a note leads to in one step or more: the plain definition."""
    seen: set[str] = set()
    edge = set(lineage.get(start, ()))
    while edge - seen:
        seen |= edge
        edge = {target for each in edge for target in lineage.get(each, ())}
    return seen


@given(LINEAGES)
def test_the_notes_in_circles_are_those_that_lead_back_to_themselves(
    lineage: dict[str, tuple[str, ...]],
) -> None:
    groups = resolution.loops(lineage)
    found = [each for group in groups for each in group]
    assert sorted(found) == [each for each in IDS if each in reach(lineage, each)]
    for group in groups:
        for each in group:
            assert set(group) <= reach(lineage, each)


@given(LINEAGES, st.sampled_from(IDS))
def test_from_a_start_only_what_it_leads_to_is_looked_at(
    lineage: dict[str, tuple[str, ...]], start: str
) -> None:
    near = reach(lineage, start) | {start}
    expected = tuple(group for group in resolution.loops(lineage) if set(group) <= near)
    assert resolution.loops(lineage, start=start) == expected


def test_a_chain_longer_than_the_stack_is_walked() -> None:
    chain = {str(number): (str(number + 1),) for number in range(20_000)}
    assert resolution.loops(chain) == ()
    assert len(resolution.loops({**chain, "20000": ("0",)})[0]) == 20_001


def test_a_winner_gains_the_losers_once_each() -> None:
    winner = resolution.succeed(note("a", supersedes=("b",)), ["c", "b"], {}, field="f")
    assert winner.supersedes == ("b", "c")


@pytest.mark.parametrize(
    ("lineage", "circle"),
    [
        ({"b": ("a",)}, ["a", "b"]),
        ({"b": ("c",), "c": ("d",), "d": ("a",)}, ["a", "b", "c", "d"]),
        ({"b": ("c",), "c": ("b",)}, ["b", "c"]),
        ({"b": ("b",)}, ["b"]),
    ],
    ids=["back", "far back", "a circle of others", "one that names itself"],
)
def test_a_circle_is_refused_by_name(
    lineage: Mapping[str, tuple[str, ...]], circle: list[str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        resolution.succeed(note("a"), ["b"], lineage, field="supersedes")
    assert refused.value.details["circle"] == circle
    assert refused.value.problems[0].field == "supersedes"


def test_two_active_notes_of_one_scope_are_rivals() -> None:
    resolution.require_rivals(note("a"), note("b"), field="f")


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.ARCHIVED])
def test_what_is_not_active_is_no_rival(status: Status) -> None:
    for winner, loser in (
        (note("a", status=status), note("b")),
        (note("a"), note("b", status=status)),
    ):
        with pytest.raises(WrongState):
            resolution.require_rivals(winner, loser, field="f")


def test_one_note_or_two_scopes_are_no_rivals() -> None:
    elsewhere = replace(note("b").claim, scope=Scope("widgets"))
    for loser in (note("a"), note("b", claim=elsewhere)):
        with pytest.raises(InvalidInput) as refused:
            resolution.require_rivals(note("a"), loser, field="loser_identifier")
        assert refused.value.problems[0].field == "loser_identifier"


def test_a_superseded_note_keeps_the_reason() -> None:
    old = note("b", resolution_reason="an older one")
    new = resolution.superseded(old, at="now", channel=Channel.HOST, reason="wrong port")
    assert (new.status, new.resolution_reason) == (Status.SUPERSEDED, "wrong port")
    assert (new.updated, new.approved_via) == ("now", Channel.HOST)
    kept = resolution.superseded(old, at="now", channel=Channel.HOST, reason=None)
    assert kept.resolution_reason == "an older one"


@pytest.mark.parametrize(
    ("reason", "accepted"),
    [("", False), ("x" * 600, True), ("x" * 601, False), ("a\0b", False)],
)
def test_a_reason_is_needed_within_its_limit(reason: str, accepted: bool) -> None:
    found = list(resolution.problems(Resolution(LoserAction.ARCHIVE, reason), POLICY))
    assert [problem.field for problem in found][:1] == ([] if accepted else ["resolution_reason"])
