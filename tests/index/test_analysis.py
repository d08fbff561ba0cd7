from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.index.analysis import LONGEST, for_index, query_terms, raw_terms
from tests import strategies  # noqa: F401 (its profile: no deadlines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Migrations running", "migrat run"),
        ("parseHTTPResponse", "parsehttpresponse pars http respons"),
        ("snake_case", "snake_case snake case"),
        ("src/main.py", "src/main.py main.py src main py"),
        ("src\\main.py", "src/main.py main.py src main py"),
        ("v3.11.7", "v3.11.7 v3 11 7"),
        ("pre-edit", "pre-edit pre edit"),
        ("C++ C# C", "c++ c# c"),
        ("C++/C#", "c++/c# c++ c#"),
        (".NET", ".net net"),
        ("e=mc2 50%", "e=mc2 e mc2 50% 50"),
        ("@team #tag", "@team team #tag tag"),
        ("(end). Next,", "end next"),
        ("it's", "it"),
        ("Café naïve Füßgänger", "cafe naiv fussgang"),
        ("ĐÀ NẴNG", "da nang"),
        ("部署方案", "部署 署方 方案 案"),
        ("重跑gen-itgc后", "重跑 跑 gen-itgc gen itgc 后"),
        ("ﾃｽﾄ", "テス スト ト"),
        ("배포", "배포 포"),
        ("🚀 → * \\", "🚀"),
        ("x\x00y\u200bz \u202eabc", "x y z abc"),
    ],
)
def test_text_becomes_these_terms(text: str, expected: str) -> None:
    assert for_index(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how do I deploy the service", ["deploi", "servic"]),
        ("the who", ["the", "who"]),  # nothing would be left
        ("AND", ["and"]),
        ("IT policy in May", ["it", "polici", "mai"]),
        ("怎么部署", ["部署"]),
        ("为什么", ["为什", "什么"]),
        ("目的是什么", ["目的", "的是"]),
        ("的", ["的"]),
        ("署", ["署"]),
        ("", []),
        (" \x00 * ^ \"'", []),
    ],
)
def test_a_query_asks_for_these_terms(query: str, expected: list[str]) -> None:
    assert [term.text for term in query_terms(query, limit=20)] == expected


def test_a_query_is_cut_to_the_limit_of_different_terms() -> None:
    assert len(query_terms(" ".join(f"w{n} w{n}" for n in range(100)), limit=24)) == 24
    assert len(query_terms("".join(chr(0x4E00 + n) for n in range(5000)), limit=24)) == 24


def test_an_endless_word_is_cut_alike_in_notes_and_queries() -> None:
    word = "a" * 5000
    (term,) = query_terms(word, limit=5)
    assert term.parts == (for_index(word),)
    assert len(term.parts[0]) <= LONGEST


@given(st.text(max_size=200))
def test_terms_hold_nothing_that_full_text_syntax_or_storage_minds(text: str) -> None:
    terms = for_index(text)
    terms.encode("utf-8")
    assert not set(terms) & set('"*()\x00\r\n\t')
    for term in query_terms(text, limit=30):
        assert term.tokens
        assert all(token and token == token.strip() and " " not in token for token in term.tokens)


@given(st.text(max_size=200))
def test_a_text_holds_every_term_that_it_asks_for_as_a_query(text: str) -> None:
    held = set(for_index(text).split())
    for term in query_terms(text, limit=500):
        assert set(term.tokens) <= held


@given(st.text(alphabet="Abc d_/.-é部署", max_size=40))
def test_pieces_of_raw_text_have_the_terms_of_the_whole(text: str) -> None:
    for word in text.split():
        assert set(raw_terms(word)) <= set(for_index(text).split())


@given(st.text(alphabet="aB9_ ./\\+#@%=:&'-,!(\"\n", max_size=60))
def test_ascii_text_has_the_same_terms_among_other_scripts(text: str) -> None:
    assert for_index(f"{text} 部").split()[:-1] == for_index(text).split()
