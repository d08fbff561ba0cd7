"""Secrets in a text: shapes of keys and tokens, values written out, values assigned to a key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepm.config import Judged, ScreeningRules, compiled
from keepm.model.screening import assignments, values
from keepm.model.screening.hit import Hit

_MOST = 60  # secrets that are looked for in one text


def hits(text: str, rules: ScreeningRules) -> Iterator[Hit]:
    """Yield each secret, by the rule that found it first."""
    taken: list[tuple[int, int]] = []
    # Most texts hold no mark but short ones; one walk tells, where each mark would cost its own.
    hold_long = compiled(rules.long_marks).search(text) is not None
    for pattern in rules.patterns:
        marks = pattern.marks if hold_long else pattern.short_marks
        if pattern.marks and not any(map(text.__contains__, marks)):
            continue
        for found in pattern.expression.finditer(text):
            if pattern.judged is None:
                if _is_mock(found.group()) or _is_inside_word(text, found.start()):
                    continue
                span = found.span()
            else:
                value = found["value"]
                if values.stands_for_one(value, rules.assignment) or (
                    pattern.judged is Judged.BY_LOOK and not values.looks_random(value)
                ):
                    continue
                span = found.span("value")
            if not _overlaps(span, taken):
                taken.append(span)
                yield Hit(pattern.rule.name, span[0])
            if len(taken) > _MOST:
                return
    for assigned in assignments.secrets(text, rules.assignment):
        if not _overlaps(assigned.span, taken):
            taken.append(assigned.span)
            rule = "password" if assigned.judged is Judged.ALWAYS else "secret_value"
            yield Hit(rule, assigned.span[0])
        if len(taken) > _MOST:
            return


def _is_mock(token: str) -> bool:
    return re.search(r"(?i)x{8}|\*{3}|0{16}|\.{3}|example|…", token) is not None


def _is_inside_word(text: str, start: int) -> bool:
    around = text[max(0, start - 1) : start + 1]
    return len(around) == 2 and around.isascii() and around.isalnum()


def _overlaps(span: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in taken)
