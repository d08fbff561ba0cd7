"""What is kept out of every read: by a quarantine, or as a hand edit that nobody has accepted.

`withheld_by` of a document says which. It follows from what the ledgers tell (`versions`,
`rulings`), from hand edits that are noted and not on record yet, and from the document's own
version; it is settled in the transaction of the batch that changes any of these. The views
`notes`, `proposals` and `handoffs` leave out what is withheld, so that no query has to think of
it. This is the one place where it is decided.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from keepm.index import rows, rulings
from keepm.index.database import Database
from keepm.index.origins import Moment, Origin
from keepm.index.versions import VersionRow
from keepm.model.quarantine import BY_QUARANTINE, BY_REVIEW, RULING, UNREVIEWED, Rule
from keepm.model.scope import Scope

KINDS = {"memory": "all_notes", "proposal": "all_proposals", "handoff": "all_handoffs"}
"""The tables by the kind of object they hold."""
_OF_PROPOSALS = "'propose', 'inbox_update', 'reject'"
_OF_HANDOFFS = "'handoff_create', 'handoff_update', 'handoff_complete'"
_IS_LAST = (
    "v.position = (SELECT max(position) FROM versions WHERE transaction_id = v.transaction_id)"
)
# Which events put a version of a kind in place. A proposal that somebody moves among the notes
# has the bytes that KeepM wrote, and is no note that KeepM wrote.
_WRITES = {
    "memory": f"v.operation NOT IN ({_OF_PROPOSALS}, {_OF_HANDOFFS})"
    f" AND NOT (v.operation = 'promote' AND {_IS_LAST})",
    "proposal": f"v.operation IN ({_OF_PROPOSALS}) OR (v.operation = 'promote' AND {_IS_LAST})",
    "handoff": f"v.operation IN ({_OF_HANDOFFS})",
}
STANDS = (
    "CASE WHEN EXISTS (SELECT 1 FROM versions WHERE new = d.checksum) THEN d.checksum"
    " ELSE coalesce((SELECT coalesce(v.new, v.old) FROM versions AS v"
    " WHERE v.object_id = d.id AND v.position = 0"
    " ORDER BY v.time DESC, v.sequence DESC, v.transaction_id LIMIT 1), d.checksum) END"
)
"""The version that a document `d` counts as: its own, or while no event names that (a hand edit
that isn't on record yet), the last one on record."""
_AGAIN = "again"
_NOT_IN_PLACE = "'external-edit', 'delete', 'inbox_prune'"
_AT_ONCE = 500  # parameters of one statement; SQLite takes at least 999


@dataclass(frozen=True, slots=True)
class Standing:
    """A quarantine that stands: its transaction, when it was made, and its rule."""

    transaction_id: str
    made: Moment
    rule: Rule


# ---- settling ----------------------------------------------------------------------------------


def settle(
    connection: sqlite3.Connection,
    paths: Iterable[str],
    *,
    fresh: Collection[tuple[str, str]] = (),
    told: Sequence[VersionRow] = (),
    anew: bool,
) -> list[str]:
    """Let every document be withheld or not, as it should be; return the notes that changed.

    `paths` are those of the batch, `fresh` the checksums and ids of the documents it stores,
    `told` what it adds to the versions. `anew`: the rulings changed, or all that the ledgers tell
    was read again.
    """
    if not _is_in_force(connection):
        return []
    late = _renew(connection) if anew else _extend(connection, told)
    late |= {row.new for row in told if row.new}
    # What is stored with the event that made it is found by its path, without looking at all.
    late -= {checksum for checksum, _ in fresh}
    ids = _documents_of(connection, late) | {row.object_id for row in told}
    ids -= {document_id for _, document_id in fresh}
    wanted = {rows.storable(path) for path in paths}
    changed: list[str] = []
    for kind, table in KINDS.items():
        at = [*wanted, *_holding(connection, table, late, ids)]
        for start in range(0, len(at), _AT_ONCE):
            some = _unsettled(connection, kind, at[start : start + _AT_ONCE])
            _update(connection, kind, some)
            if kind == "memory":
                changed += some
    return changed


def is_in_force(db: Database) -> bool:
    """Tell whether anything is withheld or may be: some ruling or noted edit asks for it."""
    with db.reading() as connection:
        return _is_in_force(connection)


def _is_in_force(connection: sqlite3.Connection) -> bool:
    withheld = " OR ".join(
        # Left to itself the planner walks through a wider index.
        f"EXISTS (SELECT 1 FROM {table} INDEXED BY {table.removeprefix('all_')}_withheld"  # noqa: S608
        " WHERE withheld_by <> '')"
        for table in KINDS.values()
    )
    (found,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM rulings WHERE ruling IN (?, ?))"  # noqa: S608 - our tables
        " OR EXISTS (SELECT 1 FROM hand_edits WHERE review)"
        " OR EXISTS (SELECT 1 FROM quarantined) OR EXISTS (SELECT 1 FROM unreviewed)"
        f" OR {withheld}",
        (RULING, UNREVIEWED),
    ).fetchone()
    return bool(found)


def _renew(connection: sqlite3.Connection) -> set[str]:
    """Derive anew which versions are withheld; return those of which that is news."""
    late: set[str] = set()
    before = set(connection.execute("SELECT digest, rule, reach FROM quarantined"))
    after = set()
    unreviewed = unreviewed_edits(connection)
    for each in _standing(connection):
        origin = Origin(connection, each.rule, each.made, unreviewed)
        after |= {(d, each.transaction_id, each.rule.reach) for d in origin.versions()}
    connection.execute("DELETE FROM quarantined")
    connection.executemany("INSERT INTO quarantined VALUES (?, ?, ?)", after)
    late |= {digest for digest, _, _ in before ^ after}
    return late | _renew_unreviewed(connection)


def _extend(connection: sqlite3.Connection, told: Sequence[VersionRow]) -> set[str]:
    """Take up what events add; return the versions of which that changes anything."""
    if not told:
        return set()
    late: set[str] = set()
    standing = _standing(connection)
    unreviewed = unreviewed_edits(connection) if standing else frozenset()
    for each in standing:
        rule_id = each.transaction_id

        def is_known(digest: str, rule_id: str = rule_id) -> bool:
            found = connection.execute(
                "SELECT 1 FROM quarantined WHERE digest = ? AND rule = ?", (digest, rule_id)
            )
            return found.fetchone() is not None

        more = Origin(connection, each.rule, each.made, unreviewed).with_news(is_known, told)
        if more is None:
            return _renew(connection)
        connection.executemany(
            "INSERT INTO quarantined VALUES (?, ?, ?)",
            [(digest, rule_id, each.rule.reach) for digest in more],
        )
        late |= more
    if connection.execute("SELECT 1 FROM unreviewed LIMIT 1").fetchone():
        late |= _renew_unreviewed(connection)
    return late


def _renew_unreviewed(connection: sqlite3.Connection) -> set[str]:
    before = set(connection.execute("SELECT digest, scope, kind FROM unreviewed"))
    after = set()
    waiting = unreviewed_edits(connection)
    for transaction, scope, text in connection.execute(
        "SELECT transaction_id, scope, subject FROM rulings WHERE ruling = ?", (UNREVIEWED,)
    ).fetchall():
        kind, _, rest = text.partition(":")
        digest, _, again = rest.partition(":")
        if transaction not in waiting or kind not in KINDS:
            continue
        if again or not _was_written(connection, digest, scope, kind):
            after.add((digest, scope, kind))
    connection.execute("DELETE FROM unreviewed")
    connection.executemany("INSERT INTO unreviewed VALUES (?, ?, ?)", after)
    return {digest for digest, _, _ in before ^ after}


def _was_written(connection: sqlite3.Connection, digest: str, scope: str, kind: str) -> bool:
    """Tell whether KeepM itself put this version there: another machine's ledger may come late."""
    found = connection.execute(
        "SELECT 1 FROM versions AS v WHERE v.new = ? AND v.scope = ?"  # noqa: S608 - our own words
        " AND v.old IS NOT v.new AND v.operation NOT IN ('external-edit', 'undo')"
        f" AND ({_WRITES[kind]}) LIMIT 1",
        (digest, scope),
    )
    return found.fetchone() is not None


def _reason(kind: str) -> str:
    """Return the expression that says by what a document `d` is withheld."""
    return (
        "CASE WHEN EXISTS (SELECT 1 FROM unreviewed AS u WHERE u.digest = d.checksum"  # noqa: S608
        f" AND u.scope = d.scope AND u.kind = '{kind}')"
        " OR EXISTS (SELECT 1 FROM hand_edits AS h WHERE h.path = d.path AND h.review"
        # What KeepM itself wrote last may be met by a look before its event is taken up.
        " AND d.checksum IS NOT (SELECT CASE WHEN v.scope = d.scope AND v.new = d.checksum"
        f" AND v.operation NOT IN ({_NOT_IN_PLACE})"
        f" AND ({_WRITES[kind]} OR v.operation IN ('undo', 'restore', 'repair'))"
        " THEN v.new END FROM versions AS v WHERE v.new = d.checksum OR v.old = d.checksum"
        " ORDER BY v.time DESC, v.sequence DESC, v.position DESC LIMIT 1))"
        f" THEN '{BY_REVIEW}'"
        f" WHEN EXISTS (SELECT 1 FROM quarantined AS q WHERE q.digest = ({STANDS})"
        " AND (q.reach IS NULL OR d.scope = '' OR d.scope = q.reach))"
        f" THEN '{BY_QUARANTINE}' ELSE '' END"
    )


def _unsettled(connection: sqlite3.Connection, kind: str, paths: Sequence[str]) -> list[str]:
    among, values = rows.one_of("d.path", paths)
    found = connection.execute(
        f"SELECT d.path FROM {KINDS[kind]} AS d"  # noqa: S608 - our tables
        f" WHERE {among} AND d.withheld_by <> {_reason(kind)}",
        values,
    )
    return [path for (path,) in found]


def _update(connection: sqlite3.Connection, kind: str, paths: Sequence[str]) -> None:
    if paths:
        among, values = rows.one_of("d.path", paths)
        connection.execute(
            f"UPDATE {KINDS[kind]} AS d SET withheld_by = {_reason(kind)} WHERE {among}",  # noqa: S608
            values,
        )


def _holding(
    connection: sqlite3.Connection, table: str, digests: Collection[str], ids: Collection[str]
) -> list[str]:
    """Return where these versions and these documents stand."""
    if not digests and not ids:
        return []
    found = connection.execute(f"SELECT path, checksum, id FROM {table}")  # noqa: S608
    return [path for path, checksum, each in found if checksum in digests or each in ids]


def _documents_of(connection: sqlite3.Connection, digests: Collection[str]) -> set[str]:
    """Return the ids of the documents that these versions are of."""
    found: set[str] = set()
    for digest in digests:
        found.update(
            each
            for (each,) in connection.execute(
                "SELECT object_id FROM versions WHERE new = ?1 OR old = ?1", (digest,)
            )
        )
    return found


# ---- rulings -----------------------------------------------------------------------------------


def standing(db: Database) -> list[Standing]:
    """Return the quarantines that stand, oldest first."""
    with db.reading() as connection:
        return _standing(connection)


def _standing(connection: sqlite3.Connection) -> list[Standing]:
    found = connection.execute(
        "SELECT transaction_id, time, sequence, subject FROM rulings WHERE ruling = ?"
        " ORDER BY time, sequence, transaction_id, subject",
        (RULING,),
    ).fetchall()
    if not found:
        return []
    gone = rulings.taken_back(connection)
    standing: dict[
        str, Standing
    ] = {}  # an event of ours has one rule; of another's the first counts
    for transaction, time, sequence, subject in found:
        rule = Rule.from_subject(subject)
        if rule is not None and transaction not in gone:
            made = Moment(time, sequence)
            standing.setdefault(transaction, Standing(transaction, made, rule))
    return list(standing.values())


def unreviewed_edits(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the transactions of the hand edits that nobody has accepted.

    An undo accepts nothing: what it brings back later waits as before.
    """
    found = connection.execute(
        "SELECT transaction_id FROM rulings WHERE ruling = ?", (UNREVIEWED,)
    ).fetchall()
    if not found:
        return frozenset()
    accepted = rulings.taken_back(connection, by=(rulings.LIFTED,))
    return frozenset(transaction for (transaction,) in found) - accepted


def waiting_edits(db: Database) -> frozenset[str]:
    """Return the transactions of all hand edits that nobody has accepted."""
    with db.reading() as connection:
        return unreviewed_edits(connection)


def edits_behind(db: Database, digest: str, scope: Scope, kind: str) -> list[str]:
    """Return the transactions of the hand edits that wait for a look at this version."""
    with db.reading() as connection:
        waiting = unreviewed_edits(connection)
        found = connection.execute(
            "SELECT transaction_id FROM rulings WHERE ruling = ? AND subject IN (?, ?)"
            " AND scope = ? ORDER BY time, sequence, transaction_id",
            (UNREVIEWED, f"{kind}:{digest}", f"{kind}:{digest}:{_AGAIN}", scope.key),
        ).fetchall()
    return [transaction for (transaction,) in found if transaction in waiting]


def subject(db: Database, digest: str, scope: Scope, kind: str) -> str:
    """Return what the ruling about a hand edit says that it is about: `kind:digest`.

    With `:again` if KeepM itself had that version there before: then its own word for it, which
    otherwise ends the waiting (another machine's ledger may come late), is no news.
    """
    with db.reading() as connection:
        known = _was_written(connection, digest, scope.key, kind)
    return f"{kind}:{digest}:{_AGAIN}" if known else f"{kind}:{digest}"
