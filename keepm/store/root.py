"""One vault as one machine opens it: its places, its disk, and under which id we write."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field

from keepm.errors import InvalidInput, RootUnavailable
from keepm.model import layout
from keepm.store import marks
from keepm.store.disk import Disk, reporting
from keepm.store.paths import VaultPaths

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_RECORDS = ("journal", "ledger", "objects")  # what every mutation needs
_RECORD_FOLDERS = tuple(f"{layout.RECORDS}/{name}" for name in _RECORDS)


@dataclass(frozen=True, slots=True)
class Root:
    """What the rest of the store works on; `writer_id` names this machine's chain of events.

    The names of `durable_folders`, where objects lie, were synced since this vault was opened.
    """

    paths: VaultPaths
    disk: Disk
    writer_id: str
    durable_folders: set[str] = field(default_factory=set, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_id(self.writer_id)


def is_id(text: str) -> bool:
    """Tell whether text may name a writer or a transaction in a record's file name."""
    return _ID.fullmatch(text) is not None


def check_id(text: str) -> str:
    """Return an id that may become a part of a record's file name.

    Raises:
        InvalidInput: it has other characters than ASCII letters, digits, `_` and `-`.
    """
    if not is_id(text):
        raise InvalidInput("an id of a writer or transaction is letters, digits, '_' and '-'")
    return text


def initialise(paths: VaultPaths, disk: Disk) -> None:
    """Make the vault's folders; what is there stays as it is.

    Only for a vault that is new or known to be mounted: it makes a missing root, too.

    Raises:
        RootUnavailable: `Memory` is a symlink or a file.
        StorageFailed: the file system refuses.
    """
    with reporting(layout.MEMORY):
        seen = disk.state(paths.memory)
    if seen is not None and marks.kind(seen) != stat.S_IFDIR:
        raise RootUnavailable(
            f"{layout.MEMORY} is not a folder",
            hint="Make the root the folder in which the real Memory folder lies.",
        )
    _make(paths, disk, (*layout.SEARCHED_FOLDERS, *_RECORD_FOLDERS))


def is_there(root: Root) -> bool:
    """Tell whether the vault's folder is there.

    Raises:
        StorageFailed: the file system doesn't let us look.
    """
    with reporting(layout.MEMORY):
        return root.disk.state(root.paths.memory) is not None


def is_bare(root: Root) -> bool:
    """Tell whether the folder of our records is missing.

    Raises:
        StorageFailed: the file system doesn't let us look.
    """
    with reporting(layout.RECORDS):
        return root.disk.state(root.paths.records) is None


def unwritable(root: Root) -> str | None:
    """Return the first of the vault's folders and records that permissions keep from writing.

    Nothing where all can be written, as far as permissions say, or where nothing is in sight.
    """
    records = (f"{layout.RECORDS}/lock", f"{layout.RECORDS}/ledger/{root.writer_id}.jsonl")
    for path in (
        layout.MEMORY,
        *layout.SEARCHED_FOLDERS,
        layout.RECORDS,
        *_RECORD_FOLDERS,
        *records,
    ):
        place = root.paths.root / path
        if os.path.exists(place) and not os.access(place, os.W_OK):
            return path
    return None


def furnish(root: Root) -> None:
    """Make the folders of our records where they are missing. Caller holds the lock.

    Git and sync programs leave empty folders out, and some leave out those with a dot.

    Raises:
        StorageFailed: the file system refuses.
    """
    with reporting(layout.RECORDS):
        try:
            there = root.disk.names(root.paths.records)
        except FileNotFoundError:
            there = []
    if not set(_RECORDS).issubset(there):
        _make(root.paths, root.disk, _RECORD_FOLDERS)


def _make(paths: VaultPaths, disk: Disk, folders: tuple[str, ...]) -> None:
    for folder in folders:
        place = paths.locate(folder)
        with reporting(folder):
            disk.make_folders(place)
