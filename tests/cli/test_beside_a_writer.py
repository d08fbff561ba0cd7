"""Reads while another process writes to the index: they go on, and write nothing themselves."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepm.errors import IndexUnavailable, NotFound
from keepm.operations import context, memories, recording, retrieval, status, sync
from keepm.operations.progress import IndexState
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault, index_path
from tests.cli.support import CommandLine
from tests.operations.support import AGENT, claim

READS = (("search", "lantern"), ("read", "lantern"), ("history", "lantern"), ("status",))
WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO meta VALUES ('written', 'by another process')")
print("writing", flush=True)
sys.stdin.read()
"""


@contextmanager
def somebody_writing(index: Path) -> Iterator[None]:
    """Let another process hold a write transaction on the index."""
    command = [sys.executable, "-c", WRITER, str(index)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        try:
            yield
        finally:
            writer.stdin.close()
            writer.wait()


@pytest.fixture
def index(vault: Vault) -> Path:
    """The index of a vault in which all is as it was: one note, indexed and on record."""
    memories.create(vault, AGENT, claim("lantern"))
    for path in vault.root.paths.memory.rglob("*.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # a young file is read at every look
    sync.reconcile(vault)
    recording.record(vault)
    recording.keep_seen(vault)
    return index_path(vault.settings)


def kept(index: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in index.parent.iterdir()}


@pytest.mark.parametrize("words", READS)
def test_a_command_that_reads_leaves_the_index_as_it_is(
    vault: Vault, index: Path, keepm: CommandLine, words: tuple[str, ...]
) -> None:
    vault.database.close()  # folds the log into the file
    keepm.run(*words)
    before = kept(index)

    code, out = keepm.run(*words)

    assert (code, "lantern" in out) == (0, words[0] not in ("status", "history"))
    assert kept(index) == before


@pytest.mark.parametrize("words", READS)
def test_a_command_that_reads_opens_the_index_for_reading_only(
    vault: Vault,
    index: Path,
    keepm: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    opened: list[str] = []
    real = sqlite3.connect

    def connect(database: str, **options: Any) -> sqlite3.Connection:
        opened.append(database.rpartition("?mode=")[2])
        connection: sqlite3.Connection = real(database, **options)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)

    assert keepm.run(*words)[0] == 0
    assert set(opened) == {"ro"}
    keepm.machine.put("Memory/global/new.md", "A note about a kerosene lantern, by hand.\n")
    keepm.run(*words)
    assert "rw" in opened, "now there was something to take up"


@pytest.mark.parametrize("words", READS)
def test_a_command_that_reads_needs_no_turn_at_writing(
    vault: Vault, index: Path, keepm: CommandLine, words: tuple[str, ...]
) -> None:
    with somebody_writing(index):
        code, _ = keepm.run(*words)

    assert code == 0
    assert "index" not in keepm.said


@pytest.mark.parametrize("words", READS)
def test_a_command_that_reads_says_what_it_could_not_take_in(
    vault: Vault, index: Path, keepm: CommandLine, words: tuple[str, ...]
) -> None:
    keepm.machine.put("Memory/global/new.md", "A note about a kerosene lantern, by hand.\n")

    with somebody_writing(index):
        code, _ = keepm.run(*words)

    assert code == 0
    assert "newest changes may be missing" in keepm.said
    assert "by hand" in keepm.run("search", "kerosene")[1]


@pytest.mark.parametrize("words", [("search", "lantern"), ("status",)])
def test_a_command_that_reads_answers_while_another_process_fills_the_index(
    vault: Vault, index: Path, keepm: CommandLine, words: tuple[str, ...]
) -> None:
    """From what is there: here nothing."""
    unfilled(vault)

    with somebody_writing(index):
        assert keepm.run(*words)[0] == 0

    assert "what it hasn't read yet is missing" in keepm.said


def test_a_server_s_answers_say_that_another_process_fills_the_index(
    vault: Vault, index: Path
) -> None:
    unfilled(vault)

    with somebody_writing(index):
        vault.progress.ended = None  # a look is due
        found = retrieval.search(vault, Wanted("lantern"))
        listed = retrieval.catalog(vault)

    assert found.index_state == listed.index_state == IndexState.REBUILDING
    assert status.status(vault).index_trouble is None  # no trouble, only somebody else's turn
    vault.progress.ended = None
    assert retrieval.search(vault, Wanted("lantern")).index_state == IndexState.CURRENT


def test_an_unknown_name_waits_for_nobody_who_fills_the_index(
    vault: Vault, index: Path, keepm: CommandLine
) -> None:
    unfilled(vault)
    began = time.monotonic()

    with somebody_writing(index):
        code, _ = keepm.run("read", "no-such-note")
        with pytest.raises(IndexUnavailable):
            memories.read(vault, "no-such-note", max_chars=9)

    assert code == 2
    assert "another process is writing" in keepm.said
    assert time.monotonic() - began < 3
    with pytest.raises(NotFound):
        memories.read(vault, "no-such-note", max_chars=9)


def test_an_unknown_name_waits_for_no_thread_that_fills_the_index(vault: Vault) -> None:
    vault.progress.rebuilding = True
    with vault.progress.passing, pytest.raises(IndexUnavailable) as caught:
        memories.read(vault, "no-such-note", max_chars=9)
    assert "being filled" in caught.value.message


def unfilled(vault: Vault) -> None:
    """Leave an index as it is before its first note."""
    vault.database.renew(discard=True)


def test_a_server_s_answers_say_that_the_index_is_behind(
    vault: Vault, index: Path, keepm: CommandLine
) -> None:
    keepm.machine.put("Memory/global/new.md", "A note about a kerosene lantern, by hand.\n")

    with somebody_writing(index):
        vault.progress.ended = None  # a look is due
        found = retrieval.search(vault, Wanted("lantern"))
        listed = retrieval.catalog(vault)

    assert [item.name for item in found.items] == ["lantern"]
    assert found.index_state == listed.index_state == IndexState.CATCHING_UP


def test_a_hit_whose_file_changed_is_shown_as_it_was_known(vault: Vault, index: Path) -> None:
    path = next(vault.root.paths.memory.rglob("lantern.md"))
    path.write_bytes(path.read_bytes() + b"\nMore by hand.\n")

    with somebody_writing(index):
        found = retrieval.search(vault, Wanted("lantern"))
        told = context.context(vault, query="lantern")

    assert [item.name for item in found.items] == ["lantern"]
    assert found.index_state == told.index_state == IndexState.CATCHING_UP
    assert [each.name for each in retrieval.search(vault, Wanted("hand")).items] == []
