"""Whatever call dies or fails while the owner's commands work: all old or all new, on record.

Case 50, for what the owner does and for the recording of hand edits, through operations: every
disk call of each is met with every fault, then the vault is opened afresh.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from keepm.errors import KeepMError
from keepm.index import writing
from keepm.model.proposal import TargetAction
from keepm.operations import (
    cleaning,
    edits,
    inbox,
    judging,
    memories,
    mending,
    promotion,
    quarantining,
    recording,
    repairing,
    restoring,
    reviewing,
    sync,
    undoing,
    verdicts,
    vouching,
)
from keepm.operations.cleaning import CleanRequest
from keepm.operations.edits import EditReview
from keepm.operations.inbox import Suggestion
from keepm.operations.quarantining import QuarantineRequest
from keepm.operations.repairing import Keep
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Caller, Vault
from keepm.store import history as objects
from keepm.store import ledger
from keepm.tokens import WriteProof
from tests.fakes.faulty_disk import Crash, Fault, FaultyDisk
from tests.operations import test_repairing
from tests.operations.support import AGENT, HAND_MADE, OWNER, Machine, claim, edit, proof

SESSION = dataclasses.replace(AGENT, session="s-1")
Act = Callable[[Vault], object]
Preparation = Callable[[Machine, Vault], Callable[[Vault], Act]]
State = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Scenario:
    """`prepare` makes the vault and returns what is then done at every fault."""

    operation: str
    prepare: Preparation


def _note(vault: Vault, caller: Caller = AGENT) -> None:
    memories.create(vault, caller, claim())
    memories.update(
        vault, caller, "build-command", edit(name="renamed"), proof(vault, "build-command")
    )


def _undo(request: UndoRequest) -> Callable[[Vault], Act]:
    def planned(vault: Vault) -> Act:
        digest = undoing.plan(vault, OWNER, request).digest
        return lambda broken: undoing.undo(broken, OWNER, request, digest=digest)

    return planned


def _undo_one(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    _note(vault)
    return _undo(UndoRequest())


def _undo_promotion(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    inbox.propose(vault, AGENT, Suggestion(claim("idea"), reason="seen"))
    read = inbox.read(vault, "idea", max_chars=9999)
    assert read.token
    promotion.promote(vault, AGENT, "idea", WriteProof(read.token, read.document.checksum))
    return _undo(UndoRequest())


def _undo_session(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    memories.create(vault, AGENT, claim("kept"))
    _note(vault, SESSION)
    memories.delete(vault, SESSION, "kept", proof(vault, "kept"))
    return _undo(UndoRequest(session="s-1"))


def _restore(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    memories.create(vault, AGENT, claim())
    memories.delete(vault, AGENT, "build-command", proof(vault, "build-command"))
    return lambda vault: lambda broken: restoring.restore(broken, OWNER, "build-command")


def _gc(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    memories.create(vault, AGENT, claim("kept"))
    _restore(machine, vault)
    objects.put(vault.root, b"nobody's")
    machine.clock.forward(days=4000)

    def planned(vault: Vault) -> Act:
        request = CleanRequest(30, vault.now())
        digest = cleaning.plan(vault, OWNER, request).digest
        return lambda broken: cleaning.clean(broken, OWNER, request, digest=digest)

    return planned


def _repair(keep: Keep, name: str) -> Preparation:
    def prepare(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
        memories.create(vault, AGENT, claim())
        inbox.propose(vault, AGENT, Suggestion(claim("idea", body="Mine.\n"), reason="seen"))
        waiting = test_repairing.blocked(name, machine, vault)
        sync.reconcile(vault)

        def planned(vault: Vault) -> Act:
            digest = repairing.plan(vault, OWNER, waiting, keep).digest
            return lambda broken: repairing.repair(broken, OWNER, waiting, keep, digest=digest)

        return planned

    return prepare


def _hand_edit(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    _note(vault)

    def planned(vault: Vault) -> Act:
        machine.put("Memory/projects/widgets/renamed.md", "By hand.\n")
        sync.reconcile(vault)
        return recording.record

    return planned


def _confirm(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    memories.create(vault, AGENT, claim())

    def planned(vault: Vault) -> Act:
        review = vouching.look(vault, "build-command")
        return lambda broken: vouching.confirm(broken, OWNER, review)

    return planned


def _approve(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    """Fault 18: the note was written and its proposal still pending, in thirty rounds of forty."""
    memories.create(vault, AGENT, claim())
    better = claim("build-command", body="Another text.\n")
    target = Suggestion(better, "seen", "", "build-command", TargetAction.UPDATE)
    inbox.propose(vault, AGENT, target)

    def planned(vault: Vault) -> Act:
        review = reviewing.look(vault, "build-command")
        return lambda broken: reviewing.approve(broken, OWNER, review)

    return planned


def _discard(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    machine.put("Memory/Inbox/pending/global/odd.md", "---\nid: [\n---\nx\n")
    sync.reconcile(vault)

    def planned(vault: Vault) -> Act:
        review = reviewing.look(vault, "odd")
        return lambda broken: reviewing.reject(broken, OWNER, review)

    return planned


def _edited(machine: Machine, vault: Vault) -> EditReview:
    """Let a hand edit wait for the owner's look."""
    machine.put("Memory/projects/widgets/build-command.md", HAND_MADE)
    sync.reconcile(vault)
    recording.record(vault)
    return edits.look(vault, "build-command")


def _reviewed(decide: Callable[[Vault, Caller, EditReview], object]) -> Preparation:
    def prepare(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
        memories.create(vault, AGENT, claim())
        machine.configure({"approval": {"external_edits": "review"}})

        def planned(vault: Vault) -> Act:
            review = _edited(machine, vault)
            return lambda broken: decide(broken, OWNER, review)

        return planned

    return prepare


def _mend(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    machine.put("Memory/projects/widgets/note.md", "# Title\n\nSome words.\n")
    sync.reconcile(vault)

    def planned(vault: Vault) -> Act:
        checksum = mending.plan(vault, OWNER, "note").checksum
        return lambda broken: mending.mend(
            broken, OWNER, "note", checksum, confirmed=lambda made: None
        )

    return planned


def _reject_for_good(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    inbox.propose(vault, AGENT, Suggestion(claim("idea", body="Use pnpm 9, never npm."), "seen"))

    def planned(vault: Vault) -> Act:
        review = reviewing.look(vault, "idea")
        return lambda broken: reviewing.reject(broken, OWNER, review)

    return planned


def _tell_apart(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    for name in ("one", "other"):
        memories.create(vault, AGENT, claim(name))
    pair = ("one", "other")
    return lambda vault: (
        lambda broken: judging.tell_apart(broken, OWNER, verdicts.NOT_CONFLICT, pair)
    )


def _lift_verdict(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    _tell_apart(machine, vault)(vault)(vault)
    (standing,) = judging.standing(vault)
    return lambda vault: lambda broken: judging.lift(broken, OWNER, standing.id)


def _quarantine(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    _note(vault, SESSION)
    request = QuarantineRequest(session="s-1")

    def planned(vault: Vault) -> Act:
        digest = quarantining.plan(vault, OWNER, request).digest
        return lambda broken: quarantining.add(broken, OWNER, request, digest=digest)

    return planned


def _lift_quarantine(machine: Machine, vault: Vault) -> Callable[[Vault], Act]:
    _quarantine(machine, vault)(vault)(vault)
    (listed,) = quarantining.listing(vault)
    known = listed.standing.transaction_id

    def planned(vault: Vault) -> Act:
        digest = quarantining.plan_lift(vault, OWNER, known).digest
        return lambda broken: quarantining.lift(broken, OWNER, known, digest=digest)

    return planned


SCENARIOS = {
    "accept an edit": Scenario("edit_accept", _reviewed(edits.accept)),
    "put an edit back": Scenario("undo", _reviewed(edits.put_back)),
    "mend": Scenario("mend", _mend),
    "reject for good": Scenario("reject", _reject_for_good),
    "tell two apart": Scenario("verdict", _tell_apart),
    "lift a verdict": Scenario("verdict_lift", _lift_verdict),
    "quarantine": Scenario("quarantine", _quarantine),
    "lift a quarantine": Scenario("quarantine_lift", _lift_quarantine),
    "approve": Scenario("promote", _approve),
    "discard": Scenario("delete", _discard),
    "confirm": Scenario("confirm", _confirm),
    "undo one file": Scenario("undo", _undo_one),
    "undo a promotion": Scenario("undo", _undo_promotion),
    "undo a session": Scenario("undo", _undo_session),
    "restore": Scenario("restore", _restore),
    "gc": Scenario("gc", _gc),
    "repair, mine": Scenario("repair", _repair(Keep.MINE, "update")),
    "repair, theirs": Scenario("repair", _repair(Keep.THEIRS, "promote into, the target changed")),
    "hand edit": Scenario("external-edit", _hand_edit),
}
_ATTEMPT = re.compile(r"\.trash/[0-9TZ]+-[^/]+/")


def state(machine: Machine) -> State:
    """Return the vault's documents, trash and orphaned version; attempts differ in their ids."""
    found = {
        _ATTEMPT.sub(".trash/", path): data
        for path, data in machine.files().items()
        if "/.keepm-" not in path  # staged, hidden and harmless
    }
    orphan = machine.root / "Memory/.keepm/objects"
    kept = [path for path in orphan.rglob("*") if path.is_file()]
    if any(path.read_bytes() == b"nobody's" for path in kept):
        found["the orphaned version"] = b""
    return found


class Stage:
    """A prepared vault that is put back before every attempt."""

    def __init__(self, scenario: Scenario, machine: Machine) -> None:
        self.scenario, self.machine = scenario, machine
        vault = machine.open(machine.folder / "work/widgets")
        sync.reconcile(vault)
        self.planned = scenario.prepare(machine, vault)
        vault.close()
        self.saved = machine.folder / "saved"
        shutil.copytree(machine.root, self.saved / "vault")
        shutil.copytree(machine.folder / "data", self.saved / "data")
        self.before = state(machine)
        self.after: State = {}

    def open(self) -> Vault:
        vault = self.machine.open(self.machine.folder / "work/widgets")
        sync.recover(vault)
        sync.reconcile(vault)
        return vault

    def attempt(self, n: int, fault: Fault) -> bool:
        """Do it with a fault at the n-th disk call and check; tell whether the fault came."""
        for name in ("vault", "data"):
            shutil.rmtree(self.machine.folder / name)
            shutil.copytree(self.saved / name, self.machine.folder / name)
        vault = self.open()
        act = self.planned(vault)
        before, count = state(self.machine), self.events(vault)
        disk = FaultyDisk(vault.root.disk, fail_at=n, fault=fault)
        broken = dataclasses.replace(vault, root=dataclasses.replace(vault.root, disk=disk))
        acknowledged = refused = False
        try:
            left = act(broken)
            acknowledged = left is not True
        except Crash:
            pass
        except KeepMError as error:
            refused = not error.details.get("committed")
        vault.close()
        if not disk.hit:
            assert acknowledged
            self.after = state(self.machine)
        self.check(before, count, acknowledged=acknowledged, refused=refused)
        return disk.hit

    def events(self, vault: Vault) -> int:
        assert ledger.verify(vault.root) == []
        found = ledger.read_all(vault.root)
        return sum(event.operation == self.scenario.operation for event in found)

    def check(self, before: State, count: int, *, acknowledged: bool, refused: bool) -> None:
        vault = self.open()
        seen = state(self.machine)
        made = self.events(vault) - count
        assert made in (0, 1)
        if acknowledged:
            assert made == 1
        if refused:
            assert made == 0
        if self.scenario.operation == "external-edit":
            assert seen == before
            recording.record(vault)
            assert self.events(vault) == count + 1, "told once, whatever died"
        else:
            assert seen == (self.after if made else before), "files and ledger agree"
        sync.recover(vault)
        assert state(self.machine) == seen, "recovery twice gives the same tree"
        live = {path: row.checksum for path, row in writing.files(vault.database).items()}
        vault.close()
        for path in self.machine.index_files():
            path.unlink()
        rebuilt = self.open()
        fresh = {path: row.checksum for path, row in writing.files(rebuilt.database).items()}
        assert live == fresh
        rebuilt.close()


FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.TORN, Fault.ENOSPC, Fault.EIO)
TWINS = {"put an edit back", "reject for good", "lift a verdict", "lift a quarantine"}
"""They take the way of another scenario, so that the campaign's sweep is enough."""
ALWAYS = {(name, Fault.CRASH_BEFORE) for name in SCENARIOS.keys() - TWINS} | {
    ("undo a promotion", Fault.EIO),
    ("tell two apart", Fault.EIO),
    ("gc", Fault.ENOSPC),
    ("hand edit", Fault.TORN),
}
"""What every run tries at some calls; at each call, and the rest, is the campaign's."""
_EVERY = 5


@pytest.mark.parametrize(
    ("name", "fault", "every"),
    [(name, fault, _EVERY) for name, fault in sorted(ALWAYS)]
    + [
        pytest.param(name, fault, 1, marks=pytest.mark.campaign)
        for name in SCENARIOS
        for fault in FAULTS
    ],
)
def test_every_call_may_fail(
    name: str, fault: Fault, every: int, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Calls are swept here and no power is cut: the store's own sweep loses what wasn't synced.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    stage = Stage(SCENARIOS[name], machine)
    assert not stage.attempt(100_000, fault)
    # Each scenario begins at another call, so that together they meet every part of a change.
    for n in itertools.count(1 + sorted(SCENARIOS).index(name) % every, every):
        if not stage.attempt(n, fault):
            return
