"""The listing of what the index holds: what proves a file's version, and what else there is."""

from __future__ import annotations

import pytest

from keepm.index import listing, writing
from keepm.index.database import Database
from keepm.index.writing import Batch, FileRow

RACY_NS = 3_000_000_000
SCAN = 1_700_000_000_000_000_000
OLD = SCAN - RACY_NS - 1


def row(name: str, *, size: int = 9, mtime_ns: int = OLD, reason: str | None = "copy") -> FileRow:
    return FileRow(f"Memory/global/{name}.md", size, mtime_ns, "ab" * 32, SCAN, reason)


def listed(db: Database, *rows: FileRow) -> listing.Listing:
    # Rows of documents without the documents: a listing asks for no more.
    writing.apply(db, Batch(skipped=rows))
    return listing.listing(db, racy_ns=RACY_NS)


def test_a_document_is_listed_by_its_stamp_alone(db: Database) -> None:
    note = row("note", reason=None)
    found = listed(db, note)
    assert (found.documents, dict(found.rows), found.left_out) == ({note[:3]}, {}, set())


@pytest.mark.parametrize("mtime_ns", [OLD + 1, SCAN, SCAN + 1])
def test_a_stamp_as_young_as_its_scan_proves_nothing(db: Database, mtime_ns: int) -> None:
    note, copy = row("note", mtime_ns=mtime_ns, reason=None), row("copy", mtime_ns=mtime_ns)
    found = listed(db, note, copy)
    assert (found.documents, found.left_out) == (set(), set())
    assert dict(found.rows) == {note.path: note, copy.path: copy}


def test_what_was_left_out_is_proven_by_its_stamp_if_it_was_looked_at(db: Database) -> None:
    copy = row("copy")
    link = FileRow("Memory/global/link.md", 0, 0, "", SCAN, "symlink")
    huge = FileRow("Memory/global/huge.md", 99, OLD, "", SCAN, "too_large")
    odd = row("caf\udce9", reason="name")
    found = listed(db, copy, link, huge, odd)
    assert found.documents == set()
    assert found.left_out == {copy[:3], huge[:3], odd[:3]}
    assert dict(found.rows) == {each.path: each for each in (copy, link, huge, odd)}
