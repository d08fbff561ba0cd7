"""What the tools of one server process share: the vault, opened once, and who is calling.

The greeting needs neither tools nor vault: what only they need is imported when they do.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastmcp.server.dependencies import get_context

from keepm.errors import KeepMError

if TYPE_CHECKING:
    from keepm.model.checksum import Checksum
    from keepm.operations.vault import Caller, Vault

PATIENCE_SECONDS = 540.0
"""How long a person has for an answer: less than the token that their yes is to be spent on."""


@dataclass(frozen=True, slots=True)
class HostWord:
    """This run of a tool goes by the host's channel; `agreed` when its person said yes.

    `also`: whether they want what the question's second box names; nobody said no to it before.
    """

    agreed: Checksum | None = None
    also: bool = True


host_word: ContextVar[HostWord | None] = ContextVar("host_word", default=None)
"""Set by `confirmation` around the run of a tool that asks; else an agent's word is relayed."""


class Session:
    """The tools and the vault of this process: loaded and opened by `start`, behind the greeting.

    `furnish` puts the tools on the server.
    """

    def __init__(
        self,
        open_vault: Callable[[], Vault],
        furnish: Callable[[Session], None],
        *,
        session_id: str,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.patience_seconds = patience_seconds
        self._open = open_vault
        self._furnish = furnish
        self._session_id = session_id
        self._vault: Vault | None = None
        self._furnished = False
        self._started = False
        self._furnishing = threading.Lock()
        self._opening = threading.Lock()

    @property
    def is_furnished(self) -> bool:
        """Tell whether the tools are on the server."""
        return self._furnished

    def furnish(self) -> None:
        """Put the tools on the server, once; a second caller waits for the first."""
        with self._furnishing:
            if not self._furnished:
                self._furnish(self)
                self._furnished = True

    def vault(self) -> Vault:
        """Return the open vault.

        Raises:
            KeepMError: it can't be opened; the next call tries again.
        """
        from keepm.operations import keeping, sync

        with self._opening:
            if self._vault is None:
                vault = self._open()
                sync.start(vault)
                keeping.start(vault, say=_tell_owner)
                self._vault = vault
            return self._vault

    def start(self) -> None:
        """Load the tools and open the vault beside everything else, once."""
        if self._started:
            return
        self._started = True
        threading.Thread(target=self._begin, name="keepm-open", daemon=True).start()

    def _begin(self) -> None:
        self.furnish()
        try:
            self.vault()
        except KeepMError:
            return  # the first tool call says it

    def close(self) -> None:
        """Close the vault if it was opened."""
        with self._opening:
            if self._vault is not None:
                self._vault.close()
                self._vault = None

    def wants_also(self) -> bool:
        """Tell whether the person wants what the second box of the question names."""
        word = host_word.get()
        return word is None or word.also

    def caller(self, *, relayed: bool = False) -> Caller:
        """Return who calls: the client as its handshake named it, and by which channel.

        `relayed`: by the agent's word in any case, for what no person need be asked about.
        """
        from keepm.model.approval import Channel
        from keepm.operations.vault import Caller

        params = get_context().session.client_params
        client = params.client_info if params else None
        word = None if relayed else host_word.get()
        return Caller(
            surface="mcp",
            channel=Channel.RELAYED if word is None else Channel.HOST,
            client=_printable(client.name if client else ""),
            client_version=_printable(client.version if client else ""),
            session=self._session_id,
            agreed=None if word is None else word.agreed,
        )


def _tell_owner(text: str) -> None:
    sys.stderr.write(f"keepm: {text}\n")  # for the host's log
    sys.stderr.flush()


def _printable(text: str) -> str:
    """Return a client's own words without what may not be stored."""
    return "".join(c for c in text if c.isprintable())[:80]
