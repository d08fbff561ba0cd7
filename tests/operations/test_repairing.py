"""An interrupted change met another program's version: the owner decides, and nothing is lost."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.errors import ConfirmationRequired, KeepMError, NotFound, RecoveryBlocked, WrongState
from keepm.index.versions import channel_of
from keepm.model.checksum import Checksum
from keepm.operations import (
    inbox,
    memories,
    promotion,
    recording,
    repairing,
    restoring,
    status,
    sync,
)
from keepm.operations.inbox import Suggestion
from keepm.operations.promotion import Target
from keepm.operations.repairing import Keep
from keepm.operations.vault import Vault
from keepm.store import transaction
from keepm.store.event import canonical
from keepm.tokens import WriteProof
from tests.fakes.faulty_disk import Crash, Fault, FaultyDisk
from tests.operations.support import AGENT, OWNER, Machine, claim, edit, events, look, proof

NOTE = "Memory/projects/widgets/build-command.md"
STRANGER = b"A stranger's version.\n"
Open = Callable[[Path | None], Vault]


def interrupted(vault: Vault, act: Callable[[Vault], object]) -> str:
    """Die right behind the commit point of a change; return the transaction's id."""
    for n in range(1, 500):
        disk = FaultyDisk(vault.root.disk, fail_at=n, fault=Fault.CRASH_BEFORE)
        broken = dataclasses.replace(vault, root=dataclasses.replace(vault.root, disk=disk))
        try:
            act(broken)
        except Crash:
            waiting = transaction.pending(vault.root)
            if waiting:
                return waiting[0]
            continue
        raise AssertionError("it was never between commit point and end")
    raise AssertionError("too many calls")


def update(vault: Vault) -> object:
    return memories.update(
        vault, AGENT, "build-command", edit(body="Mine.\n"), proof(vault, "build-command")
    )


def rename(vault: Vault) -> object:
    return memories.update(
        vault, AGENT, "build-command", edit(name="renamed"), proof(vault, "build-command")
    )


def delete(vault: Vault) -> object:
    return memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))


def create(vault: Vault) -> object:
    return memories.create(vault, AGENT, claim("second"))


def promote_into(vault: Vault) -> object:
    found = inbox.read(vault, "idea", max_chars=9999)
    assert found.token
    target = Target("build-command", proof(vault, "build-command"))
    taken = WriteProof(found.token, found.document.checksum)
    return promotion.promote(vault, AGENT, "idea", taken, target=target)


SECOND = "Memory/projects/widgets/second.md"
RENAMED = "Memory/projects/widgets/renamed.md"
CASES = {
    "update": (update, NOTE),
    "rename, the source changed": (rename, NOTE),
    "rename, the target taken": (rename, RENAMED),
    "delete, the source changed": (delete, NOTE),
    "create, the target taken": (create, SECOND),
    "promote into, the target changed": (promote_into, NOTE),
}


@pytest.fixture
def filled(vault: Vault) -> Vault:
    memories.create(vault, AGENT, claim())
    inbox.propose(vault, AGENT, Suggestion(claim("idea", body="Mine.\n"), reason="seen"))
    return vault


def blocked(name: str, machine: Machine, vault: Vault) -> str:
    act, path = CASES[name]
    waiting = interrupted(vault, act)
    machine.put(path, STRANGER)
    return waiting


def documents(machine: Machine) -> dict[str, bytes]:
    return {p: d for p, d in machine.files().items() if "/.trash/" not in p}


def decide(vault: Vault, waiting: str, keep: Keep) -> repairing.Repaired:
    plan = repairing.plan(vault, OWNER, waiting, keep)
    return repairing.repair(vault, OWNER, waiting, keep, digest=plan.digest)


@pytest.mark.parametrize("name", CASES)
def test_mine_finishes_the_change_and_keeps_the_stranger_s_version(
    name: str, machine: Machine, filled: Vault
) -> None:
    waiting = blocked(name, machine, filled)
    (listed,) = repairing.blocked(filled, OWNER)
    assert (listed.transaction_id, listed.reason) == (waiting, "stranger")
    assert CASES[name][1] in listed.paths

    done = decide(filled, waiting[:8], Keep.MINE)

    assert repairing.blocked(filled, OWNER) == ()
    assert status.status(filled).recovery_pending is None
    assert waiting in [event.transaction_id for event in events(filled)]
    assert done.event.operation == "repair"
    assert done.event.extra == {"keep": "mine", "resolves": waiting, "terminal": "tty"}
    assert STRANGER not in documents(machine).values()
    (trashed,) = [p for p, d in machine.files().items() if d == STRANGER]
    assert trashed in [each.entry.path for each in restoring.listing(filled)]
    recording.record(filled)
    assert not [path for path in machine.files() if "/.keepm-" in path]


def test_a_repair_vouches_for_nothing(machine: Machine, filled: Vault) -> None:
    """Neither for the version that it puts back on the way, nor for the one it puts aside."""
    before = (machine.root / NOTE).read_bytes()
    decide(filled, blocked("update", machine, filled), Keep.MINE)
    for data, channel in ((before, "relayed"), (STRANGER, "owner-edit")):
        machine.put(NOTE, data)
        look(filled)
        assert channel_of(filled.database, Checksum.of(data).hex) == channel


@pytest.mark.parametrize("name", CASES)
def test_theirs_takes_the_change_back_and_leaves_the_stranger_s_version(
    name: str, machine: Machine, filled: Vault
) -> None:
    before = documents(machine)
    waiting = blocked(name, machine, filled)

    done = decide(filled, waiting, Keep.THEIRS)

    assert done.event.extra == {"keep": "theirs", "resolves": waiting, "terminal": "tty"}
    assert repairing.blocked(filled, OWNER) == ()
    assert waiting not in [event.transaction_id for event in events(filled)]
    assert documents(machine) == {**before, CASES[name][1]: STRANGER}
    assert list((machine.root / "Memory/.keepm/journal").iterdir()) == []


def test_until_then_the_file_can_not_be_changed(machine: Machine, filled: Vault) -> None:
    note_id = memories.read(filled, "build-command", max_chars=9).document.content.id
    waiting = blocked("rename, the source changed", machine, filled)
    head = f"---\nid: {note_id}\nname: build-command\ndescription: d\n---\n"
    machine.put(NOTE, head.encode() + STRANGER)
    with pytest.raises(KeepMError):
        update(filled)
    assert waiting in (status.status(filled).recovery_pending or [])
    create(filled)


def test_the_plan_shows_what_becomes_of_the_files(machine: Machine, filled: Vault) -> None:
    waiting = blocked("update", machine, filled)
    before = machine.files()

    plan = repairing.plan(filled, OWNER, waiting, Keep.MINE)

    aside, change = plan.changes
    assert (aside.path, aside.becomes) == (NOTE, "to the trash")
    assert (change.path, change.becomes) == (NOTE, "another version")
    assert "-A stranger's version." in change.diff
    assert "+Mine." in change.diff
    assert machine.files() == before


@pytest.mark.parametrize("keep", Keep)
@pytest.mark.parametrize("name", CASES)
def test_what_the_plan_shows_is_what_is_there_in_the_end(
    name: str, keep: Keep, machine: Machine, filled: Vault
) -> None:
    """Not how the way is cleared for it: the note's earlier text was shown as what it becomes."""
    waiting = blocked(name, machine, filled)
    before = machine.files()
    plan = repairing.plan(filled, OWNER, waiting, keep)

    done = decide(filled, waiting, keep)

    assert [each.diff for each in done.plan.changes] == [each.diff for each in plan.changes]
    after = machine.files()
    for each in done.plan.changes:
        now = after[each.to or each.path].decode()
        shown = each.diff.splitlines()[2:]
        assert [line[1:] for line in shown if line[0] == "+" and line[1:] not in now] == []
        if not each.diff:
            assert now == before[each.path].decode()
    named = {path for each in done.plan.changes for path in (each.path, each.to) if path}
    moved = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert {path for path in moved if "/.keepm-" not in path} <= named


def test_a_plan_that_changed_is_not_carried_out(machine: Machine, filled: Vault) -> None:
    waiting = blocked("update", machine, filled)
    plan = repairing.plan(filled, OWNER, waiting, Keep.MINE)
    machine.put(NOTE, "Yet another version.\n")

    with pytest.raises(ConfirmationRequired):
        repairing.repair(filled, OWNER, waiting, Keep.MINE, digest=plan.digest)
    assert (machine.root / NOTE).read_text() == "Yet another version.\n"


def test_a_record_nobody_can_read_can_only_be_taken_away(machine: Machine, filled: Vault) -> None:
    """Known fault 17: a torn journal makes every start dirty, and nothing clears it."""
    machine.put("Memory/.keepm/journal/torn-1.json", b'{"format":1')
    (listed,) = repairing.blocked(filled, OWNER)
    assert (listed.reason, listed.operation) == ("unreadable", None)

    with pytest.raises(WrongState):
        repairing.plan(filled, OWNER, "torn-1", Keep.MINE)
    decide(filled, "torn-1", Keep.THEIRS)
    assert status.status(filled).recovery_pending is None


@pytest.mark.parametrize(
    "make",
    [lambda place: place.symlink_to("/etc/hostname"), Path.mkdir, os.mkfifo],
    ids=["symlink", "folder", "pipe"],
)
def test_what_is_no_record_in_the_journal_stops_nothing(
    make: Callable[[Path], object], machine: Machine, filled: Vault
) -> None:
    """Doctor, status and every change ended at it."""
    place = machine.root / "Memory/.keepm/journal/odd.json"
    make(place)

    memories.create(filled, AGENT, claim("another"))
    assert status.status(filled).recovery_pending == ["odd"]
    (listed,) = repairing.blocked(filled, OWNER)
    assert (listed.transaction_id, listed.reason) == ("odd", "unreadable")
    with pytest.raises(WrongState, match=r"odd\.json is no file"):
        decide(filled, "odd", Keep.THEIRS)
    assert os.path.lexists(place)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"path": 5},
        {"path": "../x.md"},
        {"path": "/etc/x.md"},
        {"path": "notes/x.md"},
        {"to": 7},
        {"to": "Memory/../x.md"},
        {"after": ["x"]},
    ],
    ids=str,
)
def test_a_record_that_no_keepm_wrote_stops_nothing(
    spoilt: dict[str, object], machine: Machine, filled: Vault
) -> None:
    """Its checksum is right, so it is not torn: every command ended at it."""
    place = machine.root / "Memory/.keepm/journal/odd.json"
    file = {"path": "Memory/global/x.md", "to": None, "before": None, "after": "0" * 64}
    record: dict[str, object] = {
        "format": 1,
        "id": "odd",
        "writer": filled.root.writer_id,
        "files": [{**file, **spoilt}],
        "event": events(filled)[-1].as_record(),
    }
    checksum = hashlib.sha256(canonical(record)).hexdigest()
    place.write_bytes(canonical({**record, "checksum": checksum}))

    memories.create(filled, AGENT, claim("another"))
    (listed,) = repairing.blocked(filled, OWNER)
    assert (listed.transaction_id, listed.reason) == ("odd", "unreadable")
    decide(filled, "odd", Keep.THEIRS)
    assert status.status(filled).recovery_pending is None


def test_another_machine_s_record_is_left_to_it(machine: Machine, filled: Vault) -> None:
    waiting = blocked("update", machine, filled)
    other = dataclasses.replace(
        filled, root=dataclasses.replace(filled.root, writer_id="another-machine")
    )

    with pytest.raises(WrongState):
        repairing.plan(other, OWNER, waiting, Keep.THEIRS)


@pytest.mark.parametrize("name", ["", "zzz", "../x"])
def test_what_does_not_wait_is_not_found(name: str, machine: Machine, filled: Vault) -> None:
    blocked("update", machine, filled)
    with pytest.raises(NotFound):
        repairing.plan(filled, OWNER, name, Keep.MINE)


def test_another_project_s_transaction_is_not_shown(
    machine: Machine, filled: Vault, opened: Open
) -> None:
    waiting = blocked("update", machine, filled)
    gadgets = opened(machine.project("gadgets"))

    assert repairing.blocked(gadgets, OWNER) == ()
    with pytest.raises(NotFound):
        repairing.plan(gadgets, OWNER, waiting, Keep.MINE)


def test_a_repair_is_final(machine: Machine, filled: Vault) -> None:
    from keepm.operations import undoing
    from keepm.operations.undoing import UndoRequest

    waiting = blocked("update", machine, filled)
    done = decide(filled, waiting, Keep.THEIRS)

    with pytest.raises(WrongState):
        undoing.plan(filled, OWNER, UndoRequest(done.event.transaction_id))


def test_the_stranger_s_version_is_on_record_afterwards(machine: Machine, filled: Vault) -> None:
    waiting = blocked("update", machine, filled)
    decide(filled, waiting, Keep.THEIRS)
    sync.reconcile(filled)
    recording.record(filled)

    edits = [event for event in events(filled) if event.operation == "external-edit"]
    assert [event.changes[0].after for event in edits] == [Checksum.of(STRANGER).hex]


def test_a_blocked_file_is_named_to_whoever_would_change_it(
    machine: Machine, filled: Vault
) -> None:
    waiting = blocked("create, the target taken", machine, filled)
    machine.put(SECOND, (machine.root / NOTE).read_bytes().replace(b"build-command", b"second"))
    sync.reconcile(filled)

    with pytest.raises(RecoveryBlocked):
        memories.delete(filled, AGENT, "second", proof(filled, "second"))
    assert waiting in (status.status(filled).recovery_pending or [])
