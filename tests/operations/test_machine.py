"""Random histories of one vault: changes, stale proofs, hand edits, deaths, restarts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from keepm.model.memory import ClaimEdit
from keepm.model.resolution import LoserAction
from keepm.operations import inbox, memories, promotion
from keepm.operations.memories import MemoryEdit
from keepm.operations.promotion import Target
from keepm.tokens import WriteProof
from tests.operations import steps
from tests.operations.support import AGENT, Machine, claim
from tests.operations.world import Step, World

_MOST = 6  # documents of a kind, so that every step stays cheap
_DEATHS = st.one_of(st.none(), st.none(), st.integers(1, 26))
_CHOICES = st.integers(0, 100)


class History(RuleBasedStateMachine):
    """Each rule makes one step; `World.take` compares what is there with what must be."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="keepm-machine-"))
        self.world = World(Machine(self.folder))
        self.stale: list[tuple[str, WriteProof]] = []
        self.unseen = False  # a hand edit that no look has found yet
        self.count = 0

    def teardown(self) -> None:
        try:
            self.world.check_index()
        finally:
            self.world.close()
            shutil.rmtree(self.folder)

    # ---- choosing --------------------------------------------------------------------------------

    def fresh(self) -> str:
        """Return a name that nothing has had yet."""
        self.count += 1
        return f"name {self.count}"

    def note(self, choice: int) -> str:
        there = self.world.of("note", status="active")
        return there[choice % len(there)]

    def pending(self, choice: int) -> str:
        there = self.world.of("proposal", status="pending")
        return there[choice % len(there)]

    def take(self, step: Step, dies_at: int | None, cut: bool) -> None:
        died = self.world.take(step, dies_at=dies_at, power_cut=cut)
        self.unseen &= not died
        if died:
            self.stale.clear()  # a new process knows no token at all
            self.world.check_index()

    def has(self, kind: str, status: str, *, count: int = 1) -> bool:
        return len(self.world.of(kind, status=status)) >= count

    # ---- notes -----------------------------------------------------------------------------------

    @precondition(lambda self: len(self.world.of("note")) < _MOST)
    @rule(dies_at=_DEATHS, cut=st.booleans())
    def create(self, dies_at: int | None, cut: bool) -> None:
        self.take(steps.create(self.world, self.fresh()), dies_at, cut)

    @precondition(lambda self: self.targets())
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def create_in_place_of(self, choice: int, dies_at: int | None, cut: bool) -> None:
        old = self.targets()[choice % len(self.targets())]
        self.take(steps.create(self.world, self.fresh(), supersedes=old), dies_at, cut)

    @precondition(lambda self: self.has("note", "active"))
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def update(self, choice: int, dies_at: int | None, cut: bool) -> None:
        note = self.note(choice)
        self.stale.append((note, steps.note_proof(self.world, note)))
        self.take(steps.update(self.world, note, f"text of {self.fresh()}"), dies_at, cut)

    @precondition(lambda self: self.has("note", "active"))
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def rename(self, choice: int, dies_at: int | None, cut: bool) -> None:
        self.take(steps.rename(self.world, self.note(choice), self.fresh()), dies_at, cut)

    @precondition(lambda self: self.has("note", "active"))
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def move(self, choice: int, dies_at: int | None, cut: bool) -> None:
        self.take(steps.move(self.world, self.note(choice)), dies_at, cut)

    @precondition(lambda self: self.has("note", "active"))
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def delete(self, choice: int, dies_at: int | None, cut: bool) -> None:
        note = self.note(choice)
        self.stale.append((note, steps.note_proof(self.world, note)))
        self.take(steps.delete(self.world, note), dies_at, cut)

    @precondition(lambda self: len(self.rivals()) > 1)
    @rule(action=st.sampled_from(LoserAction), dies_at=_DEATHS, cut=st.booleans())
    def resolve(self, action: LoserAction, dies_at: int | None, cut: bool) -> None:
        winner, loser = self.rivals()[:2]
        self.take(steps.resolve(self.world, winner, loser, action), dies_at, cut)

    def rivals(self) -> list[str]:
        """Return active notes of one scope."""
        known = self.world.snapshot()
        there = self.world.of("note", status="active")
        return [note for note in there if known[note][3] == known[there[0]][3]]

    # ---- the Inbox -------------------------------------------------------------------------------

    @precondition(lambda self: len(self.world.of("proposal")) < _MOST)
    @rule(dies_at=_DEATHS, cut=st.booleans())
    def propose(self, dies_at: int | None, cut: bool) -> None:
        self.take(steps.propose(self.world, self.fresh()), dies_at, cut)

    @precondition(lambda self: self.has("proposal", "pending"))
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def inbox_update(self, choice: int, dies_at: int | None, cut: bool) -> None:
        proposal, body = self.pending(choice), f"text of {self.fresh()}"
        self.take(steps.inbox_update(self.world, proposal, body), dies_at, cut)

    @precondition(lambda self: self.has("proposal", "pending"))
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def promote(self, choice: int, dies_at: int | None, cut: bool) -> None:
        self.take(steps.promote(self.world, self.pending(choice)), dies_at, cut)

    @precondition(lambda self: self.has("proposal", "pending") and self.targets())
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def promote_into(self, choice: int, dies_at: int | None, cut: bool) -> None:
        proposal, target = self.pending(choice), self.targets()[0]
        self.take(steps.promote(self.world, proposal, into=target), dies_at, cut)

    def targets(self) -> list[str]:
        """Return the active notes of the project, where proposals belong."""
        known = self.world.snapshot()
        return [i for i in self.world.of("note", status="active") if known[i][3] == "widgets"]

    @precondition(lambda self: self.has("proposal", "pending"))
    @rule(choice=_CHOICES, dies_at=_DEATHS, cut=st.booleans())
    def reject(self, choice: int, dies_at: int | None, cut: bool) -> None:
        self.take(steps.reject(self.world, self.pending(choice)), dies_at, cut)

    @precondition(lambda self: self.has("proposal", "rejected"))
    @rule(dies_at=_DEATHS, cut=st.booleans())
    def prune(self, dies_at: int | None, cut: bool) -> None:
        self.take(steps.prune(self.world), dies_at, cut)

    # ---- handoffs --------------------------------------------------------------------------------

    @precondition(lambda self: len(self.world.of("handoff")) < 3)
    @rule(dies_at=_DEATHS, cut=st.booleans())
    def handoff_create(self, dies_at: int | None, cut: bool) -> None:
        self.take(steps.handoff_create(self.world, self.fresh()), dies_at, cut)

    @precondition(lambda self: self.has("handoff", "active"))
    @rule(dies_at=_DEATHS, cut=st.booleans(), completed=st.booleans())
    def handoff_change(self, dies_at: int | None, cut: bool, completed: bool) -> None:
        handoff = self.world.of("handoff", status="active")[0]
        step = (
            steps.handoff_complete(self.world, handoff)
            if completed
            else steps.handoff_update(self.world, handoff, self.fresh())
        )
        self.take(step, dies_at, cut)

    # ---- people and time -------------------------------------------------------------------------

    @precondition(lambda self: self.has("note", "active"))
    @rule(choice=_CHOICES, which=st.sampled_from(["note", "proposal"]))
    def edit_by_hand(self, choice: int, which: str) -> None:
        there = self.world.of(which)
        if there:
            document = there[choice % len(there)]
            if which == "note":
                self.stale.append((document, steps.note_proof(self.world, document)))
            self.world.edit_by_hand(document, f"text by hand {self.fresh()}")
            self.unseen = True

    @precondition(lambda self: self.world.undoable is not None)
    @rule(dies_at=_DEATHS, cut=st.booleans())
    def undo(self, dies_at: int | None, cut: bool) -> None:
        step = steps.undo(self.world)
        assert step is not None
        self.take(step, dies_at, cut)
        self.stale.clear()  # bytes that were read completely may be there again

    @rule()
    def restart(self) -> None:
        self.world.close()
        self.world.open()
        self.stale.clear()
        self.unseen = False

    @rule(days=st.integers(1, 400))
    def time_passes(self, days: int) -> None:
        self.world.machine.clock.forward(days=days)

    # ---- what must be refused --------------------------------------------------------------------

    @precondition(lambda self: self.stale)
    @rule(choice=_CHOICES, deleting=st.booleans())
    def a_stale_proof_is_refused(self, choice: int, deleting: bool) -> None:
        note, proof = self.stale[choice % len(self.stale)]
        change = MemoryEdit(ClaimEdit(body="text never written"))
        call: Callable[..., object] = (
            (lambda vault: memories.delete(vault, AGENT, note, proof))
            if deleting
            else (lambda vault: memories.update(vault, AGENT, note, change, proof))
        )
        assert self.world.refused(call) in ("checksum_mismatch", "not_found")

    @precondition(lambda self: self.has("proposal", "pending") and self.stale)
    @rule(choice=_CHOICES)
    def a_stale_target_stops_a_promotion(self, choice: int) -> None:
        proposal = self.pending(choice)
        target = Target(*self.stale[choice % len(self.stale)])
        proof = steps.proposal_proof(self.world, proposal)
        code = self.world.refused(
            lambda vault: promotion.promote(vault, AGENT, proposal, proof, target=target)
        )
        assert code in ("checksum_mismatch", "not_found")

    @precondition(lambda self: self.has("note", "active"))
    @rule(choice=_CHOICES)
    def a_slot_is_held_once(self, choice: int) -> None:
        note = self.note(choice)
        known = self.world.snapshot()[note]
        if known[3] == "widgets":
            name = str(known[1]).upper()
            call: Callable[..., object]
            for call in (
                lambda vault: memories.create(vault, AGENT, claim(name)),
                lambda vault: inbox.propose(vault, AGENT, inbox.Suggestion(claim(name), "seen")),
            ):
                assert self.world.refused(call) == "already_exists"

    # ---- after every step ------------------------------------------------------------------------

    @invariant()
    def recall_shows_the_active_notes_only(self) -> None:
        if self.unseen:
            self.unseen = False  # the next step meets an index that is behind
        else:
            self.world.check_recall()


@pytest.mark.parametrize(
    ("histories", "length"), [(15, 25), pytest.param(600, 50, marks=pytest.mark.campaign)]
)
def test_any_history_leaves_what_was_acknowledged_and_nothing_else(
    histories: int, length: int
) -> None:
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=histories,
            stateful_step_count=length,
            deadline=None,
            derandomize=True,  # the fixed seed
            phases=[Phase.generate],  # a history says itself where it broke
            suppress_health_check=list(HealthCheck),
        ),
    )
