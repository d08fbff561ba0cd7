"""A vault whose process may die at any call, and a small model of what must be in it then.

The files are in memory, so that a power cut can be told from a crash; the lock and the index are
real. A `Step` is one change with what must hold after it; `World.take` carries it out, dying
where it is told to, and compares.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from keepm.errors import KeepMError
from keepm.index import writing
from keepm.markdown import documents
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument
from keepm.model.handoff import Handoff
from keepm.model.memory import Memory
from keepm.model.proposal import Proposal
from keepm.operations import retrieval, sync
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.store import ledger, transaction
from keepm.store.transaction import Root
from tests.fakes.faulty_disk import Crash, Fault, FaultyDisk
from tests.fakes.memory_disk import MemoryDisk
from tests.operations.support import Machine

NEW = "new"
"""Stands for the id of a document that a step makes."""

STRANGERS = {
    "Journal/today.md": b"Dear diary.\n",
    "Memory/.obsidian/app.json": b"{}",
    "Memory/projects/widgets/diagram.png": b"\x89PNG\r\n\x1a\n",
    "Memory/projects/widgets/.one.md.swp": b"b0VIM 9.0",
    "Memory/.keepm/theirs.txt": b"not one of our records",
}
"""What other programs keep in and beside our folders."""

State = tuple[object, ...]
Snapshot = Mapping[str, State]
"""What each document says, by its id."""


@dataclass(frozen=True)
class Step:
    """One change: how it is made, what must be there afterwards, and what it may touch."""

    name: str
    call: Callable[[Vault], object]
    after: Snapshot
    touches: frozenset[str]


@dataclass
class Refused(Exception):
    """A step was refused that should have been possible."""

    step: str
    error: KeepMError


class DyingDisk(FaultyDisk):
    """Dies after its n-th call that changes something; reading doesn't count."""

    def __init__(self, disk: MemoryDisk) -> None:
        super().__init__(disk, fail_at=0, fault=Fault.CRASH_AFTER)

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        self._require_life()
        return self.disk.read(path, limit=limit)

    def read_at(self, path: Path, offset: int, *, limit: int) -> bytes:
        self._require_life()
        return self.disk.read_at(path, offset, limit=limit)

    def state(self, path: Path) -> os.stat_result | None:
        self._require_life()
        return self.disk.state(path)

    def names(self, folder: Path) -> list[str]:
        self._require_life()
        return self.disk.names(folder)

    def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        self._require_life()
        return self.disk.scan(folder)

    def _require_life(self) -> None:
        if self.hit:
            raise Crash


@dataclass(frozen=True)
class Saved:
    """A world as it was: the vault's files, the machine's own, and what the model knows."""

    disk: MemoryDisk
    data: Mapping[Path, bytes]
    events: int
    by_hand: frozenset[str]
    undoable: Snapshot | None


@dataclass
class World:
    """One machine with one vault, which can die and come back."""

    machine: Machine
    disk: MemoryDisk = field(init=False)
    vault: Vault = field(init=False)
    faulty: DyingDisk = field(init=False)
    events: int = 0  # changes that happened
    by_hand: set[str] = field(default_factory=set)  # digests of what people wrote
    undoable: Snapshot | None = None  # what was there before the last change

    def __post_init__(self) -> None:
        self.disk = MemoryDisk(self.machine.root)
        (self.machine.root / layout.RECORDS).mkdir(parents=True)  # where the lock is
        for path, data in STRANGERS.items():
            place = self.machine.root / path
            self.disk.make_folders(place.parent)
            self.disk.put(place, data)
        self.project = self.machine.folder / "work/widgets"
        if not self.project.exists():
            self.machine.project("widgets")
        self.open()

    def open(self) -> None:
        """Start a process: a vault with nothing in its memory."""
        self.faulty = DyingDisk(self.disk)
        opened = self.machine.open(self.project)
        root = Root(opened.root.paths, self.faulty, opened.root.writer_id)
        transaction.initialise(root.paths, self.disk)
        self.vault = replace(opened, root=root)
        sync.recover(self.vault)
        self.look()

    def close(self) -> None:
        self.vault.close()

    def save(self) -> Saved:
        """Remember everything, to go on from here more than once."""
        self.vault.close()
        data = self.machine.folder / "data"
        kept = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
        by_hand = frozenset(self.by_hand)
        saved = Saved(deepcopy(self.disk), kept, self.events, by_hand, self.undoable)
        self.open()
        return saved

    def restore(self, saved: Saved) -> None:
        """Go back to what was saved."""
        self.vault.close()
        for path in (self.machine.folder / "data").rglob("*"):
            if path.is_file() and path not in saved.data:
                path.unlink()
        for path, content in saved.data.items():
            path.write_bytes(content)
        self.disk, self.events = deepcopy(saved.disk), saved.events
        self.by_hand, self.undoable = set(saved.by_hand), saved.undoable
        self.open()

    def look(self) -> None:
        sync.reconcile(self.vault)

    # ---- what is there ---------------------------------------------------------------------------

    def read(self) -> dict[str, AnyDocument]:
        """Return every document of the vault by its id; none may be there twice."""
        found: dict[str, AnyDocument] = {}
        for path, data in self.disk.files().items():
            if layout.place(path) is not None:
                document = _parsed(path, data)
                assert document.content.id not in found, "each document is there exactly once"
                found[document.content.id] = document
        return found

    def snapshot(self) -> dict[str, State]:
        return {note_id: state(document) for note_id, document in self.read().items()}

    def of(self, kind: str, *, status: str = "") -> list[str]:
        """Return the ids of documents of a kind (and a status), in a steady order."""
        found = self.snapshot()
        chosen = [i for i, s in found.items() if s[0] == kind and status in ("", s[-1])]
        return sorted(chosen, key=lambda i: str(found[i]))

    # ---- one step --------------------------------------------------------------------------------

    def take(self, step: Step, *, dies_at: int | None = None, power_cut: bool = False) -> bool:
        """Carry a step out, dying at its n-th call of the disk; tell whether it died.

        Whatever happens, all of the step is there afterwards or nothing of it, what it doesn't
        touch is there byte for byte, and an acknowledged step stays.
        """
        before = self.read()
        trash = self._trash()
        self.vault.progress.took = 0.0  # every look stays in this thread
        self.faulty.fail_at = 0 if dies_at is None else self.faulty.calls + dies_at
        try:
            step.call(self.vault)
        except Crash:
            self._die(power_cut=power_cut)
            outcome = "crashed"
        except KeepMError as error:
            raise Refused(step.name, error) from error
        else:
            outcome = "acknowledged"
        self.faulty.fail_at = 0
        self._compare(step, before, trash, outcome)
        return outcome == "crashed"

    def take_on(self, disk: FaultyDisk, step: Step) -> bool:
        """Carry a step out on a disk with a fault, then start a new process; compare as `take`.

        Tells whether the fault happened.
        """
        before, trash = self.read(), self._trash()
        vault = replace(self.vault, root=replace(self.vault.root, disk=disk))
        try:
            step.call(vault)
        except Crash:
            outcome = "crashed"
        except KeepMError as error:
            assert disk.hit, "refused without a fault"
            outcome = "acknowledged" if error.details.get("committed") else "refused"
        else:
            outcome = "acknowledged"
        self._die(power_cut=False)
        self._compare(step, before, trash, outcome)
        return disk.hit

    def edit_by_hand(self, document_id: str, line: str) -> None:
        """Add a line to a file as an editor does, which asks nobody."""
        document = self.read()[document_id]
        data = document.data + f"\n{line}\n".encode()
        self.by_hand.add(Checksum.of(data).hex)
        self.undoable = None
        self.disk.put(self.machine.root / document.path, data)

    def refused(self, call: Callable[[Vault], object]) -> str:
        """Make a call that must be refused and change nothing; return its code."""
        before = self.disk.files()
        try:
            call(self.vault)
        except KeepMError as error:
            self.look()
            assert notes(self.disk.files()) == notes(before), "a refusal changes nothing"
            return error.code
        raise AssertionError("this call must be refused")

    def _die(self, *, power_cut: bool) -> None:
        self.vault.close()
        if power_cut:
            self.disk.lose_power()
        self.open()
        assert transaction.pending(self.vault.root) == ()

    def _compare(
        self, step: Step, before: Mapping[str, AnyDocument], trash: int, outcome: str
    ) -> None:
        after = self.read()
        known = {i: state(document) for i, document in before.items()}
        expected = before.keys() | step.after.keys()
        seen = {(i if i in expected else NEW): state(d) for i, d in after.items()}
        possible: Mapping[str, tuple[Snapshot, ...]] = {
            "acknowledged": (step.after,),
            "refused": (known,),
        }
        assert seen in possible.get(outcome, (known, step.after)), (step.name, outcome)
        happened = seen == step.after != known
        self.events += happened
        if happened:
            self.undoable = known
        own = [e for e in self.ledger() if e.operation != "external-edit"]
        assert len(own) == self.events, "one event for each change"
        for document_id, document in before.items():
            if document_id not in step.touches:
                same = after[document_id]
                assert (same.path, same.data) == (document.path, document.data)
        gone = before.keys() - after.keys()
        back = after.keys() & step.after.keys() - before.keys()
        assert self._trash() - trash == len(gone) - len(back), "what is gone lies in the trash"
        produced = {change.after for event in self.ledger() for change in event.changes}
        for document in after.values():
            assert document.checksum.hex in produced | self.by_hand, "a version somebody made"
        files = self.disk.files()
        assert {path: files.get(path) for path in STRANGERS} == STRANGERS, "others' files stay"

    def ledger(self) -> list[Any]:
        assert ledger.verify(self.vault.root) == []
        return list(ledger.read_all(self.vault.root))

    def _trash(self) -> int:
        return sum(path.startswith(f"{layout.TRASH}/") for path in notes(self.disk.files()))

    # ---- what recall may show --------------------------------------------------------------------

    def check_recall(self) -> None:
        """Search and catalog show the active notes and nothing else."""
        self.look()
        active = set(self.of("note", status="active"))
        for items in (
            retrieval.catalog(self.vault, limit=100).items,
            retrieval.search(self.vault, Wanted("text", limit=100)).items,
        ):
            assert {item.id for item in items} == active

    def check_index(self) -> None:
        """The index is what a fresh one would be."""
        self.look()
        seen = {path for path in self.disk.files() if layout.place(path) is not None}
        known = writing.files(self.vault.database)
        assert {path for path, row in known.items() if row.reason is None} == seen
        assert known.keys() == seen, "what is seen is indexed, or skipped with a reason"
        grown = contents(self.vault.database.path)
        self.vault.close()
        for path in self.machine.index_files():
            path.unlink()
        self.open()
        assert contents(self.vault.database.path) == grown


_parsed = lru_cache(4096)(documents.read)


def state(document: AnyDocument) -> State:
    """Return what counts of a document; its status comes last."""
    match document.content:
        case Memory() as note:
            said = note.claim
            scope = said.scope.key
            more = (note.supersedes, note.resolution_reason or "")
            return ("note", said.name, said.body, scope, more, str(note.status))
        case Proposal() as proposal:
            said = proposal.claim
            return ("proposal", said.name, said.body, said.scope.key, str(proposal.status))
        case Handoff() as handoff:
            return ("handoff", handoff.title, handoff.goal, str(handoff.status))
    raise AssertionError(f"{document.path} can't be read")


def changed(
    known: State,
    *,
    name: str | None = None,
    body: str | None = None,
    scope: str | None = None,
    status: str | None = None,
    supersedes: tuple[str, ...] | None = None,
    reason: str | None = None,
) -> State:
    """Return a note's state with some of it changed."""
    kind, *said, extra, old_status = known
    given = (name, body, scope)
    kept = (old if new is None else new for old, new in zip(said, given, strict=True))
    assert isinstance(extra, tuple)
    listed, why = extra
    more = (listed if supersedes is None else supersedes, why if reason is None else reason)
    return (kind, *kept, more, status or old_status)


def notes(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what is a person's: no records, nothing staged by a process that died."""
    return {
        path: data
        for path, data in files.items()
        if not path.startswith(layout.RECORDS) and "/.keepm-" not in path
    }


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return what an index says, without the numbers and stamps that say nothing."""
    tables = (
        "files",
        "all_notes",
        "handles",
        "tags",
        "links",
        "supersessions",
        "all_proposals",
        "all_handoffs",
        "quarantined",
        "unreviewed",
    )
    found: dict[str, list[tuple[object, ...]]] = {}
    with closing(sqlite3.connect(path)) as connection:
        places = dict(connection.execute("SELECT number, path FROM all_notes"))
        for table in tables:
            cursor = connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            found[table] = sorted(
                (
                    tuple(
                        places[value] if name == "number" else value
                        for name, value in zip(names, row, strict=True)
                        if name not in ("scanned_ns", "mtime_ns")
                        and not (table == "all_notes" and name == "number")
                    )
                    for row in cursor
                ),
                key=repr,
            )
    return found
