"""The server's quiet thread: earlier looks, deep passes in time, and an end when told."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.model.filesystems import Filesystem
from keepm.operations import keeping, memories, retrieval, status, sync, watching
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.operations.watching import Watch, Watched
from keepm.store import reader
from tests.operations.support import AGENT, FixedClock, Machine, Opening, claim

HERE = "Memory/projects/widgets"
CASE = Path(__file__).parents[1] / "cases/34-watch-budget/input/fault.json"


class Events:
    """A watch whose events the test makes."""

    def __init__(self) -> None:
        self.watching = threading.Event()
        self.watched = Watched(())
        self._told: list[set[str]] = []
        self._more = threading.Semaphore(0)

    def tell(self, *paths: Path) -> None:
        self._told.append({str(path) for path in paths})
        self._more.release()

    def __call__(
        self, watched: Watched, stopping: threading.Event, seconds: float
    ) -> watching.Events:
        self.watched = watched
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


def kept(vault: Vault, said: list[str], watch: Watch) -> Vault:
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
    assert {folder.name for folder in events.watched.folders} >= {"global", "projects"}


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
        (OSError('OS file watch limit reached. about ["/d"] (Error { … })'), "max_user_watches"),
        (RuntimeError("error in underlying watcher: OS file watch limit"), "max_user_watches"),
        (OSError(errno.EMFILE, "Too many open files"), "max_user_instances"),
        (PermissionError(errno.EACCES, "no"), "denies access"),
        (OSError(errno.EBADF, "no"), "refuses"),
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
    """ENOSPC reads as a full disk, and silence leaves the vault stale."""
    monkeypatch.setattr(keeping, "POLL_SECONDS", 0.02)
    tried: list[bool] = []

    def watch(watched: Watched, *_: object) -> watching.Events:
        tried.append(watched.deep)
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
    assert tried.count(True) == 1


class Limited(Events):
    """A system that refuses the 50th watch, as the case has it; a folder takes one."""

    def __init__(self) -> None:
        super().__init__()
        fault = re.search(r"at the (\d+)th", json.loads(CASE.read_text("utf-8"))["inject"])
        assert fault is not None
        self.most = int(fault[1]) - 1

    def __call__(
        self, watched: Watched, stopping: threading.Event, seconds: float
    ) -> watching.Events:
        number = len(watched.folders)
        if watched.deep:
            number += sum(len(dirs) for top in watched.folders for _, dirs, _ in os.walk(top))
        if number > self.most:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield from super().__call__(watched, stopping, seconds)


def test_what_the_limit_lets_is_watched_and_the_rest_is_looked_at(
    vault: Vault, machine: Machine, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 34: silence would leave half the vault stale."""
    monkeypatch.setattr(keeping, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(watching, "_RELEASE_SECONDS", 0.0)
    (machine.root / HERE).mkdir(parents=True, exist_ok=True)
    for number in range(200 - len(reader.folders(vault.root))):
        (machine.root / f"Memory/global/f{number:03}").mkdir()
    events = Limited()
    kept(vault, said, events)
    until(lambda: said)
    until(events.watching.is_set)

    assert status.status(vault).filesystem.watch == (
        "partial 49/200: the limit fs.inotify.max_user_watches is reached"
    )
    (once,) = said
    assert "49/200" in once and "max_user_watches" in once
    assert events.watched.folders[0] == machine.root / HERE  # what is asked for most

    for folder in (HERE, "Memory/global/f150"):
        word = folder.rsplit("/", 1)[1]
        path = machine.put(f"{folder}/{word}.md", f"---\nname: {word}\n---\nlight {word}\n")
        if path.parent in events.watched.folders:
            events.tell(path)
        until(lambda word=word: indexed(vault, f"light {word}"))  # type: ignore[misc]  # at once
    assert len(said) == 1


def test_a_folder_that_goes_while_it_is_to_be_watched_ends_no_watching(
    vault: Vault, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "POLL_SECONDS", 0.01)
    events, refusals = Events(), [FileNotFoundError("gone")]

    def watch(watched: Watched, stopping: threading.Event, seconds: float) -> watching.Events:
        if refusals:
            raise refusals.pop()
        yield from events(watched, stopping, seconds)

    kept(vault, said, watch)
    assert events.watching.wait(30)
    assert status.status(vault).filesystem.watch == "events"
    assert said == []


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux'")
def test_the_systems_own_refusal_is_told_for_what_it_is(tmp_path: Path) -> None:
    """In a namespace of its own, where the limit is ours to set."""
    unshare = shutil.which("unshare")
    limit = "/proc/sys/user/max_inotify_watches"
    program = """
import sys, threading, pathlib
from keepm.operations import watching
top = pathlib.Path(sys.argv[1])
def told(watched):
    try:
        next(watching.events(watched, threading.Event(), 0.01))
    except (OSError, RuntimeError) as error:
        return watching.reason(error) + str(watching.is_partial(error))
print(told(watching.Watched((top,))))
few = watching.Watched((top, top / "d1", top / "d2"), deep=False)
while told(few):  # until the system has back what the first took
    threading.Event().wait(0.01)
print("few")
"""
    for number in range(20):
        (tmp_path / f"d{number}").mkdir()
    line = f'echo 9 > {limit} && test "$(cat {limit})" = 9 || exit 77; exec "$@"'
    run = [unshare or "unshare", "-U", "-r", "sh", "-c", line, "sh"]
    try:
        done = subprocess.run(
            [*run, sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
        )
    except OSError:
        pytest.skip("no namespaces here")
    if done.returncode and "keepm" not in done.stderr:
        pytest.skip("no namespaces here")
    assert done.stdout.splitlines() == [
        "the limit fs.inotify.max_user_watches is reachedTrue",
        "few",
    ]


def test_a_network_file_system_is_polled_and_named(
    vault: Vault, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    monkeypatch.setattr(keeping, "POLL_SECONDS", 0.02)
    where = dataclasses.replace(vault.placement, vault=Filesystem("9p", network=True))
    where = dataclasses.replace(where, warnings=("the vault lies on 9p",))
    there = dataclasses.replace(vault, placement=where)

    def watch(*_: object) -> watching.Events:
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


def test_an_index_that_is_gone_ends_no_keeping(
    vault: Vault, machine: Machine, said: list[str]
) -> None:
    vault.progress.settled.set()
    vault.database.path.unlink()
    events = Events()
    keeping.start(vault, say=said.append, watch=events)
    assert events.watching.wait(30)

    sync.renew(vault)  # as the next answer does
    path = machine.put(f"{HERE}/new.md", "---\nname: new\n---\nlighthouse\n")
    events.tell(path)
    until(lambda: indexed(vault, "lighthouse"))


def test_a_deep_pass_that_is_off_is_never_made(
    machine: Machine, opened: Opening, said: list[str]
) -> None:
    machine.configure({"deep_reconcile_seconds": 0})
    events = Events()
    vault = kept(opened(machine.folder / "work/widgets"), said, events)
    assert events.watching.wait(30)
    assert vault.database.get_meta("last_checksum_scan") is None


def test_the_thread_ends_with_the_vault(vault: Vault, said: list[str]) -> None:
    kept(vault, said, watching.events)
    until(lambda: vault.progress.watch == "events")
    keeper = vault.progress.keeper
    vault.close()
    assert keeper is not None
    assert not keeper.is_alive()


def test_the_real_watch_tells_of_a_change(vault: Vault, machine: Machine, said: list[str]) -> None:
    kept(vault, said, watching.events)
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
    assert watching.concerns(f"/nowhere/{name}") is concerns
