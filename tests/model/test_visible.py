"""What nobody sees is written out; what a script or an emoji needs stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.model import visible
from keepm.model.visible import Unseen


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("a\rb", "a\\x0db"),
        ("\x00\x07\x7f\x9b", "\\x00\\x07\\x7f\\x9b"),
        ("x\u202etxt.exe", "x<U+202E>txt.exe"),
        ("a\u2066b\u2069", "a<U+2066>b<U+2069>"),
        ("\u200b\u200b\u200b", "<U+200B x3>"),
        ("\U000e0069\U000e0067", "<U+E0069><U+E0067>"),
        ("a\u2028b", "a<U+2028>b"),
        ("\ue000", "<U+E000>"),
        ("\ud800", "<U+D800>"),
        ("\u3164", "<U+3164>"),
        ("a\ufe0f", "a<U+FE0F>"),
        ("a\u200db", "a<U+200D>b"),
        ("a\tb", "a   b"),
    ],
)
def test_what_nobody_sees_is_written_out(stored: str, shown: str) -> None:
    assert visible.shown(stored) == shown


@pytest.mark.parametrize(
    "text",
    ["plain", "中文，标点。", "café", "❤️", "👩‍💻", "👍🏽", "می‌خواهم", "क्‍ष", "1️⃣", "הֲלוֹ", "한국어"],
)
def test_what_people_write_stays(text: str) -> None:
    assert visible.shown(text) == text
    assert visible.unseen(text) == []


def test_the_unseen_are_counted_with_the_line_of_the_first() -> None:
    found = visible.unseen("ok\r\na\u200bb\u200b\n\u202e\u200b")

    assert found == [Unseen("U+200B", 3, 2), Unseen("U+202E", 1, 3)]


def test_a_line_end_of_windows_is_a_line_end() -> None:
    assert visible.lines("a\r\nb\rc\n") == ["a", "b\rc", ""]


@given(st.text(alphabet=st.characters(blacklist_characters="\n")))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = visible.shown(text)

    assert not set(shown) & {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0))}
    assert not set(shown) & set("\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2069")


@given(st.text(max_size=200), st.integers(2, 20))
def test_a_folded_line_fits_and_loses_nothing(text: str, columns: int) -> None:
    pieces = visible.folded(visible.shown(text), columns)

    assert "".join(pieces) == visible.shown(text)
    assert all(visible.width(piece) <= columns for piece in pieces)
