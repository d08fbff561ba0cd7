"""Secrets in a text: shapes of keys and tokens, values written out, values assigned to a key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepm.config import Judged, Pattern, ScreeningRules, compiled
from keepm.model.screening import assignments, values
from keepm.model.screening.hit import Hit

_MOST = 60  # secrets that are looked for in one text


def hits(text: str, rules: ScreeningRules, runs: str) -> Iterator[Hit]:
    """Yield each secret, by the rule that found it first; `runs` are the text's long runs."""
    taken: list[tuple[int, int]] = []
    for pattern in _to_look_for(text, rules, runs):
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


def _to_look_for(text: str, rules: ScreeningRules, runs: str) -> Iterator[Pattern]:
    """Yield the patterns that may fit, in their order; of most texts cheaply none."""
    if text.isascii():
        in_text = any(map(text.__contains__, rules.ascii_marks_in_text))
    else:
        # What is ASCII in it is short, and looking through one-byte characters costs half.
        plain = text.encode("ascii", "ignore").decode("ascii")
        in_text = any(map(plain.__contains__, rules.ascii_marks_in_text)) or any(
            map(text.__contains__, rules.wide_marks_in_text)
        )
    # The runs are few characters, in which one walk for all marks costs less than each its own.
    in_runs = bool(runs) and compiled(rules.marks_in_runs).search(runs) is not None
    if not in_text and not in_runs:
        return
    for pattern in rules.patterns:
        if pattern.anywhere:
            fits = in_text and any(map(text.__contains__, pattern.marks))
        elif in_runs and (not pattern.marks or any(map(runs.__contains__, pattern.marks))):
            # What stands in the text within one run stands in the runs as it is.
            fits = pattern.expression.search(runs) is not None
        else:
            fits = False
        if fits:
            yield pattern


def _is_mock(token: str) -> bool:
    return re.search(r"(?i)x{8}|\*{3}|0{16}|\.{3}|example|…", token) is not None


def _is_inside_word(text: str, start: int) -> bool:
    around = text[max(0, start - 1) : start + 1]
    return len(around) == 2 and around.isascii() and around.isalnum()


def _overlaps(span: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in taken)
