"""A clock that is set back: the order of what happened stays, and what waits for a time comes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.errors import ConfirmationRequired
from keepm.operations import (
    memories,
    plans,
    quarantining,
    recording,
    retrieval,
    sync,
    undoing,
)
from keepm.operations.quarantining import QuarantineRequest
from keepm.operations.retrieval import Wanted
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Vault
from tests.operations.support import (
    AGENT,
    OWNER,
    FixedClock,
    Machine,
    claim,
    edit,
    events,
    look,
    proof,
)

BAD = replace(AGENT, client="bad")


def set_back(clock: FixedClock, days: int = 400) -> None:
    clock.forward(days=-days)


def undo_the_last(vault: Vault) -> None:
    plan = undoing.plan(vault, OWNER, UndoRequest())
    undoing.undo(vault, OWNER, UndoRequest(), digest=plan.digest)


def body(vault: Vault) -> str:
    return memories.read(vault, "build-command", max_chars=999).part.text


def test_the_last_change_is_the_last_one_made(
    vault: Vault, machine: Machine, clock: FixedClock
) -> None:
    memories.create(vault, AGENT, claim(body="First.\n"))
    set_back(clock)
    memories.update(
        vault, AGENT, "build-command", edit(body="Second.\n"), proof(vault, "build-command")
    )
    undo_the_last(vault)
    assert "First." in body(vault)
    undo_the_last(vault)  # the change before, and not the same one again
    assert events(vault)[-1].extra["undoes"] == events(vault)[0].transaction_id
    path = machine.put("Memory/projects/widgets/a.md", "---\nid: a\nname: a\n---\ntext\n")
    look(vault)
    set_back(clock)
    path.write_text("---\nid: a\nname: a\n---\ntext by hand\n")
    look(vault)
    while recording.record(vault):
        pass
    assert [each.time for each in events(vault)] == sorted(each.time for each in events(vault))


def test_what_was_withheld_last_is_withheld(vault: Vault, clock: FixedClock) -> None:
    memories.create(vault, BAD, claim("bad"))
    asked = QuarantineRequest(client="bad")

    def withhold() -> str:
        plan = quarantining.plan(vault, OWNER, asked)
        return quarantining.add(vault, OWNER, asked, digest=plan.digest).event.transaction_id

    first = withhold()
    clock.forward(days=1)
    plan = quarantining.plan_lift(vault, OWNER, first)
    quarantining.lift(vault, OWNER, first, digest=plan.digest)
    assert retrieval.search(vault, Wanted("bad")).total == 1

    set_back(clock)
    withhold()
    assert retrieval.search(vault, Wanted("bad")).total == 0


def test_checksums_are_compared_again_though_the_last_time_lies_ahead(
    vault: Vault, clock: FixedClock
) -> None:
    sync.reconcile(vault, deep=True)
    assert not sync.deep_due(vault)
    set_back(clock)
    assert sync.deep_due(vault)


def test_what_is_held_is_let_go_by_a_deep_pass_all_the_same(
    vault: Vault, machine: Machine, clock: FixedClock
) -> None:
    paths = [machine.put(f"Memory/global/n{n}.md", f"text {n}\n") for n in range(30)]
    look(vault)
    for path in paths:
        path.unlink()
    assert sync.reconcile(vault).held == 30
    set_back(clock)
    assert sync.reconcile(vault, deep=True).removed == 30


def test_a_plan_lives_no_longer_for_it(vault: Vault, clock: FixedClock) -> None:
    token = plans.keep(vault, "gc", {}, digest="d")
    set_back(clock)
    with pytest.raises(ConfirmationRequired):
        plans.read(vault, "gc", token)
