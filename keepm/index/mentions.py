"""Which notes a text names in passing, by name or alias, without linking to them.

Every stretch of a text that could be a name is looked up among the handles in sight. A name of
one common word, or of two characters of a script without blanks, stands in texts about anything
and is no mention.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator

from keepm.index import known, rows
from keepm.index.analysis import spelt_words
from keepm.index.database import Database
from keepm.index.rows import NoteRow
from keepm.model import identity
from keepm.model.memory import Visibility

_READ = 3000  # characters of a text
_MOST_WORDS = 6  # of a name
_LONGEST = 120  # characters of a name
_SHORTEST = 3
_RARE = 20  # a single word in more notes than that names none of them
_MOST_ALIKE = 50  # names that begin with the same two characters

# Scripts without blanks: there a name may begin and end at any character.
_UNPARTED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7fb\uf900-\ufaff]"
)
_WORD = re.compile(r"[^\s\-]+")


def find(db: Database, text: str, visibility: Visibility, *, limit: int) -> list[NoteRow]:
    """Return the visible, active, sound notes that a text names, in the order of their first
    mention; of two names that begin at one place the longer one counts."""
    plain = rows.storable(identity.slot_key(text[:_READ]))
    found: list[NoteRow] = []
    with db.reading() as connection:
        places = _places(connection, plain, visibility)
        taken = 0
        for start, key in sorted(places, key=lambda place: (place[0], -len(place[1]))):
            if start < taken:
                continue
            notes = _notes(connection, key, visibility)
            if notes:
                taken = start + len(key)
                found += [note for note in notes if note not in found]
            if len(found) >= limit:
                break
    return found[:limit]


def _places(
    connection: sqlite3.Connection, text: str, visibility: Visibility
) -> list[tuple[int, str]]:
    """Return where which handle stands in a text that has a slot's form."""
    starts: defaultdict[str, list[int]] = defaultdict(list)
    for start, stretch in _stretches(text):
        starts[stretch].append(start)
    beginnings = sorted({text[n : n + 2] for n in _unparted_starts(text)})
    seen, values = rows.visible("h.scope", visibility)
    keys = connection.execute(
        "SELECT h.key FROM json_each(?) AS j CROSS JOIN handles AS h"  # noqa: S608
        f" ON h.key = j.value WHERE h.role BETWEEN 1 AND 2 AND {seen}",
        [json.dumps(list(starts)), *values],
    ).fetchall()
    found = {key: starts[key] for (key,) in keys}
    for beginning in beginnings:
        for (key,) in connection.execute(
            "SELECT DISTINCT h.key FROM handles AS h"  # noqa: S608
            f" WHERE h.key >= ? AND h.key < ? AND h.role BETWEEN 1 AND 2 AND {seen}"
            " ORDER BY h.key LIMIT ?",
            [beginning, beginning + chr(0x10FFFF), *values, _MOST_ALIKE],
        ):
            found.setdefault(key, list(_standing(text, key)))
    return [
        (start, key)
        for key, places in found.items()
        if places and _telling(connection, key, visibility)
        for start in places
    ]


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    """Yield what may be a name made of words, with the place where it begins."""
    words = [(m.start(), m.end()) for m in _WORD.finditer(text)]
    for n, (start, _) in enumerate(words):
        for _, end in words[n : n + _MOST_WORDS]:
            if end - start > _LONGEST:
                break
            stretch = text[start:end]
            yield start, stretch
            plain = stretch.strip(".,;:!?()[]{}<>\"'`*|…，。；：！？（）「」『』《》、“”")
            if plain != stretch and plain:
                yield start + stretch.index(plain), plain


def _unparted_starts(text: str) -> Iterator[int]:
    return (found.start() for found in _UNPARTED.finditer(text))


def _standing(text: str, key: str) -> Iterator[int]:
    """Yield where a name stands in a text so that no letter or digit continues it."""
    at = text.find(key)
    while at >= 0:
        end = at + len(key)
        if _parted(text[end - 1], text[end : end + 1]):
            yield at
        at = text.find(key, end)


def _parted(last: str, following: str) -> bool:
    return (
        not (last.isalnum() and following.isalnum())
        or _UNPARTED.match(last) is not None
        or _UNPARTED.match(following) is not None
    )


def _telling(connection: sqlite3.Connection, key: str, visibility: Visibility) -> bool:
    """Tell whether a name says enough to be meant where it stands in a text."""
    if len(key) < _SHORTEST or not any(c.isalpha() for c in key):
        return False
    if "-" in key or _UNPARTED.search(key):
        return True
    terms = set(spelt_words(key).values()) or {key}
    found = known.known(connection, visibility).of(terms)
    return all(term not in found or found[term] <= _RARE for term in terms)


def _notes(connection: sqlite3.Connection, key: str, visibility: Visibility) -> list[NoteRow]:
    seen, values = rows.visible("n.scope", visibility)
    shadowed = ""
    if visibility.project_id is not None and not visibility.everything:
        shadowed = f" AND {rows.NOT_SHADOWED}"
        values = [*values, visibility.project_id]
    found = connection.execute(
        f"SELECT DISTINCT {rows.FULL} FROM handles AS h JOIN notes AS n USING (number)"  # noqa: S608
        " JOIN bodies AS b USING (number) WHERE h.key = ? AND h.role BETWEEN 1 AND 2"
        f" AND n.status = 'active' AND n.standing = 'sound' AND {seen}{shadowed}"
        " ORDER BY n.scope = '', n.name, n.path",
        [key, *values],
    )
    return [rows.note(row) for row in found]
