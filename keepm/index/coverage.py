"""How much of a query a note holds: the share of its terms, rare ones counting more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Final

from keepm.index.analysis import Term

WORTH_OF_NEAR: Final = 0.5
"""What another word for a term counts, of what the term itself does."""


def weights(terms: Sequence[Term], frequencies: Mapping[str, int], notes: int) -> dict[str, float]:
    """Return each token's rarity among the notes in sight.

    A pair of characters that no note holds, beside one that some note holds, most often joins the
    end of one word to the beginning of the next: it asks for nothing.
    """
    found: dict[str, float] = {}
    for term in terms:
        straddles = any(frequencies.get(pair) for pair in term.beside)
        for token in term.tokens:
            count = frequencies[token]
            found[token] = 0.0 if straddles and not count else rarity(count, notes)
    return found


def rarity(count: int, notes: int) -> float:
    """Return what holding a word counts that so many of the notes in sight hold."""
    return math.log1p((max(notes, count) - count + 0.5) / (count + 0.5))


class Coverage:
    """How much notes hold of one query: of the terms, weighed by their tokens' rarity."""

    def __init__(self, terms: Sequence[Term], weights: Mapping[str, float]) -> None:
        self._asked = [
            (sum(weights[token] for token in of) / len(of), of, term, _beginning(term))
            for term in terms
            for of in (term.parts or term.wholes,)
        ]
        self._whole = sum(weight for weight, *_ in self._asked)

    def share(self, present: Set[str]) -> float:
        """Return the share, from 0 to 1, of the terms that a note with these tokens holds."""
        if not self._whole:
            return 1.0
        covered = 0.0
        for weight, of, term, beginning in self._asked:
            if not present.isdisjoint(term.wholes) or (
                beginning and any(token.startswith(beginning) for token in present)
            ):
                covered += weight
            elif not present.isdisjoint(of):
                covered += weight * sum(part in present for part in of) / len(of)
            elif not present.isdisjoint(term.near):
                covered += weight * WORTH_OF_NEAR
        return covered / self._whole


def _beginning(term: Term) -> str:
    return term.prefixes[0][0] if term.prefixes else ""
