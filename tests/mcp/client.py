"""A blocking client of a server in this process, and what it gets back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types
from anyio.from_thread import BlockingPortal, start_blocking_portal

from keepm import config

config.isolate_sdk()

from fastmcp import Client, FastMCP  # noqa: E402 - the SDK reads its settings when it is imported
from mcp.client.session import ElicitationFnT  # noqa: E402

from keepm.errors import NotFound  # noqa: E402
from keepm.mcp import server  # noqa: E402
from keepm.mcp.session import PATIENCE_SECONDS  # noqa: E402
from keepm.operations.vault import Vault, open_vault  # noqa: E402
from keepm.store import transaction  # noqa: E402
from keepm.store.disk import OSDisk  # noqa: E402
from keepm.store.paths import VaultPaths  # noqa: E402
from tests.operations.support import Machine  # noqa: E402


@dataclass(frozen=True, slots=True)
class Answer:
    """One tool's result: its two halves, and whether it is an error."""

    data: dict[str, Any]
    text: str
    is_error: bool

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def code(self) -> str:
        """The error's code; empty when all went well."""
        return str(self.data["error"]["code"]) if self.is_error else ""

    @property
    def problems(self) -> dict[str, str]:
        """The codes of the fields an error names."""
        listed = self.data["error"].get("details", {}).get("problems", [])
        return {each["field"]: each["code"] for each in listed}

    @property
    def whole(self) -> str:
        """Everything that was answered, as one text to search in."""
        return self.text + json.dumps(self.data, ensure_ascii=False)


class Tools:
    """The tools of one server."""

    def __init__(self, portal: BlockingPortal, client: Client[Any]) -> None:
        self.portal = portal
        self.client = client

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        """Call `memory_<tool>`."""
        return self.raw(f"memory_{tool}", arguments)

    def raw(self, tool: str, arguments: dict[str, Any]) -> Answer:
        async def call() -> Answer:
            result = await self.client.call_tool(tool, arguments, raise_on_error=False)
            (content,) = result.content
            assert isinstance(content, mcp_types.TextContent)
            return Answer(result.structured_content or {}, content.text, result.is_error)

        return self.portal.call(call)

    def done(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool that must succeed."""
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer

    def proof(self, identifier: str, *, prefix: str = "") -> dict[str, str]:
        """Read a note completely; return the arguments that prove it."""
        read = self.done("read", identifier=identifier)
        return self.proof_of(read, identifier, prefix=prefix)

    def proof_of(self, answer: Answer, identifier: str, *, prefix: str = "") -> dict[str, str]:
        """Return the arguments for the next change of what was just read or written."""
        return {
            f"{prefix}identifier": identifier,
            f"{prefix}expected_checksum": answer["checksum"],
            f"{prefix}update_token": answer["update_token"],
        }

    def listed(self) -> list[mcp_types.Tool]:
        """Return the tools as the server lists them."""
        return self.portal.call(self.client.list_tools)


@contextmanager
def connected(
    machine: Machine,
    project_dir: Path | None,
    era: str,
    *,
    person: ElicitationFnT | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Iterator[Tools]:
    """Run a server in this process and a client of it until the block ends.

    `person` answers the host's questions; without one the host can't ask.
    """
    transaction.initialise(VaultPaths(machine.root), OSDisk())
    settings = machine.settings(project_dir)
    with _lent(lambda: open_vault(settings, clock=machine.clock), patience_seconds) as built:
        told = mcp_types.Implementation(name="tester", version="1.2")
        client: Client[Any] = Client(built, mode=era, client_info=told)
        if person is not None:
            # The SDK's client checks a form before it sends it; not every host does.
            client._elicitation_callback = person
            client._session_kwargs["elicitation_callback"] = person
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
            yield Tools(portal, client)


class _Server:
    """A server with a door behind which now this vault is, now that."""

    def __init__(self) -> None:
        self.open: Callable[[], Vault] = _shut
        self.built, self.session = server.build(
            lambda: self.open(), language="en", session_id="session-1"
        )
        server.quiet()


_spare: list[_Server] = []


@contextmanager
def _lent(door: Callable[[], Vault], patience_seconds: float) -> Iterator[FastMCP[Any]]:
    """Lend a server that nobody uses until the block ends, and let it open this vault.

    To describe all tools to the SDK takes longer than most tests; all that a server knows of a
    vault is in its session, which forgets it when it is closed.
    """
    lent = _spare.pop() if _spare else _Server()
    lent.open, lent.session.patience_seconds = door, patience_seconds
    try:
        yield lent.built
    finally:
        lent.open = _shut
        lent.session.close()
    _spare.append(lent)


def _shut() -> Vault:
    raise NotFound("the server is lent to no test")
