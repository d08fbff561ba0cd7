from __future__ import annotations

import pytest
from hypothesis import given

from keepm.model import layout
from keepm.model.layout import Place, Shelf
from keepm.model.memory import GLOBAL, Scope
from tests import strategies


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Memory/global/a.md", Place(Shelf.MEMORY, GLOBAL)),
        ("Memory/global/sub/a.MD", Place(Shelf.MEMORY, GLOBAL)),
        ("Memory/projects/我的项目/a.md", Place(Shelf.MEMORY, Scope("我的项目"))),
        ("Memory/projects/w/deep/er/a.md", Place(Shelf.MEMORY, Scope("w"))),
        ("Memory/Inbox/pending/projects/w/a.md", Place(Shelf.PROPOSAL, Scope("w"))),
        ("Memory/Inbox/archive/global/a.md", Place(Shelf.ARCHIVED_PROPOSAL, GLOBAL)),
        ("Memory/.handoffs/pending/projects/w/current.md", Place(Shelf.HANDOFF, Scope("w"))),
        ("Memory/.handoffs/archive/projects/w/a.md", Place(Shelf.ARCHIVED_HANDOFF, Scope("w"))),
        ("Memory/projects/a.md", None),
        ("Memory/a.md", None),
        ("Memory/global/a.txt", None),
        ("Memory/global/.obsidian/a.md", None),
        ("Memory/projects/w/.a.md", None),
        ("Memory/.keepm/journal/a.md", None),
        ("Memory/.trash/x/global/a.md", None),
        ("Notes/global/a.md", None),
        ("Memory/Inbox/global/a.md", None),
    ],
)
def test_a_path_has_one_place_or_none(path: str, expected: Place | None) -> None:
    assert layout.place(path) == expected


@given(strategies.words, strategies.scopes)
def test_a_new_note_lies_in_its_scope(name: str, scope: Scope) -> None:
    assert layout.place(layout.memory_path(scope, name)) == Place(Shelf.MEMORY, scope)
    for shelf in (Shelf.PROPOSAL, Shelf.HANDOFF):
        path = layout.inbox_path(shelf, scope, name, "6f0c9d52-93a5")
        assert layout.place(path) == Place(shelf, scope)


def test_a_second_attempt_is_another_file() -> None:
    first, second = (layout.memory_path(GLOBAL, "a", attempt=n) for n in (1, 2))
    assert (first, second) == ("Memory/global/a.md", "Memory/global/a-2.md")


def test_the_trash_keeps_the_old_path() -> None:
    path = layout.trash_path(
        "Memory/projects/w/sub/a.md", stamp="20261129T181500Z", transaction_id="t1"
    )
    assert path == "Memory/.trash/20261129T181500Z-t1/projects/w/sub/a.md"
    assert layout.place(path) is None


@pytest.mark.parametrize(
    ("path", "expected"), [("a/b.md", "b"), ("b.MD", "b"), ("a/b.c.md", "b.c"), ("a/b", "b")]
)
def test_the_stem_is_the_name_without_its_ending(path: str, expected: str) -> None:
    assert layout.stem(path) == expected
