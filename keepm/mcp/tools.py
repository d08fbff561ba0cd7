"""How a tool is put on the server: title, annotations, output schema, error handling."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from mcp_types import ToolAnnotations

from keepm.errors import IndexUnavailable, KeepMError
from keepm.mcp import results
from keepm.mcp.session import Session
from keepm.operations import sync

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
        answering = _answering(session, function)
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


def _answering(session: Session, function: Callable[..., Any]) -> Callable[..., ToolResult]:
    """Make a tool of a function: its value becomes the answer, our errors error results.

    A damaged index is renewed and the call made once more: it changed nothing the first
    time. Anything else that goes wrong is an internal error without a trace of its cause.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> ToolResult:
        try:
            try:
                return results.answer(function(*args, **kwargs))
            except IndexUnavailable as error:
                if not error.details.get("damaged"):
                    raise
                sync.renew(session.vault())
                return results.answer(function(*args, **kwargs))
        except KeepMError as error:
            return results.failure(error)
        except Exception as error:  # noqa: BLE001 - the last line before the protocol
            print(  # noqa: T201 - stderr, for the host's log
                f"keepm: internal error in {function.__name__}: {type(error).__name__}",
                file=sys.stderr,
            )
            return results.refusal(
                "internal",
                "KeepM met an unexpected fault; nothing is half done",
                hint="Call memory_status; if it lasts, report the fault with the server's log.",
            )

    call.__annotations__ = {**function.__annotations__, "return": ToolResult}
    return call
