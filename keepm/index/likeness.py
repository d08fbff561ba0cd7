"""Which active notes and pending proposals are the same as a claim, by keys stored beforehand.

A key is a text that `model/similarity` makes of a claim, kept as 64 bits of its digest together
with the scope: what lies in another scope can't even be met.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keepm.config.sameness import load_sameness
from keepm.model import similarity
from keepm.model.memory import Claim, Scope

if TYPE_CHECKING:
    from keepm.index.database import Database  # not with the process that parses

_TABLES = ("likenesses", "recent_likenesses")
_MOST_RECENT = 1000  # rows: some three dozen pages' worth of notes
_MOST_HOLDERS = 200  # of one look: a family of templated names has thousands of near ones


@dataclass(frozen=True, slots=True)
class Holder:
    """A note or pending proposal that has one of the keys that were asked for."""

    key: str
    id: str
    name: str
    path: str
    is_proposal: bool = False


def digests(claim: Claim) -> tuple[int, ...]:
    """Return what is stored of a claim's keys."""
    keys = similarity.stored_keys(claim, load_sameness())
    return tuple(sorted({_hash(key, claim.scope) for key in keys}))


def store_notes(
    connection: sqlite3.Connection,
    wanted: Mapping[int, Collection[int]],
    had: Mapping[int, Collection[int]],
) -> None:
    """Store notes' digests, by number, in place of those they had.

    They lie all over their table: those of a few notes wait in one of their own until they are
    many. An update seldom changes one, and what stays isn't written.
    """
    before, after = _pairs(had), _pairs(wanted)
    gone, more = sorted(before - after), sorted(after - before)
    for table in _TABLES if gone else ():
        connection.executemany(f"DELETE FROM {table} WHERE key = ? AND number = ?", gone)  # noqa: S608
    few = len(more) < _MOST_RECENT
    into = "recent_likenesses" if few else "likenesses"
    connection.executemany(f"INSERT INTO {into} VALUES (?, ?)", more)  # noqa: S608
    if few and more:
        _fold(connection)


def _pairs(digests: Mapping[int, Collection[int]]) -> set[tuple[int, int]]:
    return {(digest, number) for number, of in digests.items() for digest in of}


def _fold(connection: sqlite3.Connection) -> None:
    """Put the recent digests among the others once they are many."""
    (waiting,) = connection.execute("SELECT count(*) FROM recent_likenesses").fetchone()
    if waiting >= _MOST_RECENT:
        connection.execute("INSERT INTO likenesses SELECT key, number FROM recent_likenesses")
        connection.execute("DELETE FROM recent_likenesses")


def packed(digests: Collection[int]) -> bytes:
    """Return digests as one value."""
    return struct.pack(f"<{len(digests)}q", *digests)


def unpacked(value: bytes) -> tuple[int, ...]:
    """Return the digests of such a value."""
    return struct.unpack(f"<{len(value) // 8}q", value)


def store_proposals(connection: sqlite3.Connection, wanted: Mapping[str, Collection[int]]) -> None:
    """Store the digests of proposals, by path."""
    connection.executemany(
        "INSERT OR IGNORE INTO proposal_likenesses VALUES (?, ?)",
        [(digest, path) for path, digests in wanted.items() for digest in digests],
    )


def holders(
    db: Database, keys: Iterable[str], scope: Scope, *, with_proposals: bool
) -> list[Holder]:
    """Return who holds one of these keys in exactly this scope: active notes that can be read,
    and pending proposals where asked for. A note comes once for each key."""
    hashed = {_hash(key, scope): key for key in keys}
    if not hashed:
        return []
    marks = ", ".join("?" * len(hashed))
    every = " UNION ALL ".join(
        f"SELECT key, number FROM {table} WHERE key IN ({marks})"  # noqa: S608 - our own words
        for table in _TABLES
    )
    found: list[Holder] = []
    with db.reading() as connection:
        notes = connection.execute(
            # CROSS: left to itself the planner walks through all active notes of the scope.
            f"WITH l AS MATERIALIZED ({every}) SELECT l.key, n.id, n.name, n.path FROM l"  # noqa: S608
            " CROSS JOIN notes AS n USING (number)"
            " WHERE n.scope = ? AND n.status = 'active' AND n.standing = 'sound' LIMIT ?",
            [*hashed, *hashed, scope.key, _MOST_HOLDERS],
        ).fetchall()
        found += [Holder(hashed[key], *named) for key, *named in notes]
        if with_proposals:
            proposals = connection.execute(
                "SELECT l.key, p.id, p.name, p.path FROM proposal_likenesses AS l"  # noqa: S608
                " CROSS JOIN proposals AS p USING (path)"
                f" WHERE l.key IN ({marks}) AND p.scope = ? AND p.status = 'pending' LIMIT ?",
                [*hashed, scope.key, _MOST_HOLDERS],
            ).fetchall()
            found += [
                Holder(hashed[key], each, name, path, is_proposal=True)
                for key, each, name, path in proposals
            ]
    return found


def _hash(key: str, scope: Scope) -> int:
    data = f"{scope.key}\n{key}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), signed=True)
