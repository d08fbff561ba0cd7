"""Text as it is: what nobody sees, or what moves the rest about, is written out.

For people who decide on bytes. A character that a terminal would obey or swallow stands as its
code (`\\x1b`, `<U+202E>`); what emoji and joining scripts need stays as it is.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))
# Seen as nothing or as a blank, whatever their category says.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_ZWNJ, _ZWJ, _EMOJI_STYLE = "\u200c", "\u200d", "\ufe0f"
_KEYCAPS = frozenset("0123456789#*")
_MOST_MARKS = 4  # so many marks a letter may wear before they cover the lines around it
_TAB = 4


@dataclass(frozen=True, slots=True)
class Unseen:
    """One sort of character that nobody sees: how often, and in which line first."""

    name: str
    count: int
    line: int  # from 1


def lines(text: str) -> list[str]:
    """Split stored text at its line ends (LF or CRLF); every other break stays in its line."""
    return text.replace("\r\n", "\n").split("\n")


def shown(text: str) -> str:
    """Return one line with every unseen character written out."""
    out: list[str] = []
    column = position = 0
    while position < len(text):
        character = text[position]
        step = 1
        if character == "\t":
            piece = " " * (_TAB - column % _TAB)
        elif _is_unseen(text, position):
            while text[position + step : position + step + 1] == character:
                step += 1
            piece = _coded(character, step)
        else:
            piece = character
        out.append(piece)
        column += width(piece)
        position += step
    return "".join(out)


def unseen(text: str) -> list[Unseen]:
    """Return what a reader of the plain text would not see, in the order of its coming."""
    found: dict[str, Unseen] = {}
    for number, line in enumerate(lines(text), 1):
        for position, character in enumerate(line):
            if character != "\t" and _is_unseen(line, position):
                name = f"U+{ord(character):04X}"
                old = found.get(name, Unseen(name, 0, number))
                found[name] = Unseen(name, old.count + 1, old.line)
    return list(found.values())


def width(text: str) -> int:
    """Return how many columns a terminal gives a text."""
    return sum(map(_columns, text))


def folded(text: str, columns: int) -> list[str]:
    """Cut one line into pieces of at most so many columns."""
    pieces, piece, used = [], "", 0
    for character in text:
        wide = _columns(character)
        if used + wide > columns and piece:
            pieces.append(piece)
            piece, used = "", 0
        piece += character
        used += wide
    return [*pieces, piece]


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _coded(character: str, times: int) -> str:
    code = ord(character)
    if code < 0x100 and unicodedata.category(character) == "Cc":
        return f"\\x{code:02x}" * times
    return f"<U+{code:04X}{f' x{times}' if times > 1 else ''}>"


def _is_unseen(text: str, position: int) -> bool:
    character = text[position]
    if character.isascii():
        return not character.isprintable()
    category = unicodedata.category(character)
    if character == _EMOJI_STYLE:
        return not _styles(text, position)
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return True
    if category in ("Mn", "Me"):
        return character in _BLANKS or _heaped(text, position)
    if character in (_ZWNJ, _ZWJ):
        return not _joins(text, position)
    return category in _UNSEEN or character in _BLANKS


def _styles(text: str, position: int) -> bool:
    """Tell whether an emoji stands before this mark of emoji style."""
    before = text[position - 1] if position else ""
    return bool(before) and (before in _KEYCAPS or unicodedata.category(before) in ("So", "Sm"))


def _joins(text: str, position: int) -> bool:
    """Tell whether a joiner stands between two emoji, or in a word of a script that joins."""
    before, after = text[:position][-2:], text[position + 1 : position + 2]
    if not before or not after:
        return False
    if text[position] == _ZWJ and unicodedata.category(after) in ("So", "Sm"):
        emoji = before[0] if before[-1] == _EMOJI_STYLE else before[-1]
        return unicodedata.category(emoji) in ("So", "Sk", "Sm")
    return _is_joining(before[-1]) and _is_joining(after)


def _is_joining(character: str) -> bool:
    joining = "\u0600" <= character <= "\u0fff" or "\u1800" <= character <= "\u18af"
    return joining and unicodedata.category(character)[0] in "LM"


def _heaped(text: str, position: int) -> bool:
    before = text[max(0, position - _MOST_MARKS) : position]
    return len(before) == _MOST_MARKS and all(map(unicodedata.combining, before))
