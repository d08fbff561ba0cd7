"""Whatever call dies or fails: all old or all new, and what was acknowledged is there.

Case 50. Every call of a mutation is met with every fault; then the vault is opened afresh.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from keepm.errors import StorageFailed
from keepm.model.checksum import Checksum
from keepm.store import ledger, transaction
from keepm.store.changes import Change, Create, Delete
from keepm.store.transaction import Root
from tests.fakes.faulty_disk import Crash, Fault, FaultyDisk
from tests.store import support
from tests.store.support import ARCHIVED, NOTE, OTHER, PENDING

OLD, NEW = b"old\r\n" * 40, "new 字\n".encode() * 50
TRASHED = "Memory/.trash/20261129T181500Z-t1/global/note.md"


@dataclass(frozen=True)
class Scenario:
    """`committed` was written by us before, `by_hand` by an editor and never seen by us."""

    changes: tuple[Change, ...]
    after: dict[str, bytes]
    committed: tuple[Create, ...] = ()
    by_hand: tuple[tuple[str, bytes], ...] = ()


SCENARIOS = {
    "create": Scenario((Create(NOTE, NEW),), {NOTE: NEW}),
    "create in a new folder": Scenario(
        (Create("Memory/projects/我的/a/x.md", NEW),), {"Memory/projects/我的/a/x.md": NEW}
    ),
    "replace": Scenario(
        (support.replace(NOTE, OLD, NEW),), {NOTE: NEW}, committed=(Create(NOTE, OLD),)
    ),
    "replace a hand-written note": Scenario(
        (support.replace(NOTE, OLD, NEW),), {NOTE: NEW}, by_hand=((NOTE, OLD),)
    ),
    "promote into a target": Scenario(
        (support.replace(NOTE, OLD, NEW), support.move(PENDING, ARCHIVED, OLD, NEW)),
        {NOTE: NEW, ARCHIVED: NEW},
        committed=(Create(NOTE, OLD), Create(PENDING, OLD)),
    ),
    "promote a new note": Scenario(
        (Create(NOTE, NEW), support.move(PENDING, ARCHIVED, OLD, NEW)),
        {NOTE: NEW, ARCHIVED: NEW},
        by_hand=((PENDING, OLD),),
    ),
    "move to another scope": Scenario(
        (support.move(NOTE, "Memory/projects/w/note.md", OLD, NEW),),
        {"Memory/projects/w/note.md": NEW},
        committed=(Create(NOTE, OLD),),
    ),
    "delete to the trash": Scenario(
        (support.move(NOTE, TRASHED, OLD),),
        {TRASHED: OLD, OTHER: OLD},
        committed=(Create(NOTE, OLD), Create(OTHER, OLD)),
    ),
    "remove for good": Scenario(
        (Delete(NOTE, Checksum.of(OLD)), Delete(OTHER, Checksum.of(OLD))),
        {PENDING: OLD},
        committed=(Create(NOTE, OLD), Create(OTHER, OLD), Create(PENDING, OLD)),
    ),
}


def prepared(scenario: Scenario, root: Root) -> dict[str, bytes]:
    for number, change in enumerate(scenario.committed):
        support.apply(root, change, f"before-{number}")
    for path, data in scenario.by_hand:
        support.edit(root, path, data)
    return support.notes(root)


@dataclass
class Attempt:
    acknowledged: bool = False
    refused: StorageFailed | None = None
    hit: bool = False


def attempt(scenario: Scenario, root: Root, n: int, fault: Fault) -> Attempt:
    disk = FaultyDisk(root.disk, fail_at=n, fault=fault)
    result = Attempt()
    try:
        support.apply(Root(root.paths, disk, root.writer_id), scenario.changes)
        result.acknowledged = True
    except Crash:
        pass
    except StorageFailed as error:
        result.refused = error
    result.hit = disk.hit
    return result


def check(scenario: Scenario, root: Root, before: dict[str, bytes], result: Attempt) -> None:
    recovered = transaction.recover(root)
    assert recovered.blocked == ()
    tree = support.everything(root)
    transaction.recover(root)
    assert support.everything(root) == tree, "recovery twice gives the same tree"

    # What a power cut left of a staged file is hidden, harmless, and no version of a note.
    seen = {p: d for p, d in support.notes(root).items() if "/.keepm-" not in p}
    assert seen in (before, scenario.after)
    if result.acknowledged or (result.refused and result.refused.details["committed"]):
        assert seen == scenario.after
    elif result.refused:
        assert seen == before

    assert ledger.verify(root) == []
    mine = [event for event in ledger.read_all(root) if event.transaction_id == "t1"]
    assert len(mine) == (seen == scenario.after), "ledger and files agree"
    assert not [path for path in tree if path.startswith("Memory/.keepm/journal/")]

    if seen == before:  # nothing stands in the way of the same change
        support.apply(root, scenario.changes, "again")
        seen = {p: d for p, d in support.notes(root).items() if "/.keepm-" not in p}
        assert seen == scenario.after


def sweep(scenario: Scenario, fault: Fault, make: Callable[[int], Root]) -> None:
    for n in itertools.count(1):
        root = make(n)
        before = prepared(scenario, root)
        result = attempt(scenario, root, n, fault)
        if result.refused and not result.refused.details["committed"]:
            left = support.notes(root)
            if fault is not Fault.STUCK:  # a dead disk can't be tidied
                assert left == before, "a refusal leaves nothing behind"
        check(scenario, root, before, result)
        assert [p for p in support.notes(root) if "/.keepm-" in p] == []
        if not result.hit:
            assert n > 15
            assert result.acknowledged
            return


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("name", SCENARIOS)
def test_any_fault_at_any_call_leaves_all_old_or_all_new(name: str, fault: Fault) -> None:
    sweep(SCENARIOS[name], fault, lambda n: support.memory_root()[0])


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.TORN, Fault.ENOSPC])
@pytest.mark.parametrize("name", ["create", "promote into a target", "delete to the trash"])
def test_the_same_holds_on_the_real_disk(
    name: str, fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only calls are swept here, no power is cut: syncing hundreds of vaults proves nothing more.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    sweep(SCENARIOS[name], fault, lambda n: support.os_root(tmp_path / str(n)))


SURVIVES: dict[str, Callable[[Path], bool]] = {
    "nothing unsynced": lambda folder: False,
    "everything": lambda folder: True,
    "the records": lambda folder: ".keepm" in folder.parts,
    "the notes": lambda folder: ".keepm" not in folder.parts,
    "the journal": lambda folder: folder.name == "journal",
    "one folder of notes": lambda folder: folder.parts[-2:] == ("Memory", "global"),
}


@pytest.mark.parametrize("survives", SURVIVES)
@pytest.mark.parametrize("fault", [Fault.CRASH_AFTER, Fault.TORN])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_power_cut_at_any_call_leaves_all_old_or_all_new(
    name: str, fault: Fault, survives: str
) -> None:
    """Without the folder syncs this fails: the disk forgets every name that was not synced."""
    scenario = SCENARIOS[name]
    for n in itertools.count(1):
        root, disk = support.memory_root()
        before = prepared(scenario, root)
        result = attempt(scenario, root, n, fault)
        disk.lose_power(SURVIVES[survives])
        check(scenario, root, before, result)
        if not result.hit:
            assert result.acknowledged
            return


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("delete to the trash", Fault.CRASH_AFTER),
        ("delete to the trash", Fault.EIO),
        *(
            pytest.param("promote into a target", fault, marks=pytest.mark.campaign)
            for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.TORN, Fault.EIO)
        ),
    ],
)
def test_a_fault_in_recovery_itself_is_recovered_from(name: str, fault: Fault) -> None:
    scenario = SCENARIOS[name]
    for first in itertools.count(1):
        root, _ = support.memory_root()
        prepared(scenario, root)
        if not attempt(scenario, root, first, Fault.CRASH_BEFORE).hit:
            return
        if not transaction.pending(root):
            continue
        for n in itertools.count(1):
            root, _ = support.memory_root()
            before = prepared(scenario, root)
            result = attempt(scenario, root, first, Fault.CRASH_BEFORE)
            disk = FaultyDisk(root.disk, fail_at=n, fault=fault)
            with contextlib.suppress(Crash, StorageFailed):
                transaction.recover(Root(root.paths, disk, root.writer_id))
            check(scenario, root, before, result)
            if not disk.hit:
                break
