"""From an answer or an error to both halves of a tool's result.

Hosts show the model only one half, the structured one or the text; so each alone carries
everything the next step needs.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from fastmcp.tools.base import ToolResult

from keepm.errors import KeepMError
from keepm.operations.rendering import text as text


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
