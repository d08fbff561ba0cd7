from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from keepm.index.database import Database
from keepm.index.search import Query, search
from keepm.index.writing import Entry
from keepm.model.document import Standing
from keepm.model.memory import Kind, Status, Visibility
from tests.index.building import GADGETS, WIDGETS, damaged, handoff, note, proposal
from tests.index.conftest import Fill

OWN = Visibility("widgets")
TOLD = "先检查数据库部署流程，再看验证码限制。"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("数椐库", ["数据库"]),
        ("部暑流程", ["部署流程"]),
        ("怎么改验政码限制", ["验证码限制"]),
        ("数椐库 验政码", ["数据库", "验证码"]),
        ("Redis的数椐库", ["数据库"]),
    ],
)
def test_a_wrong_character_is_answered_with_what_a_note_has_there(
    filled: Fill, typed: str, words: list[str]
) -> None:
    db = filled(note("one", TOLD), note("two", "别的内容。"))

    assert meant(db, typed) == words


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["数据库", "部署流程", "验证码限制"]), st.integers(0, 2**32))
@example("数据库", 1)
def test_any_one_wrong_character_inside_a_word_is_seen_through(
    filled: Fill, word: str, seed: int
) -> None:
    db = filled(note("one", TOLD), note("two", "别的内容。"))
    rng = random.Random(seed)
    place = rng.randrange(1, len(word) - 1)
    typed = word[:place] + rng.choice("椐暑政侧背定单") + word[place + 1 :]

    result = search(db, Query(typed, OWN))

    assert result.total or word in result.did_you_mean


@pytest.mark.parametrize(
    "hidden",
    [
        note("away", TOLD, scope=GADGETS),
        note("away", TOLD, status=Status.ARCHIVED),
        note("away", TOLD, status=Status.SUPERSEDED),
        damaged("away", TOLD),
        damaged("away", TOLD, standing=Standing.WITHHELD),
        proposal("away", TOLD),
        handoff("away", goal=TOLD),
    ],
    ids=["out-of-scope", "archived", "superseded", "damaged", "withheld", "pending", "handoff"],
)
def test_only_words_of_visible_active_sound_notes_are_suggested(
    filled: Fill, hidden: Entry
) -> None:
    db = filled(hidden, note("here", "别的内容。"))
    assert meant(db, "数椐库") == []
    filled(note("control", TOLD))
    assert meant(db, "数椐库") == ["数据库"]


def test_two_notes_do_not_make_up_a_word(filled: Fill) -> None:
    db = filled(note("one", "数据很多。"), note("two", "占据库房。"))

    assert meant(db, "数椐库") == []


def test_a_suggestion_leads_somewhere_with_the_same_filters(filled: Fill) -> None:
    db = filled(note("one", TOLD, kind=Kind.FIX, scope=WIDGETS))

    assert meant(db, "数椐库", kind=Kind.FIX) == ["数据库"]
    assert meant(db, "数椐库", kind=Kind.DECISION) == []


@pytest.mark.parametrize(
    "text", ["数椐", "数据库", "一二三四五六七八九十", "库据数", "😀😀😀", "데이타"]
)
def test_what_is_too_short_too_long_or_known_gets_no_suggestion(filled: Fill, text: str) -> None:
    assert meant(filled(note("one", TOLD)), text) == []


def meant(db: Database, text: str, *, kind: Kind | None = None) -> list[str]:
    return list(search(db, Query(text, OWN, kind=kind)).did_you_mean)
