"""Whatever people and other programs do to the files, the index ends as a new one would be."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import unicodedata
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keepm.errors import KeepMError
from keepm.index import writing
from keepm.operations import memories, recording, retrieval, sync
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.store import ledger
from tests.operations.support import AGENT, Machine, claim
from tests.operations.world import contents

CASES = Path(__file__).parents[1] / "cases"
OLD = 1_700_000_000_000_000_000  # nanoseconds: a stamp that proves what it says
FOLDERS = (
    "Memory/projects/widgets",
    "Memory/projects/widgets/sorted",
    "Memory/global",
    "Memory/projects/gears",
    "Memory/Inbox/pending/projects/widgets",
    "Memory/.handoffs/pending/projects/widgets",
    "Memory/.trash/by-hand",
)
NAMES = ("note", "café", "部署", "Note", "note (1)", "note.sync-conflict-20261101-101500-K7QWERT")
WORDS = ("harbour", "compass")  # of one length, for edits that keep a file's size


@dataclass(frozen=True)
class Step:
    """One thing that happens to the files: `what`, to the n-th of them, with what it needs."""

    what: str
    which: int = 0
    other: int = 0
    folder: int = 0
    name: int = 0


WHAT = (
    *("create", "edit", "same-size", "rename", "swap", "move", "delete", "reset", "nfd", "copy"),
    *("break", "merge", "evict", "restore", "link", "huge", "look", "look", "record"),
    *("age", "folder"),
)
UNSEEN = frozenset({"same-size", "reset"})  # what may leave no trace in size and time


def steps_of(*what: str) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        what=st.sampled_from(what),
        which=st.integers(0, 7),
        other=st.integers(0, 7),
        folder=st.integers(0, len(FOLDERS) - 1),
        name=st.integers(0, len(NAMES) - 1),
    )


@dataclass
class Outside:
    """The files as the world outside changes them."""

    machine: Machine
    vault: Vault
    count: int = 0
    aged: int = 0

    def files(self) -> list[Path]:
        base = self.machine.root / "Memory"
        found = (path for path in base.rglob("*") if path.is_file() or path.is_symlink())
        return sorted(path for path in found if ".keepm" not in path.parts)

    def take(self, step: Step) -> None:
        if step.what in ("look", "record"):
            sync.reconcile(self.vault)
            if step.what == "record":
                recording.record(self.vault)
            return
        target = self.machine.root / FOLDERS[step.folder] / f"{NAMES[step.name]}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        if step.what == "create":
            self.count += 1
            # Five ids only, so that files meet that have the same one.
            note_id, word = f"id-{self.count % 5}", WORDS[self.count % 2]
            text = f"---\nid: {note_id}\nname: n{self.count}\n---\n{word} [[n1]]\n"
            if not target.is_symlink():
                target.write_text(text, "utf-8")
            return
        files = self.files()
        if not files:
            return
        path, other = files[step.which % len(files)], files[step.other % len(files)]
        action: Callable[[Path, Path, Path], None] = getattr(self, step.what.replace("-", "_"))
        action(path, other, target)

    def edit(self, path: Path, other: Path, target: Path) -> None:
        if not path.is_symlink():
            path.write_bytes(path.read_bytes() + b"more\n")

    def same_size(self, path: Path, other: Path, target: Path) -> None:
        """Change a file without a trace in its size and time."""
        if path.is_symlink():
            return
        seen, data = path.stat(), path.read_bytes()
        old, new = (word.encode() for word in WORDS)
        swapped = data.replace(old, b"\0").replace(new, old).replace(b"\0", new)
        path.write_bytes(swapped)
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    def rename(self, path: Path, other: Path, target: Path) -> None:
        path.rename(path.with_name(target.name))

    def swap(self, path: Path, other: Path, target: Path) -> None:
        if path != other:
            aside = path.with_name("aside.tmp")
            path.rename(aside)
            other.rename(path)
            aside.rename(other)

    def move(self, path: Path, other: Path, target: Path) -> None:
        path.rename(target.with_name(path.name))

    def delete(self, path: Path, other: Path, target: Path) -> None:
        path.unlink()

    def reset(self, path: Path, other: Path, target: Path) -> None:
        os.utime(path, ns=(OLD, OLD), follow_symlinks=False)

    def age(self, path: Path, other: Path, target: Path) -> None:
        """Let all files be old, each of another time: then their stamps prove what they hold."""
        for each in self.files():
            self.aged += 1
            os.utime(each, ns=(OLD, OLD + self.aged), follow_symlinks=False)

    def folder(self, path: Path, other: Path, target: Path) -> None:
        """Move a folder of sorted notes with all that is in it, or give it another name."""
        inner = [each.parent for each in self.files() if each.parent.name.startswith("sorted")]
        if inner and inner[0] not in target.parents:
            self.count += 1
            inner[0].rename(target.parent / f"sorted-{self.count}")

    def nfd(self, path: Path, other: Path, target: Path) -> None:
        form: Literal["NFC", "NFD"] = "NFC"
        if unicodedata.is_normalized("NFC", path.name):
            form = "NFD"
        path.rename(path.with_name(unicodedata.normalize(form, path.name)))

    def copy(self, path: Path, other: Path, target: Path) -> None:
        if not path.is_symlink() and not target.is_symlink():
            target.write_bytes(path.read_bytes())

    def break_(self, path: Path, other: Path, target: Path) -> None:
        if not path.is_symlink():
            path.write_bytes(b"---\nname: [\n---\nharbour\n")

    def merge(self, path: Path, other: Path, target: Path) -> None:
        if not path.is_symlink():
            data = path.read_bytes()
            path.write_bytes(data + b"<<<<<<< a\nharbour\n=======\ncompass\n>>>>>>> b\n")

    def evict(self, path: Path, other: Path, target: Path) -> None:
        if not path.name.startswith("."):
            path.rename(path.with_name(f".{path.name}.icloud"))

    def restore(self, path: Path, other: Path, target: Path) -> None:
        if path.name.endswith(".icloud"):
            path.rename(path.with_name(path.name[1 : -len(".icloud")]))

    def link(self, path: Path, other: Path, target: Path) -> None:
        if not target.exists() and not target.is_symlink():
            target.symlink_to(path)

    def huge(self, path: Path, other: Path, target: Path) -> None:
        if not path.is_symlink():
            path.write_bytes(b"x" * 600_000)


def lookalikes(path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return sorted(connection.execute("SELECT * FROM lookalikes"))


def explained(vault: Vault, machine: Machine) -> None:
    """Everything on disk that looks like a document is indexed or skipped with a reason."""
    known = writing.files(vault.database)
    base = machine.root / "Memory"
    on_disk = set()
    for path in base.rglob("*"):
        relative = path.relative_to(machine.root).as_posix()
        hidden = any(part.startswith(".") for part in path.relative_to(base).parts)
        served = relative.startswith("Memory/.handoffs/") and not path.name.startswith(".")
        if path.suffix.lower() == ".md" and (served or not hidden):
            on_disk.add(relative)
        elif path.name.endswith(".icloud") and ".trash" not in path.parts:
            on_disk.add(f"{relative.rpartition('/')[0]}/{path.name[1:-7]}")
    assert on_disk == set(known)
    with vault.database.reading() as connection:
        indexed = {
            path
            for table in ("all_notes", "all_proposals", "all_handoffs")
            for (path,) in connection.execute(f"SELECT path FROM {table}")
        }
    assert indexed == {path for path, row in known.items() if row.reason is None}


@given(st.lists(steps_of(*WHAT), max_size=14))
@settings(max_examples=30, deadline=None)
@example([Step("create"), Step("create", name=4), Step("look"), Step("delete"), Step("look")])
@example([Step("create"), Step("reset"), Step("look"), Step("same-size"), Step("reset")])
@example([Step("create"), Step("look"), Step("evict"), Step("look"), Step("create")])
@example([Step("create", folder=1), Step("age"), Step("look"), Step("folder", folder=2)])
@example([Step("create", folder=2), Step("evict"), Step("link", folder=2)])
@example([Step("create", folder=2), Step("evict"), Step("create", folder=2)])
def test_quick_and_deep_passes_end_as_a_rebuild_would(steps: list[Step]) -> None:
    ends_as_a_rebuild_would(steps, deep=True)


@given(st.lists(steps_of(*(w for w in WHAT if w not in UNSEEN), "age", "look"), max_size=14))
@settings(max_examples=30, deadline=None)
@example([Step("create"), Step("create", name=3), Step("age"), Step("look"), Step("swap", other=1)])
@example([Step("create"), Step("age"), Step("look"), Step("edit"), Step("look"), Step("age")])
@example([Step("create"), Step("age"), Step("look"), Step("nfd"), Step("move", folder=1)])
@example([Step("create", folder=1), Step("age"), Step("look"), Step("folder", folder=2)])
def test_what_leaves_a_trace_is_met_by_a_quick_pass_alone(steps: list[Step]) -> None:
    ends_as_a_rebuild_would(steps, deep=False)


def ends_as_a_rebuild_would(steps: list[Step], *, deep: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        work = machine.project("widgets")
        vault = machine.open(work)
        try:
            memories.create(vault, AGENT, claim("first", body="harbour"))
            outside = Outside(machine, vault)
            for step in steps:
                outside.take(step)
            sync.reconcile(vault)
            if deep:
                machine.clock.forward(seconds=3600)
                sync.reconcile(vault, deep=True)
            explained(vault, machine)
            grown = contents(vault.database.path), lookalikes(vault.database.path)
            while recording.record(vault):
                pass
            assert ledger.verify(vault.root) == []
        finally:
            vault.close()
        for path in machine.index_files():
            path.unlink()
        again = machine.open(work)
        try:
            sync.reconcile(again)
            assert (contents(again.database.path), lookalikes(again.database.path)) == grown
        finally:
            again.close()


setattr(Outside, "break", Outside.break_)


def test_a_note_that_became_a_symlink_is_refused_and_stops_nothing(
    vault: Vault, machine: Machine
) -> None:
    made = memories.create(vault, AGENT, claim("first", body="harbour"))
    machine.put(f"{FOLDERS[0]}/second.md", "---\nid: id-2\nname: second\n---\nharbour\n")
    sync.reconcile(vault)
    path = machine.root / made.document.path
    secret = machine.folder / "secret.md"
    secret.write_text("canary")
    path.unlink()
    path.symlink_to(secret)

    hits = retrieval.search(vault, Wanted("harbour")).items
    assert [hit.name for hit in hits] == ["second"]
    assert retrieval.search(vault, Wanted("canary")).items == []
    with pytest.raises(KeepMError):
        memories.read(vault, "first", max_chars=99)
    assert writing.files(vault.database)[made.document.path].reason == "symlink"
    recording.record(vault)
    assert path.is_symlink()


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_every_file_of_every_fixture_is_indexed_or_skipped_with_a_reason(
    case: str, vault: Vault, machine: Machine
) -> None:
    """The bytes of all cases, whatever they are for, as somebody's notes."""
    before = {}
    for number, source in enumerate(sorted(path for path in (CASES / case).rglob("*"))):
        if source.is_file():
            name = source.name if source.suffix.lower() == ".md" else f"{source.name}.md"
            before[machine.put(f"{FOLDERS[number % 4]}/{name}", source.read_bytes())] = source
    sync.reconcile(vault)
    explained(vault, machine)
    sync.reconcile(vault, deep=True)
    explained(vault, machine)
    assert all(path.read_bytes() == source.read_bytes() for path, source in before.items())
