"""What a verdict is about: texts in a form that outlives how they were put, as digests.

Two texts have one form when they differ by case, width, accents, lookalike letters, blanks,
punctuation, Markdown or the parts that a kind prescribes only. What may change the meaning stays:
letters, digits and their grouping, `c++`, `c#`, `-1`, `< 80`, `80%`. A verdict's digests stand in
the ledgers for good: a change of these rules needs a new `_FORM`, and the old form beside it.
"""

from __future__ import annotations

import functools
import hashlib
import html
import re
import unicodedata
from collections.abc import Iterator

from keepm.config import Policy
from keepm.config.sameness import SamenessRules
from keepm.model import similarity
from keepm.model.memory import Claim

_FORM = "1"

# What merely forms text; an unknown word between angle brackets (`<branch>`) is a part of it.
_TAG = re.compile(
    r"</?(?:a|abbr|address|article|aside|b|bdi|big|blockquote|body|br|caption|center|cite|code|col"
    r"|colgroup|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|html"
    r"|i|ins|kbd|li|main|mark|nav|ol|p|pre|q|rp|rt|ruby|s|samp|section|small|span|strike|strong"
    r"|sub|summary|sup|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|wbr)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
# Folding would take ≠ for =, and any dash but ASCII's for a blank.
_SPELT_OUT = str.maketrans(
    {"≠": "!=", "≤": "<=", "≥": ">=", **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")}
)
# What Markdown puts before a line's text: quotes, headings, list items, boxes to tick.
_LINE_START = re.compile(
    r"^[^\S\n]*"
    r"(?:(?:>(?=[\s>])|#{1,6}(?=\s)|[-*+](?=\s)|\[[ x]\](?=\s)|\d{1,3}[.)](?=\s))[^\S\n]*)+",
    re.MULTILINE,
)
_FENCE = re.compile(r"^[^\S\n]*(?:`{3,}[^`\n]*|~{3,}[^\n]*)$", re.MULTILINE)  # with its language
_THOUSANDS = re.compile(r"(?<=\d)[,_'](?=\d{3}(?!\d))")
_LETTER = r"[0-9a-z\u0080-\U0010ffff]"  # of what `_plain` leaves, combining marks included
_WORD = re.compile(
    r"(?P<compared>(?:[<>]=?|!=)(?=\s*-?\d))"
    rf"|(?P<minus>(?<!{_LETTER})-(?=\d))"
    r"|(?P<percent>(?<=\d)\s*%)"
    rf"|(?P<signed>(?<!{_LETTER})[a-z](?:\+{{1,2}}|\#)(?!{_LETTER}))"
    rf"|(?P<word>{_LETTER}+)"
)


def form(text: str, policy: Policy, rules: SamenessRules) -> str:
    """Return what is left of a text without what only restates it; the same of its own form."""
    plain = similarity.folded(html.unescape(_TAG.sub(" ", text)).translate(_SPELT_OUT), rules)
    text = _prescribed(_parts(policy)).sub("", _FENCE.sub("", _LINE_START.sub("", plain)))
    return "".join(_joined(_plain(_THOUSANDS.sub("", text)))) or "".join(plain.split())


def values(claim: Claim, policy: Policy, rules: SamenessRules) -> tuple[str, ...]:
    """Return the digests by which a claim meets its rejection, the one of its body alone first.

    A body that is too small to claim anything alone has none; beside it there is one with the
    description and one with the title, dates, counters and the like apart.
    """
    body = form(claim.body, policy, rules)
    alone = [_digest("value", body)] if _weight(body) >= rules.claim_characters else []
    return (*alone, *_accompanied(claim, body, policy, rules))


def rejected(
    claim: Claim, there: Claim | None, policy: Policy, rules: SamenessRules
) -> tuple[str, ...]:
    """Return the digests of what is rejected with a claim; `there` is what a correction corrects.

    A correction with the very text that the note has can't reject that text: rejected is then
    only what it comes with.
    """
    body = form(claim.body, policy, rules)
    if there is not None and body == form(there.body, policy, rules):
        told = form(claim.description, policy, rules)
        changed = told != form(there.description, policy, rules)
        return (_described(told, body),) if told and changed else ()
    if _weight(body) >= rules.claim_characters:
        return (_digest("value", body),)
    return tuple(_accompanied(claim, body, policy, rules))


def said(description: str, body: str, policy: Policy, rules: SamenessRules) -> str:
    """Return the digest of what a note says, wherever it lies and whatever it is called."""
    return _digest("said", form(description, policy, rules), form(body, policy, rules))


def pair(one: str, other: str) -> str:
    """Return the digest of two notes' words, each by its own (`said`), in either order."""
    return _digest("pair", *sorted((one, other)))


def _accompanied(claim: Claim, body: str, policy: Policy, rules: SamenessRules) -> Iterator[str]:
    told = form(claim.description, policy, rules)
    if told:
        yield _described(told, body)
    yield _digest("titled", similarity.title(claim.name, rules).core, body)


def _described(told: str, body: str) -> str:
    return _digest("described", told, body)


def _digest(sort: str, *parts: str) -> str:
    data = "\n".join((f"keepm {sort} {_FORM}", *parts))
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


# ---- the form ------------------------------------------------------------------------------------


def _joined(text: str) -> Iterator[str]:
    """Yield the words of a text without blanks, parted only where joining would say otherwise."""
    before, sort_before = "", None
    for found in _WORD.finditer(text):
        word, sort = found[0].strip(), found.lastgroup
        if before[-1:].isdigit() and word[0].isdigit():
            yield "-"  # 1.5 isn't 15
        elif sort_before == "signed" or (
            before and sort_before != "compared" and sort in ("compared", "minus", "signed")
        ):
            yield " "
        yield word
        before, sort_before = word, sort


class _Seen(dict[int, str | None]):
    """What becomes of each character: beyond ASCII only letters, digits and their marks stay."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        kept = code < 0x80 or category[0] in "LN" or category in ("Mn", "Mc")
        # Variation selectors are marks, and seen by nobody.
        hidden = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
        self[code] = None if hidden else character if kept else " "
        return self[code]


_SEEN = _Seen()


def _plain(text: str) -> str:
    return text if text.isascii() else text.translate(_SEEN)


def _weight(text: str) -> int:
    """Count characters, CJK ones twice."""
    return len(text) + sum(unicodedata.east_asian_width(c) in "WF" for c in text)


def _parts(policy: Policy) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels and headings that some kind prescribes."""
    kinds = policy.kinds.values()
    labels = {label.casefold() for kind in kinds for label in kind.labels}
    headings = {heading.casefold() for kind in kinds for heading in kind.headings}
    return tuple(sorted(labels)), tuple(sorted(headings))


@functools.cache
def _prescribed(parts: tuple[tuple[str, ...], tuple[str, ...]]) -> re.Pattern[str]:
    """Match a prescribed label at the beginning of a line, or a prescribed heading's line."""
    labels, headings = ("|".join(map(re.escape, each)) for each in parts)
    return re.compile(
        rf"^[^\S\n]*[*_]{{0,3}}(?:(?:{labels})[*_]{{0,3}}[^\S\n]*:"
        rf"|(?:{headings})[*_]{{0,3}}[^\S\n]*:?[^\S\n]*\#*[^\S\n]*$)",
        re.MULTILINE,
    )
