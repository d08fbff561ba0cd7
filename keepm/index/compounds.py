"""One word or two: `time-out`, `time out` and `timeout`, `utf-8` and `utf8`, `node 20`, `node20`.

The index keeps what notes say; a query asks for the other ways of writing it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from keepm.index.analysis import Term, neighbours, spelt_words, term_of
from keepm.index.known import Known

_JOINED = re.compile(r"[^\W\d_]+(?:[-_][^\W_]+){1,2}")  # time-out, utf-8, set_up
_MIXED = re.compile(r"([^\W\d_]{2,})(\d[\w.]*)")  # utf8, node20, python3.11
_SHORTEST, _LONGEST = 5, 24  # letters of a word that may be written as two
_LEAST = 2  # letters of either
_MOST_WORDS = 6  # unknown ones of a query


def widened(terms: Sequence[Term], text: str) -> list[Term]:
    """Let the terms of a query be met by such writing as joins or parts its words. Pure."""
    together: dict[str, list[str]] = {}
    for first, second, joined in neighbours(text):
        for term in (first, second):
            together.setdefault(term, []).append(joined)
    return [_widened(term, together.get(term.text, [])) for term in terms]


def _widened(term: Term, together: Sequence[str]) -> Term:
    own = term.wholes or term.parts
    others = [*together]
    others += (term_of(re.sub("[-_]", "", each)) for each in own if _JOINED.fullmatch(each))
    others += (f"{m[1]}-{m[2]}" for each in own if (m := _MIXED.fullmatch(each)))
    if not others:
        return term
    return replace(term, wholes=tuple(dict.fromkeys((*term.wholes, *others))))


def known(
    terms: Sequence[Term], seen: Mapping[str, int], text: str, sight: Known
) -> tuple[list[Term], dict[str, int]]:
    """Keep the ways of writing that notes in sight have; look for halves of words that none has.

    `seen` tells how many notes hold each token; it comes back with those of the halves.
    """
    left = [
        replace(term, wholes=tuple(way for way in term.wholes if seen[way]))
        if term.wholes and term.parts
        else term
        for term in terms
    ]
    unknown = [t.text for t in left if not any(seen[token] for token in t.tokens)][:_MOST_WORDS]
    if not unknown:
        return left, {**seen}
    ways: dict[str, list[str]] = {}
    for word, term in spelt_words(text).items():
        if term in unknown:
            ways.setdefault(term, []).extend(_hyphened(word))
            ways[term] += _hyphened(term) if word == f"{term}s" else ()
    halves = {
        term: (term_of(found[1]), found[2]) for term in unknown if (found := _MIXED.fullmatch(term))
    }
    asked = [way for group in (*ways.values(), *halves.values()) for way in group]
    held = sight.of(asked)
    for n, each in enumerate(left):
        written = tuple(way for way in ways.get(each.text, ()) if way in held)
        pair = halves.get(each.text)
        if written:
            left[n] = replace(each, wholes=(*each.wholes, *written))
        elif pair and all(half in held for half in pair):
            left[n] = replace(each, parts=pair)
    added = {token: held[token] for each in left for token in each.tokens if token in held}
    return left, {**seen, **added}


def _hyphened(word: str) -> Iterator[str]:
    if _SHORTEST <= len(word) <= _LONGEST:
        for n in range(_LEAST, len(word) - _LEAST + 1):
            yield f"{word[:n]}-{word[n:]}"
