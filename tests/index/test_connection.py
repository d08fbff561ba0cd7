from __future__ import annotations

from collections.abc import Iterator

import pytest

from keepm.index import connection as connections
from keepm.index.connection import kept
from keepm.index.database import Database
from keepm.index.search import Query, search
from keepm.index.writing import Batch, apply
from keepm.model.memory import Visibility
from tests.index.building import WIDGETS, note


@pytest.fixture
def other(db: Database) -> Iterator[Database]:
    """The same index as another process has it."""
    database = Database.open(db.path, vault_id="vault")
    yield database
    database.close()


def notes(db: Database) -> int:
    with db.reading() as connection:
        return kept(
            connection,
            "notes",
            lambda: int(connection.execute("SELECT count(*) FROM notes").fetchone()[0]),
        )


def test_what_a_reader_worked_out_is_kept_while_nobody_writes(db: Database) -> None:
    found = []
    for _ in range(3):
        with db.reading() as connection:
            kept(connection, "key", lambda: found.append("worked"))
    assert found == ["worked"]


def test_what_was_kept_is_dropped_when_anybody_writes(db: Database, other: Database) -> None:
    assert notes(db) == 0
    apply(db, Batch((note("one"),)))
    assert notes(db) == 1
    apply(other, Batch((note("two"),)))
    assert notes(db) == 2


def test_not_much_is_kept(db: Database) -> None:
    with db.reading() as connection:
        for key in range(3 * connections._MOST_KEPT):
            kept(connection, key, lambda: "x" * 1000)
        assert isinstance(connection, connections.Connection)
        assert len(connection._kept) <= connections._MOST_KEPT


def test_a_search_sees_what_shadows_a_global_note_since_the_one_before(
    db: Database, other: Database
) -> None:
    query = Query("word", Visibility("widgets"))
    apply(db, Batch((note("slot", "word"),)))
    assert [(hit.note.scope.key, 1) for hit in search(db, query).hits] == [("", 1)]

    shadow = note("slot", "word", scope=WIDGETS)
    apply(other, Batch((shadow,)))
    result = search(db, query)
    assert [hit.note.scope for hit in result.hits] == [WIDGETS]
    assert result.searched == 2

    apply(other, Batch(removed=(shadow.file.path,)))
    assert [hit.note.scope.key for hit in search(db, query).hits] == [""]
