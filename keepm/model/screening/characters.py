"""Characters that nobody sees, or that change the order of those that one sees.

Whole classes: control characters, format characters, private use, lone surrogates, what is
never a character, and the blanks and fillers that pretend to be nothing. Where a script or an
emoji needs one, it passes at exactly that place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from keepm.model.screening.hit import Hit

_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff"
_CONTROLS = re.compile(f"[{_CONTROL}]")
# The format characters (Cf) but those that are signs themselves, such as the Arabic number
# signs; the other characters that Unicode says may be ignored; private use; non-characters.
_SUSPECT = re.compile(
    f"[{_CONTROL}"
    "\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufdd0-\ufdef\ufffe\uffff"
    "\ue000-\uf8ff\U00013430-\U00013455\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U0010ffff]+"
)

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_KEYCAP = "\u20e3"
_BLACK_FLAG = "\U0001f3f4"
# The flags of England, Scotland and Wales: the only tag sequences in general use.
_FLAGS = tuple(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
# Emoji, as Unicode counts them, that are no symbols by category.
_EMOJI_BESIDES = frozenset("\u203c\u2049\u2139\u3030\u303d")
_JOINING_SCRIPTS = frozenset({"ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC", "PHAGS-PA"})
_VIRAMA = 9  # the combining class of what joins or kills a vowel in the scripts of India
_MOST_IDEOGRAPH_VARIANTS = 8  # in one text: names need a few, a hidden message needs many


def hits(text: str) -> Iterator[Hit]:
    """Yield each run of characters that may not be stored."""
    suspect = _CONTROLS if text.isascii() else _SUSPECT
    variants = 0
    for run in suspect.finditer(text):
        first, position = -1, run.start()
        while position < run.end() and first < 0:
            needed = _needed(text, position)
            if needed and 0xE0100 <= ord(text[position]) <= 0xE01EF:
                variants += 1
                needed = 1 if variants <= _MOST_IDEOGRAPH_VARIANTS else 0
            if needed:
                position += needed
            else:
                first = position
        if first >= 0:
            control = _CONTROLS.match(text, first) is not None
            rule = "control_character" if control else "invisible_character"
            yield Hit(rule, first, _name(text[first]))


def _needed(text: str, position: int) -> int:
    """Return how many characters from here on a script or an emoji needs, 0 for none."""
    character = text[position]
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    match ord(character):
        case 0x200C | 0x200D:
            return 1 if _joiner_needed(text, position) else 0
        case 0xFE0E | 0xFE0F:
            keycap = before in "#*0123456789" and after == _KEYCAP
            return 1 if before and (keycap or _is_emoji(before)) else 0
        case 0xFE00:
            return 1 if before and unicodedata.category(before) == "Sm" else 0
        case 0x180B | 0x180C | 0x180D | 0x180F:
            return 1 if _script(before) == "MONGOLIAN" else 0
        case 0x2800:
            return 1 if _is_dotted(before) or _is_dotted(after) else 0
        case 0xE0020 | 0xE0067 if before == _BLACK_FLAG:
            return next((len(f) for f in _FLAGS if text.startswith(f, position)), 0)
        case code if 0xE0100 <= code <= 0xE010F:
            return 1 if _script(before) == "CJK" else 0
        case _:
            return 0


def _joiner_needed(text: str, position: int) -> bool:
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    if not before:
        return False
    joins = text[position] == _ZWJ
    if joins and _ends_emoji(text, position) and _is_emoji(after):
        return True
    # In the scripts of India: behind a virama, or, to keep a form, before one.
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if joins and after and unicodedata.combining(after) == _VIRAMA:
        return unicodedata.category(before) == "Lo"
    # Persian and its relatives part letters that would join (ZWNJ), or join one to nothing (ZWJ).
    base = _base(text, position)
    if _script(base) not in _JOINING_SCRIPTS:
        return False
    return joins or _script(after) in _JOINING_SCRIPTS


def _base(text: str, position: int) -> str:
    """Return the letter before a position, marks skipped."""
    position -= 1
    while position > 0 and unicodedata.category(text[position]) == "Mn":
        position -= 1
    return text[position] if unicodedata.category(text[position]) in ("Lo", "Lm") else ""


def _ends_emoji(text: str, position: int) -> bool:
    before = text[position - 1]
    if before == "\ufe0f" and position > 1:
        before = text[position - 2]
    return _is_emoji(before) or 0x1F3FB <= ord(before) <= 0x1F3FF


def _is_emoji(character: str) -> bool:
    """Tell whether a character can be an emoji (all symbols count; no letter does)."""
    if not character:
        return False
    return character in _EMOJI_BESIDES or (
        ord(character) > 0xA8 and unicodedata.category(character) in ("So", "Sm")
    )


def _is_dotted(character: str) -> bool:
    return "\u2800" < character <= "\u28ff"


def _script(character: str) -> str:
    """Return the first word of a letter's name, which is its script."""
    return unicodedata.name(character, "").partition(" ")[0] if character else ""


def _name(character: str) -> str:
    return "NUL" if character == "\x00" else f"U+{ord(character):04X}"
