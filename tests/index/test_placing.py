from __future__ import annotations

import re
from collections.abc import Set
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.index import analysis, placing
from keepm.index.placing import Sought
from keepm.index.wordforms import irregular_forms
from tests import strategies  # noqa: F401 (its profile: no deadlines)

_ENDINGS = """
    s es ed er ers ing ly y ies ied ier e l ll al ally ance ence ancy ency ant ent able ably ability
    ible ibly ibility ate ated ator ation ational tional ic ical icity ism alism ist ive iveness
    ivity ize izer ization ise ised iser ising isation ising isable our ours oured ouring ourite
    ourable ful fulness less ment ments ness ous ously ousness eli bility icate ative
"""
ENDINGS = _ENDINGS.split()
RUN = "\u3005\u4e00-\u9fff\u30a1-\u30ff"
PIECE = re.compile(rf"[{RUN}]+|(?:[^\W{RUN}]|[._/\\+#@%=:&'’\-])+|[^\s\w]")
TEXTS = st.text(alphabet="aorRIizseblEL9_ ./\\+#@%=:&'’-,!(\"\n部署数据，。々カé™İ", max_size=80)


def slowly(text: str, wanted: Set[str]) -> list[tuple[int, str]]:
    """Take every piece apart, as the index does."""
    found: dict[tuple[int, str], None] = {}
    for piece in PIECE.finditer(text):
        step = 1 if analysis.is_run(piece[0]) else 0
        for n, term in enumerate(analysis.raw_terms(piece[0])):
            if term in wanted:
                found[piece.start() + n * step, term] = None
    return list(found)


def test_places_are_those_of_every_form_of_the_wanted_terms() -> None:
    sought = Sought({"run", "运行"})
    text = "It ran. Runs of `runLater`, not rune: 运行。"
    assert sought.places(text) == [(3, "run"), (8, "run"), (17, "run"), (38, "运行")]
    assert sought.places("A run.") == [(2, "run")]


@given(TEXTS, TEXTS, st.data())
def test_nothing_is_missed_that_taking_all_apart_finds(
    text: str, other: str, data: st.DataObject
) -> None:
    terms = [*analysis.for_index(text).split(), *analysis.for_index(other).split()]
    wanted = set(data.draw(st.lists(st.sampled_from(terms), max_size=4))) if terms else set()
    assert Sought(wanted).places(text) == slowly(text, wanted)


@pytest.mark.parametrize(
    "stem", ["favo", "organ", "col", "poss", "rel", "ski", "be", "stab", "flo"]
)
def test_a_word_is_found_by_the_stem_of_every_form(stem: str) -> None:
    words = [stem + one + two for one, two in product(("", *ENDINGS), ENDINGS)]
    missed = [w for w in words if not Sought({analysis.term_of(w)}).places(f"({w.capitalize()})")]
    assert missed == []


def test_irregular_forms_are_found_by_their_stem() -> None:
    missed = [w for w in irregular_forms() if not Sought({analysis.term_of(w)}).places(f"a {w}")]
    assert missed == []


def test_signs_that_are_passed_over_hold_no_term_and_join_nothing() -> None:
    for sign in placing.HARMLESS:
        assert analysis.raw_terms(sign) == (), sign
        assert slowly(f"ab{sign}cd", {"ab", "cd"}) == [(0, "ab"), (3, "cd")], sign
        assert Sought({"ab", "cd"}).places(f"ab{sign}cd") == [(0, "ab"), (3, "cd")], sign
