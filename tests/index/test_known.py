"""A word that only hidden notes hold is as unknown as one that nobody wrote."""

from __future__ import annotations

import random

import pytest

from keepm.index import hints, mentions
from keepm.index.database import Database
from keepm.index.search import Query, search
from keepm.index.writing import Batch, Entry, apply
from keepm.model.document import Standing
from keepm.model.memory import Kind, Status, Visibility
from tests.index.building import WIDGETS, damaged, note
from tests.index.conftest import Fill

OWN = Visibility("widgets")
SHOWN = (
    note("invoices", "Payments are booked by the end of the day.", scope=WIDGETS),
    note("waiting", "A time-out ends the request.", scope=WIDGETS),
    note("broker", "Kafka keeps what was sent.", scope=WIDGETS),
    note("store", "存量数据库在此。", scope=WIDGETS),
    note("slot", "Something else.", scope=WIDGETS),
)


def told(db: Database, text: str) -> tuple[list[str], bool, tuple[str, ...]]:
    found = search(db, Query(text, OWN))
    return [hit.note.name for hit in found.hits], found.weak_match, found.did_you_mean


def hidden(text: str) -> list[Entry]:
    return [
        note("away", text, scope=WIDGETS, status=Status.ARCHIVED),
        note("away", text, scope=WIDGETS, status=Status.SUPERSEDED),
        note("slot", text),
        damaged("away", text, scope=WIDGETS, standing=Standing.WITHHELD),
    ]


@pytest.mark.parametrize("number", range(4), ids=["archived", "superseded", "shadowed", "withheld"])
@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("The pay.", "pay", ["invoices"]),
        ("The timeout.", "timeout", ["waiting"]),
        ("Kafak.", "kafak", []),
        ("数椐库。", "数椐库", []),
    ],
    ids=["beginning", "compound", "misspelt", "miswritten"],
)
def test_what_a_hidden_note_says_makes_no_word_known(
    filled: Fill, text: str, query: str, expected: list[str], number: int
) -> None:
    before = told(filled(*SHOWN), query)
    assert before[0] == expected
    assert expected or before[2]
    db = filled(hidden(text)[number])
    assert told(db, query) == before


def test_a_word_is_known_again_once_a_note_that_is_shown_holds_it(filled: Fill) -> None:
    db = filled(*SHOWN, *hidden("Kafak.")[:1])
    assert told(db, "kafak") == ([], False, ("kafka",))
    filled(note("odd", "Kafak it is.", scope=WIDGETS))
    assert told(db, "kafak")[0] == ["odd"]
    apply(db, Batch(removed=("Memory/projects/widgets/odd.md",)))
    assert told(db, "kafak") == ([], False, ("kafka",))


def test_a_filter_makes_no_word_unknown(filled: Fill) -> None:
    """What is known hangs on what may be seen, not on what is asked for."""
    db = filled(*SHOWN, note("fixed", "Kafak.", scope=WIDGETS, kind=Kind.FIX))
    assert search(db, Query("kafak", OWN, kind=Kind.REFERENCE)).did_you_mean == ()


def test_earlier_versions_of_a_note_make_its_words_no_commoner(filled: Fill) -> None:
    """Each note that was overtaken holds much the same words as the one that counts."""
    others = [note(f"other {n}", "A policy for something.", scope=WIDGETS) for n in range(6)]
    db = filled(note("logs", "Retention of logs.", scope=WIDGETS), *others)
    before = ranked(db, "retention policy")
    assert before[0][0] == "logs"
    filled(
        *(
            note(f"old {n}", "Retention of logs.", scope=WIDGETS, status=Status.SUPERSEDED)
            for n in range(12)
        )
    )
    assert ranked(db, "retention policy") == before


WORDS = ("cache", "retention", "time-out", "timeout", "kafka", "kafak", "ship", "release", "数据库")


@pytest.mark.parametrize("seed", range(30))
def test_hidden_notes_change_neither_what_is_found_nor_what_it_covers(
    filled: Fill, seed: int
) -> None:
    rng = random.Random(seed)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))

    def told() -> list[tuple[dict[str, float], bool, tuple[str, ...]]]:
        answers = [search(db, Query(query, OWN, limit=50)) for query in queries]
        return [
            ({hit.note.name: hit.coverage for hit in each.hits}, each.weak_match, each.did_you_mean)
            for each in answers
        ]

    names = [f"note {n}" for n in range(rng.randint(1, 20))]
    shown = [note(name, text(), scope=WIDGETS) for name in names]
    queries = [*WORDS, *(text() for _ in range(5)), "reten", "deploy build"]
    db = filled(*shown)
    before = told()
    away = [
        note(f"old {n}", text(), scope=WIDGETS, status=rng.choice([*Status][1:])) for n in range(40)
    ]
    filled(*away, *(note(name, text()) for name in names if rng.random() < 0.3))
    assert told() == before


def ranked(db: Database, text: str) -> list[tuple[str, float]]:
    found = search(db, Query(text, OWN))
    return [(hit.note.name, hit.coverage) for hit in found.hits]


def test_earlier_versions_of_notes_hide_no_conflict_and_no_mention(filled: Fill) -> None:
    pair = [
        note("redis eviction", "Evict the oldest.", scope=WIDGETS),
        note("eviction redis again", "Evict at random.", scope=WIDGETS),
        note("zookeeper", "Keeps the quorum.", scope=WIDGETS),
    ]
    db = filled(*pair, *(note(f"other {n}", "Something else.", scope=WIDGETS) for n in range(50)))

    def told() -> tuple[list[str], list[str]]:
        found = hints.around(db, [pair[0].file.path], OWN, limit=5)
        named = mentions.find(db, "Where is zookeeper now?", OWN, limit=5)
        return [hint.kind for hint in found], [row.name for row in named]

    before = told()
    assert before == (["topic"], ["zookeeper"])
    statuses = (Status.SUPERSEDED, Status.ARCHIVED)
    filled(
        *(
            note(f"redis eviction {n}", "zookeeper", scope=WIDGETS, status=statuses[n % 2])
            for n in range(30)
        )
    )
    assert told() == before
