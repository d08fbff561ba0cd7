from __future__ import annotations

import random
from pathlib import Path

import pytest

from keepm.index import postings, ranking
from keepm.index.analysis import for_index
from keepm.index.database import Database
from keepm.index.hits import WEIGHTS
from keepm.index.search import Query, SearchResult, search
from keepm.index.writing import Batch, Entry, apply
from keepm.model.memory import GLOBAL, Kind, Scope, Visibility
from tests.index.building import GADGETS, WIDGETS, damaged, note
from tests.index.conftest import Fill

OWN = Visibility("widgets")
ALL = Visibility(None, everything=True)
WORDS = ("relay", "lease", "failover", "端口配置", "queue", "worker")


def some(count: int, *scopes: Scope) -> list[Entry]:
    rng = random.Random(7)
    return [
        note(
            f"{rng.choice(WORDS)}-{n}",
            " then ".join(rng.choices(WORDS, k=rng.randint(2, 30))),
            description=f"About the {rng.choice(WORDS)}.",
            tags=("lease",) if rng.random() < 0.2 else (),
            scope=rng.choice(scopes),
        )
        for n in range(count)
    ]


def shown(found: SearchResult) -> list[tuple[str, float]]:
    return [(hit.note.path, hit.score) for hit in found.hits]


@pytest.mark.parametrize("text", ["relay", "lease failover", "端口", "queue lease relay worker"])
def test_a_score_is_that_of_bm25_times_what_is_covered(filled: Fill, text: str) -> None:
    db = filled(*some(ranking.BLOCK, WIDGETS, GLOBAL, GADGETS))

    found = search(db, Query(text, ALL, limit=50)).hits

    match = " OR ".join(f'"{token}"' for token in for_index(text).split() if len(token) > 1)
    with db.reading() as connection:
        scores = dict(
            connection.execute(
                f"SELECT n.id, -bm25(terms, {', '.join(map(str, WEIGHTS))}) FROM terms"
                " JOIN notes AS n ON n.number = terms.rowid WHERE terms MATCH ?",
                (match,),
            )
        )
    expected = {hit.note.id: scores[hit.note.id] * (0.25 + hit.coverage) for hit in found}
    top = max(expected.values())
    assert len(found) == len(scores) > 2
    for hit in found:
        assert hit.score == pytest.approx(100 * expected[hit.note.id] / top, abs=0.2)


@pytest.mark.parametrize("text", ["relay", "relay lease", "lease queue worker 端口"])
def test_the_order_hangs_on_no_numbers_however_many_hold_the_words(
    tmp_path: Path, text: str
) -> None:
    """A rebuilt index counts its notes in another order than one that grew."""
    entries = some(6 * ranking.BLOCK, WIDGETS, GLOBAL)
    orders = []
    for n, each in enumerate((entries, entries[::-1])):
        db = Database.open(tmp_path / f"{n}.sqlite3", vault_id="vault")
        apply(db, Batch(tuple(each)))
        orders.append(shown(search(db, Query(text, OWN, limit=100))))
        db.close()

    assert len(orders[0]) > ranking.BLOCK
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    "text", ["relay", "lease failover", "端口", "queue worker", "fail", "lese"]
)
def test_another_project_s_notes_change_nothing(filled: Fill, text: str) -> None:
    """Neither the order nor a score: nobody learns from them which words another project has."""
    own = some(3 * ranking.BLOCK, WIDGETS, GLOBAL)
    db = filled(*own)
    before = search(db, Query(text, OWN, limit=100, explain=True))

    foreign = [note(f"g{n}", f"{text} " * 9, scope=GADGETS) for n in range(ranking.BLOCK)]
    apply(db, Batch(tuple(foreign)))

    assert search(db, Query(text, OWN, limit=100, explain=True)) == before
    assert search(db, Query(text, ALL, limit=1)).total >= len(foreign)


def test_pages_follow_one_another_over_blocks(filled: Fill) -> None:
    db = filled(*some(4 * ranking.BLOCK, WIDGETS, GLOBAL))

    whole = search(db, Query("relay lease", OWN, limit=100))

    pages = [
        each
        for offset in range(0, 100, 7)
        for each in shown(search(db, Query("relay lease", OWN, limit=7, offset=offset)))
    ]
    assert pages[:100] == shown(whole)
    scores = [score for _, score in shown(whole)]
    assert scores == sorted(scores, reverse=True)


def test_what_holds_all_words_is_among_the_first_however_many_hold_one(filled: Fill) -> None:
    rest = (note(f"relay-{n}", "The relay. " * 3, scope=WIDGETS) for n in range(300))
    wanted = note("other", "A relay and a lease.")
    db = filled(*rest, wanted, *(note(f"l{n}", "A lease.", scope=WIDGETS) for n in range(200)))

    found = search(db, Query("relay lease", OWN, limit=ranking.BLOCK))

    assert "other" in {hit.note.name for hit in found.hits}
    assert found.total == 501


def test_of_many_with_one_word_those_named_after_it_are_among_the_first(filled: Fill) -> None:
    rest = (note(f"a{n}", "The relay. " * 9, scope=WIDGETS) for n in range(300))
    db = filled(*rest, note("z-relay", "Some.", description="Of the relay.", scope=WIDGETS))

    found = search(db, Query("relay", OWN, limit=ranking.BLOCK))

    assert "z-relay" in {hit.note.name for hit in found.hits}


def test_what_is_written_is_found_by_words_that_were_looked_for_before(filled: Fill) -> None:
    db = filled(note("old", "A relay."), note("other", "A lease."))
    assert search(db, Query("relay lease", OWN)).total == 2

    apply(db, Batch((note("new", "A relay."),)))

    assert search(db, Query("relay", OWN)).total == 2


def test_lists_that_are_kept_change_no_answer(
    filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = filled(*some(4 * ranking.BLOCK, WIDGETS, GLOBAL))
    texts = ("relay", "lease relay", "worker", "relay queue", "relay")
    first = [shown(search(db, Query(text, OWN))) for text in texts]
    again = [shown(search(db, Query(text, OWN))) for text in texts]
    monkeypatch.setattr(postings, "_MOST_KEPT", 0)
    without = [shown(search(db, Query(text, OWN))) for text in texts]
    assert first == again == without


def test_a_note_without_a_kind_is_none_of_that_kind(filled: Fill) -> None:
    db = filled(damaged("broken", "relay"), note("sound", "relay", kind=Kind.FIX))

    found = search(db, Query("relay", Visibility(None), kind=Kind.FIX))

    assert [hit.note.name for hit in found.hits] == ["sound"]
    assert search(db, Query("relay", Visibility(None))).total == 2


@pytest.mark.parametrize("text", ["port", "端"])
def test_a_beginning_that_each_note_has_in_several_words_is_ranked(filled: Fill, text: str) -> None:
    """Such a note counts once for each of the words: together they are more than the notes."""
    words = "portable portal portfolio portrait 端口 端点 端正 端面"
    db = filled(*(note(f"n{n}", words) for n in range(3)))
    assert [hit.note.name for hit in search(db, Query(text, OWN)).hits] == ["n0", "n1", "n2"]


@pytest.mark.parametrize("count", [3, ranking._MOST_WORDS + 20])
def test_a_word_that_is_only_begun_finds_all_that_begin_so(filled: Fill, count: int) -> None:
    def word(n: int) -> str:
        return "zanz" + "".join("bcdfghjkmn"[int(digit)] for digit in str(n))

    db = filled(
        *(note(f"n{n}", f"A {word(n)} here.", scope=WIDGETS) for n in range(count)),
        note("other", "A zanzx elsewhere.", scope=GADGETS),
    )

    found = search(db, Query("a zanz", OWN, limit=100))

    assert found.total == count
    assert all("zanz" in hit.snippet for hit in found.hits)
