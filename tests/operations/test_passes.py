"""Quick and deep passes: what each proves, and that neither holds answers up."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keepm.errors import IndexUnavailable
from keepm.index import listing, writing
from keepm.index.database import Database
from keepm.model.checksum import Checksum
from keepm.operations import memories, passes, resyncing, retrieval, status, sync
from keepm.operations.progress import IndexState
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.store.disk import OSDisk
from tests.operations.support import AGENT, FixedClock, Machine, Opening, claim, look
from tests.operations.world import contents

CASE = Path(__file__).parents[1] / "cases/32-racy-edit/input"
HERE = "Memory/projects/widgets"
OLD = 1_700_000_000_000_000_000  # nanoseconds: a stamp that proves what it says


def text(name: str) -> bytes:
    return (CASE / name).read_bytes().replace(b"\ntitle: ", b"\nname: ")


def test_an_edit_of_one_size_within_one_stamp_is_met_by_the_quick_pass(
    vault: Vault, machine: Machine
) -> None:
    """Case 32, steps 1 and 2: an entry as young as the scan is unproven."""
    assert len(json.loads((CASE / "steps.json").read_text())) == 4
    path = machine.put(f"{HERE}/racy.md", text("v1.md"))
    seen = path.stat().st_mtime_ns
    look(vault)
    path.write_bytes(text("v2.md"))
    os.utime(path, ns=(seen, seen))
    assert sync.reconcile(vault).read == 1
    assert memories.read(vault, "mem-3201", max_chars=99).part.text == "value is 2222"
    assert retrieval.search(vault, Wanted("2222")).total == 1


def test_an_edit_behind_a_proven_stamp_is_met_by_the_deep_pass(
    vault: Vault, machine: Machine
) -> None:
    """Case 32, step 3."""
    path = machine.put(f"{HERE}/racy.md", text("v1.md"))
    os.utime(path, ns=(OLD, OLD))
    look(vault)
    path.write_bytes(text("v2.md"))
    os.utime(path, ns=(OLD, OLD))
    assert sync.reconcile(vault).read == 0
    assert retrieval.search(vault, Wanted("2222")).items == []
    assert sync.reconcile(vault, deep=True).read == 1
    assert retrieval.search(vault, Wanted("2222")).total == 1
    assert status.status(vault).last_checksum_scan == vault.now()


def test_an_empty_file_without_a_time_takes_the_place_of_what_was_left_out(
    vault: Vault, machine: Machine
) -> None:
    """What the index remembers of a file that it never looked at are zeros, and prove nothing."""
    link = machine.root / HERE / "note.md"
    machine.put(f"{HERE}/other.md", "---\nname: other\n---\ntext\n")
    link.symlink_to("other.md")
    look(vault)
    link.unlink()
    link.write_bytes(b"")
    os.utime(link, ns=(0, 0))
    look(vault)
    assert writing.files(vault.database)[f"{HERE}/note.md"].reason is None


def test_touching_files_writes_no_document_again(vault: Vault, machine: Machine) -> None:
    """Case 32, step 4."""
    for number in range(200):
        machine.put(f"{HERE}/n{number}.md", f"---\nname: n{number}\n---\ntext {number}\n")
    look(vault)
    with vault.database.reading() as connection:
        (last,) = connection.execute("SELECT max(rowid) FROM terms_docsize").fetchone()
    for path in (machine.root / HERE).glob("n*.md"):
        os.utime(path, ns=(OLD, OLD))
    look(vault)
    with vault.database.reading() as connection:
        assert connection.execute("SELECT max(rowid) FROM terms_docsize").fetchone() == (last,)
    assert {row.mtime_ns for row in writing.files(vault.database).values()} == {OLD}
    assert sync.reconcile(vault).read == 0


class Slow(OSDisk):
    """Waits at each read of a note until it is let on."""

    def __init__(self) -> None:
        self.reached, self.go = threading.Event(), threading.Event()

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        if threading.current_thread().name == "deep":
            self.reached.set()
            assert self.go.wait(30)
        return super().read(path, limit=limit)


def test_a_deep_pass_holds_up_neither_answers_nor_changes(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("first"))
    os.utime(machine.root / made.document.path, ns=(OLD, OLD))
    look(vault)
    disk = Slow()
    slowed = replace(vault, root=replace(vault.root, disk=disk))
    deep = threading.Thread(
        target=sync.reconcile, args=(slowed,), kwargs={"deep": True}, name="deep"
    )
    deep.start()
    assert disk.reached.wait(30)

    assert retrieval.search(vault, Wanted("text")).total == 1
    machine.put(f"{HERE}/by-hand.md", "---\nname: by hand\n---\ntext\n")
    assert sync.reconcile(vault).read == 1
    memories.create(vault, AGENT, claim("second"))
    assert retrieval.search(vault, Wanted("text")).total == 3

    disk.go.set()
    deep.join(30)
    assert status.status(vault).last_checksum_scan
    assert retrieval.search(vault, Wanted("text")).total == 3


def test_a_deep_pass_ends_when_the_vault_is_closed(vault: Vault, machine: Machine) -> None:
    for number in range(120):
        machine.put(f"{HERE}/n{number}.md", f"---\nname: n{number}\n---\ntext\n")
    look(vault)
    vault.progress.stopping.set()
    sync.reconcile(vault, deep=True)
    assert vault.database.get_meta("last_checksum_scan") is None


def test_a_first_look_that_is_stopped_calls_nothing_a_hand_edit(
    machine: Machine, opened: Opening
) -> None:
    """What it didn't come to is read by the next start, as if it were the first."""
    for number in range(5):
        machine.put(f"{HERE}/n{number}.md", f"---\nname: n{number}\n---\ntext\n")
    vault = opened(machine.folder / "work/widgets")
    vault.progress.stopping.set()
    sync.reconcile(vault)
    assert vault.database.get_meta("filled") is None
    vault.close()

    again = opened(machine.folder / "work/widgets")
    look(again)
    assert retrieval.search(again, Wanted("text")).total == 5


def test_a_deep_pass_is_due_after_its_period_and_never_when_it_is_off(
    machine: Machine, opened: Opening, clock: FixedClock
) -> None:
    vault = opened(machine.folder / "work/widgets")
    assert status.status(vault).deep_scan_due
    sync.reconcile(vault, deep=True)
    assert not status.status(vault).deep_scan_due
    clock.forward(seconds=1799)
    assert sync.deep_in(vault) == 1.0
    clock.forward(seconds=1)
    assert status.status(vault).deep_scan_due
    machine.configure({"deep_reconcile_seconds": 0})
    off = opened(machine.folder / "work/widgets")
    assert not status.status(off).deep_scan_due


def test_a_rebuild_keeps_every_answer_and_every_record(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("first", aliases=("one",)))
    path = machine.root / made.document.path
    path.write_bytes(path.read_bytes() + b"\nBy hand.\n")
    machine.put(f"{HERE}/copy (1).md", path.read_bytes())
    machine.put(f"{HERE}/broken.md", "---\nname: [\n---\nbroken\n")
    resyncing.quick(vault)
    before = contents(vault.database.path)
    done = resyncing.full(vault)
    assert done.rebuilt
    assert contents(vault.database.path) == before
    assert memories.read(vault, "one", max_chars=99).approved_via == "owner-edit"


def test_a_pass_over_all_checksums_waits_while_an_answer_is_in_the_making(vault: Vault) -> None:
    progress = vault.progress
    progress.give_way(3600)  # nobody asks

    with progress.answering():
        with progress.answering():
            pass
        waiting = threading.Thread(target=progress.give_way, args=(3600,))
        waiting.start()
        waiting.join(timeout=0.05)
        assert waiting.is_alive()

    waiting.join(timeout=60)
    assert not waiting.is_alive()


def test_answers_in_the_making_never_stop_a_pass_over_all_checksums(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.create(vault, AGENT, claim("one"))
    monkeypatch.setattr(passes, "_GIVE_WAY_SECONDS", 0.001)
    monkeypatch.setattr(vault.progress, "keeper", threading.current_thread())

    with vault.progress.answering():
        sync.reconcile(vault, deep=True)

    assert vault.database.get_meta("last_checksum_scan") is not None


@pytest.mark.parametrize("others", [1, 9])
@pytest.mark.parametrize("filled", [False, True])
def test_what_changes_on_its_way_into_the_index_is_read_again(
    others: int, filled: bool, vault: Vault, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if filled:
        for n in range(others):
            machine.put(f"{HERE}/other-{n}.md", f"---\nname: other-{n}\n---\n\nElse.\n")
        look(vault)
    paths = [machine.put(f"{HERE}/note-{n}.md", text("v1.md")) for n in (1, 2, 3)]
    real = Database.writing
    wrote = False

    @contextlib.contextmanager
    def meddling(database: Database) -> Iterator[sqlite3.Connection]:
        nonlocal wrote
        with real(database) as connection:
            yield connection
            fresh = not wrote and connection.execute(
                "SELECT 1 FROM files WHERE path LIKE '%note-%'"
            )
            if fresh and fresh.fetchone():
                wrote = True
                paths[0].write_bytes(text("v2.md") + b"longer\n")
                paths[1].unlink()

    monkeypatch.setattr(Database, "writing", meddling)
    sync.reconcile(vault)
    assert wrote
    known = writing.files(vault.database)
    assert known[f"{HERE}/note-1.md"].checksum == Checksum.of(paths[0].read_bytes()).hex
    assert f"{HERE}/note-2.md" not in known
    assert known[f"{HERE}/note-3.md"].checksum == Checksum.of(paths[2].read_bytes()).hex


def test_a_filling_that_fails_leaves_pythons_collector_on(
    vault: Vault, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.put(f"{HERE}/note.md", text("v1.md"))

    def full(*_: object) -> None:
        assert not gc.isenabled()
        raise IndexUnavailable("the disk is full")

    monkeypatch.setattr(writing, "rebuild", full)
    with pytest.raises(IndexUnavailable):
        sync.reconcile(vault)
    assert gc.isenabled()


def test_a_look_at_the_files_calls_no_index_full_that_was_renewed_meanwhile(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted under its hands, and made anew by an answer: the new one holds nothing yet."""
    memories.create(vault, AGENT, claim("first"))
    passes.reconcile(vault)
    listed = listing.listing
    renewed: list[bool] = []

    def deleted(*args: Any, **options: Any) -> Any:
        found = listed(*args, **options)
        if not renewed:
            vault.database.path.unlink()
            vault.database.renew()
            renewed.append(True)
        return found

    monkeypatch.setattr(listing, "listing", deleted)
    passes.reconcile(vault)
    assert renewed
    assert vault.progress.state is IndexState.CURRENT
    assert retrieval.search(vault, Wanted("first")).total == 1
    assert vault.database.get_meta("filled")
