"""Which names are those of copies, and which files of one id are copies."""

from __future__ import annotations

import itertools

import pytest

from keepm.model import copies


@pytest.mark.parametrize(
    ("stem", "base"),
    [
        ("Release steps.sync-conflict-20261101-101500-K7QWERT", "Release steps"),
        ("Release steps (Sam's conflicted copy 2026-11-01)", "Release steps"),
        ("Release steps (conflicted copy 2026-11-01 101500)", "Release steps"),
        ("Release steps (Sam 的冲突副本 2026-11-01)", "Release steps"),
        ("Release steps（冲突副本）", "Release steps"),
        ("Release steps (Konflikt-Kopie von Sam)", "Release steps"),
        ("Release steps_conflict-20261101-101500", "Release steps"),
        ("Release steps-DESKTOP-AB12CD", "Release steps"),
        ("Release steps (1)", "Release steps"),
        ("Release steps(2)", "Release steps"),
        ("Release steps 2", "Release steps"),
        ("Release steps copy", "Release steps"),
        ("Release steps - Copy", "Release steps"),
        ("Release steps - Kopie", "Release steps"),
        ("部署 副本", "部署"),
        ("部署 - 副本 (2)", "部署"),
    ],
)
def test_the_names_that_programs_give_copies_are_known(stem: str, base: str) -> None:
    assert copies.base(f"Memory/global/a/{stem}.md") == base


@pytest.mark.parametrize(
    "stem", ["Release steps", "build-command", "C++", "deploy-2", "部署方案", "x", "(1)", " 2"]
)
def test_an_ordinary_name_is_none_of_a_copy(stem: str) -> None:
    assert copies.base(f"Memory/global/{stem}.md") is None


def test_a_copy_needs_an_original() -> None:
    """Case 28: the name alone is no proof; without an original nobody knows which is the note."""
    note, one, two = "g/a.md", "g/a (1).md", "g/a 2.md"
    assert copies.among([note, one, two]) == {one, two}
    assert copies.among([one]) == frozenset()
    assert copies.among([one, two]) == frozenset()


def test_a_note_with_a_copys_name_may_have_copies_itself() -> None:
    note, copy = "g/Report (1).md", "g/Report (1) (1).md"
    assert copies.among([note, copy]) == {copy}


def test_the_order_of_the_files_decides_nothing() -> None:
    paths = ["g/a.md", "g/a (1).md", "g/b/A.sync-conflict-20261101-101500-K7QWERT.md", "g/a-PC.md"]
    found = {copies.among(order) for order in itertools.permutations(paths)}
    assert found == {frozenset(paths[1:])}


def test_placeholders_and_temporary_files_are_told_by_their_names() -> None:
    assert copies.evicted(".a note.md.icloud") == "a note.md"
    assert copies.evicted("a note.md") is None
    assert copies.is_temporary("~$note.md")
    assert copies.is_temporary("~syncthing~note.md.tmp")
    assert not copies.is_temporary("note~.md")
