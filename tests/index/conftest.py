from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keepm.index.database import Database
from keepm.index.writing import Batch, Entry, apply

Fill = Callable[..., Database]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database.open(tmp_path / "index.sqlite3", vault_id="vault")
    yield database
    database.close()


@pytest.fixture
def filled(db: Database) -> Fill:
    """Fill the index with these entries."""

    def fill(*entries: Entry) -> Database:
        apply(db, Batch(entries))
        return db

    return fill
