"""Every kind of change, through the operations, with every fault at every call of the disk."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.model.resolution import LoserAction
from tests.fakes.faulty_disk import Fault, FaultyDisk
from tests.operations import steps
from tests.operations.support import Machine
from tests.operations.world import Saved, Step, World

FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.TORN, Fault.ENOSPC, Fault.EIO)


def _named(world: World, name: str) -> str:
    """Return the id of the document with this name."""
    (found,) = [i for i, state in world.snapshot().items() if state[1] == name]
    return found


KINDS: dict[str, Callable[[World], Step]] = {
    "create": lambda w: steps.create(w, "fresh"),
    "create in place of": lambda w: steps.create(w, "fresh", supersedes=_named(w, "one")),
    "update": lambda w: steps.update(w, _named(w, "one"), "text anew"),
    "rename": lambda w: steps.rename(w, _named(w, "one"), "renamed"),
    "move": lambda w: steps.move(w, _named(w, "one")),
    "delete": lambda w: steps.delete(w, _named(w, "one")),
    "supersede": lambda w: _resolve(w, LoserAction.SUPERSEDE),
    "resolve by archiving": lambda w: _resolve(w, LoserAction.ARCHIVE),
    "resolve by deleting": lambda w: _resolve(w, LoserAction.DELETE),
    "propose": lambda w: steps.propose(w, "suggested"),
    "inbox_update": lambda w: steps.inbox_update(w, _named(w, "waiting"), "text anew"),
    "promote": lambda w: steps.promote(w, _named(w, "waiting")),
    "promote into": lambda w: steps.promote(w, _named(w, "waiting"), into=_named(w, "one")),
    "reject": lambda w: steps.reject(w, _named(w, "waiting")),
    "prune": steps.prune,
    "handoff_create": lambda w: steps.handoff_create(w, "another task"),
    "handoff_update": lambda w: steps.handoff_update(w, _named(w, "task"), "other goal"),
    "handoff_complete": lambda w: steps.handoff_complete(w, _named(w, "task")),
}


def _resolve(world: World, action: LoserAction) -> Step:
    return steps.resolve(world, _named(world, "one"), _named(world, "two"), action)


def started(folder: Path) -> World:
    """Return a vault with two notes, proposals of two states, and a handoff."""
    world = World(Machine(folder))
    for name in ("one", "two"):
        world.take(steps.create(world, name))
    for name in ("waiting", "refused"):
        world.take(steps.propose(world, name))
    world.take(steps.reject(world, _named(world, "refused")))
    world.take(steps.handoff_create(world, "task"))
    return world


def sweep(world: World, saved: Saved, kind: str, *, every: int) -> int:
    """Return how often a fault happened."""
    happened = 0
    for offset, fault in enumerate(FAULTS):
        for n in itertools.count(1 + (offset + len(kind)) % every, every):
            world.restore(saved)
            step = KINDS[kind](world)
            hit = world.take_on(FaultyDisk(world.disk, fail_at=n, fault=fault), step)
            world.check_recall()
            if not hit:
                break
            happened += 1
    return happened


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.campaign)])
def test_any_fault_at_any_call_of_any_change_leaves_all_old_or_all_new(
    tmp_path: Path, every: int
) -> None:
    world = started(tmp_path)
    saved = world.save()
    happened = [sweep(world, saved, kind, every=every) for kind in KINDS]
    assert min(happened) * every > 5 * 12
    world.check_index()
    world.close()
