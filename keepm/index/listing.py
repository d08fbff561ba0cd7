"""Which versions of which files the index holds, in a form that a walk is soon compared with.

Nearly always nearly every file is as it was, so of those only what tells that is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from keepm.index.database import Database
from keepm.index.entries import FileRow

Stamp = tuple[str, int, int]
"""Path, size and modification time (ns) of a file."""

_OLD = "mtime_ns < scanned_ns - :racy_ns"
_DOCUMENT = f"reason IS NULL AND {_OLD} AND typeof(path) = 'text'"
_PROVEN = f"{_OLD} AND (size > 0 OR checksum <> '')"  # what was left out unseen has no stamp


@dataclass(frozen=True, slots=True)
class Listing:
    """What the index knows of all files, each in one of two ways.

    `documents` are the stamps that prove that a document is the version that the index holds;
    `rows` is every other file by its path, and `left_out` the stamps among them that prove that
    a file which was left out is still the same.
    """

    documents: Set[Stamp]
    rows: Mapping[str, FileRow]
    left_out: Set[Stamp]


def listing(db: Database, *, racy_ns: int) -> Listing:
    """Return what the index knows; a stamp less than `racy_ns` before its scan proves nothing.

    Raises:
        IndexUnavailable: as `Database.reading`.
    """
    bound = {"racy_ns": racy_ns}
    with db.reading() as connection:
        documents = set(
            connection.execute(
                f"SELECT path, size, mtime_ns FROM files WHERE {_DOCUMENT}",  # noqa: S608
                bound,
            ).fetchall()
        )
        # To count them costs nothing, to walk through them again a tenth of a look.
        (count,) = connection.execute("SELECT count(*) FROM files").fetchone()
        others: list[tuple[Any, ...]] = []
        if count > len(documents):
            others = connection.execute(
                "SELECT path, size, mtime_ns, checksum, scanned_ns, reason,"  # noqa: S608
                f" {_PROVEN} FROM files WHERE NOT ({_DOCUMENT})",
                bound,
            ).fetchall()
    rows: dict[str, FileRow] = {}
    left_out: set[Stamp] = set()
    for path, *values, is_proven in others:
        name = path if isinstance(path, str) else path.decode("utf-8", "surrogatepass")
        rows[name] = row = FileRow(name, *values)
        if is_proven:
            left_out.add((name, row.size, row.mtime_ns))
    return Listing(documents, rows, left_out)
