"""What the ledgers' events rule is found again by what it is about, as long as it stands."""

from __future__ import annotations

import pytest

from keepm.index import rulings, writing
from keepm.index.database import Database
from keepm.index.rulings import LIFTED, UNDONE, RulingRow
from keepm.index.writing import Batch


def ruling(
    number: int,
    subject: str,
    *,
    sort: str = "rejected",
    at: str = "10",
    channel: str | None = "owner-cli",
) -> RulingRow:
    time = f"2026-11-29T{at}:00:00Z"
    return RulingRow(f"t{number}", number, time, sort, "", "x", subject, channel)


def test_a_ruling_is_found_by_its_sort_and_subject(db: Database) -> None:
    first, other = ruling(1, "a", at="11"), ruling(2, "b")
    elsewhere = ruling(3, "a", sort="accepted")
    writing.apply(db, Batch(rulings=(first, other, elsewhere)))

    assert rulings.about(db, "rejected", ["a", "c"]) == [first]
    assert rulings.about(db, "rejected", []) == []
    assert rulings.all_of(db, "rejected") == [other, first]
    assert rulings.has_any(db, "accepted")
    assert not rulings.has_any(db, "lifted")


def test_ledgers_read_anew_leave_no_ruling_that_they_no_longer_hold(db: Database) -> None:
    writing.apply(db, Batch(rulings=(ruling(1, "a"),)))

    writing.apply(db, Batch(rulings=(ruling(2, "b"),), anew=True))

    assert rulings.all_of(db, "rejected") == [ruling(2, "b")]


def test_one_event_rules_about_several_subjects(db: Database) -> None:
    both = (ruling(1, "a"), ruling(1, "b"))
    writing.apply(db, Batch(rulings=both))

    assert rulings.about(db, "rejected", ["a", "b"]) == list(both)


@pytest.mark.parametrize("sort", [UNDONE, LIFTED])
@pytest.mark.parametrize("channel", ["relayed", None])
def test_an_agent_s_word_takes_nothing_back(db: Database, sort: str, channel: str | None) -> None:
    taken = ruling(2, "t1", sort=sort, at="11", channel=channel)
    writing.apply(db, Batch(rulings=(ruling(1, "a"), taken)))

    assert rulings.all_of(db, "rejected") == [ruling(1, "a")]


def test_a_ruling_stands_until_it_is_taken_back_and_again_when_that_is(db: Database) -> None:
    first, other = ruling(1, "a"), ruling(2, "b")
    for sort in (UNDONE, LIFTED):
        taken = ruling(3, "t1", sort=sort, at="11")
        writing.apply(db, Batch(rulings=(first, other, taken), anew=True))
        assert rulings.all_of(db, "rejected") == [other]
        assert rulings.about(db, "rejected", ["a"]) == []

        writing.apply(db, Batch(rulings=(ruling(4, "t3", sort=UNDONE, at="12"),)))
        assert rulings.all_of(db, "rejected") == [first, other]

        writing.apply(db, Batch(rulings=(ruling(5, "t4", sort=UNDONE, at="13"),)))
        assert rulings.all_of(db, "rejected") == [other]
