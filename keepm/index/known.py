"""Which words are known, and how rare they are: by the notes alone that an answer may show.

`frequencies` counts a scope's notes whatever their status. What only an archived, overtaken,
shadowed or withheld one says makes no word known: else such a note would keep an answer from
completing a word, from another way of writing it, and from help with its spelling. Nor does it
make a word common: earlier versions of a note hold much the same words as the one that counts.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from keepm.index import frequencies, postings
from keepm.index.connection import kept
from keepm.index.frequencies import Extent
from keepm.index.stretches import Ranges
from keepm.model.memory import Visibility

_MOST_LISTED = 64  # terms, the rarest: of no query more are looked for
_MOST_HOLDERS = 100  # that are told apart one by one


@dataclass(frozen=True, slots=True)
class Known:
    """The words of the notes in sight, without what the `hidden` ones among them say.

    `shown` is how many notes are left.
    """

    connection: sqlite3.Connection
    visibility: Visibility
    ranges: Ranges
    hidden: Set[int]
    shown: int

    @property
    def extent(self) -> Extent:
        """How many notes may be shown; their tokens on average are those of all in sight."""
        return frequencies.extent(self.connection, self.visibility)._replace(notes=self.shown)

    def of(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many notes that may be shown each of these terms stands.

        Those that aren't known are left out. Of a common one it is an estimate, where some notes
        are hidden: to tell them apart takes longer than it is worth.
        """
        counts = frequencies.of(self.connection, terms, self.visibility)
        if not self.hidden or not counts:
            return counts
        whole = frequencies.extent(self.connection, self.visibility).notes
        part = min(1.0, self.shown / whole) if whole else 1.0
        rarest = set(sorted(counts, key=lambda term: (counts[term], term))[:_MOST_LISTED])
        found: dict[str, int] = {}
        for term, count in counts.items():
            if term in rarest and count <= _MOST_HOLDERS:
                held = postings.numbers(self.connection, postings.either([term]), self.ranges)
                left = len(held - self.hidden)
            elif count > len(self.hidden) or self._is_shown(term):
                left = math.ceil(count * part)
            else:
                left = 0
            if left:
                found[term] = left
        return found

    def _is_shown(self, term: str) -> bool:
        told: dict[str, bool] = kept(self.connection, ("shown", self.visibility, self.hidden), dict)
        if term not in told:
            told[term] = any(number not in self.hidden for number in self._holding(term))
        return told[term]

    def _holding(self, term: str) -> Iterator[int]:
        for near in [()] if self.ranges is None else self.ranges:
            for (number,) in self.connection.execute(
                _HOLDING_NEAR if near else _HOLDING, (f'"{term}"', *near)
            ):
                yield number


_HOLDING = "SELECT rowid FROM terms WHERE terms MATCH ?"
_HOLDING_NEAR = f"{_HOLDING} AND rowid BETWEEN ? AND ?"
