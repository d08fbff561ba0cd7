"""Every version of every note, by content: `objects/<aa>/<sha256>`.

An object is a copy of its own and never a link: an editor that writes in place would change it.
"""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

from keepm.errors import NotFound, StorageFailed
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.store.disk import RECORD_MODE, reporting
from keepm.store.root import Root

FOLDER = f"{layout.RECORDS}/objects"
LARGEST = 1 << 26
"""The largest file, in bytes, that is kept as a version or compared with one."""


def put(root: Root, data: bytes) -> Checksum:
    """Keep these bytes, durably, and return their checksum. The caller holds the lock.

    Raises:
        StorageFailed: the file system refuses; no part of the object is left under its name.
    """
    checksum = Checksum.of(data)
    with reporting(_path(checksum)):
        write(root, checksum, data)
    return checksum


def write(root: Root, checksum: Checksum, data: bytes) -> None:
    """Do as `put`, but let the file system's own errors through.

    Raises:
        OSError: the file system refuses.
    """
    place = root.paths.locate(_path(checksum))
    seen = root.disk.state(place)
    if seen is not None and stat.S_ISREG(seen.st_mode) and seen.st_size == len(data):
        return
    root.disk.make_folders(place.parent)
    # In the journal's folder recovery finds it again when we die before the rename.
    staged = temporary(root, f"object-{checksum.hex[:16]}")
    with contextlib.suppress(FileNotFoundError):
        root.disk.unlink(staged)
    root.disk.create(staged, data, mode=RECORD_MODE)
    try:
        root.disk.rename_over(staged, place)
    except OSError:
        with contextlib.suppress(OSError):
            root.disk.unlink(staged)
        raise
    root.disk.sync_folder(place.parent)


def get(root: Root, checksum: Checksum) -> bytes:
    """Return the version with this checksum.

    Raises:
        NotFound: it was never kept, or gc took it.
        StorageFailed: it can't be read, or its bytes are no longer those it is named for.
    """
    path = _path(checksum)
    with reporting(path):
        try:
            data, _ = root.disk.read(root.paths.locate(path), limit=LARGEST)
        except FileNotFoundError as error:
            raise NotFound(f"no version {checksum.hex[:12]} is kept") from error
    if Checksum.of(data) != checksum:
        raise StorageFailed(
            f"{path}: its bytes are not those it is named for",
            hint="The disk or a program changed it; take it from a backup.",
            details={"path": path, "reason": "damaged", "committed": False},
        )
    return data


def temporary(root: Root, name: str) -> Path:
    """Return a place for a file of this writer's that recovery may clear away."""
    return root.paths.locate(f"{layout.RECORDS}/journal/.{root.writer_id}.{name}.tmp")


def _path(checksum: Checksum) -> str:
    return f"{FOLDER}/{checksum.hex[:2]}/{checksum.hex}"
