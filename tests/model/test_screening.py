from __future__ import annotations

import pytest

from keepm import config
from keepm.model import screening

RULES = config.load_policy().screening


@pytest.mark.parametrize("text", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9f", "\ud800"])
def test_control_characters_are_refused_with_their_place(text: str) -> None:
    (problem,) = screening.text("body", f"one\ntwo {text}", rules=RULES)
    assert problem.code == "content_refused"
    assert problem.details == {"rule": "control_character", "line": 2, "column": 5}
    assert text not in problem.message


@pytest.mark.parametrize("text", ["", "a\tb\r\nc", "记忆", "👩‍💻"])
def test_ordinary_text_passes(text: str) -> None:
    assert not list(screening.text("body", text, rules=RULES))


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\u2028b"])
def test_a_line_must_be_one_line(text: str) -> None:
    assert not list(screening.text("name", "a b", rules=RULES, one_line=True))
    assert len(list(screening.text("name", text, rules=RULES, one_line=True))) == 1
