"""What the tools of one server process share: the vault, opened once, and who is calling."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import ToolResult

from keepm.errors import IndexUnavailable, KeepMError
from keepm.mcp import results
from keepm.model.approval import Channel
from keepm.operations import sync
from keepm.operations.vault import Caller, Vault


class Session:
    """The vault of this process. Opening it is left to the first who needs it, or to `start`."""

    def __init__(self, open_vault: Callable[[], Vault], *, session_id: str) -> None:
        self._open = open_vault
        self._session_id = session_id
        self._vault: Vault | None = None
        self._started = False
        self._lock = threading.Lock()

    def vault(self) -> Vault:
        """Return the open vault.

        Raises:
            KeepMError: it can't be opened; the next call tries again.
        """
        with self._lock:
            if self._vault is None:
                vault = self._open()
                sync.start(vault)
                self._vault = vault
            return self._vault

    def start(self) -> None:
        """Open the vault beside everything else, once."""
        if self._started:
            return
        self._started = True
        threading.Thread(target=self._try, name="keepm-open", daemon=True).start()

    def _try(self) -> None:
        try:
            self.vault()
        except KeepMError:
            return  # the first tool call says it

    def close(self) -> None:
        """Close the vault if it was opened."""
        with self._lock:
            if self._vault is not None:
                self._vault.close()
                self._vault = None

    def caller(self) -> Caller:
        """Return who calls: the client as its handshake named it, by the relayed channel."""
        params = get_context().session.client_params
        client = params.client_info if params else None
        return Caller(
            surface="mcp",
            channel=Channel.RELAYED,
            client=_printable(client.name if client else ""),
            client_version=_printable(client.version if client else ""),
            session=self._session_id,
        )

    def answering(self, function: Callable[..., Any]) -> Callable[..., ToolResult]:
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
                    sync.renew(self.vault())
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


def _printable(text: str) -> str:
    """Return a client's own words without what may not be stored."""
    return "".join(c for c in text if c.isprintable())[:80]
