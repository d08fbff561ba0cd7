"""An emptied or unmounted vault isn't one whose notes were all deleted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.errors import RootUnavailable
from keepm.operations import diagnosis, memories, recording, resyncing, retrieval, status, sync
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, FixedClock, Machine, Opening, claim, events, look

HERE = "Memory/projects/widgets"
TOLD = 30


@pytest.fixture
def filled(vault: Vault, machine: Machine) -> Vault:
    """A vault with thirty notes that people wrote and one that KeepM did."""
    memories.create(vault, AGENT, claim("first"))
    for number in range(TOLD):
        machine.put(f"{HERE}/n{number}.md", f"---\nid: n-{number}\nname: n{number}\n---\ntext\n")
    look(vault)
    while recording.record(vault):
        pass
    return vault


def found(vault: Vault) -> int:
    return retrieval.search(vault, Wanted("text")).total


def empty_root(machine: Machine) -> Callable[[], object]:
    """Empty the vault's folder, as an unmounted disk does; return how it comes back."""
    away = machine.folder / "away"
    shutil.move(machine.root, away)
    (machine.root / "Memory").mkdir(parents=True)

    def back() -> None:
        shutil.rmtree(machine.root)
        shutil.move(away, machine.root)

    return back


def no_root(machine: Machine) -> Callable[[], object]:
    away = machine.folder / "away"
    machine.root.rename(away)
    return lambda: away.rename(machine.root)


@pytest.mark.parametrize("vanish", [no_root, empty_root])
def test_a_vault_out_of_sight_keeps_its_index_and_its_record(
    filled: Vault, machine: Machine, vanish: Callable[[Machine], Callable[[], object]]
) -> None:
    """Case 38, steps 1, 2 and 4, and fault 5."""
    known = len(events(filled))
    back = vanish(machine)
    for deep in (False, True):
        with pytest.raises(RootUnavailable):
            sync.reconcile(filled, deep=deep)
    answer = retrieval.search(filled, Wanted("text"))
    assert (answer.total, answer.index_state) == (TOLD + 1, "root_unavailable")
    told = status.status(filled)
    assert (told.index_state, told.stale_since) == ("root_unavailable", filled.now())
    assert told.health.state == "degraded"
    with pytest.raises(RootUnavailable):
        memories.create(filled, AGENT, claim("another"))
    assert not recording.record(filled) or len(events(filled)) == 0

    back()
    look(filled)
    assert found(filled) == TOLD + 1
    assert status.status(filled).index_state == "current"
    assert len(events(filled)) == known
    assert memories.read(filled, "first", max_chars=99).approved_via == "relayed"


def memory_elsewhere(machine: Machine) -> Callable[[], object]:
    """Put a symlink in the place of the vault's own folder."""
    away = machine.folder / "away"
    (machine.root / "Memory").rename(away)
    (machine.root / "Memory").symlink_to(away)

    def back() -> None:
        (machine.root / "Memory").unlink()
        away.rename(machine.root / "Memory")

    return back


def root_in_a_loop(machine: Machine) -> Callable[[], object]:
    away = machine.folder / "away"
    machine.root.rename(away)
    machine.root.symlink_to(machine.root)

    def back() -> None:
        machine.root.unlink()
        away.rename(machine.root)

    return back


def root_a_file(machine: Machine) -> Callable[[], object]:
    back = root_in_a_loop(machine)
    machine.root.unlink()
    machine.root.write_text("no folder")
    return back


def records_elsewhere(machine: Machine) -> Callable[[], object]:
    place, away = machine.root / "Memory/.keepm", machine.folder / "away"
    place.rename(away)
    place.symlink_to(away)

    def back() -> None:
        place.unlink()
        away.rename(place)

    return back


@pytest.mark.parametrize(
    "vanish", [memory_elsewhere, root_in_a_loop, root_a_file, records_elsewhere]
)
def test_answers_go_on_whatever_stands_in_the_vaults_place(
    filled: Vault, machine: Machine, vanish: Callable[[Machine], Callable[[], object]]
) -> None:
    back = vanish(machine)
    for _ in range(2):
        filled.progress.ended = None  # a look is due
        answer = retrieval.search(filled, Wanted("text"))
        assert (answer.total, answer.index_state) == (TOLD + 1, "root_unavailable")
    with pytest.raises(RootUnavailable):
        memories.create(filled, AGENT, claim("another"))

    back()
    look(filled)
    assert status.status(filled).index_state == "current"
    assert found(filled) == TOLD + 1


def test_a_root_that_is_led_to_another_vault_mixes_nothing(
    filled: Vault, machine: Machine, tmp_path: Path
) -> None:
    """A symlink in the root's place, while a server runs: two vaults, one index and writer."""
    other = tmp_path / "other"
    shutil.copytree(machine.root, other)
    (other / HERE / "n1.md").write_text("---\nid: n-1\nname: n1\n---\nof the other vault\n")
    (other / HERE / "n2.md").unlink()
    others = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    machine.put(f"{HERE}/n1.md", "---\nid: n-1\nname: n1\n---\ntext by hand\n")
    sync.reconcile(filled)
    away = machine.folder / "away"
    machine.root.rename(away)
    machine.root.symlink_to(other)

    recording.record_all(filled)  # begun before, say
    answer = retrieval.search(filled, Wanted("other vault"))
    assert answer.total == 0
    with pytest.raises(RootUnavailable, match="another folder"):
        memories.read(filled, "n1", max_chars=99)
    filled.progress.ended = None
    assert retrieval.search(filled, Wanted("text")).index_state == "root_unavailable"
    for act in (
        lambda: memories.read(filled, "n1", max_chars=99),
        lambda: memories.create(filled, AGENT, claim("another")),
        lambda: diagnosis.examine(filled, AGENT),
        lambda: sync.reconcile(filled, deep=True),
        lambda: resyncing.full(filled),
    ):
        with pytest.raises(RootUnavailable, match="another folder"):
            act()
    assert others == {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}

    machine.root.unlink()
    away.rename(machine.root)
    look(filled)
    assert found(filled) == TOLD + 1
    assert memories.read(filled, "first", max_chars=99).approved_via == "relayed"


def delete_most(machine: Machine) -> dict[Path, bytes]:
    gone = {path: path.read_bytes() for path in (machine.root / HERE).glob("n*.md")}
    for path in gone:
        path.unlink()
    return gone


def test_many_notes_missing_at_once_are_held_and_come_back(filled: Vault, machine: Machine) -> None:
    """Case 38, step 3."""
    known = len(events(filled))
    gone = delete_most(machine)
    first = sync.reconcile(filled)
    assert (first.removed, first.held) == (0, TOLD)
    answer = retrieval.search(filled, Wanted("text"))
    assert (answer.total, answer.index_state) == (TOLD + 1, "deletions_held")
    told = status.status(filled)
    assert (told.deletions_held, told.health.state) == (TOLD, "degraded")
    assert sync.reconcile(filled, deep=True).held == TOLD  # the same look can't confirm itself
    recording.record(filled)
    assert len(events(filled)) == known

    for path, data in gone.items():
        path.write_bytes(data)
    assert sync.reconcile(filled).held == 0
    recording.record(filled)
    assert len(events(filled)) == known
    assert status.status(filled).deletions_held is None


def test_a_later_deep_pass_that_agrees_lets_them_go(
    filled: Vault, machine: Machine, clock: FixedClock
) -> None:
    delete_most(machine)
    look(filled)
    clock.forward(seconds=3600)
    assert sync.reconcile(filled).held == TOLD  # a quick look never does
    assert sync.reconcile(filled, deep=True).removed == TOLD
    assert found(filled) == 1
    while recording.record(filled):
        pass
    assert sum(event.operation == "external-edit" for event in events(filled)) >= TOLD
    assert status.status(filled).health.state == "ok"


def test_the_owner_may_say_that_they_are_deleted(filled: Vault, machine: Machine) -> None:
    delete_most(machine)
    look(filled)
    done = resyncing.full(filled)
    assert (done.rebuilt, done.found.held, done.state) == (True, 0, "current")
    assert found(filled) == 1


def test_what_is_held_survives_the_process(
    filled: Vault, machine: Machine, opened: Opening
) -> None:
    delete_most(machine)
    look(filled)
    filled.close()
    again = opened(machine.folder / "work/widgets")
    assert sync.reconcile(again).held == TOLD
    assert found(again) == TOLD + 1


def test_a_moved_folder_is_no_loss(filled: Vault, machine: Machine) -> None:
    (machine.root / HERE / "sorted").mkdir()
    for path in (machine.root / HERE).glob("n*.md"):
        path.rename(path.parent / "sorted" / path.name)
    assert sync.reconcile(filled).held == 0
    assert found(filled) == TOLD + 1


def test_few_notes_are_let_go_at_once(filled: Vault, machine: Machine) -> None:
    for path in sorted((machine.root / HERE).glob("n*.md"))[:9]:
        path.unlink()
    assert sync.reconcile(filled).removed == 9


def test_a_person_may_delete_the_last_note(vault: Vault, machine: Machine) -> None:
    """KeepM's own records are still there: the folder isn't an unmounted one."""
    made = memories.create(vault, AGENT, claim())
    (machine.root / made.document.path).unlink()
    assert sync.reconcile(vault).removed == 1
    recording.record(vault)
    assert [event.operation for event in events(vault)] == ["create", "external-edit"]


def test_a_hit_whose_file_is_gone_asks_for_a_look_at_all_files(
    filled: Vault, machine: Machine
) -> None:
    """One missing file may be one of many: a search mustn't let them go one by one."""
    known = len(events(filled))
    delete_most(machine)
    for _ in range(3):
        assert found(filled) == TOLD + 1
    recording.record(filled)
    assert len(events(filled)) == known
