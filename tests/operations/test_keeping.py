"""The server's quiet thread: earlier looks, deep passes in time, and an end when told."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keepm.model.filesystems import Filesystem
from keepm.operations import keeping, memories, retrieval, status, sync
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, FixedClock, Machine, Opening, claim

HERE = "Memory/projects/widgets"
CASE = Path(__file__).parents[1] / "cases/34-watch-budget/input/fault.json"


class Events:
    """A watch whose events the test makes."""

    def __init__(self) -> None:
        self.watching = threading.Event()
        self.folders: tuple[Path, ...] = ()
        self._told: list[set[str]] = []
        self._more = threading.Semaphore(0)

    def tell(self, *paths: Path) -> None:
        self._told.append({str(path) for path in paths})
        self._more.release()

    def __call__(
        self, folders: tuple[Path, ...], stopping: threading.Event, seconds: float
    ) -> Iterator[set[str]]:
        self.folders = folders
        self.watching.set()
        while not stopping.is_set():
            yield self._told.pop(0) if self._more.acquire(timeout=0.02) else set()


def until(condition: Callable[[], object]) -> None:
    """Wait for what another thread brings about."""
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends
        threading.Event().wait(0.005)


@pytest.fixture
def said() -> list[str]:
    return []


def kept(vault: Vault, said: list[str], watch: keeping.Watch) -> Vault:
    sync.start(vault)
    keeping.start(vault, say=said.append, watch=watch)
    return vault


def indexed(vault: Vault, word: str) -> bool:
    """Tell what the index holds, without the look that an answer would take."""
    with vault.database.reading() as connection:
        row = connection.execute("SELECT 1 FROM bodies WHERE body LIKE ?", (f"%{word}%",))
        return row.fetchone() is not None


def test_an_event_brings_a_look(vault: Vault, machine: Machine, said: list[str]) -> None:
    events = Events()
    kept(vault, said, events)
    assert events.watching.wait(30)
    path = machine.put(f"{HERE}/new.md", "---\nname: new\n---\nlighthouse\n")
    events.tell(path)
    until(lambda: indexed(vault, "lighthouse"))
    assert status.status(vault).filesystem.watch == "events"
    assert said == []
    assert {folder.name for folder in events.folders} >= {"global", "projects"}


def test_our_own_changes_bring_no_look(vault: Vault, machine: Machine, said: list[str]) -> None:
    events = Events()
    kept(vault, said, events)
    assert events.watching.wait(30)
    made = memories.create(vault, AGENT, claim("note", body="ours"))
    path = machine.root / made.document.path
    assert not keeping._tells_news(vault, {str(path)})
    path.write_text("---\nname: note\n---\nlonger than before, by hand\n")
    assert keeping._tells_news(vault, {str(path)})
    assert keeping._tells_news(vault, {str(path), str(machine.root / HERE)})
    path.unlink()
    assert keeping._tells_news(vault, {str(path)})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "max_user_watches"),
        (OSError("error in underlying watcher: (os error 28)"), "max_user_watches"),
        (OSError(errno.EMFILE, "Too many open files"), "max_user_instances"),
        (PermissionError(errno.EPERM, "no"), "refuses"),
        (RuntimeError("rust panicked"), "refuses"),
    ],
)
def test_a_watch_that_fails_is_said_once_and_the_files_are_looked_at_all_the_same(
    vault: Vault,
    machine: Machine,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    words: str,
) -> None:
    """Case 34: ENOSPC reads as a full disk, and silence leaves half the vault stale."""
    assert "ENOSPC" in CASE.read_text("utf-8")
    monkeypatch.setattr(keeping, "POLL_SECONDS", 0.02)
    tried: list[int] = []

    def watch(*_: object) -> Iterator[set[str]]:
        tried.append(1)
        raise error
        yield set()

    kept(vault, said, watch)
    until(lambda: said)
    for word in ("lighthouse", "harbour"):
        machine.put(f"{HERE}/{word}.md", f"---\nname: {word}\n---\n{word}\n")
        until(lambda word=word: indexed(vault, word))  # type: ignore[misc]  # bound at once
    (once,) = said
    assert words in once
    assert status.status(vault).filesystem.watch.startswith("polling: ")
    assert tried == [1]


def test_a_network_file_system_is_polled_and_named(
    vault: Vault, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    monkeypatch.setattr(keeping, "POLL_SECONDS", 0.02)
    where = dataclasses.replace(vault.placement, vault=Filesystem("9p", network=True))
    where = dataclasses.replace(where, warnings=("the vault lies on 9p",))
    there = dataclasses.replace(vault, placement=where)

    def watch(*_: object) -> Iterator[set[str]]:
        raise AssertionError("9p tells of no changes made on the other side")

    kept(there, said, watch)
    until(lambda: len(said) >= 2)
    assert said[0] == "the vault lies on 9p"
    assert "9p" in said[1]
    assert status.status(there).filesystem.vault == "9p (network)"
    there.close()


def test_a_deep_pass_is_made_at_the_start_and_when_its_time_has_come(
    vault: Vault, said: list[str], clock: FixedClock
) -> None:
    events = Events()
    kept(vault, said, events)
    assert events.watching.wait(30)
    assert vault.database.get_meta("last_checksum_scan") == vault.now()
    assert retrieval.search(vault, Wanted("x")).index_state == "current"


def test_a_deep_pass_that_is_off_is_never_made(
    machine: Machine, opened: Opening, said: list[str]
) -> None:
    machine.configure({"deep_reconcile_seconds": 0})
    events = Events()
    vault = kept(opened(machine.folder / "work/widgets"), said, events)
    assert events.watching.wait(30)
    assert vault.database.get_meta("last_checksum_scan") is None


def test_the_thread_ends_with_the_vault(vault: Vault, said: list[str]) -> None:
    kept(vault, said, keeping._watch)
    until(lambda: vault.progress.watch == "events")
    keeper = vault.progress.keeper
    vault.close()
    assert keeper is not None
    assert not keeper.is_alive()


def test_the_real_watch_tells_of_a_change(vault: Vault, machine: Machine, said: list[str]) -> None:
    kept(vault, said, keeping._watch)
    until(lambda: vault.progress.watch == "events")
    place = machine.root / HERE
    place.mkdir(parents=True, exist_ok=True)
    written = 0

    def met() -> bool:
        nonlocal written
        written += 1  # the watch may begin behind the first of them
        (place / f"n{written}.md").write_text(f"---\nname: n{written}\n---\nlighthouse\n")
        threading.Event().wait(0.2)
        return indexed(vault, "lighthouse")

    until(met)


@pytest.mark.parametrize(
    ("name", "concerns"),
    [
        ("a.md", True),
        ("a.MD", True),
        ("folder", True),
        (".a.md.icloud", True),
        (".keepm-1.tmp", False),
        (".a.md.swp", False),
    ],
)
def test_only_documents_and_folders_concern_us(name: str, concerns: bool) -> None:
    assert keeping._concerns(f"/nowhere/{name}") is concerns
