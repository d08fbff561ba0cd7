"""What the ledgers' events rule is found again by what it is about."""

from __future__ import annotations

from keepm.index import rulings, writing
from keepm.index.database import Database
from keepm.index.rulings import RulingRow
from keepm.index.writing import Batch


def ruling(number: int, subject: str, *, sort: str = "rejected", at: str = "10") -> RulingRow:
    return RulingRow(f"t{number}", number, f"2026-11-29T{at}:00:00Z", sort, "", "x", subject, None)


def test_a_ruling_is_found_by_its_sort_and_subject(db: Database) -> None:
    first, other = ruling(1, "a", at="11"), ruling(2, "b")
    elsewhere = ruling(3, "a", sort="accepted")
    writing.apply(db, Batch(rulings=(first, other, elsewhere)))

    assert rulings.about(db, "rejected", ["a", "c"]) == [first]
    assert rulings.about(db, "rejected", []) == []
    assert rulings.all_of(db, "rejected") == [other, first]


def test_ledgers_read_anew_leave_no_ruling_that_they_no_longer_hold(db: Database) -> None:
    writing.apply(db, Batch(rulings=(ruling(1, "a"),)))

    writing.apply(db, Batch(rulings=(ruling(2, "b"),), anew=True))

    assert rulings.all_of(db, "rejected") == [ruling(2, "b")]
