"""The server as a host greets it: name, version, instructions; the tools follow behind.

A greeting is answered from what is here. Loading the tools with all they work on takes longer
than that, so it happens beside the answer, and every later message waits until it is done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from keepm import __version__, resources
from keepm.mcp.arguments import Arguments
from keepm.mcp.session import PATIENCE_SECONDS, Session

if TYPE_CHECKING:
    from keepm.operations.vault import Vault

_GREETINGS = frozenset({"initialize", "ping"})
_AFTER_THE_ANSWER_SECONDS = 0.005


def build(
    open_vault: Callable[[], Vault],
    *,
    language: str,
    session_id: str,
    patience_seconds: float = PATIENCE_SECONDS,
) -> tuple[FastMCP[Any], Session]:
    """Build the server; `open_vault` is called by the first tool that needs the vault.

    `patience_seconds`: how long a person may think about a question.
    """

    def furnish(session: Session) -> None:
        from keepm.mcp import furnishing

        furnishing.furnish(server, session)

    session = Session(open_vault, furnish, session_id=session_id, patience_seconds=patience_seconds)
    server: FastMCP[Any] = FastMCP(
        "keepm",
        version=__version__,
        instructions=resources.policy_text(language, "instructions").strip(),
        middleware=[Greeting(session), Arguments()],
        mask_error_details=True,
        on_duplicate="error",
    )
    return server, session


def quiet() -> None:
    """Keep the SDK's own log, with its tracebacks and arguments, off stderr."""
    for name in ("fastmcp", "mcp", "FastMCP"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
        logging.getLogger(name).propagate = False


class Greeting(Middleware):
    """Lets a greeting pass at once, and everything else when the tools are there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def on_message(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]
    ) -> Any:
        """Answer a greeting and begin behind it; answer other messages with all tools there."""
        if context.method in _GREETINGS:
            loop = asyncio.get_running_loop()
            loop.call_later(_AFTER_THE_ANSWER_SECONDS, self._session.start)
        elif not self._session.is_furnished:
            await anyio.to_thread.run_sync(self._session.furnish)
            self._session.start()
        return await call_next(context)
