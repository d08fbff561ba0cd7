"""Keeping the index true to the files: what changed by hand, elsewhere, or before a crash.

A quick pass compares size and modification time with what the index remembers; a deep pass
compares checksums. Files whose stamp is as young as the scan that recorded it are unproven
(git calls them racily clean) and are hashed again by the next quick pass.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from keepm.errors import IndexUnavailable, KeepMError, RootUnavailable
from keepm.index import writing
from keepm.index.writing import Batch, FileRow
from keepm.operations import anchoring, intake, news, recording
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault
from keepm.store import lock, reader, transaction
from keepm.store.reader import FileState, Skipped

_FRESH_SECONDS = 2.0  # a retrieval trusts a pass this young
_INLINE_SECONDS = 0.05  # a pass that took longer runs beside the answer, not before it
_IDLE_SECONDS = 10.0  # after such a pause an answer waits for the look at the files
_PATIENCE_SECONDS = 1.0  # how long an answer waits for a running pass


@dataclass(frozen=True, slots=True)
class Pass:
    """What one look at the files found."""

    seen: int
    read: int
    removed: int
    skipped: int


def reconcile(vault: Vault, *, deep: bool = False) -> Pass:
    """Bring the index up to the files; safe beside writers in this and other processes.

    Raises:
        RootUnavailable: the vault isn't there; nothing is taken for deleted.
        IndexUnavailable: the index can't be written.
    """
    progress = vault.progress
    with progress.passing:
        began = time.monotonic()
        progress.rebuilding = vault.database.get_meta("filled") is None
        progress.state = IndexState.REBUILDING if progress.rebuilding else IndexState.CATCHING_UP
        try:
            result = _look(vault, deep=deep)
        except RootUnavailable:
            progress.state = IndexState.UNAVAILABLE
            progress.ended = time.monotonic()
            raise
        progress.state, progress.left = IndexState.CURRENT, 0
        progress.rebuilding = False
        progress.ended = time.monotonic()
        progress.took = progress.ended - began
        return result


def _look(vault: Vault, *, deep: bool) -> Pass:
    told = news.read(vault)  # before the walk: what is written meanwhile counts as unseen
    known = writing.files(vault.database)
    scanned_ns = time.time_ns()
    unread: list[FileState] = []
    skipped: list[FileRow] = []
    present: set[str] = set()
    for item in reader.walk(vault.root, expect_memory=True):
        present.add(item.path)
        row = known.get(item.path)
        if isinstance(item, Skipped):
            if row is None or row.reason != item.reason or item.reason == "unreadable":
                skipped.append(intake.unread_row(item.path, item.reason, scanned_ns))
        elif deep or not intake.is_proven(item, row):
            unread.append(item)
    # What lies in a folder that denies access is unknown, not gone.
    closed = tuple(f"{row.path}/" for row in skipped if row.reason == "unreadable")
    removed = tuple(p for p in known if p not in present and not p.startswith(closed))
    vault.progress.left = len(unread)
    if unread and not deep and not vault.progress.rebuilding:
        vault.progress.state = IndexState.CATCHING_UP
    written: list[FileRow] = []
    on_record = intake.on_record_of(told) if vault.progress.rebuilding else None
    batches = _noting(
        intake.batches(vault, unread, known, scanned_ns=scanned_ns, on_record=on_record), written
    )
    if vault.progress.rebuilding:
        writing.rebuild(vault.database, batches)
    else:
        for batch in batches:
            writing.apply(vault.database, batch)
    _settle(vault, written)
    meta = {"filled": "1", **(told.marks or {})}
    if deep:
        meta["last_checksum_scan"] = vault.now()
    gone = () if vault.progress.rebuilding else tuple(intake.edit(p, known[p]) for p in removed)
    if (
        skipped
        or removed
        or told.anew
        or any(vault.database.get_meta(k) != v for k, v in meta.items())
    ):
        writing.apply(
            vault.database,
            Batch(
                skipped=tuple(skipped),
                removed=removed,
                versions=told.versions,
                rulings=told.rulings,
                anew=told.anew,
                edits=gone,
                meta=meta,
            ),
        )
    if told.marks:
        anchoring.advance_others(vault)
    return Pass(len(present), len(unread), len(removed), len(skipped))


def _noting(batches: Iterable[Batch], written: list[FileRow]) -> Iterator[Batch]:
    for batch in batches:
        yield batch
        written.extend(entry.file for entry in batch.entries)


def _settle(vault: Vault, written: Sequence[FileRow]) -> None:
    """Read again what changed while it was on its way into the index.

    Without this, a writer's newer row could be replaced by the version read before it.
    """
    for _ in range(3):
        late = [row.path for row in written if _moved_on(vault, row)]
        if not late:
            return
        batch = intake.read_batch(vault, late, {row.path: row for row in written}, time.time_ns())
        writing.apply(vault.database, batch)
        written = [entry.file for entry in batch.entries]


def _moved_on(vault: Vault, row: FileRow) -> bool:
    state = reader.state(vault.root, row.path)
    return state is None or (state.size, state.mtime_ns) != (row.size, row.mtime_ns)


def refresh_paths(vault: Vault, paths: Iterable[str]) -> None:
    """Bring the index up to these files, which may have been changed by hand."""
    wanted = list(dict.fromkeys(paths))
    known = writing.file_rows(vault.database, wanted)
    writing.apply(vault.database, intake.read_batch(vault, wanted, known, time.time_ns()))


def take_up(vault: Vault, paths: Iterable[str]) -> None:
    """Bring the index up to what a mutation wrote, its ledger event included.

    The caller holds the vault's lock: only then are these paths all that the ledger's news is
    about, and the next retrieval needn't look at the whole vault.
    """
    told = news.read(vault)
    batch = intake.read_batch(vault, dict.fromkeys(paths), {}, time.time_ns())
    writing.apply(
        vault.database,
        replace(
            batch,
            versions=told.versions,
            rulings=told.rulings,
            anew=told.anew,
            meta=told.marks or {},
            edits=(),
        ),
    )
    if told.marks:
        anchoring.advance(vault)


# ---- when to look -----------------------------------------------------------------------------


def start(vault: Vault) -> None:
    """Begin the first pass beside everything else: recovery, then the files."""
    _in_background(vault, first=True)


def refresh(vault: Vault) -> IndexState:
    """Make the index as fresh as an answer may wait for, and say how fresh that is."""
    progress = vault.progress
    if progress.worker is not None and not progress.settled.is_set():
        _wait(vault)
    elif progress.passing.locked():
        return progress.state  # the deep pass is on; it changes only what nobody could know
    elif progress.ended is None or (_is_due(vault) and progress.took <= _INLINE_SECONDS):
        _pass_quietly(vault)
    elif _is_due(vault):
        _in_background(vault, first=False)
        if time.monotonic() - progress.ended > _IDLE_SECONDS:
            # People edit between two tasks, hardly between two calls of one.
            _wait(vault)
    return progress.state


def require_complete(vault: Vault) -> None:
    """Look at the files unless the index has seen every event of every ledger.

    Raises:
        RootUnavailable, IndexUnavailable: it can't be completed now.
    """
    if vault.database.get_meta("filled") is None or news.waiting(vault):
        reconcile(vault)


def deep_due(vault: Vault) -> bool:
    """Tell whether the last pass over all checksums is older than configured (0: never due)."""
    period = vault.settings.deep_reconcile_seconds
    if period == 0:
        return False
    last = vault.database.get_meta("last_checksum_scan")
    if last is None:
        return True
    return (vault.clock.now() - datetime.fromisoformat(last)).total_seconds() >= period


def _is_due(vault: Vault) -> bool:
    progress = vault.progress
    if progress.ended is None or time.monotonic() - progress.ended > _FRESH_SECONDS:
        return True
    return news.waiting(vault)


def _wait(vault: Vault) -> None:
    vault.progress.settled.wait(timeout=_PATIENCE_SECONDS)


def _pass_quietly(vault: Vault) -> None:
    try:
        reconcile(vault)
        recording.record(vault)
    except RootUnavailable:
        return  # the state says so in every answer
    except IndexUnavailable as error:
        if error.details.get("damaged") or vault.progress.rebuilding:
            raise
        # A full disk: what the index knows is still worth an answer, which says how fresh it is.
        vault.progress.ended = time.monotonic()


def _in_background(vault: Vault, *, first: bool) -> None:
    progress = vault.progress
    if progress.worker is not None and progress.worker.is_alive():
        return
    progress.settled.clear()
    progress.worker = threading.Thread(
        target=_work, args=(vault, first), name="keepm-index", daemon=True
    )
    progress.worker.start()


def _work(vault: Vault, first: bool) -> None:
    try:
        if first:
            recover(vault)
        reconcile(vault)
        vault.progress.settled.set()
        recording.record(vault)
        if first:
            recording.keep_seen(vault)
        if not vault.progress.stopping.is_set() and deep_due(vault):
            reconcile(vault, deep=True)
    except KeepMError:
        # A background pass has nobody to tell; the next answer's state and status say it.
        if vault.progress.state is not IndexState.UNAVAILABLE:
            vault.progress.state = IndexState.CATCHING_UP
        vault.progress.ended = time.monotonic()
    finally:
        vault.progress.settled.set()


def renew(vault: Vault) -> None:
    """Set a damaged index aside and begin to fill a new one from the files.

    Raises:
        IndexUnavailable: the data folder can't be written.
    """
    vault.database.renew()
    vault.progress.ended = None
    _in_background(vault, first=False)


def recover(vault: Vault) -> None:
    """Finish what a dead process left, when there is anything and the lock is free."""
    if not transaction.pending(vault.root):
        return
    with lock.hold(
        vault.root.paths,
        surface="recovery",
        timeout=vault.settings.lock_timeout_seconds,
        now=vault.now(),
    ):
        require_complete(vault)
        take_up(vault, transaction.recover(vault.root).finished)
