"""Where the terms of a query stand in a raw text, without taking the whole text apart. Pure.

A word begins as its stem does, or nearly so, and a pair of characters stands in a text as it is:
so the text is searched for both, and only the pieces around beginnings are analysed. Pieces with
characters that analysis may turn into others are analysed wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache

from keepm.index.analysis import is_run, piece_end, piece_terms, raw_terms
from keepm.index.stemming import stem
from keepm.index.wordforms import irregular_forms

_CONNECTING = frozenset("._/\\+#@%=:&'’-")
_HAN = "\u4e00-\u9fff"
HARMLESS = "、。〈〉《》「」『』【】〔〕！（），：；？～“”‘–—…·•→←↔×"
"""Signs that no analysis makes a term of."""

# Neither ASCII nor a common Chinese character or sign; and what a whole term is told without.
_ODD = re.compile(rf"[^\x00-\x7f{_HAN}{HARMLESS}]|['\\]|//")
_ODD_ASCII = re.compile(r"['\\]|//")
_ODD_SIGNS = ("'", "\\", "//")
_PLAIN_RUN = re.compile(f"[{_HAN}]+")


class Sought:
    """Terms that are looked for in many texts; what was met once is remembered."""

    def __init__(self, terms: Set[str]) -> None:
        self._terms = frozenset(terms)
        self._runs = tuple(term for term in terms if _PLAIN_RUN.fullmatch(term))
        self._beginnings = tuple({each for term in terms for each in _beginnings(term)})
        self._known: dict[str, tuple[tuple[int, str], ...]] = {}

    def places(self, text: str) -> list[tuple[int, str]]:
        """Return where the terms stand in a raw text, in its order, none twice in one place."""
        found: list[tuple[int, str]] = []
        end = 0
        for position in sorted(self._hints(text)):
            if position < end:
                continue
            start, end = _around(text, position)
            piece = text[start:end]
            inside = self._known.get(piece)
            if inside is None:
                inside = self._known[piece] = _wanted_in(piece, self._terms)
            found += [(start + n, term) for n, term in inside]
        if text.isascii():
            return found
        found += self._in_runs(text)
        return sorted(dict.fromkeys(found), key=lambda place: place[0])

    def _hints(self, text: str) -> Iterator[int]:
        """Yield positions within every word that may hold a term, and within some other pieces."""
        lowered = _lowered(text)
        for beginning in self._beginnings:
            position = lowered.find(beginning)
            while position >= 0:
                if _begins_word(text, position):
                    yield position
                position = lowered.find(beginning, position + 1)
        if not text.isascii():
            yield from (found.start() for found in _ODD.finditer(text))
        elif any(sign in text for sign in _ODD_SIGNS):
            yield from (found.start() for found in _ODD_ASCII.finditer(text))

    def _in_runs(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield where pairs of common characters stand; single ones are terms at a run's end."""
        for term in self._runs:
            position = text.find(term)
            while position >= 0:
                after = position + len(term)
                if len(term) == 2 or not (after < len(text) and is_run(text[after])):
                    yield position, term
                position = text.find(term, position + 1)


def _lowered(text: str) -> str:
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter that has no single small one
        lowered = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return lowered


def _begins_word(text: str, position: int) -> bool:
    """Tell whether a word, or one within `camelCase`, may begin there."""
    if position == 0:
        return True
    before, here = text[position - 1], text[position]
    return not (before.isascii() and before.isalnum()) or not here.isascii() or here.isupper()


def _beginnings(term: str) -> Iterator[str]:
    """Yield beginnings of which every word of plain letters with this term has one."""
    if not term.isascii():
        return  # words of other scripts hold odd characters, wherever they stand
    beginning = term.split("/", 1)[0] or term  # slashes may be doubled, or backslashes, in a text
    if term.isalpha():
        # What stemming puts in a word's place: e, i, and `ble` for `bil`.
        cut = 2 if term.endswith("ble") else 1 if term[-1] in "eil" else 0
        beginning = term[: len(term) - cut] or term
        yield from _irregular().get(term, ())
    yield beginning
    for base, british in (("or", "our"), ("iz", "is")):
        for found in re.finditer(base, beginning):
            yield beginning[: found.start()] + british + beginning[found.end() :]


@lru_cache(maxsize=1)
def _irregular() -> dict[str, tuple[str, ...]]:
    """Return the words that may begin otherwise than their stem, by their stem."""
    found: dict[str, tuple[str, ...]] = {}
    for form in irregular_forms():
        term = stem(form)
        found[term] = (*found.get(term, ()), form)
    return found


def _around(text: str, position: int) -> tuple[int, int]:
    """Return from where to where the piece around a position goes."""
    kind = _kind(text[position])
    start = position
    while kind and start > 0 and _kind(text[start - 1]) == kind:
        start -= 1
    return start, piece_end(text, position)


@lru_cache(maxsize=1 << 12)
def _kind(character: str) -> str:
    """Return `run` or `word` for what goes on with its like, nothing for a sign or blank."""
    if is_run(character):
        return "run"
    return "word" if character in _CONNECTING or re.match(r"\w", character) else ""


def _wanted_in(piece: str, wanted: Set[str]) -> tuple[tuple[int, str], ...]:
    terms = piece_terms(piece) if _PLAIN_RUN.fullmatch(piece) else raw_terms(piece)
    if wanted.isdisjoint(terms):
        return ()
    # The terms of a run are its pairs, one for each character.
    step = 1 if is_run(piece) else 0
    return tuple(dict.fromkeys((n * step, term) for n, term in enumerate(terms) if term in wanted))
