from __future__ import annotations

import functools

import pytest

from keepm.index import characters
from keepm.index.search import Query, SearchResult, search
from keepm.index.writing import Batch, Entry, apply
from keepm.model.memory import Language, Visibility
from tests.index import building
from tests.index.building import GADGETS, WIDGETS
from tests.index.conftest import Fill

note = functools.partial(building.note, language=Language.ZH)

OWN = Visibility("widgets")
ASKED = "一笔钱给买家退回了两趟，后来怎样杜绝？"  # in other words than the note's
REFUND = "客服连点后，同一订单退了两次款，渠道侧也退。"
FILLER = tuple(
    note(f"n{n}", f"买家可以在第{n}页看见自己的记录，别的都与此无关。", scope=WIDGETS)
    for n in range(30)
)


def test_a_question_in_other_words_finds_its_note_by_single_characters(filled: Fill) -> None:
    db = filled(note("重复退款", REFUND, scope=WIDGETS), *FILLER)

    found = search(db, Query(ASKED, OWN, explain=True))

    assert found.hits[0].note.name == "重复退款"
    assert found.weak_match
    assert found.total == 31
    assert [hit.band for hit in found.hits[:2]] == ["characters", "lexical"]


def test_where_words_find_an_answer_characters_add_nothing(filled: Fill) -> None:
    db = filled(note("重复退款", REFUND, scope=WIDGETS), note("钱", "退还两趟", scope=WIDGETS))

    found = search(db, Query("同一订单退了两次款？", OWN))

    assert names(found) == ["重复退款"]
    assert not found.weak_match


@pytest.mark.parametrize("query", ["款退单订", "退订款两一点", "买家 refund policy of shops"])
def test_short_queries_and_such_that_no_word_answers_find_no_more_than_before(
    filled: Fill, query: str
) -> None:
    db = filled(note("重复退款", REFUND, scope=WIDGETS), *FILLER)

    assert "重复退款" not in names(search(db, Query(query, OWN)))


def test_notes_that_say_they_are_english_are_passed_by(filled: Fill) -> None:
    english = building.note("重复退款", REFUND, scope=WIDGETS, language=Language.EN)
    db = filled(english, *FILLER)

    assert "重复退款" not in names(search(db, Query(ASKED, OWN)))


@pytest.mark.parametrize(
    "hidden",
    building.out_of_sight("重复退款", REFUND, shadowed="n1", language=Language.ZH),
)
def test_only_notes_in_sight_are_looked_at(filled: Fill, hidden: Entry) -> None:
    db = filled(*FILLER, hidden)

    found = search(db, Query(ASKED, OWN, limit=100))

    assert hidden.file.path not in {hit.note.path for hit in found.hits}
    assert found.total == 30


def test_what_other_projects_say_changes_no_place(filled: Fill) -> None:
    db = filled(note("重复退款", REFUND, scope=WIDGETS), *FILLER)
    before = names(search(db, Query(ASKED, OWN)))

    apply(db, Batch(entries=tuple(note(f"g{n}", REFUND, scope=GADGETS) for n in range(40))))

    assert names(search(db, Query(ASKED, OWN))) == before


def test_the_order_hangs_on_nothing_but_the_notes(filled: Fill) -> None:
    alike = [note(f"同样{n}", REFUND, scope=WIDGETS) for n in (3, 1, 2)]
    db = filled(*alike, *FILLER)
    order = names(search(db, Query(ASKED, OWN)))

    apply(db, Batch(removed=tuple(each.file.path for each in alike)))
    apply(db, Batch(entries=tuple(reversed(alike))))

    assert names(search(db, Query(ASKED, OWN))) == order
    assert order[:3] == ["同样1", "同样2", "同样3"]


def test_pages_follow_each_other_without_gap_or_repeat(filled: Fill) -> None:
    others = (note(f"款{n:02}", f"退了两次款{'，钱' * (n % 5)}", scope=WIDGETS) for n in range(30))
    db = filled(*others, *FILLER)
    whole = search(db, Query(ASKED, OWN, limit=100))

    pages = [search(db, Query(ASKED, OWN, limit=7, offset=start)) for start in range(0, 63, 7)]

    assert [name for page in pages for name in names(page)] == names(whole)
    assert {page.total for page in pages} == {whole.total} == {len(whole.hits)}
    assert len(set(names(whole))) == len(whole.hits)


def test_a_large_vault_is_not_looked_through(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    db = filled(note("重复退款", REFUND, scope=WIDGETS), *FILLER)

    monkeypatch.setattr(characters, "MOST_NOTES", 30)

    assert names(search(db, Query(ASKED, OWN, limit=100))) == sorted(f"n{n}" for n in range(30))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ASKED, "一笔钱给买家退回两趟后来杜绝"),
        ("什么是退款，请问怎么申请退款？", "是退款申请"),
        ("退款办理", ""),
        ("How are refunds paid?", ""),
        ("テストをもう一度", ""),
    ],
)
def test_what_only_asks_and_what_is_no_question_is_left_out(text: str, expected: str) -> None:
    assert characters.asked(text) == expected


def names(found: SearchResult) -> list[str]:
    return [hit.note.name for hit in found.hits]
