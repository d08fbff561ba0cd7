"""Every version of every note, by content: `objects/<aa>/<sha256>`.

An object is a copy of its own and never a link: an editor that writes in place would change it.
What a person wrote is kept when it is first seen, too, but cheaply: unsynced, under a name of its
own (`<sha256>.seen`), so that no commit takes it for an object that is safely on the disk.
"""

from __future__ import annotations

import contextlib
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from keepm.errors import NotFound, StorageFailed
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.store.disk import RECORD_MODE, reporting
from keepm.store.root import Root

FOLDER = f"{layout.RECORDS}/objects"
LARGEST = 1 << 26
"""The largest file, in bytes, that is kept as a version or compared with one."""
_SEEN = ".seen"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """One kept version: its file, the digest it is named for, its size and age."""

    path: str
    digest: str
    size: int
    mtime_ns: int

    @property
    def is_seen(self) -> bool:
        """Tell whether it was only kept when it was seen, unsynced."""
        return self.path.endswith(_SEEN)


def put(root: Root, data: bytes) -> Checksum:
    """Keep these bytes, durably, and return their checksum. The caller holds the lock.

    Raises:
        StorageFailed: the file system refuses; no part of the object is left under its name.
    """
    checksum = Checksum.of(data)
    with reporting(_path(checksum)):
        root.disk.sync_all(write(root, {checksum: data}))
    return checksum


def write(
    root: Root, versions: Mapping[Checksum, bytes], *, along: Sequence[Path] = ()
) -> list[Path]:
    """Put versions under their names and return the folders that are to be synced for these.

    Files in `along` are synced together with the versions' bytes.

    Raises:
        OSError: the file system refuses.
    """
    folders: list[Path] = []
    fresh: list[tuple[Path, Path]] = []
    try:
        for checksum, data in versions.items():
            place = root.paths.locate(_path(checksum))
            # Also of one that is there: whoever put it there may have failed before the sync.
            folders.append(place.parent)
            seen = root.disk.state(place)
            if seen is not None and stat.S_ISREG(seen.st_mode) and seen.st_size == len(data):
                continue
            root.disk.make_folders(place.parent)
            # In the journal's folder recovery finds it again when we die before the rename.
            staged = temporary(root, f"object-{checksum.hex[:16]}")
            with contextlib.suppress(FileNotFoundError):
                root.disk.unlink(staged)
            root.disk.create(staged, data, mode=RECORD_MODE, sync=False)
            fresh.append((staged, place))
        root.disk.sync_all([*along, *(staged for staged, _ in fresh)])
        for staged, place in fresh:
            root.disk.rename_over(staged, place)
    except OSError:
        for staged, _ in fresh:
            with contextlib.suppress(OSError):
                root.disk.unlink(staged)
        raise
    return list(dict.fromkeys(folders))


def get(root: Root, checksum: Checksum) -> bytes:
    """Return the version with this checksum.

    Raises:
        NotFound: it was never kept, or gc took it.
        StorageFailed: it can't be read, or its bytes are no longer those it is named for.
    """
    damaged: str | None = None
    for path in (_path(checksum), _path(checksum) + _SEEN):
        with reporting(path):
            try:
                data, _ = root.disk.read(root.paths.locate(path), limit=LARGEST)
            except FileNotFoundError:
                continue
        if Checksum.of(data) == checksum:
            return data
        damaged = damaged or path
    if damaged is None:
        raise NotFound(f"no version {checksum.hex[:12]} is kept")
    raise StorageFailed(
        f"{damaged}: its bytes are not those it is named for",
        hint="The disk or a program changed it; take it from a backup.",
        details={"path": damaged, "reason": "damaged", "committed": False},
    )


def keep_seen(root: Root, data: bytes) -> None:
    """Keep a version that was found in the vault, as far as that is cheap. Needs no lock.

    Raises:
        StorageFailed: the file system refuses.
    """
    path = _path(Checksum.of(data)) + _SEEN
    place = root.paths.locate(path)
    with reporting(path):
        root.disk.make_folders(place.parent)
        with contextlib.suppress(FileExistsError):
            root.disk.create(place, data, mode=RECORD_MODE, sync=False)
            return
        if root.disk.read(place, limit=LARGEST)[0] != data:  # a crash cut it short
            root.disk.unlink(place)
            root.disk.create(place, data, mode=RECORD_MODE, sync=False)


def objects(root: Root) -> Iterator[ObjectFile]:
    """Yield every object there is, in no order; what isn't one of ours is passed over.

    Raises:
        StorageFailed: the folder can't be read.
    """
    folder = root.paths.locate(FOLDER)
    with reporting(FOLDER):
        try:
            parts = list(root.disk.scan(folder))
        except FileNotFoundError:
            return
        for part, seen in parts:
            if not stat.S_ISDIR(seen.st_mode):
                continue
            for name, state in root.disk.scan(folder / part):
                digest = name.removesuffix(_SEEN)
                if stat.S_ISREG(state.st_mode) and _DIGEST.fullmatch(digest) and digest[:2] == part:
                    yield ObjectFile(
                        f"{FOLDER}/{part}/{name}", digest, state.st_size, state.st_mtime_ns
                    )


def temporary(root: Root, name: str) -> Path:
    """Return a place for a file of this writer's that recovery may clear away."""
    return root.paths.locate(f"{layout.RECORDS}/journal/.{root.writer_id}.{name}.tmp")


def _path(checksum: Checksum) -> str:
    return f"{FOLDER}/{checksum.hex[:2]}/{checksum.hex}"
