from __future__ import annotations

import sqlite3

import pytest

from keepm.index import stretches
from keepm.index.search import Query, search
from keepm.model.memory import GLOBAL, Scope, Visibility
from tests.index.building import GADGETS, WIDGETS, note
from tests.index.conftest import Fill

SCOPES = (WIDGETS, GLOBAL, GADGETS)


def mixed(count: int, scopes: tuple[Scope, ...] = SCOPES) -> list[tuple[str, Scope]]:
    return [(f"note-{n}", scopes[n % len(scopes)]) for n in range(count)]


def numbers(connection: sqlite3.Connection, scope: Scope) -> list[int]:
    rows = connection.execute(
        "SELECT number FROM all_notes WHERE scope = ? ORDER BY number", (scope.key,)
    )
    return [number for (number,) in rows]


def test_the_notes_of_a_scope_are_neighbours_in_whatever_order_they_come(filled: Fill) -> None:
    db = filled(*(note(name, scope=scope) for name, scope in mixed(12)))
    with db.reading() as connection:
        for scope in SCOPES:
            found = numbers(connection, scope)
            assert found == list(range(found[0], found[0] + 4))


def test_what_lies_elsewhere_is_not_within(filled: Fill) -> None:
    db = filled(*(note(name, scope=scope) for name, scope in mixed(12)))
    with db.reading() as connection:
        condition, values = stretches.within(connection, "n.number", Visibility("widgets"))
        scopes = connection.execute(
            f"SELECT DISTINCT n.scope FROM all_notes AS n WHERE {condition} ORDER BY 1", values
        ).fetchall()
    assert scopes == [("",), ("widgets",)]


@pytest.mark.parametrize("size", [2, 3])
def test_a_scope_that_fills_its_stretch_gets_another_and_all_is_found(
    filled: Fill, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(stretches, "STRETCH", size)
    db = filled(*(note(name, "word", scope=scope) for name, scope in mixed(15)))
    with db.reading() as connection:
        found = [number for scope in SCOPES for number in numbers(connection, scope)]
    assert len(set(found)) == 15

    for sight, seen in (
        (Visibility("widgets"), 10),
        (Visibility(None), 5),
        (Visibility(None, everything=True), 15),
        (Visibility("unknown"), 5),
    ):
        assert search(db, Query("word", sight, limit=20)).total == seen
