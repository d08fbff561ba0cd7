"""Which words are known: those that a note holds which an answer may show.

`frequencies` counts a scope's notes whatever their status. What only an archived, overtaken,
shadowed or withheld one says makes no word known: else such a note would keep an answer from
completing a word, from another way of writing it, and from help with its spelling.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from keepm.index import frequencies
from keepm.index.connection import kept
from keepm.index.stretches import Ranges
from keepm.model.memory import Visibility


@dataclass(frozen=True, slots=True)
class Known:
    """The words of the notes in sight, without those that only `hidden` notes in sight hold."""

    connection: sqlite3.Connection
    visibility: Visibility
    ranges: Ranges
    hidden: Set[int]

    def of(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many notes of the scopes in sight each of these terms stands; those that
        aren't known are left out."""
        counts = frequencies.of(self.connection, terms, self.visibility)
        few = len(self.hidden)
        return {
            term: count for term, count in counts.items() if count > few or self._is_shown(term)
        }

    def _is_shown(self, term: str) -> bool:
        key = ("shown", self.visibility, self.hidden)
        told: dict[str, bool] = kept(self.connection, key, dict)
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
