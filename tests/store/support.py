"""What the store's tests share: a vault on either disk, and a mutation as the spine makes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from keepm.model.checksum import Checksum
from keepm.store import transaction
from keepm.store.changes import Change, ChangeSet, Create, Delete, Move, Replace
from keepm.store.disk import Disk, OSDisk
from keepm.store.event import EventDraft
from keepm.store.paths import VaultPaths
from keepm.store.transaction import Commit, Root
from tests.fakes.memory_disk import MemoryDisk

NOWHERE = Path("/keepm-tests-nowhere/vault")
AT = "2026-11-29T18:15:00Z"
NOTE = "Memory/global/note.md"
OTHER = "Memory/global/other.md"
PENDING = "Memory/Inbox/pending/global/p.md"
ARCHIVED = "Memory/Inbox/archive/global/p.md"


def draft(operation: str = "update", channel: str | None = "relayed") -> EventDraft:
    return EventDraft(operation, "mcp", "id-1", "memory", "global", channel=channel)


def memory_root() -> tuple[Root, MemoryDisk]:
    disk = MemoryDisk(NOWHERE)
    return opened(NOWHERE, disk), disk


def os_root(folder: Path) -> Root:
    return opened(folder, OSDisk())


def opened(folder: Path, disk: Disk) -> Root:
    paths = VaultPaths(folder)
    transaction.initialise(paths, disk)
    return Root(paths, disk, "writer-1")


def edit(root: Root, path: str, data: bytes) -> None:
    """Write a file as another program does."""
    place = root.paths.locate(path)
    root.disk.make_folders(place.parent)
    if isinstance(root.disk, MemoryDisk):
        root.disk.put(place, data)
    else:
        place.write_bytes(data)


def apply(root: Root, changes: Iterable[Change] | Change, transaction_id: str = "t1") -> Commit:
    """Recover and commit, as every mutation does under the lock."""
    given = (changes,) if isinstance(changes, Create | Replace | Move | Delete) else tuple(changes)
    return transaction.commit(
        root,
        ChangeSet(given),
        draft(),
        recovered=transaction.recover(root),
        transaction_id=transaction_id,
        at=AT,
    )


def replace(path: str, old: bytes, new: bytes) -> Replace:
    return Replace(path, new, Checksum.of(old))


def move(path: str, to: str, old: bytes, new: bytes | None = None) -> Move:
    return Move(path, to, old if new is None else new, Checksum.of(old))


def notes(root: Root) -> dict[str, bytes]:
    """Return every file of the vault but KeepM's records, by path."""
    return {p: d for p, d in everything(root).items() if not p.startswith("Memory/.keepm/")}


def everything(root: Root) -> dict[str, bytes]:
    if isinstance(root.disk, MemoryDisk):
        return root.disk.files()
    base = root.paths.root
    return {
        str(p.relative_to(base)).replace("\\", "/"): p.read_bytes()
        for p in base.rglob("*")
        if p.is_file() and not p.is_symlink()
    }
