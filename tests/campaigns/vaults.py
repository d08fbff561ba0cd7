"""What the campaigns share: a machine, processes that write, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from keepm.markdown import documents
from keepm.model import layout
from keepm.model.document import AnyDocument
from keepm.model.memory import Memory, Status
from keepm.model.proposal import Proposal, ProposalStatus
from keepm.operations import sync
from keepm.store import ledger, transaction
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from tests.operations.support import Machine
from tests.operations.world import contents
from tests.stories.server import environment

SEED = 20261129


def machine_at(folder: Path) -> Machine:
    """Return a machine with an empty vault and the project `widgets`."""
    machine = Machine(folder)
    machine.project("widgets")
    machine.configure({"lock_timeout_seconds": 60})
    transaction.initialise(VaultPaths(machine.root), OSDisk())
    return machine


def writer(machine: Machine, kind: str, name: str, count: int) -> subprocess.Popen[bytes]:
    """Start a process that writes; its stdout has a line for each acknowledged change."""
    script = ("-m", "tests.campaigns.writer", kind, str(machine.folder), name, str(count))
    return subprocess.Popen(
        [sys.executable, *script], env=environment(machine, {}), stdout=subprocess.PIPE
    )


def acknowledged(output: bytes) -> list[dict[str, str]]:
    """Return the changes whose whole line was written."""
    lines = output.split(b"\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith(b"{")]


def in_flight(machine: Machine) -> int:
    """Return how many files the change has that a killed process left begun (0: there is none)."""
    journal = machine.root / layout.RECORDS / "journal"
    records = [*journal.glob("*.json"), *journal.glob(".*.draft.tmp")]
    sizes = [0]
    for record in records:
        with contextlib.suppress(ValueError):  # killed while the draft was written
            sizes.append(len(json.loads(record.read_bytes())["files"]))
    return max(sizes)


def settled(machine: Machine) -> dict[str, AnyDocument]:
    """Let recovery finish; return every document by id, each there once.

    Holds for any vault at rest: the ledger is whole, nothing is half done, and the index is what
    a fresh one would be.
    """
    vault = machine.open(machine.folder / "work/widgets")
    sync.recover(vault)
    sync.reconcile(vault)
    assert transaction.pending(vault.root) == ()
    assert ledger.verify(vault.root) == []
    produced = {c.after for event in ledger.read_all(vault.root) for c in event.changes}
    grown = contents(vault.database.path)
    vault.close()
    for index_file in machine.index_files():
        index_file.unlink()
    fresh = machine.open(machine.folder / "work/widgets")
    sync.reconcile(fresh)
    assert contents(fresh.database.path) == grown
    fresh.close()
    found: dict[str, AnyDocument] = {}
    for path, data in machine.files().items():
        if layout.place(path) is not None and "/.keepm-" not in path:
            document = documents.read(path, data)
            assert document.content.id not in found
            assert document.checksum.hex in produced, "a version an accepted change made"
            found[document.content.id] = document
    check_groups(found)
    return found


def check_groups(found: Mapping[str, AnyDocument]) -> None:
    """Changes of several files happened whole or not at all."""
    notes = {i: d.content for i, d in found.items() if isinstance(d.content, Memory)}
    proposals = [d.content for d in found.values() if isinstance(d.content, Proposal)]
    superseded = {i for i, note in notes.items() if note.status is Status.SUPERSEDED}
    named = [i for note in notes.values() for i in note.supersedes]
    assert sorted(named) == sorted(superseded)
    names = {note.claim.name for note in notes.values()}
    for proposal in proposals:
        if proposal.status is ProposalStatus.PROMOTED:
            assert proposal.promoted_memory_id in notes
        else:
            assert proposal.claim.name not in names, "in memory and pending at once"


def check_acknowledged(found: Mapping[str, AnyDocument], acks: list[dict[str, str]]) -> int:
    """Return how many acknowledged changes are lost (none, or the caller's assertion fails)."""
    bodies = {ack["note"]: ack["body"].strip() for ack in acks if "body" in ack}
    lost = 0
    for ack in acks:
        there = [found.get(ack[key]) for key in ("note", "heir", "proposal") if key in ack]
        kept = all(there)
        if kept and "body" in ack:
            note = there[0].content if there[0] else None
            kept = isinstance(note, Memory) and note.claim.body == bodies[ack["note"]]
        if kept and "promoted" in ack:
            proposal = found[ack["promoted"]].content
            kept = isinstance(proposal, Proposal) and proposal.promoted_memory_id == ack["note"]
        if kept and "heir" in ack:
            heir = found[ack["heir"]].content
            kept = isinstance(heir, Memory) and list(heir.supersedes) == ack["losers"].split()
        lost += not kept
    return lost
