"""Which notes may contradict those that are shown: by name, by value, by topic.

Only pairs around given notes are looked for, so that the cost hangs on what is shown and not on
the vault. Both are active, sound and of one scope: a project's note that says otherwise than a
global one is meant to. Common words, and names of parameters that many notes have, tell nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from keepm.index import rows, stretches
from keepm.index.analysis import for_index, spelt_words
from keepm.index.connection import kept
from keepm.index.database import Database
from keepm.index.topics import MOST_RIVALS, SOUND, Look, Subject, telling
from keepm.model.memory import Visibility

_MOST_SUBJECTS = 5
_MOST_KEPT = 500  # notes whose surroundings are kept until somebody writes
_MOST_HOLDERS = 30  # of a parameter's name: what more notes have is a common one
_SHARED_WORDS = 2  # that two titles have to have in common, at least
_SHARED_PAIRS = 3  # the same where characters go in overlapping pairs
_SAME_TEXT = 0.6  # share of two bodies' words
_MOST_LONGER = 2  # a body so many times as long as another says more than that


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


_Found = Iterator[tuple[Subject, Subject, str, str]]
"""The two notes of a pair, the kind of hint, its detail."""

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
    look = Look(connection, paths, visibility)
    for way, pairs in enumerate(_WAYS):
        for note, other, kind, detail in pairs(look):
            hint = ConflictHint(kind, (note.id, note.name), (other.id, other.name), detail)
            found[note.path][way].append((other.path, hint))
    return found


# ---- the three ways --------------------------------------------------------------------------


def _same_names(look: Look) -> _Found:
    keys: dict[int, dict[int, tuple[bool, str]]] = {note.number: {} for note in look.notes}
    for own, number, is_alias, key in look.connection.execute(
        "SELECT mine.number, other.number, mine.role = 2 OR other.role = 2, other.key"
        " FROM json_each(?) AS j CROSS JOIN handles AS mine ON mine.number = j.value"
        " CROSS JOIN handles AS other ON other.scope = mine.scope AND other.key = mine.key"
        " WHERE other.number <> mine.number"
        " AND mine.role BETWEEN 1 AND 2 AND other.role BETWEEN 1 AND 2 ORDER BY 3, 4",
        (json.dumps(list(keys)),),
    ):
        keys[own].setdefault(number, (bool(is_alias), key))
    look.meet(keys.values())
    for note in look.notes:
        of = keys[note.number]
        for other in look.among(of):
            is_alias, key = of[other.number]
            yield note, other, "alias" if is_alias else "name", key


def _other_values(look: Look) -> _Found:
    """Find another value for a parameter of a note, in a note about the same matter.

    Many notes have a `port`; it is the same port if the notes rest on one file, share most of
    their text, or are about the same beyond the name of the parameter.
    """
    differing = _differing(look)
    look.meet(differing.values())
    others = {note.number: look.among(differing[note.number]) for note in look.notes}
    apart = {
        note.number: [
            other.number
            for other in others[note.number]
            if not _of_one_matter(look, note, other, differing[note.number][other.number][0])
        ]
        for note in look.notes
    }
    alike = _alike(look.connection, apart)
    for note in look.notes:
        unlike = set(apart[note.number]) - alike[note.number]
        for other in others[note.number]:
            if other.number not in unlike:
                key, values = differing[note.number][other.number]
                yield note, other, "value", f"{key}: {values}"


def _differing(look: Look) -> dict[int, dict[int, tuple[str, str]]]:
    """Return which notes have another value for a parameter of each note: its name, both values."""
    found: dict[int, dict[int, tuple[str, str]]] = {note.number: {} for note in look.notes}
    stated = look.connection.execute(
        "SELECT p.scope, p.key, p.number, p.value FROM json_each(?) AS j"
        " CROSS JOIN parameters AS p ON p.number = j.value ORDER BY p.key",
        (json.dumps(list(found)),),
    ).fetchall()
    known: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for scope, key, number, value in stated:
        if (scope, key) not in known:
            holders = look.connection.execute(
                "SELECT number, value FROM parameters WHERE scope = ? AND key = ? LIMIT ?",
                (scope, key, _MOST_HOLDERS + 1),
            ).fetchall()
            known[scope, key] = holders if len(holders) <= _MOST_HOLDERS else []
        for holder, other in known[scope, key]:
            if holder != number and other != value:
                found[number].setdefault(holder, (key, f"{value} / {other}"))
    return found


def _of_one_matter(look: Look, note: Subject, other: Subject, key: str) -> bool:
    """Tell whether notes rest on one file, or are about the same beyond the parameter's name."""
    if _any_in(other.sourced, look.rare_sources[note.number]):
        return True
    if not _any_in(other.named, look.rare_names[note.number]):
        return False
    own = for_index(key.replace("-", " ")).split()
    return bool(look.rare(_common(note, other).difference(own)))


def _same_topics(look: Look) -> _Found:
    rivals: dict[int, list[int]] = {}
    for note in look.notes:
        rare = look.rare_names[note.number]
        if len(rare) >= _SHARED_WORDS and note.kind is not None:
            rivals[note.number] = _rivals(look.connection, note, rare)
    look.meet(rivals.values())
    for note in look.notes:
        for other in look.among(rivals.get(note.number, ())):
            shared = look.rare(_common(note, other))
            words = [term for term in shared if term.isascii()]
            if len(words) >= _SHARED_WORDS or len(shared) >= _SHARED_PAIRS:
                yield note, other, "topic", _spelt(note, shared)


def _rivals(connection: sqlite3.Connection, note: Subject, rare: Sequence[str]) -> list[int]:
    """Return notes of the same kind that have some of these words where a topic is told."""
    # The one place in this module where terms become FTS5 syntax: no term holds a quote.
    match = "{name aliases tags description} : (" + " OR ".join(f'"{term}"' for term in rare) + ")"
    near, bounds = stretches.within_scope(connection, "terms.rowid", note.scope)
    numbers = connection.execute(
        "SELECT n.number FROM terms CROSS JOIN notes AS n ON n.number = terms.rowid"  # noqa: S608
        f" WHERE terms MATCH ? AND {near}"
        f" AND n.scope = ? AND n.kind = ? AND n.number <> ? AND {SOUND}"
        " ORDER BY n.name, n.path LIMIT ?",
        (match, *bounds, note.scope, note.kind, note.number, MOST_RIVALS),
    )
    return [number for (number,) in numbers]


_WAYS = (_same_names, _other_values, _same_topics)


def _any_in(text: str, terms: Iterable[str]) -> bool:
    """Tell whether a text of terms, with a blank at both ends, holds one of these."""
    return any(f" {term} " in text for term in terms)


def _common(one: Subject, other: Subject) -> frozenset[str]:
    """Return the words of the two titles, of each whose every word the other note names too.

    `billing owner` and `catalog owner` are about two things, as each has a word of its own.
    """
    mine, theirs = one.title, other.title
    return (mine if mine <= other.names else frozenset()) | (
        theirs if theirs <= one.names else frozenset()
    )


def _spelt(note: Subject, terms: Iterable[str]) -> str:
    """Return terms as the note spells them."""
    words = {term: word for word, term in spelt_words(note.heading).items()}
    return " ".join(words.get(term, term) for term in terms)


def _alike(
    connection: sqlite3.Connection, pairs: Mapping[int, Collection[int]]
) -> dict[int, set[int]]:
    """Return which of the notes beside each have most of the words of its body."""
    asked = {each for number, others in pairs.items() if others for each in (number, *others)}
    bodies: dict[int, str] = dict(
        connection.execute(
            "SELECT t.id, t.c5 FROM json_each(?) AS j"
            " CROSS JOIN terms_content AS t ON t.id = j.value",
            (json.dumps(list(asked)),),
        )
        if asked
        else ()
    )
    found: dict[int, set[int]] = {}
    for number, others in pairs.items():
        words = telling(bodies[number]) if others else frozenset()
        found[number] = {
            other
            for other in others
            if _as_long(bodies[number], bodies[other]) and _says_the_same(words, bodies[other])
        }
    return found


def _as_long(one: str, other: str) -> bool:
    return len(other) <= len(one) * _MOST_LONGER and len(one) <= len(other) * _MOST_LONGER


def _says_the_same(words: frozenset[str], body: str) -> bool:
    terms = body.split()
    common = len(words.intersection(terms))
    if common < _SAME_TEXT * len(words):
        return False  # whatever else there is; most texts end here
    theirs = telling(body)
    return common >= _SAME_TEXT * len(words | theirs) > 0
