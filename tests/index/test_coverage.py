from __future__ import annotations

import pytest

from keepm.index.search import Query, SearchResult, search
from keepm.model.memory import Visibility
from tests.index.building import note
from tests.index.conftest import Fill

OWN = Visibility("widgets")


def test_a_note_that_holds_the_whole_query_comes_before_a_shorter_one_with_a_part(
    filled: Fill,
) -> None:
    long = "Other words stand here at length. " * 8
    db = filled(
        note("long", "The relay keeps a lease after a failover. " + long),
        note("short", "Relay, lease."),
        *(note(f"n{n}", "Nothing of this at all. " * 8) for n in range(30)),
    )

    result = search(db, Query("relay lease failover", OWN))

    assert [hit.note.name for hit in result.hits] == ["long", "short"]
    assert result.hits[0].coverage > result.hits[1].coverage


def test_scores_fall_from_hit_to_hit_however_many_there_are(filled: Fill) -> None:
    db = filled(*(note(f"n{n:02}", "alpha " * (n + 1) + "beta " * (n % 3)) for n in range(45)))

    found = search(db, Query("alpha beta gamma", OWN, limit=50))

    scores = [hit.score for hit in found.hits]
    assert len(scores) == 45
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 100


def test_pages_beyond_the_notes_that_are_looked_at_closely_follow_without_gap_or_repeat(
    filled: Fill,
) -> None:
    db = filled(*(note(f"n{n:02}", "alpha " * (n + 1) + "beta " * (n % 3)) for n in range(45)))
    whole = names(search(db, Query("alpha beta", OWN, limit=50)))

    pages = [
        names(search(db, Query("alpha beta", OWN, limit=7, offset=o))) for o in range(0, 49, 7)
    ]

    assert [name for page in pages for name in page] == whole


def test_pairs_that_only_join_two_chinese_words_do_not_count_as_missing(filled: Fill) -> None:
    db = filled(
        note("退款", "生鲜退款要上传照片。"),
        *(note(f"n{n}", "别的内容，与此无关。") for n in range(20)),
    )

    found = search(db, Query("生鲜退款", OWN))

    assert found.hits[0].coverage == 1.0  # `鲜退` joins two words; here it stands as well
    apart = search(db, Query("退款生鲜", OWN))
    assert apart.hits[0].coverage == 1.0  # `款生` stands nowhere
    assert not apart.weak_match


@pytest.mark.parametrize("query", ["区块链溯源退款", "无人机航线生鲜"])
def test_chinese_words_that_no_note_holds_do_count_as_missing(filled: Fill, query: str) -> None:
    db = filled(
        note("退款", "生鲜退款要上传照片。"),
        *(note(f"n{n}", "别的内容，与此无关。") for n in range(20)),
    )

    assert search(db, Query(query, OWN)).weak_match


def names(result: SearchResult) -> list[str]:
    return [hit.note.name for hit in result.hits]
