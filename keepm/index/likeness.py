"""Which active notes and pending proposals are the same as a claim, by keys stored beforehand.

A key is a text that `model/similarity` makes of a claim, kept as 64 bits of its digest together
with the scope: what lies in another scope can't even be met.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from keepm.config.sameness import load_sameness
from keepm.index.database import Database
from keepm.model import similarity
from keepm.model.memory import Claim, Scope

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
    connection: sqlite3.Connection, wanted: Mapping[int, Collection[int]], known: Collection[int]
) -> None:
    """Store notes' digests, by number, in place of those they had; `known` are the notes that may
    have some.

    They lie all over their table, and an update seldom changes one: what stays isn't written.
    """
    more = {(digest, number) for number, digests in wanted.items() for digest in digests}
    for number in known:
        had = connection.execute(
            "SELECT key, number FROM likenesses WHERE number = ?", (number,)
        ).fetchall()
        connection.executemany(
            "DELETE FROM likenesses WHERE key = ? AND number = ?",
            [each for each in had if each not in more],
        )
        more.difference_update(had)
    connection.executemany("INSERT INTO likenesses VALUES (?, ?)", sorted(more))


def forget_note(connection: sqlite3.Connection, number: int) -> None:
    """Remove a note's keys."""
    connection.execute("DELETE FROM likenesses WHERE number = ?", (number,))


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
    found: list[Holder] = []
    with db.reading() as connection:
        notes = connection.execute(
            # CROSS: left to itself the planner walks through all active notes of the scope.
            "SELECT l.key, n.id, n.name, n.path FROM likenesses AS l"  # noqa: S608
            " CROSS JOIN notes AS n USING (number)"
            f" WHERE l.key IN ({marks}) AND n.scope = ? AND n.status = 'active'"
            " AND n.standing = 'sound' LIMIT ?",
            [*hashed, scope.key, _MOST_HOLDERS],
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
