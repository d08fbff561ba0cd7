"""Links between notes, resolved when asked, among the notes that are visible then.

So a note that appears, vanishes or is renamed needs no other note's rows rewritten, and a link
to another project's note is simply unresolved.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import StrEnum

from keepm.index import rows
from keepm.index.database import Database
from keepm.index.rows import Parameters
from keepm.model import identity
from keepm.model.document import Standing
from keepm.model.links import is_attachment
from keepm.model.memory import Kind, Scope, Visibility


class Direction(StrEnum):
    BOTH = "both"
    FORWARD = "forward"
    BACK = "back"


class LinkState(StrEnum):
    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class LinkRow:
    """One link, seen from the note that was asked about.

    `id` to `scope` are the note at the other end; of an ambiguous link they are empty and
    `candidates` has the ids and names. `line` counts in the body of the note that links.
    """

    direction: Direction
    relation: str | None
    target_text: str
    id: str | None
    name: str | None
    kind: Kind | None
    scope: Scope | None
    state: LinkState
    candidates: tuple[tuple[str, str], ...]
    line: int


@dataclass(frozen=True, slots=True)
class LooseLink:
    """A link that leads to no one note.

    `line` counts in the body; 0 is the front matter, where `relation` is the key, case folded.
    """

    path: str  # of the note that links
    line: int
    key: str  # what the target asks for
    state: LinkState
    relation: str | None = None


@dataclass(frozen=True, slots=True)
class _End:
    """A note as an end of a link."""

    number: int
    id: str
    name: str
    kind: Kind | None
    scope: Scope
    role: int
    active: bool


_END = "n.number, n.id, n.name, n.kind, n.scope, {role}, n.status = 'active'"
_LINKS = "links AS l JOIN notes AS n USING (number)"


def links(
    db: Database,
    note_id: str,
    visibility: Visibility,
    *,
    direction: Direction = Direction.BOTH,
    relation: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[LinkRow], int]:
    """Return a page of the links from and to a note, and how many there are in all.

    Those from it come first, in the order of its text; then those to it, by the linking note.
    """
    with db.reading() as connection:
        numbers = _numbers(connection, note_id, visibility)
        found: list[LinkRow] = []
        for number in numbers:
            if direction != Direction.BACK:
                found += _forward(connection, number, visibility, relation=relation)
        if direction != Direction.FORWARD:
            for number in numbers:
                found += _back(connection, number, visibility, relation=relation)
    return found[offset : offset + limit], len(found)


def loose_links(db: Database, visibility: Visibility) -> list[LooseLink]:
    """Return every visible link that resolves to none or to several notes, by path and line.

    A link to a picture or another attachment is no link to a note.
    """
    seen, values = rows.visible("n.scope", visibility)
    with db.reading() as connection:
        holders: dict[str, set[tuple[int, str]]] = {}
        for key, number, scope in connection.execute(
            "SELECT h.key, h.number, n.scope FROM handles AS h JOIN notes AS n"  # noqa: S608
            f" USING (number) WHERE {seen} AND n.standing <> ?",
            [*values, str(Standing.WITHHELD)],
        ):
            holders.setdefault(key, set()).add((number, scope))
        found = connection.execute(
            f"SELECT n.path, n.scope, l.line, l.target, l.target_key, l.tail_key, l.relation"  # noqa: S608
            f" FROM {_LINKS} WHERE {seen} ORDER BY n.path, l.sequence",
            values,
        ).fetchall()
        states: dict[tuple[str, str, str], LinkState] = {}
        loose = []
        for path, scope, line, target, target_key, tail_key, relation in found:
            asked = (target_key, tail_key, scope)
            if asked not in states:
                # Most targets are held by one note in reach; only the others are worth a query.
                held = holders.get(target_key, ())
                if len([1 for _, its in held if not scope or its in ("", scope)]) == 1:
                    states[asked] = LinkState.RESOLVED
                else:
                    source = Scope.from_key(scope)
                    states[asked] = _state(
                        _resolve(connection, target_key, tail_key, source, visibility)
                    )
            if states[asked] is not LinkState.RESOLVED and not is_attachment(target):
                loose.append(LooseLink(path, line, target_key, states[asked], relation))
    return loose


def _numbers(connection: sqlite3.Connection, note_id: str, visibility: Visibility) -> list[int]:
    seen, values = rows.visible("scope", visibility)
    found = connection.execute(
        f"SELECT number FROM notes WHERE {seen} AND number IN"  # noqa: S608
        " (SELECT number FROM handles WHERE key = ? AND role = 0) ORDER BY path",
        [*values, rows.storable(identity.slot_key(note_id))],
    )
    return [number for (number,) in found]


def _forward(
    connection: sqlite3.Connection, number: int, visibility: Visibility, *, relation: str | None
) -> list[LinkRow]:
    condition, more = _related(relation)
    found = connection.execute(
        "SELECT l.target, l.target_key, l.tail_key, l.relation, l.line, n.scope"  # noqa: S608
        f" FROM {_LINKS} WHERE l.number = ? AND {condition} ORDER BY l.sequence",
        [number, *more],
    ).fetchall()
    answer: list[LinkRow] = []
    known: dict[str, list[_End]] = {}
    for target, target_key, tail_key, said, line, scope in found:
        if target_key not in known:
            known[target_key] = _resolve(
                connection, target_key, tail_key, Scope.from_key(scope), visibility
            )
        answer.append(_row(Direction.FORWARD, known[target_key], target, said, line, end=None))
    return answer


def _back(
    connection: sqlite3.Connection, number: int, visibility: Visibility, *, relation: str | None
) -> list[LinkRow]:
    """Return the links whose target resolves to the note, or is ambiguous with it among others."""
    keys = [
        key for (key,) in connection.execute("SELECT key FROM handles WHERE number = ?", (number,))
    ]
    seen, values = rows.visible("n.scope", visibility)
    condition, more = _related(relation)
    whole, whole_keys = rows.one_of("l.target_key", keys)
    tail, tail_keys = rows.one_of("l.tail_key", keys)
    role = _END.format(role="0")
    found = connection.execute(
        f"SELECT l.target, l.target_key, l.tail_key, l.relation, l.line, {role}"  # noqa: S608
        f" FROM {_LINKS} WHERE ({whole} OR {tail}) AND {condition} AND {seen}"
        " AND n.standing <> ? ORDER BY n.scope = '', n.name, n.path, l.sequence",
        [*whole_keys, *tail_keys, *more, *values, str(Standing.WITHHELD)],
    ).fetchall()
    answer: list[LinkRow] = []
    for target, target_key, tail_key, said, line, *columns in found:
        source = _end(columns)
        ends = _resolve(connection, target_key, tail_key, source.scope, visibility)
        if any(end.number == number for end in ends):
            answer.append(_row(Direction.BACK, ends, target, said, line, end=source))
    return answer


def _related(relation: str | None) -> tuple[str, Parameters]:
    if relation is None:
        return "1", []
    return "l.relation = ?", [rows.storable(relation.strip().casefold())]


def _resolve(
    connection: sqlite3.Connection,
    target_key: str,
    tail_key: str,
    source: Scope,
    visibility: Visibility,
) -> list[_End]:
    """Return the notes a target may mean: one is the answer, several are ambiguous.

    By id, then name, then alias, then file name; a path's last part only if the whole of it
    names nothing. Active notes before others, the project's before global ones.
    """
    for key in dict.fromkeys((target_key, tail_key)):
        ends = _named(connection, key, source, visibility)
        if not ends:
            continue
        own = [end for end in ends if end.role == 0]
        ends = own or [end for end in ends if end.active] or ends
        strongest = min(end.role for end in ends)
        ends = [end for end in ends if end.role == strongest]
        return [end for end in ends if end.scope.project_id is not None] or ends
    return []


def _named(
    connection: sqlite3.Connection, key: str, source: Scope, visibility: Visibility
) -> list[_End]:
    if not key:
        return []
    seen, values = rows.visible("n.scope", visibility)
    if source.project_id is not None:
        # The owner sees every project; a note still links within its own.
        within, more = rows.visible("n.scope", Visibility(source.project_id))
        seen, values = f"{seen} AND {within}", [*values, *more]
    found = connection.execute(
        f"SELECT {_END.format(role='h.role')} FROM handles AS h JOIN notes AS n"  # noqa: S608
        f" USING (number) WHERE h.key = ? AND {seen} AND n.standing <> ?"
        " ORDER BY n.scope = '', n.name, n.path",
        [key, *values, str(Standing.WITHHELD)],
    )
    return [_end(list(row)) for row in found]


def _end(columns: list[int | str | None]) -> _End:
    number, note_id, name, kind, scope, role, active = columns
    return _End(
        number=int(number or 0),
        id=str(note_id),
        name=str(name),
        kind=None if kind is None else Kind(str(kind)),
        scope=Scope.from_key(str(scope)),
        role=int(role or 0),
        active=bool(active),
    )


def _state(ends: list[_End]) -> LinkState:
    if not ends:
        return LinkState.UNRESOLVED
    return LinkState.RESOLVED if len(ends) == 1 else LinkState.AMBIGUOUS


def _row(
    direction: Direction,
    ends: list[_End],
    target: str,
    relation: str | None,
    line: int,
    *,
    end: _End | None,
) -> LinkRow:
    """Make a row; `end` is the other note of a backlink, whatever its target resolves to."""
    resolved = len(ends) == 1
    other = end or (ends[0] if resolved else None)
    return LinkRow(
        direction=direction,
        relation=relation,
        target_text=target,
        id=other.id if other else None,
        name=other.name if other else None,
        kind=other.kind if other else None,
        scope=other.scope if other else None,
        state=_state(ends),
        candidates=() if resolved else tuple((e.id, e.name) for e in ends),
        line=line,
    )
