"""Notes, proposals and handoffs by handle, by place and by source: lookups that rank nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keepm.index import rows
from keepm.index.database import Database
from keepm.index.entries import ROLE_STEM, pointer_key
from keepm.index.rows import HandoffRow, NoteRow, Parameters, ProposalRow
from keepm.model import identity
from keepm.model.document import Standing
from keepm.model.handoff import HandoffStatus
from keepm.model.memory import Kind, Scope, Status, Visibility
from keepm.model.proposal import ProposalStatus

_NOTES = "notes AS n JOIN bodies AS b USING (number)"
_ALL_NOTES = "all_notes AS n JOIN bodies AS b USING (number)"
_KIND_ORDER = "CASE n.kind " + " ".join(
    f"WHEN '{kind}' THEN {position}" for position, kind in enumerate(Kind)
)
_ORDER = (
    f"n.pinned DESC, {_KIND_ORDER} ELSE {len(Kind)} END,"
    " n.verified_at IS NULL, n.verified_at DESC, n.name, n.path"
)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many documents of each sort are visible."""

    active: int
    superseded: int
    archived: int
    damaged: int
    withheld: int
    pending_proposals: int
    active_handoffs: int
    skipped_files: int


def find(db: Database, identifier: str, visibility: Visibility) -> list[NoteRow]:
    """Return every visible note an identifier names, the likeliest first.

    By id, name or alias, and by the file's name for a note whose metadata can't be read.
    Active before others, project before global, name before alias.
    """
    key = _key(identifier)
    if not key:
        return []
    seen, values = rows.visible("n.scope", visibility)
    return _notes(
        db,
        f"SELECT {rows.FULL} FROM {_NOTES} JOIN handles AS h ON h.number = n.number"  # noqa: S608
        f" WHERE h.key = ? AND (h.role < ? OR n.standing <> 'sound') AND {seen}"
        " GROUP BY n.number ORDER BY n.status <> 'active', n.scope = '', min(h.role),"
        " n.name, n.path",
        [key, ROLE_STEM, *values],
    )


def find_slot(db: Database, slot: str, scope: Scope) -> list[NoteRow]:
    """Return the notes of any status that hold this slot in exactly this scope, active first.

    Those that are withheld too: no new note takes their place, and no file theirs.
    """
    return _notes(
        db,
        f"SELECT {rows.FULL} FROM {_ALL_NOTES} WHERE n.slot = ? AND n.scope = ?"  # noqa: S608
        " ORDER BY n.status <> 'active', n.name, n.path",
        [_key(slot), scope.key],
    )


def paths_named(db: Database, stem: str, scope: Scope) -> list[str]:
    """Return the notes of a scope, withheld or not, whose files may be called so somewhere.

    The handle of a file's name folds more than any file system does: compare what comes back.
    """
    with db.asking() as connection:
        found = connection.execute(
            "SELECT DISTINCT n.path FROM handles AS h JOIN all_notes AS n USING (number)"
            " WHERE h.scope = ? AND h.key = ?",
            (rows.storable(scope.key), _key(stem)),
        )
        return [path for (path,) in found]


def note_by_path(db: Database, path: str) -> NoteRow | None:
    """Return the note that stands at a path, withheld or not."""
    found = _notes(
        db,
        f"SELECT {rows.FULL} FROM {_ALL_NOTES} WHERE n.path = ?",  # noqa: S608
        [rows.storable(path)],
    )
    return found[0] if found else None


def is_shown(db: Database, path: str, visibility: Visibility) -> bool:
    """Tell whether a document stands at a path that is visible and not withheld."""
    seen, values = rows.visible("scope", visibility)
    tables = ("notes", "proposals", "handoffs")
    union = " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE path = ? AND {seen}"  # noqa: S608
        for table in tables
    )
    with db.asking() as connection:
        found = connection.execute(union, [rows.storable(path), *values] * len(tables))
        return found.fetchone() is not None


def catalog(
    db: Database,
    visibility: Visibility,
    *,
    kind: Kind | None = None,
    source_path: str | None = None,
    former_paths: Sequence[str] = (),
    statuses: Sequence[Status] = (Status.ACTIVE,),
    pinned_only: bool = False,
    limit: int = -1,
    offset: int = 0,
    bodies: bool = False,
) -> tuple[list[NoteRow], int]:
    """Return a page of the visible notes in catalog order, and how many there are in all.

    Pinned, then by kind, then the latest verified, then by name. With `source_path` (a file or
    a folder of the repository, or a file's bare name) only those whose sources cover it: a note
    that points at a folder covers what is below it, and a folder is covered by notes on files
    below it; notes on `former_paths` are among them. Without `bodies` the rows are brief.
    """
    seen, values = rows.visible("n.scope", visibility)
    states, more = rows.one_of("n.status", statuses)
    conditions = [seen, states, "n.standing <> ?"]
    values = [*values, *more, str(Standing.WITHHELD)]
    if pinned_only:
        conditions.append("n.number IN (SELECT number FROM all_notes WHERE pinned <> 0)")
    if kind is not None:
        conditions.append("n.kind = ?")
        values.append(str(kind))
    if source_path is not None:
        covered, more = _covering(source_path)
        former, keys = rows.one_of("key", [pointer_key(path) for path in former_paths])
        conditions.append(
            f"n.number IN (SELECT number FROM pointers WHERE {covered} OR {former})"  # noqa: S608
        )
        values += [*more, *keys]
    where = " AND ".join(conditions)
    columns, tables = (rows.FULL, _NOTES) if bodies else (rows.BRIEF, "notes AS n")
    with db.reading() as connection:
        if visibility.project_id is not None:
            where += " AND n.number NOT IN (SELECT value FROM json_each(?))"
            values.append(rows.shadowed(connection, visibility.project_id))
        (total,) = connection.execute(
            f"SELECT count(*) FROM notes AS n WHERE {where}",  # noqa: S608
            values,
        ).fetchone()
        found = connection.execute(
            # What is left out by the limit is judged by the index alone.
            f"WITH chosen AS (SELECT n.number FROM notes AS n WHERE {where}"  # noqa: S608
            f" ORDER BY {_ORDER} LIMIT ? OFFSET ?) SELECT {columns} FROM {tables}"
            f" WHERE n.number IN chosen ORDER BY {_ORDER}",
            [*values, limit, offset],
        )
        return [rows.note(row) for row in found], int(total)


def paths_with(db: Database, digest: str, project_id: str) -> list[str]:
    """Return the sources that active notes of a project were verified against with this digest."""
    with db.asking() as connection:
        found = connection.execute(
            "SELECT DISTINCT json_extract(d.value, '$[0]')"
            " FROM notes AS n, json_each(n.source_digests) AS d"
            " WHERE n.scope = ? AND n.status = 'active' AND instr(n.source_digests, ?)"
            " AND json_extract(d.value, '$[1]') = ? ORDER BY 1",
            (rows.storable(project_id), digest, digest),
        )
        return [path for (path,) in found]


def _covering(path: str) -> tuple[str, Parameters]:
    """Return the condition that a pointer's key covers a path of the repository."""
    key = pointer_key(path)
    if key in ("", "."):
        return "1", []
    parts = key.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    condition, values = rows.one_of("key", above)
    # '0' follows '/' in the collation, so this range is everything below the folder.
    condition, values = f"{condition} OR (key >= ? AND key < ?)", [*values, f"{key}/", f"{key}0"]
    if len(parts) == 1 and "." in key:
        # A bare file name may stand in any folder.
        condition, values = (
            f"{condition} OR substr(key, ?) = ?",
            [*values, -len(key) - 1, f"/{key}"],
        )
    return f"({condition})", values


def counts(db: Database, visibility: Visibility) -> Counts:
    """Count what is visible."""
    seen, values = rows.visible("scope", visibility)
    with db.reading() as connection:
        notes = {
            (status, standing): count
            for status, standing, count in connection.execute(
                "SELECT status, standing, count(*) FROM notes"  # noqa: S608
                f" WHERE {seen} GROUP BY status, standing",
                values,
            )
        }
        (pending,) = connection.execute(
            f"SELECT count(*) FROM proposals WHERE status = 'pending' AND {seen}",  # noqa: S608
            values,
        ).fetchone()
        (handoffs,) = connection.execute(
            f"SELECT count(*) FROM handoffs WHERE status = 'active' AND {seen}",  # noqa: S608
            values,
        ).fetchone()
        (kept_out,) = connection.execute(
            f"SELECT count(*) FROM all_notes WHERE withheld_by <> '' AND {seen}",  # noqa: S608
            values,
        ).fetchone()
        (skipped,) = connection.execute(
            f"SELECT count(*) FROM files WHERE reason IS NOT NULL AND {seen}",  # noqa: S608
            values,
        ).fetchone()

    def standing_as(standing: Standing) -> int:
        return sum(count for (_, found), count in notes.items() if found == standing)

    return Counts(
        active=notes.get((Status.ACTIVE, Standing.SOUND), 0),
        superseded=notes.get((Status.SUPERSEDED, Standing.SOUND), 0),
        archived=notes.get((Status.ARCHIVED, Standing.SOUND), 0),
        damaged=standing_as(Standing.DAMAGED),
        withheld=standing_as(Standing.WITHHELD) + int(kept_out),
        pending_proposals=pending,
        active_handoffs=handoffs,
        skipped_files=skipped,
    )


def withheld_count(db: Database, visibility: Visibility) -> int:
    """Count the notes in sight that can't be shown, as `counts` does."""
    seen, values = rows.visible("scope", visibility)
    with db.asking() as connection:
        (count,) = connection.execute(
            f"SELECT count(*) FROM all_notes WHERE {seen}"  # noqa: S608
            " AND (withheld_by <> '' OR standing = ?)",
            [*values, str(Standing.WITHHELD)],
        ).fetchone()
    return int(count)


def problem_count(db: Database, visibility: Visibility) -> int:
    """Count the visible files with something wrong: unread, damaged, a finding, a taken id.

    A file whose bytes a sync program keeps elsewhere is as it should be.
    """
    seen, values = rows.visible("scope", visibility)
    with db.reading() as connection:
        (count,) = connection.execute(
            "SELECT (SELECT count(*) FROM files"  # noqa: S608
            f" WHERE reason <> 'evicted' AND {seen})"
            " + (SELECT count(*) FROM notes"
            f" WHERE (findings > 0 OR standing <> 'sound') AND {seen})"
            f" + (SELECT count(*) - count(DISTINCT id) FROM notes WHERE {seen})"
            f" + (SELECT count(*) FROM proposals WHERE findings > 0 AND {seen})"
            f" + (SELECT count(*) FROM handoffs WHERE findings > 0 AND {seen})",
            values * 5,
        ).fetchone()
    return int(count)


def problem_paths(db: Database, visibility: Visibility, *, limit: int) -> list[str]:
    """Return the first paths of the files that `problem_count` counts, in order."""
    seen, values = rows.visible("scope", visibility)
    with db.reading() as connection:
        found = connection.execute(
            f"SELECT path FROM files WHERE reason <> 'evicted' AND {seen}"  # noqa: S608
            f" UNION SELECT path FROM notes WHERE {seen} AND (findings > 0"
            f" OR standing <> 'sound' OR id IN (SELECT id FROM notes WHERE {seen}"
            " GROUP BY id HAVING count(*) > 1))"
            f" UNION SELECT path FROM proposals WHERE findings > 0 AND {seen}"
            f" UNION SELECT path FROM handoffs WHERE findings > 0 AND {seen}"
            " ORDER BY path LIMIT ?",
            [*values * 5, limit],
        ).fetchall()
    return [
        path if isinstance(path, str) else path.decode("utf-8", "surrogatepass")
        for (path,) in found
    ]


def find_proposals(db: Database, identifier: str, visibility: Visibility) -> list[ProposalRow]:
    """Return every visible proposal an id, a name or a path names, pending ones first."""
    seen, values = rows.visible("scope", visibility)
    given = rows.storable(identifier.strip())
    with db.reading() as connection:
        found = connection.execute(
            f"SELECT {rows.PROPOSAL} FROM proposals"  # noqa: S608
            f" WHERE (id = ? OR slot = ? OR path = ?) AND {seen}"
            " ORDER BY status <> 'pending', scope = '', updated DESC, id, path",
            [given, _key(identifier), given, *values],
        )
        return [rows.proposal(row) for row in found]


def pending_in_slot(db: Database, slot: str, scope: Scope) -> ProposalRow | None:
    """Return the pending proposal for this slot in exactly this scope, withheld or not."""
    with db.reading() as connection:
        found = connection.execute(
            f"SELECT {rows.PROPOSAL} FROM all_proposals"  # noqa: S608
            " WHERE slot = ? AND scope = ? AND status = 'pending'"
            " ORDER BY withheld_by <> '', updated DESC, id, path LIMIT 1",
            (_key(slot), rows.storable(scope.key)),
        ).fetchone()
    return None if found is None else rows.proposal(found)


def proposals(
    db: Database,
    visibility: Visibility,
    *,
    status: ProposalStatus | None = ProposalStatus.PENDING,
    scope: str | None = None,
    kind: Kind | None = None,
    limit: int = 20,
    offset: int = 0,
) -> tuple[list[ProposalRow], int]:
    """Return a page of the visible proposals, oldest first, and how many there are in all."""
    condition, values = rows.visible("scope", visibility)
    if status is not None:
        condition += " AND status = ?"
        values.append(str(status))
    if scope is not None:
        condition += " AND scope = ''" if scope == "global" else " AND scope <> ''"
    if kind is not None:
        condition += " AND kind = ?"
        values.append(str(kind))
    with db.reading() as connection:
        (total,) = connection.execute(
            f"SELECT count(*) FROM proposals WHERE {condition}",  # noqa: S608
            values,
        ).fetchone()
        found = connection.execute(
            f"SELECT {rows.PROPOSAL} FROM proposals WHERE {condition}"  # noqa: S608
            " ORDER BY created, id, path LIMIT ? OFFSET ?",
            [*values, limit, offset],
        )
        return [rows.proposal(row) for row in found], int(total)


def find_handoffs(db: Database, identifier: str, visibility: Visibility) -> list[HandoffRow]:
    """Return every visible handoff an id or a title names, active ones first."""
    return _handoffs(
        db,
        visibility,
        condition="(id = ? OR slot = ?)",
        values=[rows.storable(identifier.strip()), _key(identifier)],
    )


def handoffs(
    db: Database, visibility: Visibility, *, status: HandoffStatus | None = HandoffStatus.ACTIVE
) -> list[HandoffRow]:
    """Return the visible handoffs, the one written last first."""
    if status is None:
        return _handoffs(db, visibility, condition="1", values=[])
    return _handoffs(db, visibility, condition="status = ?", values=[str(status)])


def _handoffs(
    db: Database, visibility: Visibility, *, condition: str, values: Parameters
) -> list[HandoffRow]:
    seen, more = rows.visible("scope", visibility)
    with db.reading() as connection:
        found = connection.execute(
            f"SELECT {rows.HANDOFF} FROM handoffs WHERE {condition} AND {seen}"  # noqa: S608
            " ORDER BY status <> 'active', updated DESC, id, path",
            [*values, *more],
        )
        return [rows.handoff(row) for row in found]


def _notes(db: Database, statement: str, values: Parameters) -> list[NoteRow]:
    with db.asking() as connection:
        return [rows.note(row) for row in connection.execute(statement, values)]


def _key(identifier: str) -> str:
    return rows.storable(identity.slot_key(identifier.strip()))
