from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.index import passages
from keepm.index.placing import Sought
from tests import strategies  # noqa: F401 (its profile: no deadlines)

FILLER = "Nothing of interest stands in this sentence. " * 20


def best(text: str, weights: dict[str, float], *, limit: int) -> str:
    return passages.best(text, weights, limit=limit, sought=Sought(weights.keys()))


def test_the_passage_with_most_of_the_query_is_taken() -> None:
    text = FILLER + "The port of the proxy is 9721. " + FILLER + "A port." + FILLER
    passage = best(text, {"port": 1.0, "proxi": 2.0, "9721": 3.0}, limit=300)
    assert "The port of the proxy is 9721." in passage
    assert passage.startswith("…")
    assert passage.endswith("…")
    assert len(passage) <= 300


def test_a_short_text_is_given_whole_in_one_line() -> None:
    assert best("## A\n\n- b\n- [[c]]\n", {"b": 1.0}, limit=300) == "## A - b - [[c]]"


def test_without_a_match_it_is_the_beginning() -> None:
    passage = best("First. " + FILLER, {"absent": 1.0}, limit=100)
    assert passage.startswith("First.")
    assert passage.endswith("…")


def test_a_passage_is_found_deep_in_a_text_without_blanks() -> None:
    text = "测试" * 400 + "数据库端口是九七二一" + "测试" * 400
    assert "数据库端口" in best(text, {"端口": 1.0, "据库": 1.0}, limit=300)


@pytest.mark.parametrize("limit", range(1, 60))
def test_a_cut_parts_no_character(limit: int) -> None:
    """Case 19."""
    family, flag, accent, thumb = "👩‍👩‍👧", "🇩🇪", "e\u0301", "👍🏽"
    text = f"{family}{flag}{accent}{thumb}한" * 12
    cut = passages.cut(text, limit)
    assert len(cut) <= limit
    assert cut.endswith("…")
    kept = cut[:-1]
    following = text[len(kept)]
    assert text.startswith(kept)
    assert unicodedata.category(following) not in ("Mn", "Me", "Mc")
    assert following != "\u200d"
    assert not kept.endswith("\u200d")
    assert not 0x1F3FB <= ord(following) <= 0x1F3FF
    flags = sum(0x1F1E6 <= ord(character) <= 0x1F1FF for character in kept)
    assert flags % 2 == 0


@given(st.text(max_size=400), st.integers(2, 120))
def test_a_passage_keeps_its_limit_and_says_when_something_is_left_out(
    text: str, limit: int
) -> None:
    passage = best(text, {"a": 1.0}, limit=limit)
    assert len(passage) <= limit
    assert "\n" not in passage
    whole = " ".join(text.split())
    assert passage == whole or "…" in passage or len(text) > limit
