from __future__ import annotations

import pytest

from keepm.model import screening


@pytest.mark.parametrize("text", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9f", "\ud800"])
def test_control_characters_are_refused_with_their_place(text: str) -> None:
    (problem,) = screening.text("body", f"one\ntwo {text}")
    assert problem.code == "content_refused"
    assert problem.details == {"line": 2, "column": 5}
    assert text not in problem.message


@pytest.mark.parametrize("text", ["", "a\tb\r\nc", "记忆", "👩‍💻"])
def test_ordinary_text_passes(text: str) -> None:
    assert not list(screening.text("body", text))


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\u2028b"])
def test_a_line_must_be_one_line(text: str) -> None:
    assert not list(screening.text("name", "a b", one_line=True))
    assert len(list(screening.text("name", text, one_line=True))) == 1
