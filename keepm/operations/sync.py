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

from keepm.errors import KeepMError, LimitExceeded, NotFound, RootUnavailable
from keepm.index import writing
from keepm.index.writing import Batch, Entry, FileRow
from keepm.markdown import documents, memories
from keepm.model.checksum import Checksum
from keepm.model.document import Document
from keepm.model.links import WikiLink
from keepm.model.memory import Memory
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault
from keepm.store import ledger, lock, reader, transaction
from keepm.store.reader import FileState, Skipped

_BATCH = 200
_RACY_NS = 3_000_000_000  # coarser than any file system's stamps
_FRESH_SECONDS = 2.0  # a retrieval trusts a pass this young
_INLINE_SECONDS = 0.05  # a pass that took longer runs beside the answer, not before it
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
    news = _ledger_news(vault)  # before the walk: what is written meanwhile counts as unseen
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
                skipped.append(_unread_row(item.path, item.reason, scanned_ns))
        elif deep or not _is_proven(item, row):
            unread.append(item)
    # What lies in a folder that denies access is unknown, not gone.
    closed = tuple(f"{row.path}/" for row in skipped if row.reason == "unreadable")
    removed = tuple(p for p in known if p not in present and not p.startswith(closed))
    vault.progress.left = len(unread)
    if unread and not deep and not vault.progress.rebuilding:
        vault.progress.state = IndexState.CATCHING_UP
    written: list[FileRow] = []
    batches = _noting(_batches(vault, unread, known, scanned_ns=scanned_ns), written)
    if vault.progress.rebuilding:
        writing.rebuild(vault.database, batches)
    else:
        for batch in batches:
            writing.apply(vault.database, batch)
    _settle(vault, written)
    meta = {"filled": "1", **news.marks}
    if deep:
        meta["last_checksum_scan"] = vault.now()
    if skipped or removed or any(vault.database.get_meta(k) != v for k, v in meta.items()):
        writing.apply(
            vault.database,
            Batch(skipped=tuple(skipped), removed=removed, approvals=news.approvals, meta=meta),
        )
    return Pass(len(present), len(unread), len(removed), len(skipped))


def _is_proven(state: FileState, row: FileRow | None) -> bool:
    """Tell whether the stamps alone prove that the index holds this version."""
    return (
        row is not None
        and (row.size, row.mtime_ns) == (state.size, state.mtime_ns)
        and state.mtime_ns < row.scanned_ns - _RACY_NS
    )


def _batches(
    vault: Vault, unread: Sequence[FileState], known: dict[str, FileRow], *, scanned_ns: int
) -> Iterator[Batch]:
    for start in range(0, len(unread), _BATCH):
        if vault.progress.stopping.is_set():
            return
        yield _batch(vault, [s.path for s in unread[start : start + _BATCH]], known, scanned_ns)
        vault.progress.left = max(0, len(unread) - start - _BATCH)


def _batch(vault: Vault, paths: Iterable[str], known: dict[str, FileRow], scanned_ns: int) -> Batch:
    """Read these files into one batch; a file that can't be read becomes a row with its reason."""
    entries: list[Entry] = []
    skipped: list[FileRow] = []
    touched: list[FileRow] = []
    removed: list[str] = []
    for path in paths:
        try:
            data, state = reader.read_with_state(
                vault.root, path, limit=vault.policy.document_bytes
            )
        except NotFound:
            removed.append(path)
            continue
        except LimitExceeded:
            skipped.append(_unread_row(path, "too_large", scanned_ns))
            continue
        except KeepMError as error:
            skipped.append(_unread_row(path, error.code, scanned_ns))
            continue
        row = known.get(path)
        checksum = Checksum.of(data).hex
        file = FileRow(path, state.size, state.mtime_ns, checksum, scanned_ns, None)
        if row is not None and row.checksum == checksum and row.reason is None:
            touched.append(file)
            continue
        entries.append(entry(path, data, file))
    return Batch(
        entries=tuple(entries),
        skipped=tuple(skipped),
        removed=tuple(removed),
        touched=tuple(touched),
    )


def entry(path: str, data: bytes, file: FileRow) -> Entry:
    """Parse one file's bytes for the index."""
    document = documents.read(path, data)
    links: tuple[WikiLink, ...] = ()
    if isinstance(document.content, Memory):
        links = memories.relations(_as_memory(document))
    return Entry(document=document, file=file, links=links)


def _as_memory(document: object) -> Document[Memory]:
    assert isinstance(document, Document)
    return document


def _unread_row(path: str, reason: str, scanned_ns: int) -> FileRow:
    return FileRow(path, 0, 0, "", scanned_ns, reason)


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
        batch = _batch(vault, late, {}, time.time_ns())
        writing.apply(vault.database, batch)
        written = [entry.file for entry in batch.entries]


def _moved_on(vault: Vault, row: FileRow) -> bool:
    state = reader.state(vault.root, row.path)
    return state is None or (state.size, state.mtime_ns) != (row.size, row.mtime_ns)


def refresh_paths(vault: Vault, paths: Iterable[str]) -> None:
    """Bring the index up to these files."""
    writing.apply(vault.database, _batch(vault, dict.fromkeys(paths), {}, time.time_ns()))


def take_up(vault: Vault, paths: Iterable[str]) -> None:
    """Bring the index up to what a mutation wrote, its ledger event included.

    The caller holds the vault's lock: only then are these paths all that the ledger's news is
    about, and the next retrieval needn't look at the whole vault.
    """
    news = _ledger_news(vault)
    batch = _batch(vault, dict.fromkeys(paths), {}, time.time_ns())
    writing.apply(vault.database, replace(batch, approvals=news.approvals, meta=news.marks))


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
        _wait(vault)
    return progress.state


def require_complete(vault: Vault) -> None:
    """Look at the files unless the index has seen every event of every ledger.

    Raises:
        RootUnavailable, IndexUnavailable: it can't be completed now.
    """
    if vault.database.get_meta("filled") is None or _has_news(vault):
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
    return _has_news(vault)


def _has_news(vault: Vault) -> bool:
    """Tell whether a ledger is longer than the index remembers."""
    sizes = ledger.sizes(vault.root)
    return any(_seen(vault, writer) != size for writer, size in sizes.items())


def _wait(vault: Vault) -> None:
    vault.progress.settled.wait(timeout=_PATIENCE_SECONDS)


def _pass_quietly(vault: Vault) -> None:
    try:
        reconcile(vault)
    except RootUnavailable:
        return  # the state says so in every answer


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


@dataclass(frozen=True, slots=True)
class _News:
    """What the ledgers say that the index doesn't know yet."""

    approvals: dict[str, str]  # checksum → channel
    marks: dict[str, str]  # how far each ledger has been read, as the index remembers it


def _ledger_news(vault: Vault) -> _News:
    sizes = ledger.sizes(vault.root)
    offsets = {writer: _seen(vault, writer) for writer in sizes}
    if offsets == sizes:
        return _News({}, {})
    events, reached = ledger.events_since(vault.root, offsets)
    marks = {f"ledger:{writer}": str(offset) for writer, offset in reached.items()}
    return _News(ledger.approvals(events), marks)


def _seen(vault: Vault, writer: str) -> int:
    """Return how much of a writer's ledger the index knows, in bytes."""
    return int(vault.database.get_meta(f"ledger:{writer}") or 0)
