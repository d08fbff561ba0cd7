"""Other words for a query's: they find notes where its own words find little.

What a note says in the query's words always counts more, and what is only met in other words
stays marked as weak: a table of words can't tell whether they mean the same here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from keepm.index import vocabulary
from keepm.index.analysis import Term, term_of


def widened(terms: Sequence[Term]) -> list[Term]:
    """Let each term be met by its synonyms too, unless the query asks for these by themselves.

    A term of several parts (`rate-limit`) has none.
    """
    asked = {token for term in terms for token in term.tokens}
    near = _near()
    found = []
    for term in terms:
        others = near.get(term.parts[0], ()) if len(term.parts) == 1 else ()
        new = tuple(other for other in others if other not in asked)
        found.append(replace(term, near=new) if new else term)
    return found


def groups() -> Iterator[list[str]]:
    """Yield the groups of words, both languages."""
    for table in (vocabulary.ENGLISH, vocabulary.CHINESE):
        for group in table.split(";"):
            yield group.split()


@lru_cache(maxsize=1)
def _near() -> dict[str, tuple[str, ...]]:
    """Return the terms that share a group with each term."""
    found: dict[str, dict[str, None]] = {}
    for group in groups():
        terms = dict.fromkeys(map(term_of, group))
        for term in terms:
            found.setdefault(term, {}).update(terms)
    return {term: tuple(other for other in near if other != term) for term, near in found.items()}
