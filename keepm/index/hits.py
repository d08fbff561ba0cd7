"""How notes that were found are shown: their rows, the best passage of each, what scored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keepm.index import passages, rows
from keepm.index.analysis import Term
from keepm.index.placing import Sought
from keepm.index.rows import NoteRow

FIELDS: Final = ("name", "aliases", "tags", "description", "sources", "body")
WEIGHTS: Final = (3.0, 3.0, 2.0, 1.5, 1.0, 1.0)
SNIPPET_CHARACTERS: Final = 300

EXACT = "exact"
LEXICAL = "lexical"
SYNONYMS = "synonyms"
CHARACTERS = "characters"


@dataclass(frozen=True, slots=True)
class Hit:
    """One note found.

    `score` is 100 for the best by its words, `field_scores` parts it among the fields where that
    was asked for; `coverage` is the share of the query's terms that the note holds, rare ones
    counting more.
    """

    note: NoteRow
    snippet: str
    band: str
    score: float
    field_scores: Mapping[str, float]
    coverage: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a note stands in an answer, and why; `score` is of 100."""

    number: int
    band: str
    score: float
    coverage: float


def show(
    connection: sqlite3.Connection,
    page: Sequence[Place],
    terms: Sequence[Term],
    weights: Mapping[str, float],
    *,
    explain: bool,
) -> Iterator[Hit]:
    """Yield the notes of a page in its order, each with the passage that answers best.

    `weights` are those of the terms' tokens.
    """
    numbers = json.dumps([place.number for place in page])
    begun = any(term.prefixes for term in terms)
    texts = _texts(connection, numbers) if explain or begun else {}
    found = connection.execute(
        f"SELECT {rows.FULL} FROM json_each(?) AS j CROSS JOIN notes AS n ON n.number = j.value"  # noqa: S608
        " JOIN bodies AS b USING (number) ORDER BY j.key",
        (numbers,),
    )
    sought = Sought(weights.keys())
    for place, row in zip(page, found, strict=True):
        note = rows.note(row)
        held = texts.get(place.number, ())
        beginnings = _completed(terms, held)
        wanted = {**dict.fromkeys(beginnings, 1.0), **weights}
        yield Hit(
            note=note,
            snippet=passages.best(
                note.body,
                wanted,
                limit=SNIPPET_CHARACTERS,
                # Each note completes a word in its own way.
                sought=Sought(wanted.keys()) if beginnings else sought,
            ),
            band=place.band,
            score=round(place.score, 1),
            field_scores=_field_scores(held, wanted, place.score) if explain else {},
            coverage=round(place.coverage, 3),
        )


def _texts(connection: sqlite3.Connection, numbers: str) -> dict[int, list[list[str]]]:
    """Return the terms of each field of notes, by number."""
    found = connection.execute(
        f"SELECT t.rowid, {', '.join(f't.{field}' for field in FIELDS)}"  # noqa: S608
        " FROM json_each(?) AS j CROSS JOIN terms AS t ON t.rowid = j.value",
        (numbers,),
    )
    return {number: [text.split() for text in texts] for number, *texts in found}


def _completed(terms: Iterable[Term], held: Iterable[Iterable[str]]) -> set[str]:
    """Return the note's tokens that complete a word the query only begins."""
    beginnings = tuple(beginning for term in terms for beginning, _ in term.prefixes)
    if not beginnings:
        return set()
    return {token for tokens in held for token in tokens if token.startswith(beginnings)}


def _field_scores(
    held: Sequence[Sequence[str]], weights: Mapping[str, float], score: float
) -> dict[str, float]:
    """Part a note's score among its fields, by what each holds and how much the field counts."""
    shares = {
        name: factor * sum(weights[token] for token in set(tokens) if token in weights)
        for name, factor, tokens in zip(FIELDS, WEIGHTS, held, strict=True)
    }
    whole = sum(shares.values())
    return {
        name: round(score * share / whole, 1) for name, share in shares.items() if share and whole
    }
