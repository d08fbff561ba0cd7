"""What may never be stored, whatever field it stands in.

Control, invisible and reordering characters; secrets; Markdown and HTML that hide text; encoded
runs that nobody can read. A refusal names rule, field, line and column, never the text. The
patterns and their words are data in `policies/screening.toml`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from keepm.config import ScreeningRules
from keepm.errors import Problem
from keepm.model.screening.hit import Hit
from keepm.model.screening.runs import runs

_LINE_BREAK = re.compile(r"[\r\n\u2028\u2029]")
_MOST = 10  # problems named of one field: what is refused for ten reasons needs no eleventh


@dataclass(frozen=True, slots=True)
class Mark:
    """One place in a text that a rule speaks about; no part of the text itself."""

    rule: str
    says: str  # the rule's words, as in "holds …"
    line: int  # from 1
    column: int  # from 1, in code points


def text(
    field: str, value: str, *, rules: ScreeningRules, one_line: bool = False
) -> Iterator[Problem]:
    """Check one field; `one_line` refuses line breaks too."""
    for mark in _marks(value, _hits(value, rules, one_line=one_line), rules):
        yield Problem(
            field,
            f"holds {mark.says} at line {mark.line}, column {mark.column}, which may not be stored",
            code="content_refused",
            details={"rule": mark.rule, "line": mark.line, "column": mark.column},
        )


def findings(value: str, *, rules: ScreeningRules) -> tuple[Mark, ...]:
    """Return what would be refused in a text that is in a file already."""
    return tuple(_marks(value, _hits(value, rules, one_line=False), rules))


def advice(value: str, *, rules: ScreeningRules, language: str = "en") -> tuple[Mark, ...]:
    """Return where a text speaks to an assistant as if it could give orders.

    For the reviewer's eye, in their language; it blocks nothing, and its absence proves nothing.
    """
    lines = _Lines(value)
    return tuple(
        sorted(
            (
                Mark(pattern.rule.name, pattern.rule.words[language], *lines.place(found.start()))
                for pattern in rules.advice
                for found in islice(pattern.expression.finditer(value), _MOST)
            ),
            key=lambda mark: (mark.line, mark.column, mark.rule),
        )
    )


def _hits(value: str, rules: ScreeningRules, *, one_line: bool) -> Iterator[Hit]:
    # Who only reads screens nothing, and would wait a while for all these patterns.
    from keepm.model.screening import characters, encoded, markup, secrets

    yield from characters.hits(value)
    if one_line and (found := _LINE_BREAK.search(value)):
        yield Hit("line_break", found.start())
    long = runs(value)
    yield from secrets.hits(value, rules, long)
    yield from markup.hits(value, rules.markup)
    yield from encoded.hits(value, rules.encoded_characters, long)


def _marks(value: str, hits: Iterable[Hit], rules: ScreeningRules) -> Iterator[Mark]:
    """Give the hits their words and places, in the order of the text, one a rule and place."""
    in_order = sorted(dict.fromkeys(hits), key=lambda hit: (hit.start, hit.rule))
    if not in_order:
        return  # as of nearly every text: where its lines begin doesn't matter
    lines = _Lines(value)
    for hit in in_order[:_MOST]:
        says = rules.rules[hit.rule].words["en"]
        what = f"{says} ({hit.figure})" if hit.figure else says
        yield Mark(hit.rule, what, *lines.place(hit.start))


class _Lines:
    """Where the lines of a text begin."""

    def __init__(self, value: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", value))]

    def place(self, position: int) -> tuple[int, int]:
        """Return line and column of a position, both from 1."""
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1
