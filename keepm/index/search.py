"""Search: any string in, the notes that answer it out, always in the same order.

Two bands: a query that is a note's id, name or alias puts that note first; all others are
ordered by BM25, the best of them by how much of the query they hold as well. Where words find
little, among them are notes that say it in other words, and such as share only characters with a
Chinese question. Other projects' notes, withheld notes, proposals and handoffs are never seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from keepm.index import characters, compounds, coverage, hits, rows, spelling, stretches, synonyms
from keepm.index import frequencies as index_frequencies
from keepm.index import known as index_known
from keepm.index.analysis import Term, query_terms
from keepm.index.connection import kept
from keepm.index.database import Database
from keepm.index.entries import ROLE_STEM, tag_key
from keepm.index.hits import Hit, Place
from keepm.index.known import Known
from keepm.index.ranking import Phrase, Ranking, Scored
from keepm.index.rows import Parameters
from keepm.model import identity
from keepm.model.memory import Kind, Language, Status, Visibility

WEAK_COVERAGE: Final = 0.5
"""Below it the best hit holds too little of the query to be taken for an answer."""

_MOST_TERMS = 2000  # a query has no more characters (`policies/limits.toml`)
_MOST_SOUGHT = 64  # of them, the rarest
_LEAD_ROWS = 4000
_MOST_COMPLETING = 1000  # rows of frequencies that tell how common a beginning is
_LOOKED_AT = 20  # so many of the best by BM25 are looked at for how much of the query they hold
_LEAST_IN_OTHERS = WEAK_COVERAGE * coverage.WORTH_OF_NEAR
_LITTLE = 3  # fewer hits than this call for help with the spelling


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, and where."""

    text: str
    visibility: Visibility
    scope: str | None = None  # "global" or "project"
    kind: Kind | None = None
    language: Language | None = None
    tags: tuple[str, ...] = ()  # all of them
    limit: int = 10
    offset: int = 0
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    explain: bool = False  # whether hits say what their scores are made of


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page of hits. `total` counts all of them, `searched` the notes that were looked at.

    `did_you_mean` has words of notes in sight, where little was found and a word isn't known.
    """

    hits: tuple[Hit, ...]
    total: int
    searched: int
    weak_match: bool
    used_terms: bool  # False: the query holds no usable word
    did_you_mean: tuple[str, ...] = ()
    behind: bool = False  # a hit's file has changed, and the index couldn't follow just now


@dataclass(frozen=True, slots=True)
class _Answer:
    """The notes that were found by words, the best of them in order; `bands` names those that
    were found by other means than the query's own words."""

    ranking: Ranking
    found: Set[int]
    best: Sequence[Scored]
    bands: Mapping[int, str]


def search(db: Database, query: Query) -> SearchResult:
    """Return the notes that answer a query; whatever its text, it is a legal query.

    Raises:
        IndexUnavailable: the index itself can't be read.
    """
    text = rows.storable(query.text)
    terms = compounds.widened(query_terms(text, limit=_MOST_TERMS), text)
    with db.reading() as connection:
        condition, values = _conditions(connection, query)
        searched = _searched(connection, query)
        exact = _exact(connection, text, condition, values)
        known = index_known.known(connection, query.visibility, query.statuses)
        frequencies = _frequencies(terms, known)
        terms, frequencies = compounds.known(terms, frequencies, text, known)
        terms = _completing(terms, frequencies)
        beginnings = _beginnings(connection, terms, query.visibility)
        weights = coverage.weights(terms, frequencies, known.shown)
        phrases = _phrases(frequencies, beginnings, known.shown)
        ranking = Ranking(
            connection,
            phrases,
            coverage.Coverage(terms, weights),
            known.extent,
            known.ranges,
        )
        without = _unfit(query, known, condition, values).union(exact)
        wanted = query.offset + query.limit - len(exact)
        answer = own = _answer(ranking, without, wanted)
        most = max((each.share for each in own.best[:_LOOKED_AT]), default=0.0)
        little = not exact and most < WEAK_COVERAGE
        if little and (wider := synonyms.widened(terms)) != terms:
            others = _near(wider, phrases, known)
            also = ranking.also(others, coverage.Coverage(wider, weights))
            more = _in_other_words(own, _answer(also, without, wanted))
            if more is not None:
                answer = more
                weights |= {phrase.text: phrase.rarity for phrase in others}
        asked = characters.asked(text) if little and own.found else ""
        if asked and searched <= characters.MOST_NOTES:
            sharing = characters.scores(connection, asked, condition, values, limit=_LOOKED_AT)
            answer = _beside(answer, sharing, wanted)
        total = len(exact) + len(answer.found)
        places = _places(query, exact, answer)
        shown = tuple(hits.show(connection, places, terms, weights, explain=query.explain))
        weak = bool(shown) and little
        meant: tuple[str, ...] = ()
        if not exact and not query.offset and (weak or total < _LITTLE):
            near, bounds = stretches.within(connection, "terms.rowid", query.visibility)
            sight = spelling.Sight(f"{near} AND {condition}", [*bounds, *values], known)
            meant = spelling.suggest(connection, text, sight)
    return SearchResult(shown, total, searched, weak, bool(terms) or bool(exact), meant)


def _conditions(connection: sqlite3.Connection, query: Query) -> tuple[str, Parameters]:
    """Return what every note of the result must fulfil (of `notes AS n`)."""
    condition, values = index_known.in_sight(
        connection, query.visibility, query.statuses, shadowed=query.scope is not None
    )
    parts = [condition]
    if query.scope == "global":
        parts.append("n.scope = ''")
    elif query.scope == "project":
        parts.append("n.scope <> ''")
    if query.kind is not None:
        parts.append("n.kind = ?")
        values.append(str(query.kind))
    if query.language is not None:
        parts.append("n.language = ?")
        values.append(str(query.language))
    for tag in query.tags:
        parts.append("EXISTS (SELECT 1 FROM tags AS t WHERE t.number = n.number AND t.key = ?)")
        values.append(tag_key(tag))
    return " AND ".join(parts), values


def _searched(connection: sqlite3.Connection, query: Query) -> int:
    """Count the notes a query can see, whatever else it asks for."""
    key = ("searched", query.visibility, query.statuses)
    return kept(connection, key, lambda: _count(connection, query))


def _count(connection: sqlite3.Connection, query: Query) -> int:
    condition, values = index_known.in_sight(
        connection, query.visibility, query.statuses, shadowed=True
    )
    (count,) = connection.execute(
        f"SELECT count(*) FROM all_notes AS n WHERE {condition}",  # noqa: S608
        values,
    ).fetchone()
    return int(count)


def _exact(
    connection: sqlite3.Connection, text: str, condition: str, values: Parameters
) -> list[int]:
    """Return the notes whose id, name or alias the whole query is."""
    key = identity.slot_key(text.strip())
    if not key:
        return []
    found = connection.execute(
        "SELECT n.number FROM handles AS h JOIN notes AS n USING (number)"  # noqa: S608
        f" WHERE h.key = ? AND (h.role < ? OR n.standing = 'damaged') AND {condition}"
        " GROUP BY n.number ORDER BY min(h.role), n.scope = '', n.name, n.path",
        [key, ROLE_STEM, *values],
    )
    return [number for (number,) in found]


def _frequencies(terms: Sequence[Term], known: Known) -> dict[str, int]:
    """Return in how many notes in sight each token of the terms stands; the unknown ones too."""
    tokens = {token for term in terms for token in term.tokens}
    counts = known.of(tokens)
    return {token: counts.get(token, 0) for token in tokens}


def _completing(terms: Sequence[Term], frequencies: Mapping[str, int]) -> list[Term]:
    """Keep a beginning only where no note in sight holds it as a word of its own."""
    return [
        replace(
            term,
            prefixes=tuple(p for p in term.prefixes if not (p[1] and frequencies[p[1]])),
        )
        for term in terms
    ]


def _beginnings(
    connection: sqlite3.Connection, terms: Sequence[Term], visibility: Visibility
) -> dict[str, dict[str, int]]:
    """Return what words of the query begin with, and in how many notes the words stand that begin
    so."""
    return {
        beginning: index_frequencies.beginning_with(
            connection, beginning, visibility, most=_MOST_COMPLETING
        )
        for term in terms
        for beginning, _ in term.prefixes
    }


def _phrases(
    frequencies: Mapping[str, int],
    beginnings: Mapping[str, Mapping[str, int]],
    shown: int,
) -> tuple[Phrase, ...]:
    """Return what is looked for, the rarest first, and require the rarest: common words only
    rank, so that one of them doesn't make every note a candidate. Of a long query the rarest
    words are looked for, wherever they stand in it.

    Rare is what few notes hold that may be shown: what is found hangs on no other project.
    """
    known = [(seen, token, False) for token, seen in frequencies.items() if seen]
    begun = [
        (0, beginning, True)
        for beginning, words in beginnings.items()
        # A common beginning is dear to look up, and tells nothing where a whole word is known.
        if words and (sum(words.values()) <= _LEAD_ROWS or not known)
    ]
    found: list[Phrase] = []
    rows_sum = 0
    for seen, text, begins in sorted([*begun, *known])[:_MOST_SOUGHT]:
        rows_sum += seen
        completed = tuple(beginnings[text]) if begins else (text,)
        count = sum(beginnings[text].values()) if begins else seen
        rarity = coverage.rarity(count, shown)
        required = not found or not seen or rows_sum <= _LEAD_ROWS
        found.append(Phrase(text, begins, completed, rarity, count, required))
    return tuple(found)


def _near(terms: Sequence[Term], own: Sequence[Phrase], known: Known) -> tuple[Phrase, ...]:
    """Return what is looked for of other words for the terms, behind their own: the rarest first.

    They are required as long as not too many notes hold them and the terms' own together.
    """
    others = {token for term in terms for token in term.near}
    counts = known.of(others)
    worth = coverage.WORTH_OF_NEAR
    rows_sum = sum(phrase.holders for phrase in own)
    found: list[Phrase] = []
    for seen, word in sorted((seen, word) for word, seen in counts.items())[
        : _MOST_SOUGHT - len(own)
    ]:
        rows_sum += seen
        rarity = worth * coverage.rarity(seen, known.shown)
        required = rows_sum <= _LEAD_ROWS or not (own or found)
        found.append(Phrase(word, False, (word,), rarity, seen, required, worth))
    return tuple(found)


def _unfit(query: Query, known: Known, condition: str, values: Parameters) -> frozenset[int]:
    """Return which notes of the ranges don't fulfil what every note of the result must.

    Few, unless the query asks for a kind or the like.
    """
    if query.scope or query.kind or query.language or query.tags:
        return index_known.unfit(known.connection, known.ranges, condition, values)
    return known.hidden


def _answer(ranking: Ranking, without: Set[int], wanted: int) -> _Answer:
    found = ranking.found(without=without)
    return _Answer(ranking, found, ranking.best(wanted), {})


def _in_other_words(own: _Answer, also: _Answer) -> _Answer | None:
    """Return what other words find as well, if it is worth an answer.

    Where no note holds a word of the query, one has to say half of it in other words.
    """
    said = max((each.wider for each in also.best), default=0.0)
    if not own.found and said < _LEAST_IN_OTHERS:
        return None
    return replace(also, bands=dict.fromkeys(also.found - own.found, hits.SYNONYMS))


def _beside(answer: _Answer, alike: Mapping[int, float], wanted: int) -> _Answer:
    """Add notes that were found by single characters, with the scores of those among them that
    were found by words too, however far behind. Who was found both ways has both scores."""
    best = answer.ranking.best(wanted + len(alike))
    held = {each.number: each for each in answer.ranking.scored(alike)}
    both = [held[n]._replace(score=score + held[n].score) for n, score in alike.items()]
    near = [*both, *(each for each in best[:_LOOKED_AT] if each.number not in alike)]
    behind = [each for each in best[_LOOKED_AT:] if each.number not in alike]
    return replace(
        answer,
        found=answer.found | alike.keys(),
        best=[*sorted(near, key=lambda each: -each.score), *behind],  # stable: ties stay
        bands={**answer.bands, **dict.fromkeys(alike.keys() - answer.found, hits.CHARACTERS)},
    )


def _places(query: Query, exact: Sequence[int], answer: _Answer) -> list[Place]:
    """Return the asked page, what was found by its handle first."""
    by_handle = {each.number: each for each in answer.ranking.scored(exact)}
    ranked = [*(by_handle[number] for number in exact), *answer.best]
    top = max((each.score for each in (*by_handle.values(), *answer.best[:1])), default=0.0)
    bands = {**answer.bands, **dict.fromkeys(exact, hits.EXACT)}
    return [
        Place(
            each.number,
            bands.get(each.number, hits.LEXICAL),
            score=100 * each.score / top if top else 0.0,
            coverage=each.share,
        )
        for each in ranked[query.offset : query.offset + query.limit]
    ]
