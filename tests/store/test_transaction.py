"""All or nothing, and never over a version that nobody of ours wrote."""

from __future__ import annotations

import errno
import functools
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from keepm.errors import (
    AlreadyExists,
    ChecksumMismatch,
    InvalidIdentifier,
    InvalidInput,
    NotFound,
    RecoveryBlocked,
    StorageFailed,
)
from keepm.model.checksum import Checksum
from keepm.store import history, ledger, transaction
from keepm.store.changes import Change, Create
from keepm.store.disk import OSDisk
from keepm.store.transaction import Root
from tests.fakes.faulty_disk import Crash, Fault, FaultyDisk
from tests.store import support
from tests.store.support import ARCHIVED, NOTE, OTHER, PENDING, edit

T = TypeVar("T")
OLD, NEW, HAND = b"old", b"new", b"by hand"


def crashed(root: Root, changes: tuple[Change, ...], *, at: str) -> None:
    """Let a mutation die right before its first call of this name after the commit point."""
    sealed = False

    class Dying(FaultyDisk):
        def rename_over(self, source: Path, target: Path) -> None:
            nonlocal sealed
            if sealed and at == "rename_over":
                raise Crash
            super().rename_over(source, target)
            sealed = sealed or target.parent.name == "journal"

        def rename_new(self, source: Path, target: Path) -> None:
            if at == "rename_new":
                raise Crash
            super().rename_new(source, target)

        def unlink(self, path: Path) -> None:
            if sealed and at == "unlink":
                raise Crash
            super().unlink(path)

        def write_at(self, path: Path, data: bytes, offset: int, *, sync: bool = True) -> None:
            if at == "write_at":
                raise Crash
            super().write_at(path, data, offset, sync=sync)

    disk = Dying(root.disk, fail_at=0, fault=Fault.EIO)
    with pytest.raises(Crash):
        support.apply(Root(root.paths, disk, root.writer_id), changes)


def test_a_change_set_is_written_with_its_event(root: Root) -> None:
    edit(root, PENDING, OLD)
    done = support.apply(root, (Create(NOTE, NEW), support.move(PENDING, ARCHIVED, OLD)))

    assert support.notes(root) == {NOTE: NEW, ARCHIVED: OLD}
    assert done.written == {
        NOTE: Checksum.of(NEW),
        PENDING: None,
        ARCHIVED: Checksum.of(OLD),
    }
    assert list(ledger.read_all(root)) == [done.event]
    assert done.event.changes[0].after == Checksum.of(NEW).hex


def test_every_version_is_kept(root: Root) -> None:
    edit(root, NOTE, OLD)
    support.apply(root, support.replace(NOTE, OLD, NEW))

    assert history.get(root, Checksum.of(OLD)) == OLD
    assert history.get(root, Checksum.of(NEW)) == NEW


def test_a_version_that_an_earlier_attempt_left_unsynced_is_synced_by_the_next() -> None:
    root, memory = support.memory_root()

    class Full(FaultyDisk):
        def create(self, path: Path, data: bytes, *, mode: int | None, sync: bool = True) -> None:
            if path.name.startswith(".keepm-"):
                raise OSError(errno.ENOSPC, "full")
            super().create(path, data, mode=mode, sync=sync)

    full = Full(memory, fail_at=0, fault=Fault.EIO)
    with pytest.raises(StorageFailed):
        support.apply(Root(root.paths, full, root.writer_id), Create(NOTE, NEW))
    support.apply(root, Create(NOTE, NEW), "t2")
    memory.lose_power()

    assert history.get(root, Checksum.of(NEW)) == NEW


def test_a_change_stands_whatever_comes_in_the_journal_s_place(real: Root) -> None:
    class Led(OSDisk):
        def write_at(self, path: Path, data: bytes, offset: int, *, sync: bool = True) -> None:
            super().write_at(path, data, offset, sync=sync)
            records = real.paths.records
            (records / "journal").rename(records / "away")
            (records / "journal").symlink_to("away")

    done = support.apply(Root(real.paths, Led(), real.writer_id), Create(NOTE, NEW))

    assert support.notes(real) == {NOTE: NEW}
    assert list(ledger.read_all(real)) == [done.event]


def test_an_edit_since_the_read_is_refused_and_kept(root: Root) -> None:
    edit(root, NOTE, HAND)
    with pytest.raises(ChecksumMismatch) as refused:
        support.apply(root, (Create(OTHER, NEW), support.replace(NOTE, OLD, NEW)))

    assert refused.value.details["found"] == Checksum.of(HAND).hex
    assert support.notes(root) == {NOTE: HAND}
    assert list(ledger.read_all(root)) == []


def test_a_vanished_file_is_not_found(root: Root) -> None:
    with pytest.raises(NotFound):
        support.apply(root, support.replace(NOTE, OLD, NEW))
    assert support.notes(root) == {}


def test_a_taken_name_is_refused(root: Root) -> None:
    edit(root, NOTE, OLD)
    edit(root, OTHER, OLD)
    for changes in (Create(NOTE, NEW), support.move(OTHER, NOTE, OLD)):
        with pytest.raises(AlreadyExists):
            support.apply(root, changes)
    assert support.notes(root) == {NOTE: OLD, OTHER: OLD}


def test_a_rename_that_changes_only_the_case_overwrites_nothing(root: Root) -> None:
    edit(root, NOTE, OLD)
    edit(root, "Memory/global/Note.md", HAND)
    with pytest.raises(AlreadyExists):
        support.apply(root, support.move(NOTE, "Memory/global/Note.md", OLD, NEW))
    assert support.notes(root) == {NOTE: OLD, "Memory/global/Note.md": HAND}


def test_a_rename_may_change_only_the_case(root: Root) -> None:
    edit(root, NOTE, OLD)
    support.apply(root, support.move(NOTE, "Memory/global/Note.md", OLD, NEW))

    assert support.notes(root) == {"Memory/global/Note.md": NEW}


def test_hostile_paths_are_refused_before_anything_is_written(real: Root, tmp_path: Path) -> None:
    (real.paths.memory / "global" / "out").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for path in ("Memory/global/out/x.md", "Memory/../x.md", "x.md", "Memory/global/nul.md"):
        with pytest.raises(InvalidIdentifier):
            support.apply(real, Create(path, NEW))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_transactions_id_is_used_once_while_it_is_pending(root: Root) -> None:
    crashed(root, (Create(NOTE, NEW),), at="rename_new")
    edit(root, NOTE, HAND)
    assert transaction.recover(root).waiting == {NOTE}

    with pytest.raises(InvalidInput):
        support.apply(root, Create(OTHER, NEW))
    support.apply(root, Create(OTHER, NEW), "t2")


def test_permissions_of_a_replaced_note_stay(real: Root) -> None:
    edit(real, NOTE, OLD)
    real.paths.locate(NOTE).chmod(0o640)
    support.apply(real, support.replace(NOTE, OLD, NEW))

    assert real.paths.locate(NOTE).stat().st_mode & 0o777 == 0o640


def test_records_are_private_and_name_no_place_of_this_machine(real: Root) -> None:
    """Fault 13: the audit file was for everybody to read."""
    crashed(real, (Create(NOTE, NEW),), at="write_at")
    records = [p for p in real.paths.records.rglob("*") if p.is_file()]
    support.apply(real, Create(OTHER, NEW), "t2")
    records += [p for p in real.paths.records.rglob("*") if p.is_file()]

    assert len(records) >= 4
    for record in records:
        if record.exists():
            assert record.stat().st_mode & 0o077 == 0
            assert str(real.paths.root).encode() not in record.read_bytes()


# ---- recovery ----------------------------------------------------------------------------------

TWO = (support.replace(NOTE, OLD, NEW), support.move(PENDING, ARCHIVED, OLD))


def two_files(root: Root) -> None:
    edit(root, NOTE, OLD)
    edit(root, PENDING, OLD)


@pytest.mark.parametrize("at", ["rename_over", "rename_new", "unlink", "write_at"])
def test_what_passed_the_commit_point_is_finished(root: Root, at: str) -> None:
    """Without the journal this fails: the second file would never follow the first."""
    two_files(root)
    crashed(root, TWO, at=at)
    assert transaction.pending(root) == ("t1",)

    recovered = transaction.recover(root)

    assert set(recovered.finished) == {NOTE, PENDING, ARCHIVED}
    assert support.notes(root) == {NOTE: NEW, ARCHIVED: OLD}
    assert [event.transaction_id for event in ledger.read_all(root)] == ["t1"]
    assert transaction.pending(root) == ()
    assert transaction.recover(root) == transaction.Recovery()


def test_recovery_needs_no_staged_file(root: Root) -> None:
    two_files(root)
    crashed(root, TWO, at="rename_over")
    for path in list(support.notes(root)):
        if ".keepm-" in path:
            root.disk.unlink(root.paths.root / path)
    transaction.recover(root)

    assert support.notes(root) == {NOTE: NEW, ARCHIVED: OLD}


@pytest.mark.parametrize("path", [NOTE, PENDING, ARCHIVED])
@pytest.mark.parametrize("at", ["rename_over", "rename_new"])
def test_recovery_stops_at_a_strangers_version(root: Root, path: str, at: str) -> None:
    two_files(root)
    crashed(root, TWO, at=at)
    edit(root, path, HAND)
    before = support.everything(root)

    recovered = transaction.recover(root)

    assert [(b.id, b.reason) for b in recovered.blocked] == [("t1", "stranger")]
    assert support.everything(root) == before
    assert list(ledger.read_all(root)) == []
    with pytest.raises(RecoveryBlocked):
        support.apply(root, support.replace(NOTE, OLD, HAND), "t2")


def test_a_blocked_transaction_stops_no_other_and_is_chained_anew(root: Root) -> None:
    two_files(root)
    crashed(root, TWO, at="rename_over")
    edit(root, NOTE, HAND)
    support.apply(root, Create(OTHER, NEW), "t2")
    edit(root, NOTE, OLD)

    transaction.recover(root)

    assert support.notes(root) == {NOTE: NEW, ARCHIVED: OLD, OTHER: NEW}
    assert [event.transaction_id for event in ledger.read_all(root)] == ["t2", "t1"]
    assert ledger.verify(root) == []


def test_a_record_that_reappears_is_not_applied_again(root: Root) -> None:
    """Its removal is not synced, so a power cut may bring it back."""
    edit(root, NOTE, OLD)
    crashed(root, (support.replace(NOTE, OLD, NEW),), at="write_at")
    record = root.paths.records / "journal" / "t1.json"
    data, _ = root.disk.read(record, limit=1 << 20)
    transaction.recover(root)
    support.apply(root, support.replace(NOTE, NEW, OLD), "t2")
    root.disk.create(record, data, mode=None)

    recovered = transaction.recover(root)

    assert recovered.blocked == ()
    assert support.notes(root) == {NOTE: OLD}
    assert [event.transaction_id for event in ledger.read_all(root)] == ["t1", "t2"]


@pytest.mark.parametrize("path", [NOTE, ARCHIVED])
def test_a_hand_edit_of_what_a_record_that_reappears_wrote_stands(root: Root, path: str) -> None:
    """The event is there: so the text is younger, and in nobody's way."""
    two_files(root)
    crashed(root, TWO, at="write_at")
    record = root.paths.records / "journal" / "t1.json"
    data, _ = root.disk.read(record, limit=1 << 20)
    transaction.recover(root)
    edit(root, path, HAND)
    root.disk.create(record, data, mode=None)
    expected = support.notes(root)

    recovered = transaction.recover(root)

    assert recovered.blocked == ()
    assert support.notes(root) == expected
    assert transaction.pending(root) == ()
    assert [event.transaction_id for event in ledger.read_all(root)] == ["t1"]


def test_an_event_that_outran_its_files_is_followed_by_them(root: Root) -> None:
    """They are synced side by side: a power cut may keep the event and forget a name."""
    two_files(root)
    crashed(root, TWO, at="write_at")
    record = root.paths.records / "journal" / "t1.json"
    data, _ = root.disk.read(record, limit=1 << 20)
    transaction.recover(root)
    for name in (NOTE, ARCHIVED):
        root.disk.unlink(root.paths.locate(name))
    edit(root, NOTE, OLD)
    edit(root, PENDING, OLD)
    root.disk.create(record, data, mode=None)

    assert transaction.recover(root).blocked == ()
    assert support.notes(root) == {NOTE: NEW, ARCHIVED: OLD}
    assert [event.transaction_id for event in ledger.read_all(root)] == ["t1"]


def test_another_machines_record_is_reported_and_left(root: Root) -> None:
    two_files(root)
    crashed(root, TWO, at="rename_over")
    other = Root(root.paths, root.disk, "writer-2")
    before = support.everything(root)

    recovered = transaction.recover(other)

    assert recovered == transaction.Recovery(foreign=("t1",))
    assert support.everything(root) == before


@pytest.mark.parametrize("how", ["half", "edited", "nonsense"])
def test_a_damaged_record_is_reported_and_stops_nothing(root: Root, how: str) -> None:
    two_files(root)
    crashed(root, TWO, at="rename_over")
    record = root.paths.records / "journal" / "t1.json"
    data, _ = root.disk.read(record, limit=1 << 20)
    root.disk.unlink(record)
    if how == "edited":
        changed = json.loads(data)
        changed["files"][0]["path"] = OTHER
        data = json.dumps(changed).encode()
    root.disk.create(record, {"half": data[:-20], "edited": data}.get(how, b"[1]"), mode=None)

    recovered = transaction.recover(root)

    assert [(b.id, b.reason) for b in recovered.blocked] == [("t1", "unreadable")]
    assert support.notes(root)[NOTE] == OLD
    support.apply(root, Create(OTHER, NEW), "t2")


# ---- after the commit point --------------------------------------------------------------------


def test_a_change_on_record_is_not_reported_as_refused(root: Root) -> None:
    class FullLedger(FaultyDisk):
        def write_at(self, path: Path, data: bytes, offset: int, *, sync: bool = True) -> None:
            raise OSError(errno.ENOSPC, "full")

    full = Root(root.paths, FullLedger(root.disk, fail_at=0, fault=Fault.EIO), root.writer_id)
    with pytest.raises(StorageFailed) as told:
        support.apply(full, Create(NOTE, NEW))
    assert (told.value.details["committed"], told.value.details["reason"]) == (True, "ENOSPC")

    transaction.recover(root)
    assert [event.transaction_id for event in ledger.read_all(root)] == ["t1"]
    assert support.notes(root) == {NOTE: NEW}


class Saving(FaultyDisk):
    """An editor saves right before the n-th call."""

    made: tuple[str, ...] = ()
    save: Callable[[], None]

    def _do(self, call: Callable[[], T], *, torn: Callable[[], None] | None = None) -> T:
        self.made += (call.__qualname__.split(".")[1],)
        if len(self.made) == self.fail_at:
            self.save()
        return call()


def test_an_editor_that_saves_meanwhile_never_loses_its_text() -> None:
    """At whatever call the editor saves, its text stands; the change is refused or came before."""
    for n in itertools.count(1):
        root, memory = support.memory_root()
        two_files(root)
        disk = Saving(memory, fail_at=n, fault=Fault.EIO)
        disk.save = functools.partial(memory.put, root.paths.locate(NOTE), HAND)
        try:
            support.apply(Root(root.paths, disk, root.writer_id), TWO)
            refused = False
        except (ChecksumMismatch, RecoveryBlocked):
            refused = True
        if len(disk.made) < n:
            break
        transaction.recover(root)
        # Between the last look and the rename there is nothing on disk that could be asked.
        overtaken = disk.made[n - 1] == "rename_over"
        assert support.notes(root)[NOTE] == HAND or overtaken, f"call {n}"
        assert refused or transaction.pending(root) == ()


# ---- fail closed (case 49) ---------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.EIO, Fault.EPERM])
def test_a_target_that_cannot_be_read_is_not_written(root: Root, fault: Fault) -> None:
    class Unreadable(FaultyDisk):
        def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
            if path.name == "note.md":
                raise OSError(getattr(errno, fault.name), "no")
            return super().read(path, limit=limit)

    edit(root, NOTE, OLD)
    broken = Root(root.paths, Unreadable(root.disk, fail_at=0, fault=fault), root.writer_id)
    with pytest.raises(StorageFailed):
        support.apply(broken, support.replace(NOTE, OLD, NEW))
    assert support.notes(root) == {NOTE: OLD}


@pytest.mark.parametrize("left", [b"", b"inbox item cut to 6", "caf\xe9".encode("latin-1")])
def test_a_file_cut_or_damaged_since_the_read_is_not_written(root: Root, left: bytes) -> None:
    edit(root, PENDING, left)
    with pytest.raises(ChecksumMismatch):
        support.apply(root, (Create(NOTE, NEW), support.move(PENDING, ARCHIVED, OLD)))
    assert support.notes(root) == {PENDING: left}


def test_a_file_that_became_a_folder_is_not_written(root: Root) -> None:
    root.disk.make_folders(root.paths.locate(NOTE))
    with pytest.raises(StorageFailed):
        support.apply(root, support.replace(NOTE, OLD, NEW))
    assert support.notes(root) == {}


def test_initialising_twice_changes_nothing(root: Root) -> None:
    support.apply(root, Create(NOTE, NEW))
    before = support.everything(root)
    transaction.initialise(root.paths, root.disk)
    assert support.everything(root) == before
