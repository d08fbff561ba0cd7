"""How a tool is put on the server: title, annotations, output schema, error handling."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.tools.base import Tool, ToolResult
from mcp_types import InputRequiredResult, ToolAnnotations

from keepm.errors import IndexUnavailable, KeepMError
from keepm.mcp import confirmation, results
from keepm.mcp.confirmation import Asks
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
    asks: Asks | None = None,
) -> Callable[[Function], Function]:
    """Register a function as a tool; its docstring is the description.

    `reads`: changes nothing. `destroys`: takes something away. `repeatable`: calling it again
    with the same arguments changes nothing more. `asks`: when it asks the person through their
    host. KeepM opens no connection: the world is closed.
    """

    def register(function: Function) -> Function:
        returned = typing.get_type_hints(function)["return"]
        answering = _asking(session, function, asks) if asks else _answering(session, function)
        # Given apart, the SDK needn't load a docstring parser to find it.
        description, answering.__doc__ = inspect.getdoc(function), None
        made = Tool.from_function(
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
        # The server refuses unknown arguments whether or not the list says so to every agent.
        made.parameters.pop("additionalProperties", None)
        server.add_tool(made)
        return function

    return register


def _answering(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a tool of a function, to be run in a thread."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> ToolResult:
        try:
            return results.answer(_value(session, functools.partial(function, *args, **kwargs)))
        except Exception as error:  # noqa: BLE001 - the last line before the protocol
            return _failed(function.__name__, error)

    call.__annotations__ = {**function.__annotations__, "return": ToolResult}
    return call


def _asking(session: Session, function: Callable[..., Any], asks: Asks) -> Callable[..., Any]:
    """Make a tool of a function that may need the person's own word; its work goes to threads."""

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> ToolResult | InputRequiredResult:
        work = functools.partial(_value, session, functools.partial(function, *args, **kwargs))
        try:
            done = await confirmation.confirmed(session, work, asks)
            return done if isinstance(done, InputRequiredResult) else results.answer(done)
        except Exception as error:  # noqa: BLE001 - the last line before the protocol
            return _failed(function.__name__, error)

    call.__annotations__ = {**function.__annotations__, "return": ToolResult}
    return call


def _value(session: Session, work: Callable[[], Any]) -> Any:
    """Do a tool's work; a damaged index is renewed first, for it changed nothing then."""
    try:
        return work()
    except IndexUnavailable as error:
        if not error.details.get("damaged"):
            raise
        sync.renew(session.vault())
        return work()


def _failed(name: str, error: Exception) -> ToolResult:
    """Render our errors as error results, any other as an internal one without its cause."""
    if isinstance(error, KeepMError):
        return results.failure(error)
    print(  # noqa: T201 - stderr, for the host's log
        f"keepm: internal error in {name}: {type(error).__name__}", file=sys.stderr
    )
    return results.refusal(
        "internal",
        "KeepM met an unexpected fault; nothing is half done",
        hint="Call memory_status; if it lasts, report the fault with the server's log.",
    )
