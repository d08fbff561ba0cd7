"""Pruning the Inbox: a preview, then exactly that."""

from __future__ import annotations

import pytest

from keepm.errors import ConfirmationRequired, InvalidInput
from keepm.operations import inbox, pruning, waiting
from keepm.operations.inbox import ProposalWritten, Suggestion
from keepm.operations.vault import Vault
from keepm.operations.waiting import InboxFilter
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, FixedClock, Machine, claim, events


def rejected(vault: Vault, slot: str) -> ProposalWritten:
    made = inbox.propose(vault, AGENT, Suggestion(claim(slot), reason="seen"))
    return inbox.reject(vault, AGENT, slot, WriteProof(made.token, made.document.checksum))


def test_a_prune_moves_just_what_it_showed(
    vault: Vault, machine: Machine, clock: FixedClock
) -> None:
    """Fault 42: the Inbox's archive had no clean-up at all."""
    old = rejected(vault, "old")
    clock.forward(days=31)
    young = rejected(vault, "young")
    pending = inbox.propose(vault, AGENT, Suggestion(claim("pending"), reason="seen"))
    clock.forward(days=29)
    before = machine.files()

    plan = pruning.plan_prune(vault, older_than_days=30)
    assert [row.name for row in plan.candidates] == ["old"]
    assert machine.files() == before
    done = pruning.prune(vault, AGENT, older_than_days=30, token=plan.token)

    assert done.moved == plan.candidates
    (trashed,) = set(machine.files()) - {young.document.path, pending.document.path}
    assert trashed.startswith("Memory/.trash/")
    assert trashed.endswith(old.document.path.removeprefix("Memory/"))
    assert machine.files()[trashed] == old.document.data
    assert events(vault)[-1].operation == "inbox_prune"
    assert waiting.list_page(vault, InboxFilter(status=None), limit=9).total == 2


def test_several_go_in_one_event(vault: Vault, clock: FixedClock) -> None:
    for name in ("a", "b", "c"):
        rejected(vault, name)
    clock.forward(seconds=1)
    seen = len(events(vault))
    plan = pruning.plan_prune(vault, older_than_days=0)
    pruning.prune(vault, AGENT, older_than_days=0, token=plan.token)
    assert len(events(vault)) == seen + 1
    assert len(events(vault)[-1].changes) == 3


def test_a_plan_that_changed_meanwhile_is_not_carried_out(
    vault: Vault, machine: Machine, clock: FixedClock
) -> None:
    rejected(vault, "old")
    clock.forward(seconds=1)
    plan = pruning.plan_prune(vault, older_than_days=0)
    rejected(vault, "another")
    clock.forward(seconds=1)
    before = machine.files()
    for token in (plan.token, "", "guessed"):
        with pytest.raises(ConfirmationRequired):
            pruning.prune(vault, AGENT, older_than_days=0, token=token)
    assert machine.files() == before
    fresh = pruning.plan_prune(vault, older_than_days=0)
    pruning.prune(vault, AGENT, older_than_days=0, token=fresh.token)
    with pytest.raises(ConfirmationRequired):
        pruning.prune(vault, AGENT, older_than_days=0, token=fresh.token)


def test_nothing_to_prune_is_no_event(vault: Vault) -> None:
    plan = pruning.plan_prune(vault, older_than_days=0)
    assert plan.candidates == ()
    with pytest.raises(InvalidInput):
        pruning.prune(vault, AGENT, older_than_days=0, token=plan.token)
    assert events(vault) == []
