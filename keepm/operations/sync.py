"""Keeping the index true to the files: when to look at them, and what answers wait for."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable
from datetime import datetime

from keepm.errors import IndexUnavailable, KeepMError, RootUnavailable, StorageFailed
from keepm.operations import holding, news, recording
from keepm.operations.passes import Pass as Pass
from keepm.operations.passes import note_compared as note_compared
from keepm.operations.passes import reconcile as reconcile
from keepm.operations.passes import refresh_paths as refresh_paths
from keepm.operations.passes import take_up as take_up
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault
from keepm.store import lock, transaction
from keepm.store.root import is_bare

_FRESH_SECONDS = 2.0  # a retrieval trusts a pass this young
_INLINE_SECONDS = 0.05  # a pass that took longer runs beside the answer, not before it
_FEW = 5  # hand edits that an answer puts on record: each waits for the disk
_IDLE_SECONDS = 10.0  # after such a pause an answer waits for the look at the files
_PATIENCE_SECONDS = 1.0  # how long an answer waits for a running pass


def start(vault: Vault) -> None:
    """Begin the first pass beside everything else: recovery, then the files."""
    _in_background(vault, first=True)


def refresh(vault: Vault) -> IndexState:
    """Make the index as fresh as an answer may wait for, and say how fresh that is.

    Raises:
        IndexUnavailable: the file is damaged or gone (`damaged` in its details).
    """
    state = _refreshed(vault)
    if state is IndexState.CURRENT and vault.database.get_meta("filled") is None:
        return IndexState.REBUILDING  # somebody has renewed the file since the last look
    return state


def _refreshed(vault: Vault) -> IndexState:
    progress = vault.progress
    if progress.worker is not None and not progress.settled.is_set():
        _wait(vault)
    elif progress.passing.locked():
        return progress.state  # somebody looks just now
    elif progress.ended is None or (progress.took <= _INLINE_SECONDS and _is_due(vault)):
        _pass_quietly(vault)
    elif _is_due(vault):
        # People edit between two tasks, hardly between two calls of one.
        idle = time.monotonic() - progress.ended > _IDLE_SECONDS
        _in_background(vault, first=False, awaited=idle)
        if idle:
            _wait(vault)
        elif progress.state is IndexState.CURRENT:
            with contextlib.suppress(RootUnavailable):
                if news.waiting(vault):
                    return IndexState.CATCHING_UP  # this answer alone: who wrote takes it up too
    return progress.state


def require_complete(vault: Vault) -> None:
    """Look at the files unless the index has seen every event of every ledger.

    Raises:
        RootUnavailable, IndexUnavailable: it can't be completed now.
    """
    holding.refuse_another(vault)
    # Without our own records the folder may be an empty one in the vault's place.
    if is_bare(vault.root) or vault.database.get_meta("filled") is None or news.waiting(vault):
        reconcile(vault)


def deep_due(vault: Vault) -> bool:
    """Tell whether the last pass over all checksums is older than configured (0: never due)."""
    return vault.settings.deep_reconcile_seconds > 0 and deep_in(vault) == 0


def deep_in(vault: Vault) -> float:
    """Return in how many seconds the next pass over all checksums is due; a day if it is off."""
    period = vault.settings.deep_reconcile_seconds
    if period == 0:
        return 86_400.0
    last = vault.database.get_meta("last_checksum_scan")
    if last is None:
        return 0.0
    passed = (vault.clock.now() - datetime.fromisoformat(last)).total_seconds()
    return max(0.0, period - passed) if passed >= 0 else 0.0  # the clock was set back


def _is_due(vault: Vault) -> bool:
    progress = vault.progress
    if progress.ended is None or time.monotonic() - progress.ended > _FRESH_SECONDS:
        return True
    try:
        return news.waiting(vault)
    except RootUnavailable:
        return True  # the look itself says it in the answer's state


def _wait(vault: Vault) -> None:
    vault.progress.settled.wait(timeout=_PATIENCE_SECONDS)


def _pass_quietly(vault: Vault) -> None:
    try:
        with vault.database.hurried():
            reconcile(vault)
            vault.progress.trouble = None
            if recording.record(vault, most=_FEW):
                _record_beside(vault)
    except RootUnavailable:
        return  # the state says so in every answer
    except IndexUnavailable as error:
        if error.details.get("damaged"):
            raise
        if vault.progress.rebuilding and not error.details.get("busy"):
            raise
        # A full disk, or somebody writes: what the index knows is still worth an answer, which
        # says how fresh it is.
        _note_behind(vault, error)


def catch_up(vault: Vault) -> bool:
    """Look at the files for a command that only reads; tell whether that was possible.

    While somebody else fills the index, what it knows is answered.

    Raises:
        RootUnavailable, IndexUnavailable: as `reconcile`, but for a busy index.
    """
    try:
        with vault.database.hurried():
            reconcile(vault)
            recording.record(vault)
    except IndexUnavailable as error:
        if not error.details.get("busy"):
            raise
        _note_behind(vault, error)
        return False
    return True


def take_in(vault: Vault, paths: Iterable[str]) -> bool:
    """Bring the index up to files that an answer shows; tell whether that was possible."""
    try:
        with vault.database.hurried():
            refresh_paths(vault, paths)
    except RootUnavailable:
        return False
    except IndexUnavailable as error:
        if not error.details.get("busy"):
            raise
        return False
    return True


def look_again(vault: Vault) -> None:
    """Look at the files once more for a document that the index doesn't know.

    Raises:
        RootUnavailable: the vault isn't there.
        IndexUnavailable: it is being filled, or somebody else writes to it just now.
    """
    if vault.progress.rebuilding and vault.progress.passing.locked():
        raise IndexUnavailable(
            "the index is being filled, and this isn't in it yet",
            hint="Try again in a moment; memory_status tells how many files are left.",
            details={"busy": True},
        )
    with vault.database.hurried():
        reconcile(vault)


def look_soon(vault: Vault) -> None:
    """Begin a look at the files beside everything else, behind one that is on: it may be past
    what changed just now. For threads that have time.
    """
    worker = vault.progress.worker
    if worker is not None:
        worker.join()
    if not vault.progress.stopping.is_set():
        _in_background(vault, first=False)


def _in_background(vault: Vault, *, first: bool, awaited: bool = True) -> None:
    """Look at the files beside everything else; answers wait a little for an `awaited` look."""
    progress = vault.progress
    if progress.worker is not None and progress.worker.is_alive():
        return
    if awaited:
        progress.settled.clear()
        if progress.state is IndexState.CURRENT:
            progress.state = IndexState.CATCHING_UP  # for those who don't wait long enough
    else:
        progress.settled.set()
    progress.worker = threading.Thread(
        target=_work, args=(vault, first), name="keepm-index", daemon=True
    )
    progress.worker.start()


def _work(vault: Vault, first: bool) -> None:
    try:
        if first:
            recover(vault)
        reconcile(vault)
        vault.progress.trouble = None
        vault.progress.settled.set()
        if recording.record(vault):
            _record_beside(vault)
        if first:
            recording.keep_seen(vault)
    except KeepMError as error:
        # A background pass has nobody to tell; the next answer's state and status say it.
        if vault.progress.state is not IndexState.UNAVAILABLE:
            _note_behind(vault, error)
        vault.progress.ended = time.monotonic()
    finally:
        vault.progress.settled.set()


def _record_beside(vault: Vault) -> None:
    """Put the hand edits that are left on record beside looks and answers."""
    progress = vault.progress
    if progress.recorder is not None and progress.recorder.is_alive():
        return
    progress.recorder = threading.Thread(
        target=_record, args=(vault,), name="keepm-record", daemon=True
    )
    progress.recorder.start()


def _record(vault: Vault) -> None:
    with contextlib.suppress(KeepMError):  # what is left is noted: the next look begins again
        recording.record_all(vault)


def _note_behind(vault: Vault, error: KeepMError) -> None:
    """Let answers say that a look failed: an index that nobody has filled yet is being filled."""
    if not error.details.get("busy"):
        vault.progress.trouble = error.message
    filling = vault.progress.rebuilding
    vault.progress.state = IndexState.REBUILDING if filling else IndexState.CATCHING_UP
    vault.progress.ended = time.monotonic()


def renew(vault: Vault) -> None:
    """Set a damaged index aside and begin to fill a new one from the files.

    Raises:
        IndexUnavailable: the data folder can't be written.
    """
    vault.database.renew()
    vault.progress.state = IndexState.REBUILDING  # although a look that is on began before
    vault.progress.ended = None
    _in_background(vault, first=False)


def rebuild(vault: Vault) -> Pass:
    """Throw the index away and fill a new one from the files; answers say so meanwhile.

    Raises:
        RootUnavailable: the vault isn't there; the index stays as it is.
        IndexUnavailable: the data folder can't be written.
    """
    # What is noted for the record mustn't go with the index; what is missing is deleted now.
    reconcile(vault, certain=True)
    recording.record(vault)
    if vault.reviews_edits:
        recording.keep_seen(vault)  # what was read so far waits for nobody afterwards
    with vault.progress.passing:
        vault.database.renew(discard=True)
    return reconcile(vault, deep=True)


def recover(vault: Vault) -> None:
    """Finish what a dead process left, when there is anything and the lock is free.

    A vault that can't be written now is read as it is; status tells what waits.
    """
    if vault.read_only is not None or not transaction.pending(vault.root):
        return
    with (
        contextlib.suppress(StorageFailed),
        lock.hold(
            vault.root.paths,
            surface="recovery",
            timeout=vault.settings.lock_timeout_seconds,
            now=vault.now(),
        ),
    ):
        require_complete(vault)
        take_up(vault, transaction.recover(vault.root).finished)
