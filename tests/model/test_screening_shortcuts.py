"""The shortcuts of screening change no answer: what they pass over can't hold anything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepm import config
from keepm.config import Pattern
from keepm.model.screening import assignments, encoded, secrets
from keepm.model.screening.hit import Hit
from keepm.model.screening.runs import LEAST, runs
from tests import corpora
from tests.corpora import tokens

RULES = config.load_policy().screening
IN_RUNS = tuple(each for each in RULES.patterns if not each.anywhere)
KEYS = assignments._keys(RULES.assignment)
MARKS = tuple(mark for each in RULES.patterns for mark in each.marks)
LINES = tuple(
    line
    for group in ("secrets", "clean")
    for name in corpora.names(group)
    for line in corpora.lines(name)
)

fitting = st.sampled_from(RULES.patterns).flatmap(lambda each: st.from_regex(each.source))
pieces = st.one_of(
    st.sampled_from(MARKS),
    st.sampled_from(LINES),
    st.sampled_from([text for _, text in tokens.SHAPES]),
    st.from_regex(r"[A-Za-z0-9+/_\-]{20,90}", fullmatch=True),
    st.from_regex(KEYS.expression, fullmatch=True).map(lambda word: f"{word} = tr0ub4dor&3"),
    st.text(max_size=12),
    fitting,
)
joints = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\x1c", "\u3000", "、", "密", "٣", "é", "."])
texts = st.lists(st.tuples(joints, pieces), max_size=6).map(
    lambda parts: "".join(f"{joint}{piece}" for joint, piece in parts)
)


def by_marks_alone(text: str) -> list[Hit]:
    """Look for each pattern in the whole text, when the whole text holds one of its marks."""
    whole = [
        each for each in RULES.patterns if not each.marks or any(m in text for m in each.marks)
    ]
    found = list(secrets._to_look_for(text, RULES, text))
    assert [each for each in whole if each not in found and each.expression.search(text)] == []
    return list(secrets.hits(text, RULES, text))


@given(texts)
@settings(max_examples=400)
def test_looking_through_runs_first_finds_the_same(text: str) -> None:
    assert list(secrets.hits(text, RULES, runs(text))) == by_marks_alone(text)
    most = RULES.encoded_characters
    assert list(encoded.hits(text, most, runs(text))) == list(encoded.hits(text, most, text))


@pytest.mark.parametrize("text", [*LINES, *(text for _, text in tokens.SHAPES)])
def test_every_line_of_the_corpora_is_judged_the_same(text: str) -> None:
    for framed in (text, f"用{text}登录", f"see {text}."):
        assert list(secrets.hits(framed, RULES, runs(framed))) == by_marks_alone(framed)


@pytest.mark.parametrize("pattern", IN_RUNS, ids=lambda each: each.rule.name)
def test_a_shape_that_is_looked_for_in_runs_fits_within_one(pattern: Pattern) -> None:
    """Also one that is added later: else it has to be looked for `anywhere`."""

    @given(st.from_regex(pattern.source, fullmatch=True))
    @settings(max_examples=60)
    def fits(text: str) -> None:
        assert len(text) >= LEAST
        assert re.fullmatch(r"[!-~\d]+", text)
        assert not pattern.marks or any(mark in text for mark in pattern.marks)

    fits()


@given(st.from_regex(KEYS.expression, fullmatch=True))
def test_every_telling_word_holds_a_sign(word: str) -> None:
    signs = KEYS.ascii_signs if word.isascii() else KEYS.signs
    assert any(sign in word for sign in signs)


@given(texts, st.from_regex(KEYS.expression, fullmatch=True))
def test_a_text_without_a_sign_holds_no_telling_word(text: str, word: str) -> None:
    for each in (text, f"{text}{word}"):
        small = assignments._small(each)
        if KEYS.expression.search(small):
            assert any(sign in small for sign in KEYS.signs)
            assert not each.isascii() or any(sign in small for sign in KEYS.ascii_signs)


MARKED = tuple(each for each in RULES.patterns if each.marks)


@pytest.mark.parametrize("pattern", MARKED, ids=lambda each: each.rule.name)
def test_whatever_a_pattern_finds_holds_one_of_its_marks(pattern: Pattern) -> None:
    """Over any blank and line break, and in the three ways in which people write words."""

    @given(st.from_regex(pattern.source))
    @settings(max_examples=100)
    def holds(text: str) -> None:
        plain = text.replace("ſ", "s").replace("\u212a", "k")  # an S and a K where case is ignored
        for written in (plain.lower(), plain.upper(), plain.title()):
            if pattern.expression.search(written):
                assert any(mark in written for mark in pattern.marks)

    holds()
