"""From an answer or an error to both halves of a tool's result.

Hosts show the model only one half, the structured one or the text; so each alone carries
everything the next step needs. Note text stands in the text half inside a fence longer than any
run of backticks in it, so that no note can close it; what counts as a line's end here is all
that a reader may take for one.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

from fastmcp.tools.base import ToolResult

from keepm.errors import KeepMError

_TICKS = re.compile(r"`+")


def answer(value: Any) -> ToolResult:
    """Render an answer."""
    from keepm.operations import answers  # with all its shapes, which the greeting needs not

    data = answers.plain(value)
    return ToolResult(content=text(data), structured_content=data)


def failure(error: KeepMError) -> ToolResult:
    """Render a refusal: code, sentence, figures and the next step."""
    return refusal(error.code, error.message, hint=error.next_step, details=error.details)


def refusal(
    code: str, message: str, *, hint: str, details: dict[str, Any] | None = None
) -> ToolResult:
    """Render an error result from its parts; what is wrong with each field is said once."""
    problems = (details or {}).get("problems")
    if problems:
        number = len(problems)
        message = f"{number} problem{'s' if number > 1 else ''} in what was given, named below"
    data: dict[str, Any] = {"code": code, "message": message, "hint": hint}
    if details:
        data["details"] = details
    return ToolResult(content=text(data), structured_content={"error": data}, is_error=True)


def schema(kind: type) -> dict[str, Any]:
    """Return the output schema of an answer: its top level, nothing required.

    Hosts validate errors against it too, so an `error` is always allowed; what lies deeper is
    told by the values themselves.
    """
    hints = typing.get_type_hints(kind)
    properties = {field.name: _type(hints[field.name]) for field in dataclasses.fields(kind)}
    return {"type": "object", "properties": {**properties, "error": {"type": "object"}}}


def _type(hint: Any) -> dict[str, str]:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    plain = {str: "string", bool: "boolean", int: "integer", float: "number"}
    if hint in plain:
        return {"type": plain[hint]}
    return {"type": "array" if typing.get_origin(hint) in (list, tuple) else "object"}


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
