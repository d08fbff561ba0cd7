"""How values are written into front matter, so that any YAML reader takes them for text.

Plain only where YAML 1.1 and 1.2 both read a plain text; single quotes otherwise; double quotes
with escapes for what has no other way to be written on one line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

Value = str | bool | list[str] | dict[str, str]

_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"})
# What could be a number, a date or a time to some reader: digits and the signs used with them.
_NUMBER_LIKE = re.compile(r"[0-9][0-9_.,:eExXoOTtZz+\-/ ]*|0[xXoObB][0-9a-fA-F_]+")
_PLAIN_START = re.compile(r"[^\W_]|[_/($]")
_NOT_PLAIN = re.compile(r"[\[\]{}\"`]|: |:$| #|\s$|[^\S ]")
_NOT_PLAIN_IN_FLOW = re.compile(r"[,?]")
# Outside this, PyYAML and others refuse or change the character unless it is escaped.
_NEEDS_ESCAPE = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\uffff\U000e0000-\U000e0fff]"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}

_LINE_WIDTH = 80
_FLOW_ITEM = 24


def scalar(text: str, *, quote: str = "", in_flow: bool = False) -> str:
    """Write one text on one line; `quote` is the quotation mark to prefer."""
    if quote == '"' or _needs_escape(text):
        return _double(text)
    if quote == "'" or not _is_plain(text) or (in_flow and _NOT_PLAIN_IN_FLOW.search(text)):
        return "'" + text.replace("'", "''") + "'"
    return text


def value(content: Value, *, quote: str = "") -> str:
    """Write a value on one line, lists and maps in flow style."""
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, str):
        return scalar(content, quote=quote)
    if isinstance(content, list):
        return flow(scalar(item, in_flow=True) for item in content)
    pairs = (
        f"{scalar(key, in_flow=True)}: {scalar(text, in_flow=True)}"
        for key, text in content.items()
    )
    return "{" + ", ".join(pairs) + "}"


def flow(items: Iterable[str]) -> str:
    """Join written items to a flow list."""
    return "[" + ", ".join(items) + "]"


def entry(key: str, content: Value, *, indent: str = "", newline: str = "\n") -> str:
    """Write a new key with its value: short lists on one line, others an item a line."""
    if isinstance(content, list) and content:
        line = f"{indent}{_name(key)}: {value(content)}"
        if len(line) > _LINE_WIDTH or any(len(item) > _FLOW_ITEM for item in content):
            lines = [f"{indent}- {scalar(item)}" for item in content]
            return newline.join([f"{indent}{_name(key)}:", *lines]) + newline
    return f"{indent}{_name(key)}: {value(content)}{newline}"


_name = functools.lru_cache(maxsize=128)(scalar)  # keys are few


def _needs_escape(text: str) -> bool:
    if text.isascii():
        return not text.isprintable()
    return _NEEDS_ESCAPE.search(_without_emoji_joiners(text)) is not None


def _is_plain(text: str) -> bool:
    return (
        bool(_PLAIN_START.match(text))
        and not _NOT_PLAIN.search(text)
        and not _NUMBER_LIKE.fullmatch(text)
        and text.casefold() not in _WORDS
    )


def _without_emoji_joiners(text: str) -> str:
    """Leave out the joiners that scripts and emoji need: they are written as they are."""
    return re.sub("[\u200c\u200d]", "", text)


def _double(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    if not _NEEDS_ESCAPE.match(character) or character in "\u200c\u200d":
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
