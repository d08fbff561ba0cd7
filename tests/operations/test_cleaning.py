"""gc: exactly what was shown, and nothing that anybody could need."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepm.errors import ConfirmationRequired, InvalidInput, NotFound, WrongState
from keepm.model.checksum import Checksum
from keepm.operations import cleaning, history, memories, recording, restoring, undoing
from keepm.operations.cleaning import CleanPlan, CleanRequest
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Vault
from keepm.store import history as objects
from tests.operations.support import AGENT, OWNER, Machine, claim, edit, events, look, proof


def request(vault: Vault, days: int = 30) -> CleanRequest:
    return CleanRequest(days, vault.now())


def cleaned(vault: Vault, days: int = 30) -> cleaning.Cleaned:
    asked = request(vault, days)
    return cleaning.clean(vault, OWNER, asked, digest=cleaning.plan(vault, OWNER, asked).digest)


def paths(plan: CleanPlan) -> list[str]:
    return [each.path for each in plan.files]


def deleted(vault: Vault, name: str = "build-command") -> None:
    memories.create(vault, AGENT, claim(name))
    memories.delete(vault, AGENT, name, proof(vault, name))


def test_old_trash_goes_and_young_trash_stays(machine: Machine, vault: Vault) -> None:
    """Fault 13: gc, of all changes, left no event."""
    deleted(vault)
    (old,) = restoring.listing(vault)
    machine.clock.forward(days=31)
    deleted(vault, "young")

    done = cleaned(vault)

    assert paths(done.plan) == [old.entry.path]
    assert [item.name for item in restoring.listing(vault)] == ["young"]
    event = events(vault)[-1]
    assert (event.operation, event.channel, event.extra["trash"]) == ("gc", "owner-cli", "1")
    assert event.changes[0].after is None
    look(vault)
    assert events(vault)[-1] == event


def test_the_folders_that_became_empty_go_and_no_others(machine: Machine, vault: Vault) -> None:
    deleted(vault)
    memories.create(vault, AGENT, claim("back"))
    memories.delete(vault, AGENT, "back", proof(vault, "back"))
    restoring.restore(vault, OWNER, "back")  # and leaves an empty folder
    trash = machine.root / "Memory/.trash"
    (trash / "somebody's").mkdir()
    theirs = next(trash.glob("*Z-*")) / "projects/widgets/sub"
    machine.clock.forward(days=31)
    deleted(vault, "young")
    (young,) = (item.entry.path for item in restoring.listing(vault) if item.name == "young")
    kept = trash / "20200101T000000Z-kept/global"
    kept.mkdir(parents=True)
    (kept / "theirs.txt").write_text("theirs")
    theirs.mkdir(parents=True)

    cleaned(vault)

    left = {path.relative_to(machine.root).as_posix() for path in trash.rglob("*")}
    assert young in left
    batches = {"/".join(path.split("/")[:3]) for path in left}
    assert batches == {
        "Memory/.trash/somebody's",
        "Memory/.trash/20200101T000000Z-kept",
        "/".join(young.split("/")[:3]),
    }


def test_exactly_thirty_days_stay(machine: Machine, vault: Vault) -> None:
    deleted(vault)
    machine.clock.forward(days=30)
    assert cleaning.plan(vault, OWNER, request(vault)).is_empty
    machine.clock.forward(seconds=1)
    assert not cleaning.plan(vault, OWNER, request(vault)).is_empty


def test_what_is_of_unknown_age_stays_and_is_counted(machine: Machine, vault: Vault) -> None:
    """Known fault 42's relatives, and the rule: only a trustworthy time counts."""
    machine.put("Memory/.trash/of-unknown-age.md", "x")
    machine.put("Memory/.trash/repair-backup/20200101T000000Z.md", "x")
    machine.put("Memory/.trash/old-20200101T000000Z.md", "KeepM 3 put it here")
    outside = machine.put("elsewhere.md", "theirs")
    link = machine.root / "Memory/.trash/link-20200101T000000Z.md"
    link.symlink_to(outside)

    done = cleaned(vault)

    assert paths(done.plan) == ["Memory/.trash/old-20200101T000000Z.md"]
    assert done.plan.unknown_age == 2
    assert link.is_symlink()
    assert outside.read_text() == "theirs"


def test_versions_that_the_ledger_names_stay_for_ever(machine: Machine, vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    memories.update(
        vault, AGENT, "build-command", edit(body="New.\n"), proof(vault, "build-command")
    )
    deleted(vault, "other")
    machine.clock.forward(days=4000)

    kept = {each.digest for each in objects.objects(vault.root)}
    cleaned(vault, 0)

    assert {each.digest for each in objects.objects(vault.root)} == kept
    assert len(history.history(vault, "build-command").versions) == 2


def test_a_version_that_nobody_names_goes(machine: Machine, vault: Vault) -> None:
    """A commit that was refused after it had kept its version leaves one."""
    machine.put("Memory/global/by-hand.md", "Seen.\n")
    memories.create(vault, AGENT, claim())
    orphan = objects.put(vault.root, b"of a change that never was")
    recording.keep_seen(vault)
    machine.clock.forward(days=4000)  # ahead of the files' own times

    done = cleaned(vault)

    assert paths(done.plan) == [f"Memory/.keepm/objects/{orphan.hex[:2]}/{orphan.hex}"]
    assert done.event.changes == ()
    with pytest.raises(NotFound):
        objects.get(vault.root, orphan)
    assert objects.get(vault.root, Checksum.of(b"Seen.\n")) == b"Seen.\n"


def test_the_unsynced_twin_of_a_version_goes(machine: Machine, vault: Vault) -> None:
    machine.put("Memory/global/by-hand.md", "Seen.\n")
    look(vault)
    recording.keep_seen(vault)
    objects.put(vault.root, b"Seen.\n")
    machine.clock.forward(days=4000)

    done = cleaned(vault)

    assert [path.endswith(".seen") for path in paths(done.plan)] == [True]
    assert objects.get(vault.root, Checksum.of(b"Seen.\n")) == b"Seen.\n"


def test_keep_days_lets_old_versions_go_but_never_a_present_one(
    machine: Machine, opened: object
) -> None:
    machine.configure({"history": {"keep_days": 100}})
    vault = machine.open(machine.folder / "work/widgets")
    assert vault.settings.history_keep_days == 100
    memories.create(vault, AGENT, claim("old"))
    memories.update(vault, AGENT, "old", edit(body="New.\n"), proof(vault, "old"))
    machine.clock.forward(days=4000)
    memories.create(vault, AGENT, claim("young"))
    memories.update(vault, AGENT, "young", edit(body="New.\n"), proof(vault, "young"))

    cleaned(vault)

    assert [v.operation for v in history.history(vault, "old").versions] == ["update", "create"]
    old, young = (history.history(vault, name).versions for name in ("old", "young"))
    for version in (old[0], *young):
        assert objects.get(vault.root, Checksum(version.digest))
    with pytest.raises(NotFound):
        objects.get(vault.root, Checksum(old[1].digest))
    with pytest.raises(NotFound):
        undoing.plan(vault, OWNER, UndoRequest("2"))
    vault.close()


def test_no_version_goes_while_the_ledger_lacks_its_end(machine: Machine, vault: Vault) -> None:
    """What a lost event named would look like nobody's."""
    memories.create(vault, AGENT, claim())
    chain = machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"
    backup = chain.read_bytes()
    memories.update(
        vault, AGENT, "build-command", edit(body="New.\n"), proof(vault, "build-command")
    )
    memories.update(
        vault, AGENT, "build-command", edit(body="Newer.\n"), proof(vault, "build-command")
    )
    chain.write_bytes(backup)
    machine.clock.forward(days=4000)

    plan = cleaning.plan(vault, OWNER, request(vault))
    assert plan.ledger_incomplete
    assert plan.is_empty


def test_a_plan_that_changed_is_not_carried_out(machine: Machine, vault: Vault) -> None:
    deleted(vault)
    machine.clock.forward(days=31)
    asked = request(vault)
    digest = cleaning.plan(vault, OWNER, asked).digest
    machine.put("Memory/.trash/old-20200101T000000Z.md", "x")
    before = machine.files()

    with pytest.raises(ConfirmationRequired):
        cleaning.clean(vault, OWNER, asked, digest=digest)
    assert machine.files() == before


def test_gc_can_not_be_undone(machine: Machine, vault: Vault) -> None:
    deleted(vault)
    machine.clock.forward(days=31)
    event = cleaned(vault).event

    with pytest.raises(WrongState):
        undoing.plan(vault, OWNER, UndoRequest(str(event.sequence)))
    with pytest.raises(WrongState):
        undoing.plan(vault, OWNER, UndoRequest("2"))


def test_another_project_s_trash_is_not_touched(machine: Machine, vault: Vault) -> None:
    deleted(vault)
    machine.clock.forward(days=31)
    gadgets = machine.open(machine.project("gadgets"))

    assert cleaning.plan(gadgets, OWNER, request(gadgets)).is_empty
    gadgets.close()


@pytest.mark.parametrize("days", [-1, 10**6])
def test_a_number_of_days_that_makes_no_sense_is_refused(days: int, vault: Vault) -> None:
    with pytest.raises(InvalidInput):
        cleaning.plan(vault, OWNER, request(vault, days))


def test_the_vault_is_as_it_was_but_for_what_went(machine: Machine, vault: Vault) -> None:
    memories.create(vault, AGENT, claim("kept"))
    deleted(vault)
    machine.clock.forward(days=31)
    before = machine.files()

    done = cleaned(vault)

    gone = set(before) - set(machine.files())
    assert gone == set(paths(done.plan))
    assert all(machine.files()[path] == data for path, data in before.items() if path not in gone)
    assert Path(machine.root / "Memory/projects/widgets/kept.md").exists()
