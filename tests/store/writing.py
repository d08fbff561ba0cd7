"""One of several processes that write into one vault; started by `test_races`."""

from __future__ import annotations

from pathlib import Path

from keepm.model.checksum import Checksum
from keepm.store import lock, transaction
from keepm.store.changes import ChangeSet, Create, Replace
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.transaction import Root
from tests.store import support
from tests.store.support import AT, NOTE


def write(folder: Path, name: str, count: int) -> None:
    """Add `count` lines to the one note, and a note of one's own at each third turn."""
    root = Root(VaultPaths(folder), OSDisk(), "writer-1")
    for number in range(count):
        with lock.hold(root.paths, surface=name, timeout=60, now=AT):
            recovered = transaction.recover(root)
            old, _ = root.disk.read(root.paths.locate(NOTE), limit=1 << 20)
            line = f"{name} {number}\n".encode()
            changes: list[Create | Replace] = [Replace(NOTE, old + line, Checksum.of(old))]
            if number % 3 == 0:
                changes.append(Create(f"Memory/global/{name}-{number}.md", line))
            transaction.commit(
                root,
                ChangeSet(tuple(changes)),
                support.draft(),
                recovered=recovered,
                transaction_id=f"{name}-{number}",
                at=AT,
            )
