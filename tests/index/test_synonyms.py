from __future__ import annotations

from itertools import permutations

import pytest

from keepm.index import stopwords, synonyms
from keepm.index.analysis import query_terms, term_of
from keepm.index.search import Query, SearchResult, search
from keepm.index.writing import Entry
from keepm.model.memory import Language, Visibility
from tests.index.building import GADGETS, WIDGETS, note, out_of_sight
from tests.index.conftest import Fill

OWN = Visibility("widgets")
ASKED = "Which folder may the service erase at startup?"
TEXT = "The launch deletes what lies in this directory."
FILLER = tuple(
    note(f"n{n}", f"The service answers on port {n} and on no other.", scope=WIDGETS)
    for n in range(30)
)


def test_a_question_in_other_words_finds_its_note(filled: Fill) -> None:
    db = filled(note("tidy", TEXT, scope=WIDGETS), *FILLER)

    found = search(db, Query(ASKED, OWN, explain=True))

    assert names(found)[0] == "tidy"
    assert found.weak_match
    assert found.total == 31
    assert [hit.band for hit in found.hits[:2]] == ["synonyms", "lexical"]
    assert found.hits[0].coverage == 0  # none of the question's own words
    assert found.hits[0].snippet == TEXT
    assert set(found.hits[0].field_scores) == {"body"}


def test_of_two_alike_the_one_in_the_words_of_the_question_comes_first(filled: Fill) -> None:
    other = note("a", "Drop the old ones before the folder is full.", scope=WIDGETS)
    same = note("b", "Erase the old ones before the folder is full.", scope=WIDGETS)
    db = filled(other, same, *FILLER)

    found = search(db, Query("erase unneeded snapshots, nightly lists and remnants", OWN))

    assert names(found)[:2] == ["b", "a"]
    assert found.weak_match


def test_where_words_find_an_answer_other_words_add_nothing(filled: Fill) -> None:
    db = filled(
        note("a", "Erase the folder.", scope=WIDGETS),
        note("b", "Delete the directory.", scope=WIDGETS),
    )

    found = search(db, Query("erase the folder", OWN))

    assert names(found) == ["a"]
    assert not found.weak_match


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("k8s", "The Kubernetes nodes are small."),
        ("db", "One database holds everything."),
        ("删除", "旧单据按月清理。"),
        ("database credentials", "The db takes its password from a file."),
    ],
)
def test_a_query_of_which_no_note_holds_a_word_finds_other_words_for_half_of_it(
    filled: Fill, query: str, text: str
) -> None:
    db = filled(note("that", text, scope=WIDGETS), *FILLER)

    found = search(db, Query(query, OWN))

    assert names(found) == ["that"]
    assert found.weak_match


def test_other_words_for_less_than_half_of_it_are_no_answer(filled: Fill) -> None:
    db = filled(note("cluster", "The Kubernetes nodes are small.", scope=WIDGETS), *FILLER)

    found = search(db, Query("k8s paternity vouchers and anniversaries", OWN))

    assert names(found) == []
    assert not found.weak_match


def test_a_note_in_other_words_counts_as_found_on_every_page(filled: Fill) -> None:
    notes = (note(f"d{n:02}", f"{TEXT} {'Files, ' * (n % 5)}", scope=WIDGETS) for n in range(30))
    db = filled(*notes, *FILLER)
    whole = search(db, Query(ASKED, OWN, limit=100))

    pages = [search(db, Query(ASKED, OWN, limit=7, offset=start)) for start in range(0, 63, 7)]

    assert [name for page in pages for name in names(page)] == names(whole)
    assert {page.total for page in pages} == {whole.total} == {60}


@pytest.mark.parametrize("hidden", out_of_sight("tidy", TEXT, shadowed="n1"))
def test_only_notes_in_sight_are_found_by_other_words(filled: Fill, hidden: Entry) -> None:
    db = filled(*FILLER, hidden)

    found = search(db, Query(ASKED, OWN, limit=100))

    assert hidden.file.path not in {hit.note.path for hit in found.hits}
    assert search(db, Query("delete the directory at launch", OWN)).total == 0


def test_notes_of_other_projects_change_nothing(filled: Fill) -> None:
    db = filled(note("tidy", TEXT, scope=WIDGETS), *FILLER)
    alone = search(db, Query(ASKED, OWN, explain=True))

    filled(*(note(f"g{n}", f"{TEXT} Erase folders.", scope=GADGETS) for n in range(40)))

    assert search(db, Query(ASKED, OWN, explain=True)) == alone


def test_a_filter_holds_for_other_words(filled: Fill) -> None:
    db = filled(note("整理", TEXT, scope=WIDGETS, language=Language.ZH), *FILLER)

    assert "整理" in names(search(db, Query(ASKED, OWN, language=Language.ZH)))
    assert "整理" not in names(search(db, Query(ASKED, OWN, language=Language.EN)))


def test_a_word_that_the_query_holds_itself_is_no_other_word_for_its_neighbour() -> None:
    first, second = synonyms.widened(query_terms("delete folders", limit=9))
    assert "directori" in second.near
    assert "eras" in first.near

    both = synonyms.widened(query_terms("delete erase", limit=9))
    assert all(term.text not in other.near for term, other in permutations(both, 2))


def test_a_term_of_several_parts_has_no_other_words() -> None:
    (term,) = synonyms.widened(query_terms("rate-limit", limit=9))
    assert term.near == ()


def test_every_word_of_the_table_is_one_term_and_carries_a_topic() -> None:
    for group in synonyms.groups():
        for word in group:
            assert [term.text for term in query_terms(word, limit=9)] == [term_of(word)]
            assert not stopwords.CHINESE.search(word)


def test_every_group_of_the_table_tells_something_that_no_other_does() -> None:
    terms = [frozenset(map(term_of, group)) for group in synonyms.groups()]
    assert all(len(group) > 1 for group in terms)
    inside = [(a, b) for a, b in permutations(terms, 2) if a <= b]
    assert inside == []


def names(found: SearchResult) -> list[str]:
    return [hit.note.name for hit in found.hits]
