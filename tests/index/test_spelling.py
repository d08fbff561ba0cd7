from __future__ import annotations

import random
import string

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from keepm.index.database import Database
from keepm.index.search import Query, search
from keepm.index.spelling import distance
from keepm.index.writing import Batch, Entry, apply
from keepm.model.document import Standing
from keepm.model.memory import Kind, Status, Visibility
from tests import strategies  # noqa: F401 (its profile: no deadlines)
from tests.index.building import GADGETS, WIDGETS, damaged, handoff, note, proposal
from tests.index.conftest import Fill

OWN = Visibility("widgets")
WORD = "configuration"


def meant(db: Database, text: str, **filters: object) -> list[str]:
    return list(search(db, Query(text, OWN, **filters)).did_you_mean)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("databse", "database"),
        ("dtaabase", "database"),
        ("xatabase", "database"),
        ("kubernettes", "kubernetes"),
        ("postgress", "postgres"),
        ("configuraton", "configuration"),
        ("confgiuratoin", "configuration"),
        ("Configuratoin of it", "configuration"),
        ("http-respnse", "response"),
        ("Zürch", "zurich"),
        ("серврр", "сервер"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest_of_a_note(
    filled: Fill, typed: str, word: str
) -> None:
    db = filled(
        note("one", "The database, kubernetes and postgres.", aliases=("ConfigurationFile",)),
        note("two", "parseHTTPResponse of Zürich. Сервер."),
    )
    assert meant(db, typed) == [word]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["deployment", "rollback", "cache", "migrations", "authentication"]),
    st.integers(0, 2**32),
)
@example("cache", 1)
def test_any_one_mistake_is_seen_through(filled: Fill, word: str, seed: int) -> None:
    db = filled(note("all", "Deployment, rollback, cache, migrations; authentication."))
    rng = random.Random(seed)
    n, letter = rng.randrange(len(word)), rng.choice(string.ascii_lowercase)
    swapped = word[:n] + word[n + 1 : n + 2] + word[n] + word[n + 2 :]
    added, replaced = word[:n] + letter + word[n:], word[:n] + letter + word[n + 1 :]
    typed = rng.choice([added, replaced, swapped, word[:n] + word[n + 1 :]])
    result = search(db, Query(typed, OWN))
    assert result.total or word in result.did_you_mean or len(typed) < 4


@pytest.mark.parametrize(
    "hidden",
    [
        note("away", f"The {WORD}.", scope=GADGETS),
        note("away", f"The {WORD}.", status=Status.ARCHIVED),
        note("away", f"The {WORD}.", status=Status.SUPERSEDED),
        damaged("away", f"The {WORD}."),
        damaged("away", f"The {WORD}.", standing=Standing.WITHHELD),
        proposal("away", f"The {WORD}."),
        handoff("away", goal=f"The {WORD}."),
    ],
    ids=["out-of-scope", "archived", "superseded", "damaged", "withheld", "pending", "handoff"],
)
def test_only_words_of_visible_active_sound_notes_are_suggested(
    filled: Fill, hidden: Entry
) -> None:
    db = filled(hidden, note("here", "Something else."))
    assert meant(db, "configuraton") == []
    filled(note("control", f"The {WORD}."))
    assert meant(db, "configuraton") == [WORD]


def test_a_spelling_that_only_hidden_notes_have_is_not_lent_by_its_stem(filled: Fill) -> None:
    db = filled(note("here", "We configure it."), note("there", f"The {WORD}.", scope=GADGETS))
    assert meant(db, "configuraton") == []
    assert meant(db, "confiugre") == ["configure"]


def test_a_note_that_was_overtaken_or_removed_lends_no_word(filled: Fill) -> None:
    db = filled(note("old", f"The {WORD}.", id="id-old"))
    assert meant(db, "configuraton") == [WORD]
    filled(note("new", "Without that word.", supersedes=("id-old",)))
    assert meant(db, "configuraton") == []
    filled(note("new", f"With {WORD}.", supersedes=("id-old",)))
    assert meant(db, "configuraton") == [WORD]
    apply(db, Batch(removed=("Memory/global/new.md", "Memory/global/old.md")))
    assert meant(db, "configuraton") == []


def test_a_suggestion_leads_somewhere_with_the_same_filters(filled: Fill) -> None:
    db = filled(note("one", f"The {WORD}.", kind=Kind.FIX, scope=WIDGETS))
    assert meant(db, "configuraton", kind=Kind.FIX) == [WORD]
    assert meant(db, "configuraton", kind=Kind.DECISION) == []
    assert meant(db, "configuraton", scope="global") == []


def test_nothing_is_suggested_where_enough_was_found_or_the_word_is_known(filled: Fill) -> None:
    db = filled(
        *(note(f"n{n}", "Plenty of cache configuration.") for n in range(4)),
        *(note(f"m{n}", "Something else.") for n in range(40)),
    )
    assert meant(db, "plenty cache configuration cahce") == []
    assert meant(db, "cache") == []
    assert meant(db, "cahce") == ["cache"]


@pytest.mark.parametrize("text", ["", "xyz", "部署", "a b c", "1234567", "ffffffffffffffffff", "é"])
def test_what_cannot_be_a_mistake_gets_no_suggestion(filled: Fill, text: str) -> None:
    assert meant(filled(note("one", "Some xyzz here, 部暑 and more."), note("t")), text) in (
        [],
        ["xyzz"],
    )


@pytest.mark.parametrize(
    ("word", "other", "apart"),
    [
        ("abcd", "abcd", 0),
        ("abcd", "abdc", 1),
        ("abcd", "abcde", 1),
        ("abcd", "bcd", 1),
        ("abcd", "axcd", 1),
        ("abcd", "badc", 2),
        ("abcd", "xyzw", None),
        ("abcd", "abcdefg", None),
    ],
)
def test_letters_are_counted_as_people_mistype_them(
    word: str, other: str, apart: int | None
) -> None:
    assert distance(word, other, 2) == apart
