"""The policy data of screening, read when something is screened for the first time.

Reading it takes milliseconds that no start has to spare; a pattern is compiled when a text holds
one of its marks, and then kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from keepm.errors import ConfigurationError


class Judged(StrEnum):
    """How a value that was written out is judged."""

    ALWAYS = "always"  # refused unless it stands for one
    BY_LOOK = "by_look"  # refused when it looks like one


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule is called, by its words in each language."""

    name: str
    words: Mapping[str, str]  # by language


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule that is a regular expression, looked for in texts that hold one of its marks.

    `judged` says how its group `value` is judged; None for a shape that speaks for itself.
    """

    rule: Rule
    source: str
    marks: tuple[str, ...] = ()
    judged: Judged | None = None
    # Whether it may fit a short text, over blanks or over letters of any script; else it fits
    # within one run of at least `model/screening/runs.LEAST` characters, its mark included.
    anywhere: bool = True

    @property
    def expression(self) -> re.Pattern[str]:
        """The compiled expression."""
        return compiled(self.source)


@dataclass(frozen=True, slots=True, eq=False)  # hashed as a key of a cache
class Assignment:
    """The keys whose values are judged, and what a harmless value looks like."""

    passwords: tuple[str, ...]
    short_passwords: tuple[str, ...]
    secrets: tuple[str, ...]
    short_secrets: tuple[str, ...]
    harmless: frozenset[str]
    placeholder: str
    reference: str


@dataclass(frozen=True, slots=True)
class MarkupRules:
    """What HTML and links may be outside code."""

    own_comments: tuple[str, ...]
    refused: frozenset[str]
    plain: frozenset[str]
    attributes: frozenset[str]
    placeholder_characters: int
    schemes: frozenset[str]


@dataclass(frozen=True, slots=True)
class ScreeningRules:
    """What may never be stored, and what only deserves a reviewer's attention."""

    rules: Mapping[str, Rule]  # every rule that refuses, by name
    patterns: tuple[Pattern, ...]
    # Without one of these, no pattern fits that fits anywhere; the others hold more than ASCII.
    ascii_marks_in_text: tuple[str, ...]
    wide_marks_in_text: tuple[str, ...]
    marks_in_runs: str  # an expression: without a find in the runs, none of the others does
    assignment: Assignment
    markup: MarkupRules
    encoded_characters: int
    advice: tuple[Pattern, ...]


@cache
def compiled(source: str) -> re.Pattern[str]:
    """Compile an expression of the policy data, once."""
    return re.compile(source)


@cache
def load_screening(directory: Path) -> ScreeningRules:
    """Read `screening.toml` of the policy folder, once.

    Raises:
        ConfigurationError: the file is missing or malformed.
    """
    import tomllib

    try:
        data = tomllib.loads((directory / "screening.toml").read_text("utf-8"))
        return _rules(data)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            "the screening rules of this installation can't be read", hint="Install KeepM again."
        ) from error


def _rules(data: Mapping[str, Any]) -> ScreeningRules:
    patterns = (
        *(_pattern(entry, judged=Judged(entry["judged"])) for entry in data["written"]),
        *(_shape(entry) for entry in data["shape"]),
    )
    in_text = _shortest(mark for each in patterns if each.anywhere for mark in each.marks)
    named = {name: _rule(name, entry) for name, entry in data["rules"].items()}
    keys, markup = data["assignment"], data["markup"]
    return ScreeningRules(
        rules={**named, **{pattern.rule.name: pattern.rule for pattern in patterns}},
        patterns=patterns,
        ascii_marks_in_text=tuple(mark for mark in in_text if mark.isascii()),
        wide_marks_in_text=tuple(mark for mark in in_text if not mark.isascii()),
        marks_in_runs=_signs([p for p in patterns if not p.anywhere]),
        assignment=Assignment(
            passwords=tuple(keys["passwords"]),
            short_passwords=tuple(keys["short_passwords"]),
            secrets=tuple(keys["secrets"]),
            short_secrets=tuple(keys["short_secrets"]),
            harmless=frozenset(keys["harmless"]),
            placeholder=keys["placeholder"],
            reference=keys["reference"],
        ),
        markup=MarkupRules(
            own_comments=tuple(markup["own_comments"]),
            refused=frozenset(markup["refused"]),
            plain=frozenset(markup["plain"]),
            attributes=frozenset(markup["attributes"]),
            placeholder_characters=markup["placeholder_characters"],
            schemes=frozenset(markup["schemes"]),
        ),
        encoded_characters=data["encoded"]["characters"],
        advice=tuple(_pattern(entry) for entry in data["advice"]),
    )


def _shortest(marks: Iterable[str]) -> tuple[str, ...]:
    """Return the marks without those that hold another."""
    every = frozenset(marks)
    return tuple(sorted(m for m in every if not any(o != m and o in m for o in every)))


def _signs(patterns: Iterable[Pattern]) -> str:
    """Return an expression that finds a mark, or what one without marks fits."""
    every = list(patterns)
    unmarked = (each.source for each in every if not each.marks)
    return "|".join((_any_of(mark for each in every for mark in each.marks), *unmarked))


def _any_of(marks: Iterable[str]) -> str:
    """Return an expression that finds one of the marks in one walk through a text."""
    tree: dict[str, Any] = {}
    for mark in marks:
        here = tree
        for letter in mark:
            here = here.setdefault(letter, {})
        here[""] = {}
    return _branches(tree)


def _branches(tree: Mapping[str, Any]) -> str:
    if "" in tree:
        return ""  # a mark ends here, whatever longer one goes on
    by_tail: dict[str, list[str]] = {}
    for letter, rest in sorted(tree.items()):
        by_tail.setdefault(_branches(rest), []).append(re.escape(letter))
    branches = [
        (letters[0] if len(letters) == 1 else f"[{''.join(letters)}]") + tail
        for tail, letters in by_tail.items()
    ]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _rule(name: str, entry: Mapping[str, str]) -> Rule:
    return Rule(name, {"en": entry["en"], "zh": entry["zh"]})


def _pattern(entry: Mapping[str, Any], *, judged: Judged | None = None) -> Pattern:
    marks = tuple(entry["marks"]) if judged else ()  # advice is looked for in every text
    return Pattern(_rule(entry["name"], entry), entry["pattern"], marks, judged)


def _shape(entry: Mapping[str, Any]) -> Pattern:
    # A key ends where its letters end. (Its beginning is looked at when it is found: in front of
    # the expression it would cost the search its quick start.)
    source = f"(?:{entry['pattern']})(?![A-Za-z0-9])"
    anywhere = entry.get("anywhere", False)
    return Pattern(_rule(entry["name"], entry), source, tuple(entry["marks"]), anywhere=anywhere)
