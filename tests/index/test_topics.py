from __future__ import annotations

from collections.abc import Sequence

import pytest

from keepm.index import topics
from keepm.index.database import Database
from keepm.index.writing import Batch, Entry, apply
from keepm.model.memory import Visibility
from tests.index.building import GADGETS, WIDGETS, note
from tests.index.conftest import Fill

OWN = Visibility("widgets")


def rare(db: Database, entry: Entry) -> list[str]:
    with db.reading() as connection:
        (words,) = topics.Look(connection, [entry.file.path], OWN).rare_names.values()
    return words


def test_a_word_is_rare_until_many_notes_in_sight_have_it(filled: Fill) -> None:
    subject = note("lattice-relay", "Text.", description="The relay.")
    db = filled(subject, note("other", "Of a relay."))
    assert rare(db, subject) == ["lattic", "relai"]

    apply(db, Batch(tuple(note(f"g{n}", "A relay, a lattice.", scope=GADGETS) for n in range(9))))
    assert rare(db, subject) == ["lattic", "relai"]

    apply(db, Batch(tuple(note(f"w{n}", "A relay.", scope=WIDGETS) for n in range(9))))
    assert rare(db, subject) == ["lattic"]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_of_many_notes_the_first_by_name_are_met(
    filled: Fill, monkeypatch: pytest.MonkeyPatch, order: Sequence[int]
) -> None:
    monkeypatch.setattr(topics, "MOST_RIVALS", 2)
    names = ["b", "d", "a", "c"]
    subject = note("subject", "Text.")
    db = filled(subject, *(note(names[n], "Text.") for n in order))
    with db.reading() as connection:
        numbers = [number for (number,) in connection.execute("SELECT number FROM notes")]
        look = topics.Look(connection, [subject.file.path], OWN)

        look.meet([numbers, []])

        assert [each.name for each in look.among(numbers)] == ["a", "b"]
        assert look.among([]) == []
