"""Chinese words of notes in sight that differ from a query's by one character.

Pairs of characters that no note holds are mostly where two words meet. But where both pairs
around one character are unknown, and a note has another character between the same two, that one
may have been meant: `数椐库` for `数据库`. What is suggested stands in a note that the search
itself could have shown.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from itertools import islice

from keepm.index import frequencies, rows, stopwords
from keepm.index.analysis import normalised
from keepm.index.known import Known

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_LONGEST = 8  # characters of a run: longer ones are sentences, and rarely misspelt words
_LEAST = 4  # characters that a note has in one piece, where a run has so many: three are chance
_MOST_WORDS = 3  # of a query
_EACH = 3  # suggestions for a word
_MOST_PLACES = 6  # of a query where a character is doubted
_MOST_PAIRS = 1000  # that begin as a pair of the query does
_MOST_NOTES = 8  # that are looked at for a suggestion


def suggest(
    connection: sqlite3.Connection,
    text: str,
    condition: str,
    values: rows.Parameters,
    known: Known,
) -> tuple[str, ...]:
    """Return what runs of a query may have been meant to be, the likeliest first.

    `condition` on `notes AS n` tells which notes may lend a word.
    """
    found: dict[str, None] = {}
    words = 0
    for run, place in islice(_doubtful(text, known), _MOST_PLACES):
        likely = _between(run, place, known)
        written = {
            word: None
            for character in likely
            if (word := _written(connection, run, place, character, condition, values))
        }
        found.update(dict.fromkeys(list(written)[:_EACH]))
        words += bool(written)
        if words == _MOST_WORDS:
            break
    return tuple(found)


def _doubtful(text: str, known: Known) -> Iterator[tuple[str, int]]:
    """Yield runs and places in them where a character makes two unknown pairs."""
    runs = [run for part in _HAN.findall(normalised(text)) for run in stopwords.CHINESE.split(part)]
    runs = [run for run in dict.fromkeys(runs) if 3 <= len(run) <= _LONGEST]
    pairs = {run[n : n + 2] for run in runs for n in range(len(run) - 1)}
    held = known.of(pairs)
    for run in runs:
        for n in range(1, len(run) - 1):
            if run[n - 1 : n + 1] not in held and run[n : n + 2] not in held:
                yield run, n


def _between(run: str, place: int, known: Known) -> list[str]:
    """Return the characters that notes in sight have between the same two, commonest first."""
    before, after = run[place - 1], run[place + 1]
    firsts = frequencies.beginning_with(
        known.connection, before, known.visibility, most=_MOST_PAIRS
    )
    seconds = {pair[1] + after for pair in firsts if len(pair) == 2}
    held = known.of(seconds)
    likely = {pair[0]: min(firsts[before + pair[0]], count) for pair, count in held.items()}
    return sorted(likely, key=lambda character: (-likely[character], character))[:_MOST_NOTES]


def _written(
    connection: sqlite3.Connection,
    run: str,
    place: int,
    character: str,
    condition: str,
    values: rows.Parameters,
) -> str:
    """Return as much of a run, with that character in place, as a note has in one piece.

    Nothing where that is too little to tell.
    """
    meant = run[:place] + character + run[place + 1 :]
    phrase = f"{meant[place - 1 : place + 1]} {meant[place : place + 2]}"
    found = connection.execute(
        "WITH first AS (SELECT n.number FROM terms"  # noqa: S608
        " CROSS JOIN notes AS n ON n.number = terms.rowid"
        f" WHERE terms MATCH ? AND n.standing = 'sound' AND {condition}"
        " ORDER BY n.path LIMIT ?)"
        " SELECT n.name, n.aliases, n.tags, n.description, b.body FROM notes AS n"
        " JOIN bodies AS b USING (number) WHERE n.number IN first ORDER BY n.path",
        [f'"{phrase}"', *values, _MOST_NOTES],
    )
    best, least = "", min(len(run), _LEAST)
    for columns in found:
        text = normalised("\n".join(columns))
        for start in range(place):
            for end in range(len(meant), place + 1, -1):
                if end - start >= max(least, len(best) + 1) and meant[start:end] in text:
                    best = meant[start:end]
    return best
