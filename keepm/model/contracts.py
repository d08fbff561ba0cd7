"""What the body of each kind must hold (the data is `policies/kinds.toml`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepm.config import KindContract
from keepm.errors import Problem

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_EMPTY_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]?\])?\s*$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def missing(contract: KindContract, body: str, *, sources: int) -> Iterator[Problem]:
    """Yield what a body lacks of its kind's contract."""
    lines = list(_prose(body))
    for heading in contract.headings:
        if not _has_section(lines, heading):
            yield _lacks("body", f"'## {heading}' with text under it", contract.name)
    for label in contract.labels:
        if not _has_label(lines, label):
            yield _lacks("body", f"'{label}:' with text after it", contract.name)
    if contract.needs_source and not sources:
        yield _lacks("sources", "at least one pointer such as path/to/file#hint", contract.name)


def section(body: str, heading: str) -> Iterator[str]:
    """Yield the lines under a second-level heading, code and sub-headings apart."""
    inside = False
    for line, code in _prose(body):
        found = None if code or "#" not in line else _HEADING.match(line)
        if found is None:
            if inside and not code:
                yield line
        elif len(found.group(1)) <= 2:
            inside = len(found.group(1)) == 2 and _same(found.group(2) or "", heading)


def _lacks(field: str, part: str, kind: str) -> Problem:
    return Problem(field, f"a {kind} needs {part}", code="contract_missing")


def _prose(body: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with whether it is code; a fence's own lines are code."""
    text = _COMMENT.sub("", body) if "<!--" in body else body
    if "```" not in text and "~~~" not in text:
        yield from ((line, False) for line in text.splitlines())
        return
    fence = ""
    for line in text.splitlines():
        opening = _FENCE.match(line)
        if fence:
            closing = opening and opening.group(1).startswith(fence) and not line.strip(" `~")
            yield line, True
            if closing:
                fence = ""
        elif opening:
            fence = opening.group(1)
            yield line, True
        else:
            yield line, False


def _has_section(lines: list[tuple[str, bool]], wanted: str) -> bool:
    """Tell whether a second-level heading of that name has content before the next one."""
    inside = False
    for line, code in lines:
        heading = None if code else _HEADING.match(line)
        if heading:
            level, title = len(heading.group(1)), heading.group(2) or ""
            if level == 2 and _same(title, wanted):
                inside = True
            elif level <= 2:
                inside = False
        elif inside and (
            (code and not _FENCE.match(line) and line.strip())
            or (not code and not _EMPTY_ITEM.match(line))
        ):
            return True
    return False


def _has_label(lines: list[tuple[str, bool]], wanted: str) -> bool:
    """Tell whether a line `wanted: text` stands outside code, text on it or right below it."""
    pattern = re.compile(
        rf"\s*(?:[-*+]\s+)?(?:#{{1,6}}\s+)?[*_]{{0,3}}{re.escape(wanted)}[*_]{{0,3}}\s*[:：][*_]{{0,3}}(.*)$",
        re.IGNORECASE,
    )
    after_label = False
    for line, code in lines:
        if not code and (found := pattern.match(line)):
            if not _EMPTY_ITEM.match(found.group(1)):
                return True
            after_label = True
        elif after_label:
            if (code and not _FENCE.match(line) and line.strip()) or (
                not code and not _EMPTY_ITEM.match(line) and not _any_label(line)
            ):
                return True
            if not code and (_any_label(line) or _HEADING.match(line)):
                after_label = False
    return False


def _any_label(line: str) -> bool:
    """Tell whether the line begins another part, so that an empty label stays empty."""
    return (
        re.match(r"\s*(?:[-*+]\s+)?[*_]{0,3}(?:why|how to apply)[*_]{0,3}\s*[:：]", line, re.I)
        is not None
    )


def _same(title: str, wanted: str) -> bool:
    return (
        title.strip().removesuffix(":").removesuffix("：").strip().casefold() == wanted.casefold()
    )
