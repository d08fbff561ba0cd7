"""A ledger that lost its end is found, and only the owner's word makes it good."""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from keepm.errors import StorageFailed, WrongState
from keepm.operations import anchoring, auditing, memories, status
from keepm.operations.vault import Vault
from keepm.store import ledger
from keepm.store.disk import OSDisk, nothing
from tests.operations.support import AGENT, OWNER, Machine, claim, events


def chain(machine: Machine, vault: Vault) -> Path:
    return machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"


def codes(vault: Vault) -> list[str]:
    return [problem.code for problem in auditing.verify(vault).problems]


def create(vault: Vault, *names: str) -> None:
    for name in names:
        memories.create(vault, AGENT, claim(name))


def test_every_commit_moves_the_anchor_on(vault: Vault) -> None:
    create(vault, "a", "b")

    assert anchoring.anchors(vault)[vault.root.writer_id].hash == events(vault)[-1].hash
    assert anchoring.lost(vault) == []
    assert codes(vault) == []
    assert status.status(vault).ledger_last_known is None


def test_a_cut_end_is_found_and_stays_found_while_work_goes_on(
    machine: Machine, vault: Vault
) -> None:
    create(vault, "a")
    backup = chain(machine, vault).read_bytes()
    create(vault, "b", "c")
    last = events(vault)[-1]
    chain(machine, vault).write_bytes(backup)

    assert codes(vault) == ["cut"]
    found = status.status(vault)
    assert found.health.state == "degraded"
    assert found.ledger_last_known
    assert found.ledger_last_known.hash == last.hash
    create(vault, "d", "e", "f")
    assert codes(vault) == ["rewritten"]
    assert status.status(vault).ledger_last_known


def test_accepting_is_an_event_and_makes_it_good(machine: Machine, vault: Vault) -> None:
    create(vault, "a")
    backup = chain(machine, vault).read_bytes()
    create(vault, "b")
    lost = events(vault)[-1]
    chain(machine, vault).write_bytes(backup)

    done = auditing.accept(vault, OWNER)

    assert (done.event.operation, done.event.channel) == ("ledger_accept", "owner-cli")
    assert lost.hash in done.event.extra["known"]
    assert events(vault)[-1] == done.event
    assert codes(vault) == []
    assert status.status(vault).ledger_last_known is None
    create(vault, "c")
    assert codes(vault) == []
    with pytest.raises(WrongState):
        auditing.accept(vault, OWNER)


def test_a_ledger_that_is_gone_is_found_and_accepted(machine: Machine, vault: Vault) -> None:
    create(vault, "a")
    chain(machine, vault).unlink()
    assert codes(vault) == ["cut"]

    auditing.accept(vault, OWNER)
    assert codes(vault) == []


def test_another_machine_s_ledger_is_anchored_too(machine: Machine, vault: Vault) -> None:
    other = machine.beside()
    there = other.open(other.folder / "work/widgets")
    create(there, "a")
    there.close()
    create(vault, "b")
    (their,) = [w for w in anchoring.anchors(vault) if w != vault.root.writer_id]
    (machine.root / f"Memory/.keepm/ledger/{their}.jsonl").unlink()

    assert codes(vault) == ["cut"]
    auditing.accept(vault, OWNER)
    assert codes(vault) == []


def test_a_damaged_anchor_file_raises_no_alarm(machine: Machine, vault: Vault) -> None:
    create(vault, "a")
    (path,) = (machine.folder / "data/anchors").iterdir()
    for text in ("", "{}", '{"format": 1, "heads": 3}', '{"format": 1, "heads": {"a": {"b": 1}}}'):
        path.write_text(text)
        assert anchoring.anchors(vault) == {}
        assert codes(vault) == []
    create(vault, "b")
    assert len(anchoring.anchors(vault)) == 1


def test_events_are_found_by_what_they_say(machine: Machine, vault: Vault) -> None:
    create(vault, "a")
    machine.clock.forward(days=1)
    create(vault, "b")
    newest, oldest = auditing.events(vault, auditing.Wanted())

    def sequences(**wanted: str) -> list[int]:
        return [each.event.sequence for each in auditing.events(vault, auditing.Wanted(**wanted))]

    assert (newest.event.sequence, oldest.event.sequence) == (2, 1)
    assert sequences(since="2026-11-30T00:00:00Z") == [2]
    assert sequences(object_id=oldest.event.object_id[:8]) == [1]
    assert sequences(client="tester") == [2, 1]
    assert sequences(client="nobody") == []
    assert sequences(session="s") == []


def test_another_project_s_events_are_not_shown(machine: Machine, vault: Vault) -> None:
    create(vault, "a")
    gadgets = machine.open(machine.project("gadgets"))

    assert auditing.events(gadgets, auditing.Wanted()) == []
    gadgets.close()


def test_an_anchor_never_runs_ahead_of_what_is_durable(vault: Vault) -> None:
    """The index takes a change up before it is synced; what is kept outside the vault waits."""
    memories.create(vault, AGENT, claim("first"))
    known = anchoring.anchors(vault)

    class Failing(OSDisk):
        def sync_all(
            self,
            paths: Sequence[Path],
            meanwhile: Callable[[], None] = nothing,
            then: Callable[[], None] = nothing,
        ) -> None:
            fails = any(path.suffix == ".jsonl" for path in paths)
            super().sync_all(paths, meanwhile, nothing if fails else then)
            if fails:
                raise OSError(errno.EIO, "the ledger can't be synced")

    broken = dataclasses.replace(vault, root=dataclasses.replace(vault.root, disk=Failing()))
    with pytest.raises(StorageFailed) as refused:
        memories.create(broken, AGENT, claim("second"))
    assert refused.value.details["committed"]
    assert anchoring.anchors(vault) == known

    memories.create(vault, AGENT, claim("third"))
    assert [event.sequence for event in ledger.read_all(vault.root)] == [1, 2, 3]
    (head,) = anchoring.anchors(vault).values()
    assert head == ledger.head(vault.root)
