"""English stems after Porter's algorithm (1980), so that `migrations` finds `migrating`.

Irregular forms and British spellings are brought into their base form first.

In Python rather than in SQLite's tokenizer, because passages and coverage must see the same
terms as the index.
"""

from __future__ import annotations

import re
from functools import lru_cache

from keepm.index.wordforms import base_form

_VOWELS = frozenset("aeiou")
_SEQUENCE = re.compile("v+c+")

_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_LAST_LETTERS = frozenset(ending[-1] for ending, _ in (*_STEP_2, *_STEP_3))
_STEP_4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti"),
    *("ous", "ive", "ize", "ion", "al", "er", "ic", "ou"),
)


@lru_cache(maxsize=1 << 13)  # the words of identifiers come again and again
def stem(word: str) -> str:
    """Return the stem of a lower-case ASCII word; words of one or two letters are kept."""
    if len(word) < 3:
        return word
    word = _past_and_gerund(_plural(base_form(word)))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _final(_bare(word))


def _shape(word: str) -> str:
    """Spell a word as vowels (v) and consonants (c); y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    return len(_SEQUENCE.findall(_shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _short(word: str) -> bool:
    """Tell whether it ends consonant, vowel, consonant (the last not w, x or y)."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and _has_vowel(base):
            if base.endswith(("at", "bl", "iz")):
                return base + "e"
            if _doubled(base) and base[-1] not in "lsz":
                return base[:-1]
            return base + "e" if _measure(base) == 1 and _short(base) else base
    return word


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Apply the rule with the longest ending that fits, if what is left is long enough."""
    if word[-1] not in _LAST_LETTERS:
        return word
    fitting = [rule for rule in rules if word.endswith(rule[0])]
    if not fitting:
        return word
    ending, replacement = max(fitting, key=lambda rule: len(rule[0]))
    base = word.removesuffix(ending)
    return base + replacement if _measure(base) > 0 else word


def _bare(word: str) -> str:
    if not word.endswith(_STEP_4):
        return word
    fitting = [ending for ending in _STEP_4 if word.endswith(ending)]
    ending = max(fitting, key=len)
    base = word.removesuffix(ending)
    if _measure(base) <= 1 or (ending == "ion" and not base.endswith(("s", "t"))):
        return word
    return base


def _final(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _short(base)):
            word = base
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
