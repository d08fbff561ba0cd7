"""A machine with a vault and a bound project, and an MCP client that speaks in memory."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from keepm.operations.vault import Vault
from tests.operations.support import FixedClock, Machine, Opening

if TYPE_CHECKING:
    from tests.mcp.client import Tools


# How long an example takes says what else the machine does, now that it does several tests at once.
settings.register_profile("keepm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("keepm")

_MOST_WORKERS = 4


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let a run of the whole suite use the machine's cores; `-n 0` keeps it to one process.

    A part of it is done sooner without the workers' start, and what is asked to print, to be
    debugged or to measure needs a process, or the machine, to itself.
    """
    options = config.option
    given = config.args != config.getini("testpaths") or options.keyword or options.capture == "no"
    if given or options.markexpr != "not campaign" or hasattr(config, "workerinput"):
        return
    # Without the plugin, the same tests run one after the other.
    if config.pluginmanager.hasplugin("xdist") and options.numprocesses is None:
        options.numprocesses = "logical"
        options.maxprocesses = options.maxprocesses or _MOST_WORKERS
        # The long tests stand in a row: who is done takes over from who isn't.
        options.dist = "worksteal"


# Where it matters what is on the disk, or what the disk costs.
_SYNCED = ("tests/store/", "tests/campaigns/", "tests/stories/", "tests/benchmarks/")


@pytest.fixture(autouse=True)
def syncs_only_where_it_matters(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let no other test wait for the disk: what is durable is for the store's own to prove."""
    if not request.node.nodeid.startswith(_SYNCED):
        monkeypatch.setattr(os, "fsync", lambda fd: None)
        monkeypatch.setattr(sqlite3, "connect", _connect_without_syncs)


_connect = sqlite3.connect


def _connect_without_syncs(database: str, **options: Any) -> sqlite3.Connection:
    """Connect; a database that is only to be filled is made without waiting for the disk."""
    connection: sqlite3.Connection = _connect(database, **options)
    (_, _, path), *_ = connection.execute("PRAGMA database_list")
    if path and os.path.getsize(path) == 0:
        connection.execute("PRAGMA synchronous = OFF")
    return connection


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine that knows the project `widgets`; its vault is empty."""
    made = Machine(tmp_path)
    made.project("widgets")
    return made


@pytest.fixture
def clock(machine: Machine) -> FixedClock:
    return machine.clock


@pytest.fixture
def opened(machine: Machine) -> Iterator[Opening]:
    """Open the machine's vault from a folder; closed when the test ends."""
    with ExitStack() as stack:

        def opening(project_dir: Path | None) -> Vault:
            vault = machine.open(project_dir)
            stack.callback(vault.close)
            return vault

        yield opening


@pytest.fixture
def vault(machine: Machine, opened: Opening) -> Vault:
    """The vault, seen from the project `widgets`."""
    return opened(machine.folder / "work/widgets")


@pytest.fixture
def connect(machine: Machine) -> Iterator[Callable[..., Tools]]:
    """Start a server in memory for a project folder and connect a client to it."""
    from tests.mcp.client import connected

    with ExitStack() as stack:

        def start(project_dir: Path | None = None, era: str = "auto") -> Tools:
            return stack.enter_context(connected(machine, project_dir, era))

        yield start


@pytest.fixture(params=["auto", "legacy"])
def tools(request: pytest.FixtureRequest, machine: Machine, connect: Callable[..., Tools]) -> Tools:
    """A client of the project `widgets`, in each of the protocol's two eras."""
    return connect(machine.folder / "work/widgets", request.param)


@pytest.fixture
def agent(machine: Machine, connect: Callable[..., Tools]) -> Tools:
    """A client of the project `widgets`."""
    return connect(machine.folder / "work/widgets")
