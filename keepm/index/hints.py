"""Which notes may contradict those that are shown: by name, by value, by topic.

Only pairs around given notes are looked for, so that the cost hangs on what is shown and not on
the vault. Both are active, sound and of one scope: a project's note that says otherwise than a
global one is meant to. Common words, and names of parameters that many notes have, tell nothing.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from keepm.index import frequencies, rows, stopwords
from keepm.index.analysis import for_index, spelt_words
from keepm.index.database import Database
from keepm.model import parameters
from keepm.model.memory import Claim, Visibility

_MOST_SUBJECTS = 5
_MOST_HOLDERS = 30  # of a parameter's name: what more notes have is a common one
_MOST_RIVALS = 60  # notes that are compared with one
_RARE = 12  # a word that more notes hold is common; in a small vault sooner
_LEAST_RARE = 3
_RARE_SHARE = 0.25
_SHARED_WORDS = 2  # that two titles have to have in common, at least
_SHARED_PAIRS = 3  # the same where characters go in overlapping pairs
_SAME_TEXT = 0.6  # share of two bodies' words
_MOST_LONGER = 2  # a body so many times as long as another says more than that
_JOINED = re.compile(r"\w[._/+#@%=:&'-]+\w")

# Stems of words that stand in titles of notes about anything.
_TITLE_STEMS = """
    choic choos config configur convent current decid decis default detail fix guid how info note
    option polici prefer project reason refer rule section set setup standard tool us use valu what
    which why work workflow paramet reproduc constraint
"""
_OF_ANY_TITLE = frozenset(_TITLE_STEMS.split()) | frozenset(
    ("项目", "配置", "设置", "说明", "选择", "规则", "默认", "使用", "方案", "约定", "规范", "流程")
)


@dataclass(frozen=True, slots=True)
class ConflictHint:
    """Two active notes of one scope that may contradict each other.

    `kind` is `name` or `alias` (both answer to `detail`), `value` (a parameter with two values)
    or `topic` (the terms in which two notes of one kind agree).
    """

    kind: str
    a: tuple[str, str]  # id, name
    b: tuple[str, str]
    detail: str


@dataclass(frozen=True, slots=True)
class _Note:
    """A note with the terms that can tell its topic."""

    number: int
    id: str
    name: str
    path: str
    scope: str
    kind: str | None
    heading: str  # name, aliases and description as they are written
    title: frozenset[str]  # of its name
    names: frozenset[str]  # of name, aliases, tags and description
    files: frozenset[str]  # paths of its sources, as terms
    body: str  # its terms


_Found = Iterator[tuple[_Note, str, str]]
"""The other note of a pair, the kind of hint, its detail."""


def store(connection: sqlite3.Connection, number: int, claim: Claim) -> None:
    """Store the parameters that a note states."""
    scope = rows.storable(claim.scope.key)
    connection.executemany(
        "INSERT INTO parameters VALUES (?, ?, ?, ?)",
        [
            (scope, rows.storable(each.key), number, rows.storable(each.value))
            for each in parameters.parse(claim.body)
        ],
    )


def around(
    db: Database, paths: Iterable[str], visibility: Visibility, *, limit: int
) -> list[ConflictHint]:
    """Return what may contradict the first few of these notes: by name, then value, then topic.

    A pair is named once. The order is always the same.
    """
    wanted = [rows.storable(path) for path in paths][:_MOST_SUBJECTS]
    found: dict[frozenset[str], ConflictHint] = {}
    with db.reading() as connection:
        seen, values = rows.visible("n.scope", visibility)
        among, more = rows.one_of("n.path", wanted)
        subjects = _notes(connection, f"{among} AND {seen}", [*more, *values])
        subjects.sort(key=lambda note: wanted.index(note.path))
        rarity = _Rarity(connection, visibility)
        for look in (_same_names, _other_values, _same_topics):
            for subject in subjects:
                for other, kind, detail in look(connection, subject, rarity):
                    a, b = (subject.id, subject.name), (other.id, other.name)
                    hint = ConflictHint(kind, a, b, detail)
                    found.setdefault(frozenset((subject.path, other.path)), hint)
    return list(found.values())[:limit]


# ---- the three ways --------------------------------------------------------------------------


def _same_names(connection: sqlite3.Connection, note: _Note, rarity: _Rarity) -> _Found:
    keys: dict[int, tuple[bool, str]] = {}
    for number, is_alias, key in connection.execute(
        "SELECT other.number, mine.role = 2 OR other.role = 2, other.key FROM handles AS mine"
        " JOIN handles AS other ON other.scope = mine.scope AND other.key = mine.key"
        " WHERE mine.number = ? AND other.number <> mine.number"
        " AND mine.role BETWEEN 1 AND 2 AND other.role BETWEEN 1 AND 2 ORDER BY 2, 3",
        (note.number,),
    ):
        keys.setdefault(number, (bool(is_alias), key))
    for other in _numbered(connection, keys):
        is_alias, key = keys[other.number]
        yield other, "alias" if is_alias else "name", key


def _other_values(connection: sqlite3.Connection, note: _Note, rarity: _Rarity) -> _Found:
    """Find another value for a parameter of the note, in a note about the same matter.

    Many notes have a `port`; it is the same port if the notes rest on one file, share most of
    their text, or are about the same beyond the name of the parameter.
    """
    differing: dict[int, tuple[str, str]] = {}
    for key, value in connection.execute(
        "SELECT key, value FROM parameters WHERE number = ? ORDER BY key", (note.number,)
    ).fetchall():
        holders = connection.execute(
            "SELECT number, value FROM parameters WHERE scope = ? AND key = ? LIMIT ?",
            (note.scope, key, _MOST_HOLDERS + 1),
        ).fetchall()
        if len(holders) <= _MOST_HOLDERS:
            for number, other in holders:
                if number != note.number and other != value:
                    differing.setdefault(number, (key, f"{key}: {value} / {other}"))
    words = _telling(note.body) if differing else frozenset()
    for other in _numbered(connection, differing):
        key, detail = differing[other.number]
        said = set(for_index(key.replace("-", " ")).split())
        if (
            rarity.rare(note.files & other.files)
            or rarity.rare(_common(note, other) - said)
            or _alike(words, note, other)
        ):
            yield other, "value", detail


def _same_topics(connection: sqlite3.Connection, note: _Note, rarity: _Rarity) -> _Found:
    rare = rarity.rare(note.names)
    if len(rare) < _SHARED_WORDS or note.kind is None:
        return
    # The one place in this module where terms become FTS5 syntax: no term holds a quote.
    match = "{name aliases tags description} : (" + " OR ".join(f'"{term}"' for term in rare) + ")"
    numbers = connection.execute(
        "SELECT n.number FROM terms CROSS JOIN notes AS n ON n.number = terms.rowid"  # noqa: S608
        f" WHERE terms MATCH ? AND n.scope = ? AND n.kind = ? AND n.number <> ? AND {_SOUND}"
        " ORDER BY n.name, n.path LIMIT ?",
        (match, note.scope, note.kind, note.number, _MOST_RIVALS),
    )
    for other in _numbered(connection, [number for (number,) in numbers]):
        shared = rarity.rare(_common(note, other))
        words = [term for term in shared if term.isascii()]
        if len(words) >= _SHARED_WORDS or len(shared) >= _SHARED_PAIRS:
            yield other, "topic", _spelt(note, shared)


def _common(one: _Note, other: _Note) -> frozenset[str]:
    """Return the words of the two titles, of each whose every word the other note names too.

    `billing owner` and `catalog owner` are about two things, as each has a word of its own.
    """
    mine = one.title if one.title <= other.names else frozenset()
    theirs = other.title if other.title <= one.names else frozenset()
    return mine | theirs


def _spelt(note: _Note, terms: Iterable[str]) -> str:
    """Return terms as the note spells them."""
    words = {term: word for word, term in spelt_words(note.heading).items()}
    return " ".join(words.get(term, term) for term in terms)


def _alike(words: frozenset[str], note: _Note, other: _Note) -> bool:
    """Tell whether two bodies have most of their words in common; `words` are the first one's."""
    shorter, longer = sorted((len(note.body), len(other.body)))
    if longer > _MOST_LONGER * shorter:
        return False
    theirs = _telling(other.body)
    return len(words & theirs) >= _SAME_TEXT * len(words | theirs) > 0


class _Rarity:
    """How rare words are among the notes in sight; each is looked up once."""

    def __init__(self, connection: sqlite3.Connection, visibility: Visibility) -> None:
        self._connection, self._visibility = connection, visibility
        self._seen: dict[str, int] = {}
        condition, values = rows.visible("scope", visibility)
        (count,) = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM notes WHERE {condition} LIMIT ?)",  # noqa: S608
            [*values, math.ceil(_RARE / _RARE_SHARE)],
        ).fetchone()
        self._most = max(_LEAST_RARE, int(count * _RARE_SHARE))

    def rare(self, terms: Collection[str]) -> list[str]:
        """Return the rare ones, in alphabetical order."""
        self._learn(terms)
        return sorted(term for term in terms if 0 < self._seen[term] <= self._most)

    def _learn(self, terms: Iterable[str]) -> None:
        unknown = [term for term in terms if term not in self._seen]
        if unknown:
            found = frequencies.of(self._connection, unknown, self._visibility)
            self._seen.update((term, found.get(term, 0)) for term in unknown)


# ---- notes -----------------------------------------------------------------------------------

_SOUND = "n.status = 'active' AND n.standing = 'sound'"
_COLUMNS = (
    "n.number, n.id, n.name, n.path, n.scope, n.kind,"
    " n.name || ' ' || n.aliases || ' ' || n.description,"
    " t.name, t.aliases, t.description, t.tags, t.sources, t.body"
)


def _numbered(connection: sqlite3.Connection, numbers: Collection[int]) -> list[_Note]:
    """Return the active, sound ones among these notes by name, at most so many."""
    if not numbers:
        return []
    marks = ", ".join("?" * len(numbers))
    return _notes(connection, f"n.number IN ({marks})", list(numbers))


def _notes(
    connection: sqlite3.Connection, condition: str, values: Sequence[str | int]
) -> list[_Note]:
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM notes AS n JOIN terms AS t ON t.rowid = n.number"  # noqa: S608
        f" WHERE {condition} AND {_SOUND} ORDER BY n.name, n.path LIMIT ?",
        [*values, _MOST_RIVALS],
    )
    return [_note(*row) for row in found]


def _note(
    number: int,
    note_id: str,
    name: str,
    path: str,
    scope: str,
    kind: str | None,
    heading: str,
    *texts: str,
) -> _Note:
    *names, sources, body = texts
    title, aliases, description, tags = map(_telling, names)
    return _Note(
        number=number,
        id=note_id,
        name=name,
        path=path,
        scope=scope,
        kind=kind,
        heading=heading,
        title=title,
        names=title | aliases | description | tags,
        files=frozenset(term for term in sources.split() if _JOINED.search(term)),
        body=body,
    )


def _telling(terms: str) -> frozenset[str]:
    """Return the terms that can tell a topic."""
    return frozenset(filter(_tells, terms.split()))


@lru_cache(maxsize=1 << 14)
def _tells(term: str) -> bool:
    """Tell whether a term is no number, single sign or word of any title, and not joined from
    several."""
    return (
        len(term) > 1
        and any(c.isalpha() for c in term)
        and term not in stopwords.ENGLISH
        and term not in _OF_ANY_TITLE
        and not _JOINED.search(term)
    )
