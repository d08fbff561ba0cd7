"""All short histories: each sequence of changes, dying after each durable step of each.

CrashMonkey's study found that most crash faults of file systems need at most three operations;
so all sequences of two run always, all of three under `-m campaign`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.operations import steps
from tests.operations.support import Machine
from tests.operations.world import Step, World

Kind = Callable[[World, int], Step | None]


def _propose(world: World, number: int) -> Step:
    return steps.propose(world, f"proposed-{number}")


def _promote(world: World, number: int) -> Step | None:
    waiting = world.of("proposal", status="pending")
    return steps.promote(world, waiting[0]) if waiting else None


def _update(world: World, number: int) -> Step | None:
    there = world.of("note", status="active")
    return steps.update(world, there[0], f"text {number}") if there else None


def _hand_edit(world: World, number: int) -> None:
    there = world.of("note", status="active")
    if there:
        world.edit_by_hand(there[0], f"text by hand {number}")


def _rename(world: World, number: int) -> Step | None:
    there = world.of("note", status="active")
    return steps.rename(world, there[0], f"renamed-{number}") if there else None


def _delete(world: World, number: int) -> Step | None:
    there = world.of("note", status="active")
    return steps.delete(world, there[0]) if there else None


KINDS: dict[str, Kind] = {
    "propose": _propose,
    "promote": _promote,
    "update": _update,
    "hand edit": _hand_edit,
    "rename": _rename,
    "delete": _delete,
    "undo": lambda world, number: steps.undo(world),
}
"""What histories are made of; a kind without a document to work on does nothing."""


def started(folder: Path) -> World:
    """Return a vault with one note and one pending proposal."""
    world = World(Machine(folder))
    world.take(steps.create(world, "first", body="text"))
    world.take(steps.propose(world, "waiting"))
    return world


def play(world: World, history: Sequence[str], *, every: int) -> int:
    """Play a history from here as often as it has durable steps, dying after each n-th of them.

    By turns the process dies and the machine does. Returns how often it died.
    """
    deaths = 0
    begun = world.save()
    for dies_in in range(len(history)):
        before = begun
        for number, name in enumerate(history[:dies_in]):
            _take(world, name, number)
        if dies_in:
            before = world.save()
        # Another start each time: over all histories every durable step has its turn.
        for dies_at in itertools.count(1 + sum(map(ord, "".join(history))) % every, every):
            world.restore(before)
            died = _take(world, history[dies_in], dies_in, dies_at, power_cut=dies_at % 2 == 0)
            deaths += died
            for number in range(dies_in + 1, len(history)):
                _take(world, history[number], number)
            world.check_recall()
            world.check_index()
            if not died:
                break
        world.restore(begun)
    return deaths


def _take(
    world: World, name: str, number: int, dies_at: int | None = None, *, power_cut: bool = False
) -> bool:
    step = KINDS[name](world, number)
    return step is not None and world.take(step, dies_at=dies_at, power_cut=power_cut)


@pytest.mark.parametrize("every", [30, pytest.param(1, marks=pytest.mark.campaign)])
def test_every_sequence_of_two_survives_deaths_at_its_durable_steps(
    tmp_path: Path, every: int
) -> None:
    world = started(tmp_path)
    deaths = sum(play(world, history, every=every) for history in itertools.product(KINDS, KINDS))
    assert deaths * every > 800
    world.close()


@pytest.mark.campaign
@pytest.mark.parametrize("first", KINDS)
def test_every_sequence_of_three_survives_a_death_at_each_durable_step(
    first: str, tmp_path: Path
) -> None:
    world = started(tmp_path)
    for rest in itertools.product(KINDS, repeat=2):
        play(world, (first, *rest), every=1)
    world.close()
