"""How the index is brought up to date: batch by batch, or all anew.

One batch is one transaction, the rows of files and of documents together, so that what `files`
says is always true of the rest.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from keepm.index import (
    failures,
    frequencies,
    handmade,
    likeness,
    lineage,
    lookalikes,
    rulings,
    storing,
    versions,
    withholding,
)
from keepm.index.database import Database
from keepm.index.entries import Entry as Entry
from keepm.index.entries import FileRow as FileRow
from keepm.index.handmade import HandEdit
from keepm.index.lookalikes import Lookalike
from keepm.index.rows import storable
from keepm.index.rulings import RulingRow
from keepm.index.storing import Known
from keepm.index.versions import VersionRow
from keepm.model import layout

_BULK_HASH_BYTES = 64 * 1024 * 1024
_NORMAL_HASH_BYTES = 1024 * 1024
_NORMAL_AUTOMERGE = 4
_BULK_LOG_PAGES = 8 * 1024
_NORMAL_LOG_PAGES = 1000

_file_row = functools.partial(tuple.__new__, FileRow)


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes that become visible together; a path stands in one of the lists at most."""

    entries: tuple[Entry, ...] = ()
    skipped: tuple[FileRow, ...] = ()
    removed: tuple[str, ...] = ()
    touched: tuple[FileRow, ...] = ()  # new stamps on the bytes that are indexed already
    lookalikes: tuple[Lookalike, ...] = ()  # of entries and skipped files with a copy's name
    versions: tuple[VersionRow, ...] = ()  # what the ledgers tell that the index didn't know
    rulings: tuple[RulingRow, ...] = ()  # likewise
    anew: bool = False  # whether `versions` and `rulings` are all that the ledgers tell
    edits: tuple[HandEdit, ...] = ()  # what is to be put on record
    recorded: tuple[str, ...] = ()  # paths whose edits are on record
    meta: Mapping[str, str] = field(default_factory=dict)
    of: str | None = None  # the mark of the file that this is true of, where it must be that one


def apply(db: Database, batch: Batch) -> None:
    """Bring the index up to date with a batch, all of it or nothing.

    Raises:
        IndexUnavailable: the file is damaged or can't be written; nothing was changed.
    """
    with applied(db, batch):
        pass


@contextmanager
def applied(db: Database, batch: Batch) -> Iterator[None]:
    """Bring the index up to date with a batch, unless the body of the `with` raises; as `apply`."""
    with db.writing() as connection:
        _apply(connection, batch)
        yield


def rebuild(db: Database, batches: Iterable[Batch]) -> None:
    """Make the batches all that the index knows; it answers from what is there meanwhile.

    Raises:
        IndexUnavailable: the file is damaged or can't be written; what was done stays.
    """
    stale = set(files(db))
    try:
        _configure(db, automerge=0, hash_bytes=_BULK_HASH_BYTES, log_pages=_BULK_LOG_PAGES)
        for batch in batches:
            with db.writing() as connection:
                _apply(connection, batch)
            stale.difference_update(entry.file.path for entry in batch.entries)
            stale.difference_update(row.path for row in batch.skipped)
            stale.difference_update(row.path for row in batch.touched)
        with db.writing() as connection:
            _apply(connection, Batch(removed=tuple(stale)))
            lineage.settle(connection)
            connection.execute("INSERT INTO terms (terms) VALUES ('optimize')")
    finally:
        _configure(
            db,
            automerge=_NORMAL_AUTOMERGE,
            hash_bytes=_NORMAL_HASH_BYTES,
            log_pages=_NORMAL_LOG_PAGES,
        )


def files(db: Database) -> dict[str, FileRow]:
    """Return every file the index knows, by path."""
    with db.reading() as connection:
        rows = connection.execute(
            "SELECT path, size, mtime_ns, checksum, scanned_ns, reason FROM files"
        )
        # What `FileRow._make` does, for each start of a server as often as there are files.
        found = {row.path: row for row in map(_file_row, rows.fetchall())}
    for path in [path for path in found if isinstance(path, bytes)]:
        found[_path(path)] = found.pop(path)._replace(path=_path(path))
    return found


def file_rows(db: Database, paths: Iterable[str]) -> dict[str, FileRow]:
    """Return what the index knows of these files, by path."""
    found: dict[str, FileRow] = {}
    with db.reading() as connection:
        for path in paths:
            row = connection.execute(
                "SELECT size, mtime_ns, checksum, scanned_ns, reason FROM files WHERE path = ?",
                (_path_value(path),),
            ).fetchone()
            if row is not None:
                found[path] = FileRow(path, *row)
    return found


def paths_of(db: Database, checksum: str) -> list[str]:
    """Return the files that hold exactly these bytes, as the index knows them."""
    with db.reading() as connection:
        rows = connection.execute(
            "SELECT path FROM files WHERE checksum = ? ORDER BY path", (checksum,)
        )
        return [_path(path) for (path,) in rows]


def _configure(db: Database, *, automerge: int, hash_bytes: int, log_pages: int) -> None:
    with db.writing() as connection:
        # Of this connection, which the pool lends to whoever comes next: the batches.
        connection.execute(f"PRAGMA wal_autocheckpoint = {log_pages}")
        for option, value in (("automerge", automerge), ("hashsize", hash_bytes)):
            connection.execute("INSERT INTO terms (terms, rank) VALUES (?, ?)", (option, value))


def _apply(connection: sqlite3.Connection, batch: Batch) -> None:
    if batch.of is not None:
        _require(connection, batch.of)
    if batch.edits:
        handmade.store(connection, batch.edits)
    # Of two for one path the later one counts, and what is skipped before a document: a file may
    # lie beside the mark that its bytes are elsewhere.
    skipped = {row.path: row for row in batch.skipped}
    entries = {each.file.path: each for each in batch.entries if each.file.path not in skipped}
    paths = [*batch.removed, *entries, *skipped]
    known = _known(connection, paths)
    were_tied = lineage.tied(connection, known)
    before = frequencies.tally(connection, known)
    for path in batch.removed:
        _forget(connection, path)
    for path in skipped:
        _forget(connection, path)
    replaced = {
        path: note
        for path in entries
        if path in known and (note := _clear(connection, path)) is not None
    }
    _store_files(connection, [(each.scope, each.file) for each in entries.values()])
    _store_files(connection, [(_scope(row.path), row) for row in skipped.values()])
    storing.store(connection, tuple(entries.values()), replaced)
    if batch.lookalikes:
        lookalikes.store(connection, batch.lookalikes)
    for row in batch.touched:
        _restamp(connection, row)
    frequencies.adjust(connection, before, frequencies.counted(entries.values()))
    if batch.recorded:
        handmade.strike(connection, batch.recorded)
    versions.store(connection, batch.versions, anew=batch.anew)
    if batch.rulings or batch.anew:
        rulings.store(connection, batch.rulings, anew=batch.anew)
    changed = withholding.settle(
        connection,
        [*paths, *batch.recorded, *(edit.path for edit in batch.edits)],
        fresh=[(each.file.checksum, each.id) for each in entries.values()],
        told=batch.versions,
        anew=batch.anew or bool(batch.rulings),
    )
    if were_tied or lineage.tied(connection, [*paths, *changed]):
        lineage.settle(connection)
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", batch.meta.items())


def _require(connection: sqlite3.Connection, made: str) -> None:
    """Refuse what is told of another file than this: it was renewed meanwhile, and is empty."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'made'").fetchone()
    if found != (made,):
        raise failures.busy()


def _known(connection: sqlite3.Connection, paths: Iterable[str]) -> dict[str, None]:
    """Return which of these paths the index knows."""
    if connection.execute("SELECT 1 FROM files LIMIT 1").fetchone() is None:
        return {}
    look = "SELECT 1 FROM files WHERE path = ?"
    return {
        path: None
        for path in paths
        if connection.execute(look, (_path_value(path),)).fetchone() is not None
    }


def _store_files(
    connection: sqlite3.Connection, rows: Sequence[tuple[str | None, FileRow]]
) -> None:
    """Remember files, each with its scope's key."""
    if rows:
        connection.executemany(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(_path_value(row.path), scope, *row[1:]) for scope, row in rows],
        )


def _scope(path: str) -> str | None:
    scope = layout.scope_of(path)
    if scope is None:
        return "" if layout.is_shelf(path) else None
    return storable(scope.key)


def _restamp(connection: sqlite3.Connection, row: FileRow) -> None:
    """Take up a file's new stamps; what its bytes say is known."""
    connection.execute(
        "UPDATE files SET size = ?, mtime_ns = ?, scanned_ns = ? WHERE path = ? AND checksum = ?",
        (row.size, row.mtime_ns, row.scanned_ns, _path_value(row.path), row.checksum),
    )
    connection.execute(
        "UPDATE all_notes SET size = ?, mtime_ns = ? WHERE path = ? AND checksum = ?",
        (row.size, row.mtime_ns, storable(row.path), row.checksum),
    )


def _forget(connection: sqlite3.Connection, path: str) -> None:
    """Remove every row that came from a path."""
    note = _clear(connection, path)
    if note is not None:
        likeness.store_notes(connection, {}, {note.number: note.likenesses})


def _clear(connection: sqlite3.Connection, path: str) -> Known | None:
    """Remove the rows that came from a path, but a note's likenesses; return what that note was."""
    known = connection.execute("DELETE FROM files WHERE path = ?", (_path_value(path),)).rowcount
    if not known:
        return None
    lookalikes.forget(connection, path)
    text = storable(path)
    row = connection.execute(
        "SELECT number, likenesses FROM all_notes JOIN bodies USING (number) WHERE path = ?",
        (text,),
    ).fetchone()
    if row is None:
        connection.execute("DELETE FROM all_proposals WHERE path = ?", (text,))
        connection.execute("DELETE FROM proposal_likenesses WHERE path = ?", (text,))
        connection.execute("DELETE FROM all_handoffs WHERE path = ?", (text,))
        return None
    for statement in (
        "DELETE FROM all_notes WHERE number = ?",
        "DELETE FROM bodies WHERE number = ?",
        "DELETE FROM handles WHERE number = ?",
        "DELETE FROM tags WHERE number = ?",
        "DELETE FROM pointers WHERE number = ?",
        "DELETE FROM links WHERE number = ?",
        "DELETE FROM supersessions WHERE number = ?",
        "DELETE FROM parameters WHERE number = ?",
        "DELETE FROM terms WHERE rowid = ?",
    ):
        connection.execute(statement, row[:1])
    return Known(row[0], likeness.unpacked(row[1]))


def _path_value(path: str) -> str | bytes:
    """Keep a path as it is, also one that isn't valid Unicode on disk."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")
    return path


def _path(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")
