"""An answer's data as lines that a person and a model read easily: the text half of answers.

Here and not with the faces, because a budget holds for both halves. Note text stands inside a
fence longer than any run of backticks in it, so that no note can close it; what counts as a
line's end here is all that a reader may take for one. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TICKS = re.compile(r"`+")


def text(data: Any) -> str:
    """Render JSON-like data as lines a person and a model read easily."""
    return "\n".join(_lines(data, ""))


def _lines(data: dict[str, Any], indent: str) -> Iterator[str]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list):
            yield from _list(key, value, indent)
        elif isinstance(value, str) and len(value.splitlines()) > 1:
            yield from _fenced(key, value, indent)
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _list(key: str, values: list[Any], indent: str) -> Iterator[str]:
    if all(not isinstance(value, dict) for value in values):
        if any(len(str(value).splitlines()) > 1 or len(str(value)) > 60 for value in values):
            yield f"{indent}{key}:"
            for value in values:
                first, *rest = str(value).splitlines() or [""]
                yield f"{indent}- {first}"
                yield from (f"{indent}  {line}" for line in rest)
        else:
            yield f"{indent}{key}: [{', '.join(_scalar(value) for value in values)}]"
        return
    yield f"{indent}{key}:" + ("" if values else " []")
    for value in values:
        lines = list(_lines(value, indent + "  "))
        yield f"{indent}- {lines[0].lstrip()}"
        yield from lines[1:]


def _fenced(key: str, value: str, indent: str) -> Iterator[str]:
    longest = max((len(run) for run in _TICKS.findall(value)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{indent}{key}: {fence}"
    yield from value.rstrip("\n").split("\n")
    yield fence


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).rstrip("\n")
