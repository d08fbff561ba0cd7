"""The handshake waits for no vault, and a vault that can't be opened ends no session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from anyio.from_thread import start_blocking_portal
from fastmcp import Client

from keepm.errors import ConfigurationError, IndexUnavailable
from keepm.mcp import server
from keepm.operations.vault import Vault, open_vault
from tests.mcp.client import Tools, connected
from tests.operations.support import Machine, Opening

PLAIN = {"description": "d", "kind": "reference", "body": "b"}


class Door:
    """Opens the vault, but only when it is let; or refuses."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.may_open = threading.Event()
        self.refusal: Exception | None = None

    def open(self) -> Vault:
        self.may_open.wait(timeout=60)
        if self.refusal is not None:
            raise self.refusal
        return open_vault(self.machine.settings(), clock=self.machine.clock)


@contextmanager
def behind(door: Door) -> Iterator[Tools]:
    built, session = server.build(door.open, language="en", session_id="s")
    session.start()
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(built)) as it:
        yield Tools(portal, it)
    door.may_open.set()
    session.close()


def test_the_handshake_waits_for_no_vault(machine: Machine, opened: Opening) -> None:
    """Case 55: a cold index, a huge root or a dead mount must not count against the start."""
    opened(None)
    door = Door(machine)
    with behind(door) as tools:
        assert tools.client.instructions
        assert len(tools.listed()) >= 20
        assert not door.may_open.is_set()
        door.may_open.set()
        assert tools.done("status")["notes"] == 0


def test_a_vault_that_cannot_be_opened_is_told_and_tried_again(
    machine: Machine, opened: Opening
) -> None:
    opened(None)
    door = Door(machine)
    door.may_open.set()
    door.refusal = IndexUnavailable("the index can't be opened")
    with behind(door) as tools:
        for tool in ("status", "context", "inbox_list"):
            answer = tools.call(tool)
            assert answer.code == "index_unavailable"
            assert answer["error"]["hint"]
        door.refusal = ConfigurationError("a setting is wrong")
        assert tools.call("status").code == "configuration_error"
        door.refusal = None
        assert tools.done("status")["index_state"]


def test_a_missing_vault_is_named_and_never_made_anew(machine: Machine) -> None:
    """Fault 5: create made a new vault tree in the old place."""
    with connected(machine, machine.folder / "work/widgets", "auto") as tools:
        tools.done("create", name="n", **PLAIN)
        (machine.root / "Memory").rename(machine.folder / "away")
        answer = tools.call("create", name="m", **PLAIN)
        assert answer.code == "root_unavailable"
        assert not (machine.root / "Memory").exists()
        (machine.folder / "away").rename(machine.root / "Memory")
        tools.done("create", name="m", **PLAIN)


@pytest.mark.parametrize(("era", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_both_eras_are_spoken(
    machine: Machine, connect: Callable[..., Tools], era: str, version: str
) -> None:
    tools = connect(machine.folder / "work/widgets", era)
    told = tools.client.initialize_result
    # The modern era knows no handshake.
    assert (told.protocol_version if told else "2026-07-28") == version
    assert tools.done("create", name="n", **PLAIN)["update_token"]
