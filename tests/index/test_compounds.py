from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.index.analysis import query_terms
from keepm.index.compounds import widened
from keepm.index.search import Query, SearchResult, search
from keepm.index.writing import Entry
from keepm.model.memory import Status, Visibility
from tests import strategies  # noqa: F401 (its profile: no deadlines)
from tests.index.building import GADGETS, WIDGETS, note
from tests.index.conftest import Fill

OWN = Visibility("widgets")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("utf8", "Files are utf-8, always."),
        ("utf-8", "Files are utf8, always."),
        ("timeout", "The time-out is 3."),
        ("time-out", "The timeout is 3."),
        ("time out", "The timeout is 3."),
        ("Dropdowns", "A drop-down of ports."),
        ("drop-downs", "A dropdown of ports."),
        ("set_up", "The setup of it."),
        ("SHA-256", "A sha256 sum."),
        ("sha256", "A SHA-256 sum."),
        ("node 20", "We use node20."),
        ("node20", "We use Node 20."),
        ("Python 3.11", "It needs python3.11 now."),
        ("wsl 2", "Slow on WSL2."),
        ("wsl2", "Slow on WSL 2."),
        ("why is wsl2 slow", "Slow on WSL 2."),
        ("用wsl2吗", "在 WSL 2 上很慢。"),
    ],
)
def test_one_word_or_two_is_the_same_however_it_is_written(
    filled: Fill, query: str, text: str
) -> None:
    db = filled(note("gold", text), *(note(f"n{n}", "Other words, here.") for n in range(9)))

    found = search(db, Query(query, OWN))

    assert names(found) == ["gold"]
    assert not found.weak_match
    assert found.did_you_mean == ()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("a part", "Kept apart."),  # a stop word makes no word with what follows
        ("time. Out", "The timeout-handler."),
        ("C++ 20", "The c20 one."),
        ("3.11", "Port 311."),
        ("e1234", "Port 1234 and the letter e."),
    ],
)
def test_what_only_looks_alike_is_something_else(filled: Fill, query: str, text: str) -> None:
    assert names(search(filled(note("other", text)), Query(query, OWN))) == []


def test_the_way_it_is_written_comes_first(filled: Fill) -> None:
    db = filled(
        note("apart", "The time is out, as ever."),
        note("joined", "The timeout is as ever."),
        note("hyphened", "The time-out is as ever."),
        *(note(f"n{n}", "Other words, here.") for n in range(9)),
    )

    assert names(search(db, Query("time-out", OWN)))[0] == "hyphened"
    assert names(search(db, Query("timeout", OWN)))[0] == "joined"


@pytest.mark.parametrize(
    "hidden",
    [note("h", "utf-8 time-out", scope=GADGETS), note("h", "utf-8", status=Status.ARCHIVED)],
)
def test_hidden_notes_are_not_found_by_another_writing(filled: Fill, hidden: Entry) -> None:
    db = filled(note("here", "Other words.", scope=WIDGETS), hidden)

    assert names(search(db, Query("utf8 timeout", OWN))) == []


@given(st.one_of(st.text(max_size=200), st.text(alphabet="aB1 -_.+#é部", max_size=60)))
def test_every_term_stays_and_is_met_by_no_less(text: str) -> None:
    terms = query_terms(text, limit=48)

    wider = widened(terms, text)

    assert [term.text for term in wider] == [term.text for term in terms]
    for term, other in zip(terms, wider, strict=True):
        assert other.parts == term.parts
        assert set(term.wholes) <= set(other.wholes)
        assert all('"' not in token and not token.isspace() and token for token in other.tokens)


def names(found: SearchResult) -> list[str]:
    return [hit.note.name for hit in found.hits]
