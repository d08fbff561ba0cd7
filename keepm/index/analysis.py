"""Text as index terms, for both languages: the same rules for notes and for queries.

Latin words become stems; identifiers (`camelCase`, `snake_case`, `src/main.py`, `v3.11`) are
kept whole and split as well; signs that carry meaning stay (`C++`, `C#`, `.NET`, `50%`);
scripts written without blanks become overlapping pairs of characters. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from keepm.index import stopwords
from keepm.index.stemming import stem

LONGEST = 64
"""Longer terms (base64, minified code) are cut there, in notes and queries alike."""

_SHORTEST_PREFIX = 3

# Han, kana, hangul, bopomofo, Thai, Lao, Burmese, Khmer: no blanks between words, or, as in
# Korean, endings glued to them.
_RUN = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    "\u3031-\u3035\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_CONNECTORS = r"._/\\+#@%=:&'’\-"
_LETTER = rf"[^\W{_RUN}]"
# A run, or letters and digits with what may join them, or a sign such as an emoji.
_PIECE = re.compile(
    rf"[{_RUN}]++|[{_CONNECTORS}]*+(?:{_LETTER}++[{_CONNECTORS}]*+)++|[{_CONNECTORS}]++"
    rf"|[^\s\w\x00-\x7f{_RUN}]"
)
_ASCII_PIECE = re.compile(rf"[A-Za-z0-9{_CONNECTORS}]++")  # the same for the commonest text
_ASCII_APART = {n: " " for n in range(128) if not _ASCII_PIECE.match(chr(n))}  # and faster
_FIRST_OF_RUNS = _RUN[0]
_RUNS = re.compile(rf"([{_RUN}]+)")

_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\ud800-\udfff]")
_INVISIBLE = re.compile(
    "[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
)

_CONTRACTION = re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)
_NEGATED = re.compile(r"\w+n['’]t", re.IGNORECASE)  # can't, don't: never the topic
_SHARP = re.compile(r"[^\W_]{1,12}(?:\+\+?|#)")  # C++, C#, g++: never the same as C or g
_PER_CENT = re.compile(r"\d%$")
_SLASHES = re.compile(r"[/\\]+")
_WORD = re.compile(r"[^\W_]+")
_DOTTED = re.compile(rf"{_LETTER}+(?:\.{_LETTER}+)*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a query asks for.

    A note holds it if it holds one of `wholes` or all `parts`. `prefixes` pairs the beginning of
    a word with the term that it would be as a complete word (empty: the beginning alone counts).
    `beside` are the pairs that share a character with this one in a run without blanks. `near`
    are terms of other words for it, which count less.
    """

    text: str
    wholes: tuple[str, ...]
    parts: tuple[str, ...]
    prefixes: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()
    near: tuple[str, ...] = ()

    @property
    def tokens(self) -> tuple[str, ...]:
        """Everything that is looked up for this term."""
        return (*self.wholes, *self.parts)


@dataclass(frozen=True, slots=True)
class _Analysed:
    """One piece of text: `wholes` beside the terms of its `words`."""

    wholes: tuple[str, ...]
    parts: tuple[str, ...]
    words: tuple[str, ...]  # as `parts`, not stemmed, case kept


_NOTHING = _Analysed((), (), ())


def for_index(text: str) -> str:
    """Return the terms of a text, parted by blanks, in the order of the text."""
    if text.isascii():
        # Most texts, and most of the work of filling an index.
        pieces = text.translate(_ASCII_APART).split()
        return " ".join(chain.from_iterable(map(piece_terms, pieces)))
    terms: list[str] = []
    for piece in _pieces(normalised(text)):
        # Runs hardly ever come twice: they would only drive the words out of the cache.
        terms += _pairs(piece) if piece[0] >= _FIRST_OF_RUNS else piece_terms(piece)
    return " ".join(terms)


def is_run(piece: str) -> bool:
    """Tell whether a piece is of a script written without blanks: its terms are its pairs."""
    return _RUNS.match(piece) is not None


def piece_end(text: str, position: int) -> int:
    """Return where the piece ends that goes on at a position of a text, or the sign or blank."""
    found = _PIECE.match(text, position)
    return position + 1 if found is None else found.end()


def raw_terms(piece: str) -> tuple[str, ...]:
    """Return the terms of a piece of raw text."""
    if piece.isascii():
        return piece_terms(piece)
    return tuple(for_index(piece).split())


def query_terms(text: str, *, limit: int) -> list[Term]:
    """Return at most `limit` different terms of a query; any string is legal.

    Stop and question words are dropped unless nothing would be left.
    """
    pieces = _pieces(normalised(text))
    shouting = text.isupper()
    kept: dict[str, Term] = {}
    dropped: dict[str, Term] = {}
    for number, piece in enumerate(pieces):
        if len(kept) >= limit:
            break
        last = number == len(pieces) - 1
        if is_run(piece):
            topical, rest = _run_terms(piece, limit=limit)
            for term in topical:
                kept.setdefault(term.text, term)
            for term in rest:
                dropped.setdefault(term.text, term)
            continue
        single = _word_term(piece, last=last)
        if single is None:
            continue
        asks = number > 0 and pieces[number - 1].casefold() == "how" and piece in stopwords.HOW
        shelf = dropped if asks or _is_stopword(piece, shouting=shouting) else kept
        shelf.setdefault(single.text, single)
    return list((kept or dropped).values())[:limit]


def neighbours(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield words that follow each other in a query: the terms of both, and of both as one word.

    The first is no stop word.
    """
    shouting = text.isupper()
    for first, second in pairwise(_pieces(normalised(text))):
        if not first.isalnum() or is_run(first):
            continue
        if first.casefold() in stopwords.ENGLISH and _is_stopword(first, shouting=shouting):
            continue
        other = second if second.isalnum() else _trimmed(second)
        term, behind = _word_term(first), _word_term(other)
        if term and behind and _DOTTED.fullmatch(other):
            yield term.text, behind.text, term_of(_fold(first + other))


def spelt_words(text: str, *, topical: bool = False) -> dict[str, str]:
    """Return a text's words of letters, case folded, and the term of each; `topical` leaves out
    stop words. Scripts without blanks between words have none to spell."""
    found: dict[str, str] = {}
    shouting = text.isupper()
    for piece in dict.fromkeys(_pieces(normalised(text))):
        if is_run(piece) or (topical and _is_stopword(piece, shouting=shouting)):
            continue
        for word in map(_fold, _analyse(piece).words):
            if word.isalpha():
                found[word] = term_of(word)
    return found


def term_of(word: str) -> str:
    """Return the term of a case folded word."""
    return stem(word) if word.isascii() and word.isalpha() else word


def normalised(text: str) -> str:
    """Return text in one form: NFKC, no control or invisible characters, no marks on letters.

    Case stays, since it parts the words of identifiers.
    """
    text = _BREAKING.sub(" ", text)
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    parts = _RUNS.split(composed)
    # Marks belong to the letter in kana and Thai; elsewhere `cafe` has to find `Café`.
    parts[::2] = [part if part.isascii() else _without_marks(part) for part in parts[::2]]
    return "".join(parts)


def _without_marks(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.category(c).startswith("M"))


def _fold(word: str) -> str:
    folded = word.casefold()
    if not folded.isascii():
        folded = _without_marks(folded).translate(_LETTERS)
    return folded[:LONGEST]


def _pieces(text: str) -> list[str]:
    return _pattern(text).findall(text)


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII_PIECE if text.isascii() else _PIECE


@lru_cache(maxsize=1 << 15)
def piece_terms(piece: str) -> tuple[str, ...]:
    """Return the terms of one normalised piece."""
    if word := _plain(piece):
        return (stem(word),)
    if is_run(piece):
        return _pairs(piece)
    if piece.isdigit() and piece.isascii():
        return (piece[:LONGEST],)
    found = _analyse(piece)
    return (*found.wholes, *found.parts)


def _pairs(run: str) -> tuple[str, ...]:
    """Return the terms of a run; of a piece that only begins like one, its own."""
    if not is_run(run):
        return piece_terms(run)
    # The last character alone too: with pairs every other one is the beginning of a term.
    return (*[a + b for a, b in pairwise(run)], run[-1])


def _plain(piece: str) -> str:
    """Return a plain word, maybe the last of its sentence, in lower case; else nothing.

    By far the most pieces are plain words.
    """
    word = piece.rstrip(".:")
    if word.isascii() and word.isalpha() and (len(word) == 1 or word[1:].islower()):
        return word.lower()[:LONGEST]
    return ""


@lru_cache(maxsize=1 << 12)
def _analyse(piece: str) -> _Analysed:
    """Take a piece of letters, digits and connectors apart."""
    text = _trimmed(_uncontracted(piece))
    if not text:
        # An emoji can be looked for; punctuation and arrows can't.
        symbol = len(piece) == 1 and unicodedata.category(piece) == "So"
        return _Analysed((piece,), (), ()) if symbol else _NOTHING
    wholes: list[str] = []
    words: list[str] = []
    segments = [s for s in (_trimmed(s) for s in _SLASHES.split(text)) if s]
    for segment in segments:
        if segment[-1] in "+#" and _SHARP.fullmatch(segment):
            wholes.append(_fold(segment))
            continue
        found = [hump for word in _WORD.findall(segment) for hump in _humps(word)]
        if len(found) != 1 or found[0] != segment:
            wholes.append(_whole(segment))
        words += found
    if len(segments) > 1:
        wholes.insert(0, _whole("/".join(segments)))
    parts = tuple(_stemmed(word) for word in words)
    distinct = tuple(dict.fromkeys(w for w in wholes if w and (w,) != parts))
    return _Analysed(distinct, parts, tuple(words))


def _whole(text: str) -> str:
    return _fold(text.replace("'", "").replace("’", ""))


def _humps(word: str) -> list[str]:
    return [word] if word.islower() or word.isdigit() else _HUMP.split(word)


def _uncontracted(piece: str) -> str:
    return _CONTRACTION.sub("", piece) if "'" in piece or "’" in piece else piece


def _stemmed(word: str) -> str:
    return term_of(_fold(word))


def _trimmed(text: str) -> str:
    """Strip connectors that join nothing; keep those that make the word another one."""
    if text[:1].isalnum() and text[-1:].isalnum():
        return text
    text = text.rstrip("._/\\=:&'’@-").lstrip("_/\\+%=:&'’-")
    if not _WORD.search(text):
        return ""
    core = text.lstrip("._/\\+#@%=:&'’-")
    lead = text[: len(text) - len(core)]
    if len(lead) != 1 or lead not in ".#@":
        text = core
    if text.endswith(("+", "#")) and not _SHARP.fullmatch(_SLASHES.split(text)[-1]):
        text = text.rstrip("+#%")
    return text.rstrip("%") if text.endswith("%") and not _PER_CENT.search(text) else text


def _is_stopword(piece: str, *, shouting: bool) -> bool:
    """Tell whether a word carries no topic. `IT` and `May` in a sentence are names."""
    if _NEGATED.fullmatch(_trimmed(piece)):
        return True
    word = _trimmed(_uncontracted(piece))
    if word.casefold() not in stopwords.ENGLISH:
        return False
    named = (len(word) > 1 and word.isupper() and not shouting) or word == "May"
    return not named or word in stopwords.OPERATORS


def _word_term(piece: str, *, last: bool = False) -> Term | None:
    found = _analyse(piece)
    if not found.wholes and not found.parts:
        return None
    prefixes: list[tuple[str, str]] = []
    if last:
        beginnings = [(whole, whole) for whole in found.wholes[:1]]
        if found.words:
            beginnings.append((_fold(found.words[-1]), found.parts[-1]))
        prefixes = [b for b in beginnings if len(b[0]) >= _SHORTEST_PREFIX]
    text = found.wholes[0] if found.wholes else found.parts[0]
    return Term(text, found.wholes, found.parts, tuple(prefixes))


def _run_terms(run: str, *, limit: int) -> tuple[list[Term], list[Term]]:
    """Return the pairs of a run, those of question words apart."""
    if len(run) == 1:
        single = [Term(run, (), (run,), ((run, ""),))]
        return ([], single) if stopwords.is_alone(run) else (single, [])
    covered = [False] * len(run)
    for found in stopwords.CHINESE.finditer(run):
        covered[found.start() : found.end()] = [True] * (found.end() - found.start())
    topical: dict[str, Term] = {}
    rest: dict[str, Term] = {}
    for n in range(len(run) - 1):
        pair = run[n : n + 2]
        shelf = rest if covered[n] or covered[n + 1] else topical
        beside = (run[n - 1 : n + 1], run[n + 1 : n + 3])
        shelf.setdefault(pair, Term(pair, (), (pair,), (), tuple(b for b in beside if len(b) == 2)))
        if len(topical) >= limit:
            break
    for n, character in enumerate(run):
        # A character left alone between question words still is the topic.
        if not covered[n] and _alone(covered, n):
            shelf = rest if stopwords.is_alone(character) else topical
            shelf.setdefault(character, Term(character, (), (character,), ((character, ""),)))
    return list(topical.values()), list(rest.values())


def _alone(covered: list[bool], n: int) -> bool:
    before = n == 0 or covered[n - 1]
    after = n == len(covered) - 1 or covered[n + 1]
    return before and after
