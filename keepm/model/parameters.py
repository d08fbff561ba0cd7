"""The values that a note states under "Reproducible parameters", so that two notes can be
compared. Pure.

A parameter is a list item: `port: 9721`, `port = 9721`, `端口：9721`, or words and a last one with
a digit in it, `node version 20`. Markup around names and values, and an aside in brackets behind
a value, are not part of them. A name that a note gives two values is a list of its own and says
nothing; so is a value as long as a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from keepm.model import contracts, identity

SECTION = "Reproducible parameters"

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.+)")
_NAMED = re.compile(r"([^:=：＝]{1,60}?)\s*(?:[:：=＝]|->|→)\s*(.+)")
_BARE = re.compile(r"((?:[^\s:=：＝]+\s+){1,4})(\S*\d\S*)")
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]$")
_LONGEST_VALUE = 40  # characters
_MOST_WORDS = 4  # of a value
_MOST = 40  # parameters of a note


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name in the form in which two are compared, and its value likewise."""

    key: str
    value: str


def parse(body: str) -> tuple[Parameter, ...]:
    """Return what a body states, in the order of the names' first places."""
    if SECTION.casefold() not in body.casefold():
        return ()
    values: dict[str, set[str]] = {}
    for line in contracts.section(body, SECTION):
        item = _ITEM.fullmatch(line)
        text = _plain(item[1]) if item else ""
        found = _NAMED.fullmatch(text) or _BARE.fullmatch(text)
        if found is None:
            continue
        key, value = identity.slot_key(_plain(found[1])), _value(found[2])
        if any(c.isalpha() for c in key):
            values.setdefault(key, set()).add(value)
    return tuple(_stated(values))[:_MOST]


def _stated(values: dict[str, set[str]]) -> Iterator[Parameter]:
    for key, said in values.items():
        (value, *others) = said
        short = len(value) <= _LONGEST_VALUE and len(value.split()) <= _MOST_WORDS
        if not others and value and short:
            yield Parameter(key, value)


def _value(text: str) -> str:
    plain = text
    while (shorter := _plain(_without_aside(_plain(plain).rstrip(".,;。，；")))) != plain:
        plain = shorter
    return " ".join(plain.casefold().split())


def _without_aside(text: str) -> str:
    return _ASIDE.sub("", text) if text.endswith((")", "）")) else text


def _plain(text: str) -> str:
    return text.strip().strip("*_`\"'“”").strip()
