"""What the ledgers name, and what people did that they don't: the tables behind history."""

from __future__ import annotations

import dataclasses

import pytest

from keepm.index import handmade, versions, writing
from keepm.index.database import Database
from keepm.index.handmade import HandEdit
from keepm.index.versions import VersionRow
from keepm.index.writing import Batch


def row(
    number: int, old: str | None, new: str | None, *, channel: str | None = "relayed"
) -> VersionRow:
    """Make the change of the event that came as the n-th."""
    return VersionRow(
        transaction_id=f"t{number}",
        position=0,
        sequence=number,
        time=f"2026-11-29T18:{number:02d}:00Z",
        operation="update",
        surface="mcp",
        channel=channel,
        client="tester",
        session="s",
        object_id="id",
        scope="widgets",
        old=old,
        new=new,
    )


def told(db: Database, *changes: tuple[str | None, str | None]) -> list[VersionRow]:
    rows = [row(number, *change) for number, change in enumerate(changes, start=1)]
    writing.apply(db, Batch(versions=tuple(rows)))
    return rows


def test_ancestry_walks_back_through_versions_that_came_back(db: Database) -> None:
    one, two, three, four = told(db, (None, "a"), ("a", "b"), ("b", "a"), ("a", "c"))

    assert versions.ancestry(db, "c") == [four, three, two, one]
    assert versions.ancestry(db, "a") == [three, two, one]
    assert versions.ancestry(db, "unknown") == []


def test_two_documents_that_began_alike_keep_their_own_ancestry(db: Database) -> None:
    one, two, three, four = told(
        db, (None, "empty"), ("empty", "x"), (None, "empty"), ("empty", "y")
    )

    assert versions.ancestry(db, "y") == [four, three]
    assert versions.ancestry(db, "x") == [two, one]


def test_moves_are_no_versions(db: Database) -> None:
    one, _, _ = told(db, (None, "a"), ("a", "a"), ("a", "a"))

    assert versions.ancestry(db, "a") == [one]


@pytest.mark.parametrize(
    ("changes", "begun", "stands"),
    [
        ([(None, "a")], "a", "a"),
        ([(None, "a"), ("a", "b"), ("b", "c")], "a", "c"),
        ([(None, "a"), ("a", "b"), ("b", "a")], "b", "a"),
        ([(None, "a"), ("a", "b"), ("b", "a")], "a", "a"),
        ([(None, "a"), ("a", None)], "a", None),
        ([(None, "a"), ("a", "a")], "a", "a"),
        ([], "a", "a"),
    ],
)
def test_what_stands_is_what_the_events_lead_to(
    changes: list[tuple[str | None, str | None]], begun: str, stands: str | None, db: Database
) -> None:
    told(db, *changes)

    assert versions.standing(db, begun) == stands


def test_the_last_channel_counts_and_a_move_approves_nothing(db: Database) -> None:
    rows = (
        row(1, None, "a", channel="relayed"),
        row(2, "b", "a", channel="host"),
        row(3, "a", "a", channel="owner-cli"),
        row(4, "c", "a", channel=None),
    )
    writing.apply(db, Batch(versions=rows))

    assert versions.channel_of(db, "a") == "host"
    assert versions.channel_of(db, "b") is None


def test_an_undo_gives_back_the_channel_too(db: Database) -> None:
    undo = dataclasses.replace(row(3, "b", "a", channel="owner-cli"), operation="undo")
    unseen = dataclasses.replace(row(5, "d", "c", channel="owner-cli"), operation="undo")
    writing.apply(db, Batch(versions=(row(1, None, "a"), row(2, "a", "b"), undo, unseen)))

    assert versions.channel_of(db, "a") == "relayed"
    assert versions.channel_of(db, "c") is None
    assert versions.channels(db) == {"a": "relayed", "b": "relayed"}


def test_telling_anew_forgets_what_was_told(db: Database) -> None:
    told(db, (None, "a"))
    mark = versions.Mark(7, 1, "abc")
    writing.apply(db, Batch(meta=versions.marked("w", mark)))
    assert versions.marks(db) == {"w": mark}

    writing.apply(db, Batch(versions=(row(2, None, "b"),), anew=True))

    assert versions.latest(db, "a") is None
    assert versions.latest(db, "b") == row(2, None, "b")
    assert versions.marks(db) == {}


def test_each_version_s_last_event_is_known(db: Database) -> None:
    told(db, (None, "a"), ("a", "b"))

    assert versions.last_named(db) == {"a": "2026-11-29T18:02:00Z", "b": "2026-11-29T18:02:00Z"}


def test_an_undo_says_nothing_about_a_version_s_scope(db: Database) -> None:
    undo = dataclasses.replace(row(2, "b", "a"), operation="undo", scope="gadgets")
    writing.apply(db, Batch(versions=(row(1, None, "a"), undo)))

    assert versions.scopes(db, "a") == {"widgets"}


def test_the_first_edit_of_a_path_is_noted_until_it_is_struck_out(db: Database) -> None:
    path = "Memory/global/a.md"
    writing.apply(db, Batch(edits=(HandEdit(path, "a"),)))
    writing.apply(db, Batch(edits=(HandEdit(path, "b"),)))
    assert handmade.pending(db) == [HandEdit(path, "a")]

    writing.apply(db, Batch(recorded=(path,)))
    assert handmade.pending(db) == []
