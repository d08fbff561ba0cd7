"""Several processes on one vault: none lost, none torn, ledger whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keepm.model.checksum import Checksum
from keepm.store import ledger, lock, transaction
from keepm.store.changes import ChangeSet, Create, Replace
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.transaction import Root
from tests.store import support
from tests.store.support import AT, NOTE

WRITER = """
import sys
from pathlib import Path
from tests.store import test_races
test_races.write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
"""


def write(folder: Path, name: str, count: int) -> None:
    """Add `count` lines to the one note, and a note of one's own at each third turn."""
    root = Root(VaultPaths(folder), OSDisk(), "writer-1")
    for number in range(count):
        with lock.hold(root.paths, surface=name, timeout=60, now=AT):
            transaction.recover(root)
            old, _ = root.disk.read(root.paths.locate(NOTE), limit=1 << 20)
            line = f"{name} {number}\n".encode()
            changes: list[Create | Replace] = [Replace(NOTE, old + line, Checksum.of(old))]
            if number % 3 == 0:
                changes.append(Create(f"Memory/global/{name}-{number}.md", line))
            transaction.commit(
                root,
                ChangeSet(tuple(changes)),
                support.draft(),
                transaction_id=f"{name}-{number}",
                at=AT,
            )


@pytest.mark.parametrize("count", [25, pytest.param(250, marks=pytest.mark.campaign)])
def test_eight_processes_lose_no_write(real: Root, count: int) -> None:
    """Without the lock or the comparison of checksums this fails."""
    support.apply(real, Create(NOTE, b""), "first")
    names = [f"p{number}" for number in range(8)]
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(real.paths.root), name, str(count)])
        for name in names
    ]
    assert [process.wait() for process in processes] == [0] * 8

    lines = support.notes(real)[NOTE].decode().splitlines()
    assert sorted(lines) == sorted(f"{name} {n}" for name in names for n in range(count))
    assert len(support.notes(real)) == 1 + 8 * len(range(0, count, 3))
    assert ledger.verify(real) == []
    assert ledger.head(real).sequence == 1 + 8 * count
    assert transaction.pending(real) == ()
