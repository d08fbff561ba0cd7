"""From the commit point to the end: how a sealed record becomes files and its event.

Only forward, from wherever it stopped, and as often as it takes; it stops at a version that
nobody of ours wrote.
"""

from __future__ import annotations

import contextlib
import errno
import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from keepm.errors import InvalidIdentifier, KeepMError
from keepm.model.checksum import Checksum
from keepm.store import history, journal, ledger
from keepm.store.disk import nothing
from keepm.store.event import Head, LedgerEvent
from keepm.store.journal import FileIntent, Intent
from keepm.store.ledger import Tail, Written
from keepm.store.root import Root

_IRREGULAR = frozenset({errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.EFBIG, errno.ENXIO})
_EMPTY = Checksum.of(b"").hex


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record: nothing stood in the way when there are no strangers."""

    event: LedgerEvent
    strangers: tuple[str, ...] = ()  # the paths at which we stopped
    begun: bool = False  # whether some file was changed before we stopped
    head: Head | None = None  # how the ledger ends, if the event was appended by this very call


def finish(
    root: Root,
    intent: Intent,
    last: Tail | None = None,
    placed: Callable[[Written], None] | None = None,
) -> Outcome:
    """Bring a sealed record to its end, from wherever it stopped.

    `last` is how the ledger ends if the event can't be in it yet: the caller has sealed the
    record just now and nobody else may append. `placed` is called when files and event are in
    their places, and the disk is waited for.

    Raises:
        OSError: the file system refused; the record stays.
    """
    logged = ledger.find(root, intent.event) if last is None else None
    if logged is not None and not logged[1]:
        # A later change stands: files and event are durable, and the record's removal got lost.
        _close(root, intent)
        return Outcome(logged[0])
    standings = [_standing(root, file) for file in intent.files]
    strange = tuple(
        file.target
        for file, standing in zip(intent.files, standings, strict=True)
        if standing is _Standing.STRANGE
    )
    if strange and logged is None:
        return Outcome(intent.event, strange)
    durable: set[str] = set()
    for number, (file, standing) in enumerate(zip(intent.files, standings, strict=True)):
        # Once the event is there, what is strange is a later hand edit.
        if standing in (_Standing.DONE, _Standing.STRANGE):
            continue
        if not _apply(root, intent, number, standing, durable, fresh=last is not None):
            return Outcome(intent.event, (file.target,), begun=number > 0 or file.to is not None)
    folders = sorted({_folder(path) for path in intent.touched} - durable)
    unsynced = [root.paths.locate(folder) for folder in folders]
    if logged is not None:
        root.disk.sync_all([*unsynced, *ledger.rewrite_last(root)])
        _close(root, intent)
        return Outcome(logged[0])
    # Side by side: a power cut in between leaves the record, and the next look at it compares the
    # files with it, whether the event got through or not.
    written = ledger.append(root, intent.event, last)
    root.disk.sync_all(
        [*written.unsynced, *unsynced],
        meanwhile=nothing if placed is None else functools.partial(placed, written),
        then=functools.partial(_close, root, intent),
    )
    return Outcome(written.event, head=written.head)


def version(root: Root, path: str) -> str | None:
    """Return the digest of what is at a path: None for nothing, no digest for no regular file."""
    try:
        data, _ = root.disk.read(root.paths.locate(path), limit=history.LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except InvalidIdentifier:
        return "elsewhere"
    except OSError as error:
        if error.errno not in _IRREGULAR:
            raise
        return "irregular"
    return Checksum.of(data).hex


class _Standing(Enum):
    """How far one file of a record has come."""

    UNTOUCHED = 1
    PLACED = 2  # a move whose source is still there
    DONE = 3
    STRANGE = 4


def _close(root: Root, intent: Intent) -> None:
    # The change stands already: what can't be tidied up now is tidied up by the next recovery.
    with contextlib.suppress(OSError, KeepMError):
        if journal.clear_staged(root, intent):
            journal.remove(root, intent)


def _apply(
    root: Root,
    intent: Intent,
    number: int,
    standing: _Standing,
    durable: set[str],
    *,
    fresh: bool,
) -> bool:
    """Bring one file to its new version; tell whether no stranger's version was in the way.

    `durable` are the folders that were synced since this record last changed them. What is
    `fresh` was staged just now by this very call.
    """
    file = intent.files[number]
    if file.after is None:
        if version(root, file.path) != file.before:
            return False
        root.disk.unlink(root.paths.locate(file.path))
        durable.discard(_folder(file.path))
        return True
    if standing is _Standing.UNTOUCHED:
        staged = intent.staged(root, number) if fresh else _staged(root, intent, number)
        if staged is None or not _place(root, file, staged):
            return False
        durable.discard(_folder(file.target))
    if file.to is not None:
        here, there = _folder(file.path), _folder(file.to)
        if here != there:
            # First the new name: two folders reach the disk in any order, and a power cut
            # between them would leave the file in neither.
            root.disk.sync_folder(root.paths.locate(there))
            durable.add(there)
        if version(root, file.path) != file.before:
            return False
        root.disk.unlink(root.paths.locate(file.path))
        durable.discard(here)
    return True


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _place(root: Root, file: FileIntent, staged: Path) -> bool:
    """Rename the new version into place, looking once more right before: editors save any time."""
    target = root.paths.locate(file.target)
    if not file.is_new:
        if version(root, file.target) != file.before:
            return False
        root.disk.rename_over(staged, target)
        return True
    try:
        root.disk.rename_new(staged, target)
        return True
    except FileExistsError:
        if version(root, file.target) != _EMPTY:
            return False
    # The empty file with which an earlier `rename_new` took the name.
    root.disk.unlink(target)
    try:
        root.disk.rename_new(staged, target)
    except FileExistsError:
        return False
    return True


def _standing(root: Root, file: FileIntent) -> _Standing:
    target = version(root, file.target)
    if file.after is None and target is None:
        return _Standing.DONE
    if not file.is_new:
        if target == file.after:
            return _Standing.DONE
        return _Standing.UNTOUCHED if target == file.before else _Standing.STRANGE
    placed = target == file.after
    if not placed and target not in (None, _EMPTY):
        return _Standing.STRANGE
    if file.to is None:
        return _Standing.DONE if placed else _Standing.UNTOUCHED
    source = version(root, file.path)
    if source == file.before:
        return _Standing.PLACED if placed else _Standing.UNTOUCHED
    return _Standing.DONE if placed and source is None else _Standing.STRANGE


def _staged(root: Root, intent: Intent, number: int) -> Path | None:
    """Return where a file's new version is staged, made again from its object when it is lost."""
    file = intent.files[number]
    assert file.after is not None
    place = intent.staged(root, number)
    with contextlib.suppress(FileNotFoundError):
        if Checksum.of(root.disk.read(place, limit=history.LARGEST)[0]).hex == file.after:
            return place
        root.disk.unlink(place)
    try:
        data = history.get(root, Checksum(file.after))
    except KeepMError:
        return None
    old = root.disk.state(root.paths.locate(file.path))
    root.disk.make_folders(place.parent)
    root.disk.create(place, data, mode=None if old is None else old.st_mode & 0o777)
    return place
