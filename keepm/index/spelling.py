"""Words of the notes in sight that are spelt nearly like a word that none of them holds.

A word is looked up under everything that one wrong, missing, added or swapped letter makes of
it; a long one also among the terms that begin as it does, two letters apart. What is suggested
is taken, but for case and accents, from a note that the search itself could have shown: so no word
of another project, of an archived note or of a proposal can be. Chinese words are `miswritten`'s.
"""

from __future__ import annotations

import sqlite3
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keepm.index import frequencies, miswritten, rows
from keepm.index.analysis import normalised, spelt_words, term_of
from keepm.index.known import Known
from keepm.model.memory import Visibility

_SHORTEST, _LONGEST = 4, 24  # of a word, in letters: shorter ones are like everything
_LONG = 8  # from here on two letters may differ
_BEGINNING = 4  # of a long word with two wrong letters these are right
_MOST_WORDS = 3  # of a query
_EACH = 3  # suggestions for a word
_MOST_TERMS = 2000  # that begin as a word does
_MOST_NEAR = 12  # terms whose notes are looked at
_MOST_NOTES = 8  # that are looked at for a term


@dataclass(frozen=True, slots=True)
class Sight:
    """Which notes may lend a word: the search's own condition on `notes AS n`."""

    condition: str
    values: rows.Parameters
    known: Known


def suggest(connection: sqlite3.Connection, text: str, sight: Sight) -> tuple[str, ...]:
    """Return what words of a query that no note in sight holds may have been meant to be.

    The nearest first, then the commonest; always in the same order.
    """
    words = spelt_words(text, topical=True)
    known = sight.known.of(words.values())
    unknown = [
        word
        for word, term in words.items()
        if _SHORTEST <= len(word) <= _LONGEST and term not in known
    ]
    found: dict[str, None] = {}
    for word in unknown[:_MOST_WORDS]:
        found.update(dict.fromkeys(_nearest(connection, word, sight)))
    chinese = miswritten.suggest(connection, text, sight.condition, sight.values, sight.known)
    return (*found, *chinese)


def _nearest(connection: sqlite3.Connection, word: str, sight: Sight) -> list[str]:
    most = 2 if len(word) >= _LONG else 1
    near = _near_terms(connection, word, most, sight.known.visibility)
    found: dict[str, tuple[int, int]] = {}
    for rank, term in enumerate(near):
        for spelt in _spellings(connection, term, sight):
            apart = distance(word, spelt, most)
            if apart is not None:
                found.setdefault(spelt, (apart, rank))
        if len(found) >= _EACH:
            break
    return sorted(found, key=lambda spelt: (*found[spelt], spelt))[:_EACH]


def _near_terms(
    connection: sqlite3.Connection, word: str, most: int, visibility: Visibility
) -> list[str]:
    """Return the visible terms that may stand for a word spelt nearly so, the likeliest first."""
    stems = {term_of(other) for other in _one_off(word)}
    near = {
        term: (1, -count) for term, count in frequencies.of(connection, stems, visibility).items()
    }
    if most > 1:
        alike = frequencies.beginning_with(
            connection, word[:_BEGINNING], visibility, most=_MOST_TERMS
        )
        for term, count in alike.items():
            # A term is a stem: what it lacks at its end is no mistake.
            if term.isalpha() and distance(word, term, most, open_end=True) is not None:
                near.setdefault(term, (2, -count))
    return sorted(near, key=lambda term: (*near[term], term))[:_MOST_NEAR]


def _one_off(word: str) -> Iterator[str]:
    """Yield the words that one mistake parts from a word."""
    letters = sorted(_alphabet(word))
    for n in range(len(word) + 1):
        head, tail = word[:n], word[n:]
        for letter in letters:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]


def _alphabet(word: str) -> set[str]:
    """Return the letters that may be missing in a word: Latin ones, and those of its script."""
    letters = set(string.ascii_lowercase)
    for letter in word:
        if letter not in letters:
            start = ord(letter) & ~0x3F  # scripts lie in blocks of that size, or in several
            block = map(chr, range(start, start + 0x40))
            letters.update(c for c in block if c.isalpha() and c == c.casefold())
    return letters


def _spellings(connection: sqlite3.Connection, term: str, sight: Sight) -> Sequence[str]:
    """Return how a term is written in notes in sight."""
    found = connection.execute(
        # The first few by path, and only then their texts.
        "WITH first AS (SELECT n.number FROM terms"  # noqa: S608
        " CROSS JOIN notes AS n ON n.number = terms.rowid"
        f" WHERE terms MATCH ? AND n.standing = 'sound' AND {sight.condition}"
        " ORDER BY n.path LIMIT ?)"
        " SELECT n.name, n.aliases, n.tags, n.description, b.body FROM notes AS n"
        " JOIN bodies AS b USING (number) WHERE n.number IN first ORDER BY n.path",
        [f'"{term}"', *sight.values, _MOST_NOTES],
    )
    written: dict[str, None] = {}
    core = term[:-1]  # a stem may end in another letter than its word has there
    for columns in found:
        pieces = set(normalised("\n".join(columns)).split())
        words = spelt_words(" ".join(piece for piece in pieces if core in piece.casefold()))
        written.update(dict.fromkeys(word for word, its in words.items() if its == term))
    return list(written)


def distance(word: str, other: str, most: int, *, open_end: bool = False) -> int | None:
    """Return how many letters are wrong, missing, added or swapped, if at most that many.

    With `open_end` what `word` has beyond `other` doesn't count.
    """
    if abs(len(word) - len(other)) > most and not (open_end and len(word) > len(other)):
        return None
    before: list[int] = []
    row = list(range(len(word) + 1))
    for n, letter in enumerate(other, start=1):
        earlier, before, row = before, row, [n]
        for m, mine in enumerate(word, start=1):
            cost = min(row[m - 1] + 1, before[m] + 1, before[m - 1] + (letter != mine))
            if n > 1 and m > 1 and letter == word[m - 2] and other[n - 2] == mine:
                cost = min(cost, earlier[m - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
    apart = min(row) if open_end else row[-1]
    return apart if apart <= most else None
