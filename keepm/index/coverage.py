"""How much of a query a note holds: the share of its terms, rare ones counting more."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence, Set

from keepm.index.analysis import Term


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
            if straddles and not count:
                found[token] = 0.0
            else:
                found[token] = math.log1p((max(notes, count) - count + 0.5) / (count + 0.5))
    return found


def coverage(terms: Sequence[Term], rarity: Mapping[str, float], present: Set[str]) -> float:
    """Return the share, from 0 to 1, of the terms that a note with these tokens holds."""
    asked = covered = 0.0
    for term in terms:
        of = term.parts or term.wholes
        weight = sum(rarity[token] for token in of) / len(of)
        asked += weight
        beginnings = tuple(beginning for beginning, _ in term.prefixes)
        if any(whole in present for whole in term.wholes) or (
            beginnings and any(token.startswith(beginnings[0]) for token in present)
        ):
            covered += weight
        else:
            covered += weight * sum(part in present for part in of) / len(of)
    return covered / asked if asked else 1.0


def of_notes(
    connection: sqlite3.Connection,
    numbers: Sequence[int],
    terms: Sequence[Term],
    rarity: Mapping[str, float],
) -> dict[int, float]:
    """Return the share that each of these notes holds, by its number."""
    if not numbers:
        return {}
    # Looking each token up in the text beats parting the text.
    sought = {token: f" {token} " for term in terms for token in term.tokens}
    sought.update({start: f" {start}" for term in terms for start, _ in term.prefixes})
    rows = connection.execute(
        "SELECT t.rowid, ' ' || name || ' ' || aliases || ' ' || tags || ' ' || description"
        " || ' ' || sources || ' ' || body || ' '"
        " FROM json_each(?) AS j CROSS JOIN terms AS t ON t.rowid = j.value",
        (json.dumps(numbers),),
    )
    return {
        number: coverage(
            terms, rarity, {token for token, as_held in sought.items() if as_held in text}
        )
        for number, text in rows
    }
