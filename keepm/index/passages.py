"""The passage of a text that best answers a query, and cuts that tear no character apart. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from keepm.index.placing import Sought

MARK = "…"
_START = re.compile(r"[\n。！？]\s*|[.!?;；]\s+")
_LOOK_BACK = 80  # how far before the first match a sentence may begin
_CONTEXT = 16
_ZWJ = "\u200d"


def best(text: str, weights: Mapping[str, float], *, limit: int, sought: Sought) -> str:
    """Return at most `limit` characters of a text in one line, where most of the terms stand.

    What is left out before or behind is marked with an ellipsis. Without a match it is the
    beginning. `sought` are the terms that have weights; hand it on from text to text.
    """
    if len(text) <= limit:
        return cut(_one_line(text), limit)
    start = _window(text, weights, width=max(limit - _LOOK_BACK // 2, limit // 2, 1), sought=sought)
    if start > 0:
        start = _sentence_start(text, start)
    # Some characters more than fit, since blanks shrink.
    passage = _one_line(text[start : start + 2 * limit])
    lead = MARK if text[:start].strip() else ""
    more = bool(text[start + 2 * limit :].strip())
    return lead + cut(passage + (MARK if more else ""), limit - len(lead))


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, ending in `…` if something was cut off.

    Never parts a letter from its marks, nor the halves of an emoji or flag. Prefers to end
    between words.
    """
    if len(text) <= limit:
        return text
    end = max(limit - len(MARK), 0)
    while end > 0 and joined(text, end):
        end -= 1
    kept = text[:end].rstrip()
    blank = kept.rfind(" ", max(len(kept) - 20, 0))
    if blank > 0 and text[end : end + 1].isalnum() and kept[-1:].isascii():
        kept = kept[:blank].rstrip()
    return kept + MARK


def joined(text: str, position: int) -> bool:
    """Tell whether the characters on both sides of a position are one to the reader."""
    before, here = text[position - 1], text[position]
    if unicodedata.category(here) in ("Mn", "Me", "Mc") or here in (_ZWJ, "\u200c"):
        return True
    if before == _ZWJ or before + here == "\r\n":
        return True
    point = ord(here)
    if 0x1F3FB <= point <= 0x1F3FF or 0xE0020 <= point <= 0xE007F:  # skin tones, flag tags
        return True
    if 0x1160 <= point <= 0x11FF:  # later parts of a Korean syllable
        return True
    if 0x1F1E6 <= point <= 0x1F1FF:
        run = 0
        while run < position and 0x1F1E6 <= ord(text[position - 1 - run]) <= 0x1F1FF:
            run += 1
        return run % 2 == 1  # a flag is two letters
    return False


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _window(text: str, weights: Mapping[str, float], *, width: int, sought: Sought) -> int:
    """Return where the stretch of that width with the heaviest different terms begins."""
    if not weights:
        return 0
    hits = sought.places(text)
    best_start, best_weight, last = 0, 0.0, 0
    inside: dict[str, int] = {}
    weight = 0.0
    for position, term in hits:
        while last < len(hits) and hits[last][0] < position + width:
            entering = hits[last][1]
            inside[entering] = inside.get(entering, 0) + 1
            if inside[entering] == 1:
                weight += weights[entering]
            last += 1
        if weight > best_weight + 1e-9:
            best_start, best_weight = position, weight
        inside[term] -= 1
        if not inside[term]:
            weight -= weights[term]
    return best_start


def _sentence_start(text: str, position: int) -> int:
    """Return where the sentence or line around a position begins, if it isn't far before it."""
    floor = max(position - _LOOK_BACK, 0)
    starts = [found.end() for found in _START.finditer(text, floor, position)]
    if starts:
        return starts[0]
    if floor == 0:
        return 0
    # No sentence begins near: a few words of context, or characters where there are no blanks.
    near = position - _CONTEXT
    blank = text.find(" ", near, position)
    near = blank + 1 if blank >= 0 else near
    while near > 0 and joined(text, near):
        near -= 1
    return near
