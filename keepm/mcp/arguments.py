"""Arguments that don't fit: refused by field and rule, never by their values."""

from __future__ import annotations

from typing import Any

import mcp_types
import pydantic
from fastmcp.exceptions import NotFoundError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import ToolResult

from keepm.mcp import results


class Arguments(Middleware):
    """Drops `null` arguments, and refuses wrong ones by field, without echoing their values."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Validate one call's arguments."""
        arguments = context.message.arguments
        if arguments and any(value is None for value in arguments.values()):
            kept = {key: value for key, value in arguments.items() if value is not None}
            context = context.copy(message=context.message.model_copy(update={"arguments": kept}))
        try:
            return await call_next(context)
        except ValidationError as error:
            return _refused(error)
        except NotFoundError:
            return results.refusal(
                "not_found",
                f"there is no tool '{context.message.name[:80]}'",
                hint="List the tools again: their names begin with memory_.",
            )


_MOST_PROBLEMS = 20

_WORDS = {
    "missing": "is required",
    "missing_argument": "is required",
    "unexpected_keyword_argument": "is not a parameter of this tool",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "string_unicode": "must be valid Unicode text",
}


def _refused(error: ValidationError) -> ToolResult:
    cause = error.__cause__
    problems: list[dict[str, Any]] = []
    if isinstance(cause, pydantic.ValidationError):
        found = cause.errors(include_url=False)
        problems = [_problem(dict(each)) for each in found[:_MOST_PROBLEMS]]
        if len(found) > _MOST_PROBLEMS:
            more = f"{len(found) - _MOST_PROBLEMS} further arguments don't fit either"
            problems.append({"field": "…", "code": "invalid_input", "message": more})
    codes = {problem["code"] for problem in problems}
    code = codes.pop() if len(codes) == 1 else "invalid_input"
    return results.refusal(
        code,
        "the arguments do not fit this tool",
        hint="Correct the named fields and call again; nothing was changed.",
        details={"problems": problems},
    )


def _problem(error: dict[str, Any]) -> dict[str, Any]:
    """Describe one wrong argument by its place and the rule, never by its value."""
    first, *rest = error["loc"] or ("arguments",)
    field = str(first) + "".join(f"[{part}]" for part in rest)
    bounds = error.get("ctx", {})
    kind = error["type"]
    if kind in ("string_too_long", "too_long"):
        value = error.get("input")
        actual = len(value) if isinstance(value, str | list) else 0
        unit = "characters" if kind == "string_too_long" else "items"
        return {
            "field": field[:120],
            "code": "limit_exceeded",
            "message": f"{actual} {unit}, the limit is {bounds['max_length']}",
            "limit": bounds["max_length"],
            "actual": actual,
        }
    message = _WORDS.get(kind)
    if kind == "literal_error":
        message = f"must be one of {bounds['expected']}"
    elif kind == "string_too_short":
        message = "must not be empty"
    elif kind in ("greater_than_equal", "less_than_equal"):
        word, bound = ("at least", "ge") if kind == "greater_than_equal" else ("at most", "le")
        message = f"must be {word} {bounds[bound]}"
    return {"field": field[:120], "code": "invalid_input", "message": message or "does not fit"}
