from __future__ import annotations

import pytest

from keepm.index import mentions
from keepm.index.database import Database
from keepm.index.writing import Entry
from keepm.model.document import Standing
from keepm.model.memory import Status, Visibility
from tests.index.building import GADGETS, WIDGETS, damaged, handoff, note, proposal
from tests.index.conftest import Fill

OWN = Visibility("widgets")


def named(db: Database, text: str, limit: int = 10) -> list[str]:
    return [row.name for row in mentions.find(db, text, OWN, limit=limit)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("postgres-wsl2-io-config", "It rests on the Postgres WSL2 IO config."),
        ("Package Manager", "(package_manager)"),
        ("kubernetes", "Run it on Kubernetes, always."),
        ("灰度发布", "先做灰度发布，再看指标"),
        ("灰度发布 v2", "参见灰度发布v2与灰度发布 v2。"),
        ("C++ style", "As C++ style has it"),
        ("release", "See [[release]] and [[other|that]]."),
        ("部署-prod", "先看部署 prod的说明"),
    ],
)
def test_a_note_is_named_by_its_name_however_it_is_spelt(
    filled: Fill, name: str, text: str
) -> None:
    assert named(filled(note(name), note("something else")), text) == [name]


def test_an_alias_names_its_note_once(filled: Fill) -> None:
    db = filled(note("data volume", aliases=("pg-volume", "pg disk")))
    assert named(db, "The pg volume, or pg-disk, or the data volume.") == ["data volume"]


@pytest.mark.parametrize(
    "text",
    [
        "The data-volumes.",
        "A metadata volume.",
        "data. volume",
        "data",
        "volume data",
        "",
        "x" * 9000,
    ],
)
def test_what_only_resembles_a_name_is_no_mention(filled: Fill, text: str) -> None:
    assert named(filled(note("data volume")), text) == []


def test_a_common_word_or_two_characters_name_nothing(filled: Fill) -> None:
    db = filled(
        note("cache"), note("缓存"), note("42"), *(note(f"n{n}", "The cache.") for n in range(30))
    )
    assert named(db, "The cache 42 缓存.") == []
    filled(note("memcached"))
    assert named(db, "The memcached cache 42 缓存.") == ["memcached"]


def test_the_longer_of_two_names_at_one_place_counts(filled: Fill) -> None:
    db = filled(
        note("build cache"), note("build cache size"), note("灰度发布"), note("灰度发布比例")
    )
    assert named(db, "The build-cache size; later the build cache.") == [
        "build cache size",
        "build cache",
    ]
    assert named(db, "灰度发布比例") == ["灰度发布比例"]


def test_mentions_come_in_the_order_of_the_text_and_are_bounded(filled: Fill) -> None:
    db = filled(*(note(f"thing number{n}") for n in range(6)))
    text = "thing number4, thing number1, thing number3"
    assert named(db, text) == ["thing number4", "thing number1", "thing number3"]
    assert named(db, text, limit=2) == ["thing number4", "thing number1"]


@pytest.mark.parametrize(
    "hidden",
    [
        note("the canary", scope=GADGETS),
        note("the canary", status=Status.ARCHIVED),
        note("the canary", status=Status.SUPERSEDED),
        damaged("the canary", "text"),
        damaged("the canary", "text", standing=Standing.WITHHELD),
        proposal("the canary"),
        handoff("the canary"),
    ],
    ids=["out-of-scope", "archived", "superseded", "damaged", "withheld", "pending", "handoff"],
)
def test_only_visible_active_notes_are_named(filled: Fill, hidden: Entry) -> None:
    db = filled(hidden)
    assert named(db, "Ask the canary.") == []
    filled(note("the canary", path="Memory/global/control.md"))
    assert named(db, "Ask the canary.") == ["the canary"]


def test_a_shadowed_note_is_not_named(filled: Fill) -> None:
    db = filled(note("the canary", "global"), note("The-Canary", "own", scope=WIDGETS))
    assert [row.body for row in mentions.find(db, "the canary", OWN, limit=9)] == ["own"]
