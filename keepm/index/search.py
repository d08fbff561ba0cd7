"""Search: any string in, the notes that answer it out, always in the same order.

Two bands: a query that is a note's id, name or alias puts that note first; all others are
ordered by BM25, the best of them by how much of the query they hold as well. Among them are notes
that share only characters with it, where words find little of a Chinese question. Other projects'
notes, withheld notes, proposals and handoffs are never seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from keepm.index import characters, compounds, coverage, hits, rows, spelling, stretches
from keepm.index import frequencies as index_frequencies
from keepm.index.analysis import Term, query_terms
from keepm.index.connection import kept
from keepm.index.database import Database
from keepm.index.entries import ROLE_STEM, tag_key
from keepm.index.hits import WEIGHTS, Hit, Place
from keepm.index.rows import Parameters
from keepm.model import identity
from keepm.model.document import Standing
from keepm.model.memory import Kind, Language, Status, Visibility

WEAK_COVERAGE: Final = 0.5
"""Below it the best hit holds too little of the query to be taken for an answer."""

_MOST_TERMS = 48
_LEAD_ROWS = 4000
_MOST_COMPLETING = 1000  # rows of frequencies that tell how common a beginning is
_LOOKED_AT = 20  # so many of the best by BM25 are looked at for how much of the query they hold
_UNCOVERED = 0.25  # what counts of a BM25 score when the note holds next to nothing of the query
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
        frequencies = _frequencies(connection, terms, query.visibility)
        terms, frequencies = compounds.known(connection, terms, frequencies, text, query.visibility)
        terms = _completing(terms, frequencies)
        match = _match(terms, frequencies, _beginnings(connection, terms, query.visibility))
        weights = coverage.weights(terms, frequencies, searched)
        wanted = max(query.offset + query.limit - len(exact), _LOOKED_AT)
        near, bounds = stretches.within(connection, "terms.rowid", query.visibility)
        others = _lexical(
            connection,
            match,
            f"{near} AND {condition}",
            [*bounds, *values],
            without=exact,
            limit=wanted,
        )
        first = [*exact, *(number for number, _ in others.best[:_LOOKED_AT])]
        shares = coverage.of_notes(connection, first, terms, weights)
        others = _by_coverage(others, shares)
        best = max(shares.values(), default=0.0)
        little = not exact and bool(others.total) and best < WEAK_COVERAGE
        bands = dict.fromkeys(exact, hits.EXACT)
        if little and searched <= characters.MOST_NOTES and (asked := characters.asked(text)):
            alike = characters.scores(connection, asked, condition, values, limit=_LOOKED_AT)
            held = _covered(_scores(connection, match, list(alike)), shares)
            others = _beside(others, alike, held)
            bands |= dict.fromkeys(alike.keys() - held.keys(), hits.CHARACTERS)
        by_handle = _covered(_scores(connection, match, exact), shares)
        ranked = [*((number, by_handle.get(number, 0.0)) for number in exact), *others.best]
        page = ranked[query.offset : query.offset + query.limit]
        top = max(others.top, *by_handle.values(), 0.0)
        further = [number for number, _ in page if number not in shares]
        shares |= coverage.of_notes(connection, further, terms, weights)
        places = [
            Place(
                number,
                bands.get(number, hits.LEXICAL),
                score=100 * score / top if top else 0.0,
                coverage=shares[number],
            )
            for number, score in page
        ]
        shown = tuple(hits.show(connection, places, terms, weights, explain=query.explain))
        total = len(exact) + others.total
        weak = bool(shown) and little
        meant: tuple[str, ...] = ()
        if not exact and not query.offset and (weak or total < _LITTLE):
            sight = spelling.Sight(f"{near} AND {condition}", [*bounds, *values], query.visibility)
            meant = spelling.suggest(connection, text, sight)
    return SearchResult(shown, total, searched, weak, bool(terms) or bool(exact), meant)


def _conditions(connection: sqlite3.Connection, query: Query) -> tuple[str, Parameters]:
    """Return what every note of the result must fulfil (of `notes AS n`)."""
    seen, values = rows.visible("n.scope", query.visibility)
    statuses, more = rows.one_of("n.status", query.statuses)
    parts = [seen, statuses, "n.standing <> ?", "n.withheld_by = ''"]
    values = [*values, *more, str(Standing.WITHHELD)]
    if query.scope == "global":
        parts.append("n.scope = ''")
    elif query.scope == "project":
        parts.append("n.scope <> ''")
    elif query.visibility.project_id is not None:
        parts.append("n.number NOT IN (SELECT value FROM json_each(?))")
        values.append(rows.shadowed(connection, query.visibility.project_id))
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
    seen, values = rows.visible("scope", query.visibility)
    statuses, more = rows.one_of("status", query.statuses)
    (count,) = connection.execute(
        f"SELECT count(*) FROM notes WHERE {seen} AND {statuses} AND standing <> ?",  # noqa: S608
        [*values, *more, str(Standing.WITHHELD)],
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


def _frequencies(
    connection: sqlite3.Connection, terms: Sequence[Term], visibility: Visibility
) -> dict[str, int]:
    """Return in how many notes in sight each token of the terms stands; the unknown ones too."""
    tokens = {token for term in terms for token in term.tokens}
    known = index_frequencies.of(connection, tokens, visibility)
    return {token: known.get(token, 0) for token in tokens}


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
) -> dict[str, int]:
    """Return what words of the query begin with, and how many notes hold words that begin so."""
    return {
        beginning: sum(
            index_frequencies.beginning_with(
                connection, beginning, visibility, most=_MOST_COMPLETING
            ).values()
        )
        for term in terms
        for beginning, _ in term.prefixes
    }


def _match(
    terms: Sequence[Term], frequencies: Mapping[str, int], beginnings: Mapping[str, int]
) -> str:
    """Return the FTS5 expression for the terms, empty when nothing can be found.

    The one place where a user's text becomes FTS5 syntax: every token stands in quotes, and no
    token holds one.
    """
    known = {f'"{token}"': seen for token, seen in frequencies.items() if seen}
    begun = {
        f'"{beginning}"*': 0
        for beginning, count in beginnings.items()
        # A common beginning is dear to look up, and tells nothing where a whole word is known.
        if count <= _LEAD_ROWS or not known
    }
    return _expression({**known, **begun})


def _expression(frequencies: Mapping[str, int]) -> str:
    """Require the rarest phrases and let common ones only score, so that a common word doesn't
    make every note a candidate.

    Rare is what few visible notes hold: which phrases are required, and so what is found, hangs
    on no other project. Required phrases stand twice in the expression; the common ones are
    doubled to weigh the same.
    """
    rare: list[str] = []
    rows_sum = 0
    ordered = sorted(frequencies, key=lambda phrase: (frequencies[phrase], phrase))
    for phrase in ordered:
        rows_sum += frequencies[phrase]
        if rare and frequencies[phrase] and rows_sum > _LEAD_ROWS:
            break
        rare.append(phrase)
    common = ordered[len(rare) :]
    if not common:
        return " OR ".join(rare)
    lead = " OR ".join(rare)
    return f"({lead}) AND ({lead} OR {' OR '.join(p for p in common for _ in range(2))})"


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The best notes with their scores, best first; how many there are; the highest score."""

    best: list[tuple[int, float]]
    total: int
    top: float


def _lexical(
    connection: sqlite3.Connection,
    match: str,
    condition: str,
    values: Parameters,
    *,
    without: Sequence[int],
    limit: int,
) -> _Ranked:
    if not match:
        return _Ranked([], 0, 0.0)
    weights = ", ".join(map(str, WEIGHTS))
    others = f" AND n.number NOT IN ({', '.join(map(str, without))})" if without else ""
    found = connection.execute(
        "WITH matching AS MATERIALIZED ("  # noqa: S608
        f"SELECT terms.rowid AS number, bm25(terms, {weights}) AS score FROM terms"
        # CROSS JOIN: the full text first, then its notes, whatever the planner thinks; and of the
        # many that are looked at no more than the index tells.
        " CROSS JOIN all_notes AS n INDEXED BY notes_in_sight ON n.number = terms.rowid"
        f" WHERE terms MATCH ? AND {condition}{others})"
        " SELECT number, score, (SELECT count(*) FROM matching)"
        " FROM matching CROSS JOIN notes AS n USING (number)"
        " WHERE score <= coalesce((SELECT score FROM matching ORDER BY score LIMIT 1 OFFSET ?), 1)"
        " ORDER BY score, n.scope = '', n.name, n.path LIMIT ?",
        [match, *values, limit - 1, limit],
    ).fetchall()
    if not found:
        return _Ranked([], 0, 0.0)
    best = [(number, -score) for number, score, _ in found]
    return _Ranked(best, found[0][2], best[0][1])


def _by_coverage(found: _Ranked, shares: Mapping[int, float]) -> _Ranked:
    """Order the notes that were looked at by their covered scores; the others stay behind them."""
    scores = _covered(dict(found.best), shares)
    best = sorted(scores.items(), key=lambda each: -each[1])  # stable: ties stay in their order
    return _Ranked(best, found.total, best[0][1] if best else 0.0)


def _beside(found: _Ranked, alike: Mapping[int, float], held: Mapping[int, float]) -> _Ranked:
    """Add notes that were found by single characters, with the scores of those among them that
    were found by words too, however far behind. Who was found both ways has both scores."""
    both = {n: score + held.get(n, 0.0) for n, score in alike.items()}
    near = {**both, **{n: s for n, s in found.best[:_LOOKED_AT] if n not in both}}
    best = sorted(near.items(), key=lambda each: -each[1])  # stable, as above
    behind = [each for each in found.best[_LOOKED_AT:] if each[0] not in both]
    return _Ranked([*best, *behind], found.total + len(alike) - len(held), best[0][1])


def _covered(scores: Mapping[int, float], shares: Mapping[int, float]) -> dict[int, float]:
    """Let a score count by how much of the query the note holds."""
    return {n: score * (_UNCOVERED + shares.get(n, 0.0)) for n, score in scores.items()}


def _scores(connection: sqlite3.Connection, match: str, numbers: Sequence[int]) -> dict[int, float]:
    """Return the lexical scores of notes that were found by their handle."""
    if not match or not numbers:
        return {}
    weights = ", ".join(map(str, WEIGHTS))
    found = connection.execute(
        f"SELECT rowid, bm25(terms, {weights}) FROM terms"  # noqa: S608
        f" WHERE terms MATCH ? AND rowid IN ({', '.join(map(str, numbers))})",
        (match,),
    )
    return {number: -score for number, score in found}
