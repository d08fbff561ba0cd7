"""How a tool is put on the server: title, annotations, output schema, error handling."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from fastmcp import FastMCP
from mcp_types import ToolAnnotations

from keepm.mcp import results
from keepm.mcp.session import Session

Function = TypeVar("Function", bound=Callable[..., Any])


def tool(
    server: FastMCP[Any],
    session: Session,
    title: str,
    *,
    reads: bool = False,
    destroys: bool = False,
    repeatable: bool = False,
) -> Callable[[Function], Function]:
    """Register a function as a tool; its docstring is the description.

    `reads`: changes nothing. `destroys`: takes something away. `repeatable`: calling it again
    with the same arguments changes nothing more. KeepM opens no connection: the world is closed.
    """

    def register(function: Function) -> Function:
        returned = typing.get_type_hints(function)["return"]
        answering = session.answering(function)
        # Given apart, the SDK needn't load a docstring parser to find it.
        description, answering.__doc__ = inspect.getdoc(function), None
        server.tool(
            answering,
            title=title,
            description=description,
            output_schema=results.schema(returned),
            annotations=ToolAnnotations(
                title=title,
                read_only_hint=reads,
                destructive_hint=destroys,
                idempotent_hint=reads or repeatable,
                open_world_hint=False,
            ),
        )
        return function

    return register
