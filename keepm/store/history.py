"""Every version of every note, by content: `objects/<aa>/<sha256>`.

An object is a copy of its own and never a link: an editor that writes in place would change it.
What a person wrote is kept when it is first seen, too, but cheaply: unsynced, under a name of its
own (`<sha256>.seen`), so that no commit takes it for an object that is safely on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import re
import stat
from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class Written:
    """Versions under their names, not durable yet.

    `unsynced` are the files and folders that are to be synced, `fresh` the files just made: when
    the sync fails they have to go, since after it the kernel may take their pages for clean.
    `folders` are those whose names are durable with them.
    """

    unsynced: tuple[Path, ...]
    fresh: tuple[Path, ...]
    folders: frozenset[str] = frozenset()

    def settle(self, root: Root) -> None:
        """Note that all was synced: it needn't be again for what was there."""
        root.durable_folders.update(self.folders)

    def discard(self, root: Root) -> None:
        """Take away what was made, as far as possible."""
        for place in self.fresh:
            with contextlib.suppress(OSError):
                root.disk.unlink(place)


def put(root: Root, data: bytes) -> Checksum:
    """Keep these bytes, durably, and return their checksum. The caller holds the lock.

    Raises:
        StorageFailed: the file system refuses; no part of the object is left under its name.
    """
    checksum = Checksum.of(data)
    with reporting(_path(checksum)):
        written = write(root, {checksum: data})
        try:
            root.disk.sync_all(written.unsynced)
            written.settle(root)
        except OSError:
            written.discard(root)
            raise
    return checksum


def write(root: Root, versions: Mapping[Checksum, bytes]) -> Written:
    """Put versions under their names, for the caller to sync. It holds the lock.

    Straight under the name and without a rename, so that one wait for the disk serves everything
    that a change writes before it counts: no event names a version before it is synced, and one
    that a power cut left in pieces is told by its bytes, here and by `get`.

    Raises:
        OSError: the file system refuses; nothing new is left.
    """
    unsynced: list[Path] = []
    fresh: list[Path] = []
    try:
        for checksum, data in versions.items():
            place = root.paths.locate(_path(checksum))
            # Also what is there already: whoever put it there may have failed before the sync.
            unsynced += [place, place.parent]
            there = root.disk.state(place.parent) is not None
            if not there or place.parent.name not in root.durable_folders:
                unsynced.append(place.parent.parent)
            if _is_whole(root, place, data):
                continue
            root.disk.make_folders(place.parent, sync=False)
            fresh.append(place)
            root.disk.create(place, data, mode=RECORD_MODE, sync=False)
        folder = root.paths.locate(FOLDER)
        folders = root.disk.names(folder) if folder in unsynced else ()
    except OSError:
        Written((), tuple(fresh)).discard(root)
        raise
    return Written(tuple(dict.fromkeys(unsynced)), tuple(fresh), frozenset(folders))


def _is_whole(root: Root, place: Path, data: bytes) -> bool:
    """Tell whether an object is there; what is no whole one is taken out of the way."""
    try:
        if root.disk.read(place, limit=len(data))[0] == data:
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
    root.disk.unlink(place)
    return False


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


def _path(checksum: Checksum) -> str:
    return f"{FOLDER}/{checksum.hex[:2]}/{checksum.hex}"
