"""Which notes hold a word, or one of several, as the full text tells it.

Words come back, in one query after another: what was found is kept until somebody writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Set

from keepm.index.connection import kept
from keepm.index.stretches import Ranges

_MOST_KEPT = 50_000  # numbers in lists that are kept, about 4 MB
_LIST_COUNTS = 20  # as so many numbers a list itself

# As one text: a row for each note takes twice as long.
_MATCHING = "SELECT json_group_array(rowid) FROM terms WHERE terms MATCH ?"
_MATCHING_NEAR = f"{_MATCHING} AND rowid BETWEEN ? AND ?"


def either(words: Iterable[str]) -> str:
    """Return what finds notes with one of these words, in FTS5's syntax: no term holds a quote."""
    found = " OR ".join(f'"{word}"' for word in words)
    return f"({found})"


def numbers(connection: sqlite3.Connection, match: str, ranges: Ranges) -> Set[int]:
    """Return the numbers of the notes in these ranges that the full text finds."""
    key = None if ranges is None else (*ranges,)
    known = kept(connection, ("lists", key), _Lists)
    found = known.of.get(match)
    if found is None:
        found = _looked_up(connection, match, ranges)
        known.keep(match, found)
    return found


def _looked_up(connection: sqlite3.Connection, match: str, ranges: Ranges) -> Set[int]:
    # Each range is asked for by itself: the full text goes to where it begins, and doesn't
    # walk through what other projects hold of a common word.
    if ranges is None:
        return _listed(connection.execute(_MATCHING, (match,)))
    found: set[int] = set()
    for low, high in ranges:
        found |= _listed(connection.execute(_MATCHING_NEAR, (match, low, high)))
    return found


def _listed(found: sqlite3.Cursor) -> set[int]:
    """Return the numbers of a list, which is all that was found."""
    (numbers,) = found.fetchone()
    return set(json.loads(numbers))


class _Lists:
    """The notes that were found of late, by what was looked for."""

    def __init__(self) -> None:
        self.of: dict[str, Set[int]] = {}
        self._size = 0

    def keep(self, match: str, numbers: Set[int]) -> None:
        """Keep a list, and forget the oldest ones where they are too much."""
        self.of[match] = numbers
        self._size += len(numbers) + _LIST_COUNTS
        while self._size > _MOST_KEPT:
            self._size -= len(self.of.pop(next(iter(self.of)))) + _LIST_COUNTS
