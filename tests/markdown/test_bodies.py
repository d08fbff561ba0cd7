from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.markdown import bodies


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n\n    code\n\nend\n\n", "    code\n\nend"),
        ("a\r\nb\rc\n", "a\nb\nc"),
        (" \n\t\n", ""),
        ("two  \n", "two  "),
    ],
)
def test_only_the_space_around_a_body_goes(text: str, expected: str) -> None:
    assert bodies.trimmed(text) == expected


@given(st.text())
def test_a_trimmed_body_stays_as_it_is(text: str) -> None:
    once = bodies.trimmed(text)
    assert bodies.trimmed(once) == once


def test_a_replaced_body_keeps_the_space_above_and_the_line_ending() -> None:
    assert bodies.replaced("\r\n\r\nold\r\n", "a\nb", whole="x\r\n") == "\r\n\r\na\r\nb\r\n"
    assert bodies.replaced("old", "new", whole="old") == "\nnew\n"
    assert bodies.replaced("\nold\n", " ", whole="\n") == ""
