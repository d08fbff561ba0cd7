"""What notes are about, as far as words tell it: those of their headings that few notes have.

What several notes of one answer need is fetched once.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache

from keepm.index import rows, stopwords
from keepm.index.connection import kept
from keepm.index.known import Known, known
from keepm.model.memory import Visibility

SOUND = "n.status = 'active' AND n.standing = 'sound'"
"""The condition on `notes AS n` that a note can contradict another."""

MOST_RIVALS = 60
"""So many notes are compared with one."""

_MOST_WORDS = 5000  # whose counts are kept until somebody writes
_RARE = 12  # a word that more notes hold is common; in a small vault sooner
_LEAST_RARE = 3
_RARE_SHARE = 0.25
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


@dataclass(frozen=True)
class Subject:
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

    @cached_property
    def title(self) -> frozenset[str]:
        """What tells a topic of the terms of its name."""
        return telling(self.titled)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.named.split())

    @cached_property
    def sources(self) -> frozenset[str]:
        return frozenset(self.sourced.split())


class Look:
    """One look around some notes: what several of them need is fetched once."""

    def __init__(
        self, connection: sqlite3.Connection, paths: Sequence[str], visibility: Visibility
    ) -> None:
        self.connection = connection
        seen, values = rows.visible("n.scope", visibility)
        among, more = rows.one_of("n.path", paths)
        self.notes = _notes(connection, f"{among} AND {seen}", [*more, *values])
        # Whatever two notes have in common, the first one has: one look-up tells all.
        asked = (
            term
            for note in self.notes
            for term in (*filter(_tells, note.names), *filter(_JOINED.search, note.sources))
        )
        sight = known(connection, visibility)
        self._seen = _counts(sight, set(asked))
        self._most = min(_RARE, max(_LEAST_RARE, int(sight.shown * _RARE_SHARE)))
        self._known = {note.number: note for note in self.notes}
        self.rare_names = {
            note.number: self.rare(filter(_tells, note.names)) for note in self.notes
        }
        self.rare_sources = {
            note.number: self.rare(filter(_JOINED.search, note.sources)) for note in self.notes
        }

    def rare(self, terms: Iterable[str]) -> list[str]:
        """Return the rare ones of some words of the notes, in alphabetical order."""
        return sorted(term for term in terms if 0 < self._seen.get(term, 0) <= self._most)

    def meet(self, beside: Iterable[Collection[int]]) -> None:
        """Fetch the notes that stand beside each, of many the first by name."""
        asked: set[int] = set()
        for numbers in beside:
            asked.update(
                numbers if len(numbers) <= MOST_RIVALS else _first(self.connection, numbers)
            )
        for note in _numbered(self.connection, asked - self._known.keys()):
            self._known[note.number] = note

    def among(self, numbers: Iterable[int]) -> list[Subject]:
        """Return the active, sound ones among notes that were met by name, at most so many."""
        found = [note for number in numbers if (note := self._known.get(number))]
        return sorted(found, key=lambda note: (note.name, note.path))[:MOST_RIVALS]


def _counts(sight: Known, terms: Set[str]) -> dict[str, int]:
    """Return how many notes that may be shown have each of these words."""
    told: dict[str, int] = kept(sight.connection, ("counts", sight.visibility), dict)
    if len(told) > _MOST_WORDS:
        told.clear()
    if new := terms - told.keys():
        told.update(dict.fromkeys(new, 0))
        told.update(sight.of(new, most=None))  # what is kept hangs on no other word
    return {term: told[term] for term in terms}


_COLUMNS = (
    "n.number, n.id, n.name, n.path, n.scope, n.kind,"
    " n.name || ' ' || n.aliases || ' ' || n.description,"
    " t.c0, ' ' || t.c0 || ' ' || t.c1 || ' ' || t.c2 || ' ' || t.c3 || ' ',"
    " ' ' || t.c4 || ' '"
)


def _numbered(connection: sqlite3.Connection, numbers: Collection[int]) -> list[Subject]:
    """Return the active, sound ones among these notes."""
    if not numbers:
        return []
    return _notes(
        connection, "n.number IN (SELECT value FROM json_each(?))", [json.dumps(list(numbers))]
    )


def _first(connection: sqlite3.Connection, numbers: Collection[int]) -> list[int]:
    """Return the first of the active, sound ones among these notes by name."""
    found = connection.execute(
        "SELECT n.number FROM notes AS n WHERE n.number IN (SELECT value FROM json_each(?))"  # noqa: S608
        f" AND {SOUND} ORDER BY n.name, n.path LIMIT ?",
        (json.dumps(list(numbers)), MOST_RIVALS),
    )
    return [number for (number,) in found]


def _notes(
    connection: sqlite3.Connection, condition: str, values: Sequence[str | int]
) -> list[Subject]:
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM notes AS n JOIN terms_content AS t ON t.id = n.number"  # noqa: S608
        f" WHERE {condition} AND {SOUND} ORDER BY n.name, n.path",
        values,
    )
    return [Subject(*row) for row in found]


def telling(terms: str) -> frozenset[str]:
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
