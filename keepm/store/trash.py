"""What lies in the trash, and from where and when it came.

Ours: `.trash/<time>-<transaction id>/<old path below Memory/>`, which makes restoring exact. A
KeepM 3 trash is flat, with the time in the file's name; its old path is not recorded.
"""

from __future__ import annotations

import contextlib
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from keepm.errors import KeepMError
from keepm.model import layout
from keepm.store import journal, marks
from keepm.store.disk import reporting
from keepm.store.paths import fits, is_portable
from keepm.store.root import Root, is_id

_OURS = re.compile(r"(\d{8}T\d{6}Z)-(.+)")
_TIME = re.compile(r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)T(\d\d)[-:]?(\d\d)[-:]?(\d\d)(?:[.,]?\d+)?Z")


@dataclass(frozen=True, slots=True)
class Trashed:
    """One file in the trash.

    `deleted_at` is None where nothing trustworthy tells the time, `old_path` where nothing tells
    the place, `transaction_id` for what another program put there.
    """

    path: str
    size: int
    deleted_at: str | None
    old_path: str | None
    transaction_id: str | None


def entries(root: Root) -> Iterator[Trashed]:
    """Yield every regular file in the trash, in no order; symlinks are passed over.

    Raises:
        StorageFailed: the trash can't be read.
    """
    waiting = [layout.TRASH]
    while waiting:
        folder = waiting.pop()
        with reporting(folder):
            try:
                found = list(root.disk.scan(root.paths.locate(folder)))
            except (FileNotFoundError, NotADirectoryError):
                continue
        for name, seen in found:
            path = f"{folder}/{name}"
            if not is_portable(name) or not fits(path):
                continue
            kind = marks.kind(seen)
            if kind == stat.S_IFDIR:
                waiting.append(path)
            elif kind == stat.S_IFREG:
                yield _trashed(path, seen.st_size)


def tidy(root: Root) -> None:
    """Remove the empty folders that finished changes of ours left in the trash.

    The caller holds the vault's lock, so that no change is making its folder there just now. What
    can't be removed stays: it holds nothing of ours, or something after all.
    """
    with reporting(layout.TRASH):
        unfinished = journal.read(root).ids
    for folder in _folders(root, layout.TRASH):
        ours = _OURS.fullmatch(folder.removeprefix(f"{layout.TRASH}/"))
        if ours and is_id(ours[2]) and ours[2] not in unfinished:
            _remove_empty(root, folder)


def _remove_empty(root: Root, folder: str) -> None:
    for inner in _folders(root, folder):
        _remove_empty(root, inner)
    with contextlib.suppress(OSError, KeepMError):
        root.disk.remove_folder(root.paths.locate(folder))


def _folders(root: Root, folder: str) -> list[str]:
    try:
        found = list(root.disk.scan(root.paths.locate(folder)))
    except (OSError, KeepMError):
        return []
    return [f"{folder}/{name}" for name, seen in found if marks.kind(seen) == stat.S_IFDIR]


def _trashed(path: str, size: int) -> Trashed:
    batch, _, inner = path.removeprefix(f"{layout.TRASH}/").partition("/")
    ours = _OURS.fullmatch(batch)
    if ours and inner and is_id(ours[2]):
        old_path = f"{layout.MEMORY}/{inner}"
        if layout.place(old_path) is not None:
            return Trashed(path, size, _time(ours[1]), old_path, ours[2])
    if not inner:
        return Trashed(path, size, _time(batch), None, None)
    return Trashed(path, size, None, None, None)


def _time(text: str) -> str | None:
    found = _TIME.search(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = found.groups()
    if not ("01" <= month <= "12" and "01" <= day <= "31" and hour < "24"):
        return None
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}Z"
