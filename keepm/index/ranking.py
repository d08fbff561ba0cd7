"""Which of the many notes that hold a word of a query come first: BM25, times what they cover.

Scoring a note takes a look at its text, so it is done for a block of notes at a time. Which notes
make the first block is told by the lists of the full text alone: those that hold the most of the
query, rare words counting more; among equals those that hold it in their names, then in their
tags or descriptions, then by name. The score itself is the one that FTS5's `bm25` would give if
the notes in sight were all there are: `frequencies` has counted them.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Final, NamedTuple

from keepm.index import postings
from keepm.index.coverage import Coverage
from keepm.index.frequencies import Extent
from keepm.index.hits import FIELDS, WEIGHTS
from keepm.index.stretches import Ranges

BLOCK: Final = 32
"""So many notes are scored at once; the order within a block is exact."""

_MOST_WALKED = 4  # common phrases that tell notes of equal rank apart
_MOST_WORDS = 150  # that begin so: more are looked for as a beginning
_UNCOVERED = 0.25  # what counts of a BM25 score when the note holds next to nothing of the query
_K1, _B = 1.2, 0.75  # as FTS5 has them
_LEAST = 1e-6  # what holding a word counts that most notes hold, as FTS5 has it


@dataclass(frozen=True, slots=True)
class Phrase:
    """One thing to look for in the full text: a token, or a beginning of tokens."""

    text: str
    begins: bool
    words: tuple[str, ...]  # the token, or those in sight that begin so
    rarity: float  # what holding it counts, as `coverage` has it
    holders: int  # how many of the notes that may be shown hold it, by `known`
    required: bool  # a note is found by it; by others it is only ranked
    worth: float = 1.0  # what finding it counts; less than one where it is another word

    @property
    def match(self) -> str:
        """The phrase in FTS5's syntax: no term holds a quote."""
        if len(self.words) > _MOST_WORDS:
            return f'"{self.text}"*'
        # FTS5 would put the lists of all words that begin so together, for the whole vault.
        return postings.either(self.words)


class Scored(NamedTuple):
    """A note's place: its score by words and coverage, and the share of the query it holds, in
    the query's own words and in other words too."""

    number: int
    score: float
    share: float
    wider: float


class Ranking:
    """What is looked for in one query."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        phrases: Sequence[Phrase],
        asked: Coverage,
        extent: Extent,
        ranges: Ranges,
    ) -> None:
        self.ranges = ranges
        self._connection = connection
        self._phrases = phrases
        self._asked = asked
        self._held = asked
        self._extent = extent
        self._without: Set[int] = frozenset()
        self._found: Set[int] = frozenset()
        self._lists: dict[Phrase, Set[int]] = {}

    def also(self, phrases: Sequence[Phrase], asked: Coverage) -> Ranking:
        """Return the ranking that looks for other words too, which `asked` takes for the query's.

        The share of the query that a note is said to hold stays the one by its own words.
        """
        found = Ranking(
            self._connection, (*self._phrases, *phrases), asked, self._extent, self.ranges
        )
        found._held = self._held
        return found

    def found(self, *, without: Set[int]) -> Set[int]:
        """Return the notes in the ranges that hold a required phrase, `without` some."""
        self._without = without
        for phrase in self._phrases:
            if phrase.required:
                self._lists[phrase] = self._left(phrase.match)
        self._found = set().union(*self._lists.values())
        return self._found

    def best(self, count: int) -> list[Scored]:
        """Return the best of what was found, at least so many if there are, and one block."""
        if len(self._found) <= BLOCK:
            return self.scored(self._found)
        most = max(-(-count // BLOCK), 1) * BLOCK
        chosen = self._chosen(most)
        found: list[Scored] = []
        for start in range(0, len(chosen), BLOCK):
            # What holds less of the query stands behind, whatever its score.
            least = found[-1].score if found else math.inf
            for each in self.scored(chosen[start : start + BLOCK]):
                found.append(each._replace(score=min(each.score, least)))
        return found

    def _chosen(self, most: int) -> list[int]:
        """Return notes block by block; only which of them make a block is told, not their order."""
        chosen: list[int] = []
        for group in self._groups():
            levels = self._told_apart(group) if _straddles(chosen, group) else [group]
            for level in levels:
                room = most - len(chosen)
                chosen += self._by_name(level, room) if _straddles(chosen, level) else level
                if len(chosen) >= most:
                    return chosen
        return chosen

    def _groups(self) -> list[Set[int]]:
        """Part what was found by the phrases they hold; those that hold the most come first."""
        lists = dict(self._lists)
        common = [phrase for phrase in self._phrases if not phrase.required]
        for phrase in common[:_MOST_WALKED]:
            lists[phrase] = self._left(f"{phrase.match} AND ({self._lead})")
        # Most notes hold one phrase alone: so they are parted as sets, the others one by one.
        once: list[tuple[float, set[int]]] = []
        more: dict[int, float] = {}
        for phrase, its in lists.items():
            rarity = phrase.rarity
            new = set(its)
            for number in new & more.keys():
                more[number] += rarity
            new -= more.keys()
            for worth, alone in once:
                if both := new & alone:
                    more.update(dict.fromkeys(both, worth + rarity))
                    alone -= both
                    new -= both
            once.append((rarity, new))
        groups: defaultdict[float, set[int]] = defaultdict(set)
        for worth, alone in once:
            groups[worth] |= alone
        for number, worth in more.items():
            groups[worth].add(number)
        return [groups[worth] for worth in sorted(groups, reverse=True)]

    @property
    def _lead(self) -> str:
        return _either(phrase for phrase in self._phrases if phrase.required)

    def _told_apart(self, group: Set[int]) -> list[Set[int]]:
        """Part notes that hold the same phrases by where they hold them."""
        lead = _either(
            phrase
            for phrase, its in self._lists.items()
            if phrase.required and not its.isdisjoint(group)
        )
        in_name = group & self._numbers(f"{{name aliases}} : ({lead})")
        in_title = group & self._numbers(f"{{tags description}} : ({lead})")
        neither = group - in_name - in_title
        return [in_name & in_title, in_name - in_title, in_title - in_name, neither]

    def _by_name(self, numbers: Collection[int], most: int) -> list[int]:
        found = self._connection.execute(
            "SELECT n.number FROM json_each(?) AS j CROSS JOIN all_notes AS n"
            " ON n.number = j.value ORDER BY n.scope = '', n.name, n.path LIMIT ?",
            (json.dumps(list(numbers)), most),
        )
        return [number for (number,) in found]

    def _left(self, match: str) -> set[int]:
        """Return those of `_numbers` that are looked for."""
        left = set(self._numbers(match))
        left -= self._without
        return left

    def _numbers(self, match: str) -> Set[int]:
        """Return the notes in the ranges that the full text finds."""
        return postings.numbers(self._connection, match, self.ranges)

    def scored(self, numbers: Collection[int]) -> list[Scored]:
        """Return notes with their scores, the best first; ties by scope, name and path."""
        if not numbers:
            return []
        sought = [
            (
                phrase.text,
                phrase.worth * _inverse_frequency(phrase.holders, self._extent.notes),
                f" {phrase.text}" if phrase.begins else f" {phrase.text} ",
            )
            for phrase in self._phrases
        ]
        shares: dict[tuple[str, ...], tuple[float, float]] = {}
        found: list[Scored] = []
        for number, *fields in self._connection.execute(_TEXTS, (json.dumps(list(numbers)),)):
            name, aliases, tags, description, _, _ = fields
            # Two blanks behind every field, so that its last token and the next one share none.
            text = f" {'  '.join(fields)}  "
            title = text[: len(name) + len(aliases) + len(tags) + len(description) + 8]
            # One blank before all, two behind each field, and n - 1 within one of n tokens.
            length = text.count(" ") - len(fields) - 1 - fields.count("")
            dampened = _K1 * (1 - _B + _B * length / self._extent.tokens)
            score = 0.0
            held: tuple[str, ...] = ()
            for phrase, rarity, written in sought:
                # A word twice running counts once: they share a blank.
                often: float = text.count(written)
                if often:
                    held += (phrase,)
                    if written in title:
                        # Each counts once with the whole text, and what its field is worth beyond.
                        often += (
                            _NAME * f" {name} {aliases} ".count(written)
                            + _TAGS * f" {tags} ".count(written)
                            + _DESCRIPTION * f" {description} ".count(written)
                        )
                    score += rarity * often * (_K1 + 1) / (often + dampened)
            both = shares.get(held)
            if both is None:
                present = set(held)
                both = shares[held] = self._held.share(present), self._asked.share(present)
            share, wider = both
            found.append(Scored(number, score * (_UNCOVERED + wider), share, wider))
        found.sort(key=lambda each: -each.score)
        if len({each.score for each in found}) < len(found):
            ordered = self._by_name([each.number for each in found], len(found))
            places = {number: place for place, number in enumerate(ordered)}
            found.sort(key=lambda each: (-each.score, places[each.number]))
        return found


_NAME, _TAGS, _DESCRIPTION = (WEIGHTS[FIELDS.index(n)] - 1 for n in ("name", "tags", "description"))
_TEXTS = (  # `FIELDS`, from the table behind the full text: by way of that each takes twice as long
    "SELECT t.id, t.c0, t.c1, t.c2, t.c3, t.c4, t.c5"
    " FROM json_each(?) AS j CROSS JOIN terms_content AS t ON t.id = j.value"
)


def _either(phrases: Iterable[Phrase]) -> str:
    return " OR ".join(phrase.match for phrase in phrases)


def _straddles(chosen: Sequence[int], more: Collection[int]) -> bool:
    """Tell whether notes don't fit into the block that those before them have begun."""
    return len(chosen) % BLOCK + len(more) > BLOCK


def _inverse_frequency(count: int, notes: int) -> float:
    # A note that holds several words of one beginning was counted for each of them.
    count = min(count, notes)
    return max(math.log((notes - count + 0.5) / (count + 0.5)), _LEAST)
