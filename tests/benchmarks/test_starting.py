"""What a start may not wait for and may not repeat, counted instead of timed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from fastmcp import Client

from keepm.mcp import server as faces
from keepm.operations import sync
from keepm.operations.vault import Vault, open_vault
from keepm.store.disk import OSDisk
from tests.benchmarks import vaults
from tests.benchmarks.vaults import Place

SIZES = [200, pytest.param(10_000, marks=pytest.mark.campaign)]


class CountingDisk(OSDisk):
    """The real disk, counting the notes that are read."""

    def __init__(self) -> None:
        self.read_notes: list[str] = []

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        if path.suffix == ".md":
            self.read_notes.append(path.name)
        return super().read(path, limit=limit)


class HeldDisk(OSDisk):
    """The real disk, on which no folder can be listed until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        assert self.let_go.wait(timeout=60)
        return super().scan(folder)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return vaults.generate(tmp_path, notes=getattr(request, "param", 50))


@pytest.mark.parametrize("place", SIZES, indirect=True)
def test_a_second_start_reads_no_unchanged_note(place: Place) -> None:
    first = _reads_of_a_start(place)
    assert len(first) >= place.notes

    assert _reads_of_a_start(place) == []


@pytest.mark.parametrize("place", SIZES, indirect=True)
def test_a_start_reads_only_the_note_that_was_edited(place: Place) -> None:
    _reads_of_a_start(place)
    note = next((place.root / "Memory" / "global").glob("*.md"))
    with note.open("a", encoding="utf-8") as file:
        file.write("\nadded by hand\n")

    assert set(_reads_of_a_start(place)) == {note.name}


def test_nothing_of_the_handshake_waits_for_the_vault(place: Place) -> None:
    """Faults 49 and 50: with 3,000 notes the client had its first answer after 24 seconds."""
    may_open = threading.Event()

    def opening() -> Vault:
        assert may_open.wait(timeout=60)
        return open_vault(place.settings())

    server, session = faces.build(opening, language="en", session_id="s")
    session.start()

    async def greet() -> None:
        async with Client(server) as client:
            assert "memory_search" in {tool.name for tool in await client.list_tools()}
            assert not may_open.is_set()
            may_open.set()
            answer = await client.call_tool("memory_status", {})
            assert not answer.is_error

    asyncio.run(greet())
    session.close()


def test_the_handshake_and_searches_go_on_while_the_index_is_filled(place: Place) -> None:
    disk = HeldDisk()

    def opening() -> Vault:
        vault = open_vault(place.settings())
        return replace(vault, root=replace(vault.root, disk=disk))

    server, session = faces.build(opening, language="en", session_id="s")
    session.start()

    async def search() -> None:
        async with Client(server) as client:
            early = await client.call_tool("memory_search", {"query": "service"})
            assert not disk.let_go.is_set()
            assert early.structured_content["index_state"] == "rebuilding"
            disk.let_go.set()
            worker = session.vault().progress.worker
            assert worker is not None
            worker.join(timeout=60)
            late = await client.call_tool("memory_search", {"query": "service"})
            assert late.structured_content["index_state"] == "current"
            assert late.structured_content["total"] > 0

    asyncio.run(search())
    session.close()


def _reads_of_a_start(place: Place) -> list[str]:
    """Open the vault as a server does, let the first pass end, and return which notes it read."""
    disk = CountingDisk()
    opened = open_vault(place.settings())
    with closing(replace(opened, root=replace(opened.root, disk=disk))) as vault:
        sync.start(vault)
        worker = vault.progress.worker
        assert worker is not None
        worker.join(timeout=300)
        assert not worker.is_alive()
        assert vault.progress.state == "current"
        return disk.read_notes
