"""Which notes may contradict those that are shown: by name, by value, by topic.

Only pairs around given notes are looked for, so that the cost hangs on what is shown and not on
the vault. Both are active, sound and of one scope: a project's note that says otherwise than a
global one is meant to. Common words, and names of parameters that many notes have, tell nothing.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from keepm.index import frequencies, rows, stopwords, stretches
from keepm.index.analysis import for_index, spelt_words
from keepm.index.connection import kept
from keepm.index.database import Database
from keepm.model.memory import Visibility

_MOST_SUBJECTS = 5
_MOST_KEPT = 500  # notes whose surroundings are kept until somebody writes
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
    """A note with the terms that can tell its topic, each text with a blank at both ends.

    Most notes are looked at only to find that they share no rare term: so their texts stay whole.
    """

    number: int
    id: str
    name: str
    path: str
    scope: str
    kind: str | None
    heading: str  # name, aliases and description as they are written
    titled: str
    named: str  # all terms of name, aliases, tags and description
    sourced: str

    @property
    def title(self) -> frozenset[str]:
        """What tells a topic of the terms of its name."""
        return _telling(self.titled)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.named.split())

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(self.sourced.split())


_Found = Iterator[tuple[_Note, str, str]]
"""The other note of a pair, the kind of hint, its detail."""

_Around = list[list[tuple[str, ConflictHint]]]
"""What one of the three ways finds around a note, with the path of the other: way by way."""


def around(
    db: Database, paths: Iterable[str], visibility: Visibility, *, limit: int
) -> list[ConflictHint]:
    """Return what may contradict the first few of these notes: by name, then value, then topic.

    A pair is named once. The order is always the same.
    """
    wanted = list(dict.fromkeys(rows.storable(path) for path in paths))[:_MOST_SUBJECTS]
    with db.reading() as connection:
        known: dict[str, _Around] = kept(connection, ("hints", visibility), dict)
        if len(known) >= _MOST_KEPT:
            known.clear()
        new = [path for path in wanted if path not in known]
        known.update(_look(connection, new, visibility))
        around = [(path, known[path]) for path in wanted]
    found: dict[frozenset[str], ConflictHint] = {}
    for way in range(len(_WAYS)):
        for path, ways in around:
            for other, hint in ways[way]:
                found.setdefault(frozenset((path, other)), hint)
    return list(found.values())[:limit]


def _look(
    connection: sqlite3.Connection, paths: Sequence[str], visibility: Visibility
) -> dict[str, _Around]:
    """Look around the active, sound notes in sight among these; around others there is nothing."""
    found: dict[str, _Around] = {path: [[] for _ in _WAYS] for path in paths}
    if not paths:
        return found
    seen, values = rows.visible("n.scope", visibility)
    among, more = rows.one_of("n.path", paths)
    subjects = _notes(connection, f"{among} AND {seen}", [*more, *values])
    # Whatever two notes have in common, the first one has: one look-up tells all.
    asked = (
        term
        for note in subjects
        for term in (*filter(_tells, note.names), *filter(_JOINED.search, note.sources))
    )
    rarity = _Rarity(connection, asked, visibility)
    for subject in subjects:
        for way, look in enumerate(_WAYS):
            found[subject.path][way] = [
                (
                    other.path,
                    ConflictHint(kind, (subject.id, subject.name), (other.id, other.name), detail),
                )
                for other, kind, detail in look(connection, subject, rarity)
            ]
    return found


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
    others = _numbered(connection, differing)
    apart = []
    names, files = (
        rarity.rare(filter(_tells, note.names)),
        rarity.rare(filter(_JOINED.search, note.sources)),
    )
    for other in others:
        key, _ = differing[other.number]
        if not _any_in(other.sourced, files) and not (
            _any_in(other.named, names)
            and rarity.rare(
                _common(note, other).difference(for_index(key.replace("-", " ")).split())
            )
        ):
            apart.append(other.number)
    unlike = set(apart) - _alike(connection, note.number, apart)
    for other in others:
        if other.number not in unlike:
            yield other, "value", differing[other.number][1]


def _same_topics(connection: sqlite3.Connection, note: _Note, rarity: _Rarity) -> _Found:
    rare = rarity.rare(filter(_tells, note.names))
    if len(rare) < _SHARED_WORDS or note.kind is None:
        return
    # The one place in this module where terms become FTS5 syntax: no term holds a quote.
    match = "{name aliases tags description} : (" + " OR ".join(f'"{term}"' for term in rare) + ")"
    near, bounds = stretches.within_scope(connection, "terms.rowid", note.scope)
    numbers = connection.execute(
        "SELECT n.number FROM terms CROSS JOIN notes AS n ON n.number = terms.rowid"  # noqa: S608
        f" WHERE terms MATCH ? AND {near}"
        f" AND n.scope = ? AND n.kind = ? AND n.number <> ? AND {_SOUND}"
        " ORDER BY n.name, n.path LIMIT ?",
        (match, *bounds, note.scope, note.kind, note.number, _MOST_RIVALS),
    )
    for other in _numbered(connection, [number for (number,) in numbers]):
        shared = rarity.rare(_common(note, other))
        words = [term for term in shared if term.isascii()]
        if len(words) >= _SHARED_WORDS or len(shared) >= _SHARED_PAIRS:
            yield other, "topic", _spelt(note, shared)


_WAYS = (_same_names, _other_values, _same_topics)


def _any_in(text: str, terms: Iterable[str]) -> bool:
    """Tell whether a text of terms, with a blank at both ends, holds one of these."""
    return any(f" {term} " in text for term in terms)


def _common(one: _Note, other: _Note) -> frozenset[str]:
    """Return the words of the two titles, of each whose every word the other note names too.

    `billing owner` and `catalog owner` are about two things, as each has a word of its own.
    """
    mine, theirs = one.title, other.title
    return (mine if mine <= other.names else frozenset()) | (
        theirs if theirs <= one.names else frozenset()
    )


def _spelt(note: _Note, terms: Iterable[str]) -> str:
    """Return terms as the note spells them."""
    words = {term: word for word, term in spelt_words(note.heading).items()}
    return " ".join(words.get(term, term) for term in terms)


def _alike(connection: sqlite3.Connection, number: int, others: Collection[int]) -> set[int]:
    """Return which of these notes' bodies have most of their words in common with a note's."""
    if not others:
        return set()
    (body,) = connection.execute("SELECT body FROM terms WHERE rowid = ?", (number,)).fetchone()
    words = _telling(body)
    bodies = connection.execute(
        "SELECT t.rowid, t.body FROM json_each(?1) AS j CROSS JOIN terms AS t"
        " ON t.rowid = j.value WHERE length(t.body) <= ?2 * ?3 AND ?2 <= length(t.body) * ?3",
        (json.dumps(list(others)), len(body), _MOST_LONGER),
    )
    return {other for other, its in bodies if _says_the_same(words, its)}


def _says_the_same(words: frozenset[str], body: str) -> bool:
    terms = set(body.split())
    common = len(words & terms)
    if common < _SAME_TEXT * len(words):
        return False  # whatever else there is; most texts end here
    theirs = _telling(body)
    return common >= _SAME_TEXT * len(words | theirs) > 0


class _Rarity:
    """How rare these words are among the notes in sight."""

    def __init__(
        self, connection: sqlite3.Connection, terms: Iterable[str], visibility: Visibility
    ) -> None:
        self._seen = frequencies.of(connection, terms, visibility)
        condition, values = rows.visible("scope", visibility)
        (count,) = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM notes WHERE {condition} LIMIT ?)",  # noqa: S608
            [*values, math.ceil(_RARE / _RARE_SHARE)],
        ).fetchone()
        self._most = max(_LEAST_RARE, int(count * _RARE_SHARE))

    def rare(self, terms: Iterable[str]) -> list[str]:
        """Return the rare ones of some of the words, in alphabetical order."""
        return sorted(term for term in terms if 0 < self._seen.get(term, 0) <= self._most)


# ---- notes -----------------------------------------------------------------------------------

_SOUND = "n.status = 'active' AND n.standing = 'sound'"
_COLUMNS = (
    "n.number, n.id, n.name, n.path, n.scope, n.kind,"
    " n.name || ' ' || n.aliases || ' ' || n.description,"
    " t.name, ' ' || t.name || ' ' || t.aliases || ' ' || t.tags || ' ' || t.description || ' ',"
    " ' ' || t.sources || ' '"
)


def _numbered(connection: sqlite3.Connection, numbers: Collection[int]) -> list[_Note]:
    """Return the active, sound ones among these notes by name, at most so many."""
    if not numbers:
        return []
    return _notes(
        connection, "n.number IN (SELECT value FROM json_each(?))", [json.dumps(list(numbers))]
    )


def _notes(
    connection: sqlite3.Connection, condition: str, values: Sequence[str | int]
) -> list[_Note]:
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM notes AS n JOIN terms AS t ON t.rowid = n.number"  # noqa: S608
        f" WHERE {condition} AND {_SOUND} ORDER BY n.name, n.path LIMIT ?",
        [*values, _MOST_RIVALS],
    )
    return [_Note(*row) for row in found]


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
