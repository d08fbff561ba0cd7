"""One pass over the vault: what changed by hand, elsewhere, or before a crash, into the index.

A quick pass compares size and modification time with what the index remembers; a deep pass
compares checksums, beside answers and writers. Files whose stamp is as young as the scan that
recorded it are unproven (git calls them racily clean) and are hashed again by the next quick pass.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from keepm.errors import IndexUnavailable, KeepMError, RootUnavailable
from keepm.index import listing, lookalikes, writing
from keepm.index.listing import Stamp
from keepm.index.writing import Batch, FileRow
from keepm.model.checksum import Checksum
from keepm.operations import anchoring, collector, holding, intake, news
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault
from keepm.store import reader
from keepm.store.reader import FileState, Skipped
from keepm.store.transaction import Commit

Item = TypeVar("Item")

_RACY_NS = 3_000_000_000  # coarser than any file system's stamps
_TURN_SECONDS = 0.00005  # after each stretch of a walk: a look lets answers go on
_GIVE_WAY_SECONDS = 0.05  # before each file of a deep pass, while answers are in the making
_MOST_RENEWED = 3  # looks at the files, where the index is deleted or renewed meanwhile
_PAUSE_SECONDS = 0.0003  # after each file of a deep pass: threads that answer go first


@dataclass(frozen=True, slots=True)
class Pass:
    """What one look at the files found."""

    seen: int
    read: int
    removed: int
    skipped: int
    held: int = 0  # missing, and not taken for deleted yet

    @property
    def state(self) -> IndexState:
        """What the index was worth right after this look."""
        return IndexState.HELD if self.held else IndexState.CURRENT


def reconcile(vault: Vault, *, deep: bool = False, certain: bool = False) -> Pass:
    """Bring the index up to the files; safe beside writers in this and other processes.

    A deep pass compares checksums too, for files whose stamps say nothing changed. `certain`:
    the owner says that what is missing is deleted, however much it is.

    Raises:
        RootUnavailable: the vault isn't there; nothing is taken for deleted.
        IndexUnavailable: the index can't be written.
    """
    progress = vault.progress
    with progress.passing:
        began = time.monotonic()
        for attempt in range(_MOST_RENEWED):
            last = attempt == _MOST_RENEWED - 1
            made = vault.database.get_meta("made")
            progress.rebuilding = vault.database.get_meta("filled") is None
            if progress.rebuilding:
                progress.state = IndexState.REBUILDING
            elif progress.state is IndexState.REBUILDING:
                progress.state = IndexState.CATCHING_UP  # somebody else has filled it
            # Else it stays what it was: only what is found makes an answer say something new.
            try:
                holding.refuse_another(vault)
                result = _look(vault, made, deep=deep, certain=certain)
            except RootUnavailable:
                progress.state = IndexState.UNAVAILABLE
                progress.ended = time.monotonic()
                raise
            except IndexUnavailable:
                if last or vault.database.get_meta("made") == made:
                    raise
                continue  # another file is in its place, which is empty
            progress.state = result.state
            if last or vault.database.get_meta("made") == made:
                break
        progress.left, progress.held = 0, result.held
        progress.rebuilding = False
        progress.seen_at = vault.now()
        progress.ended = time.monotonic()
        progress.took = progress.ended - began
    return _compare(vault, result) if deep else result


def _compare(vault: Vault, quick: Pass) -> Pass:
    """Compare every file's checksum with the index, after a quick pass.

    Beside everything else: nobody waits for it, and in a server others go first at each file.
    """
    progress = vault.progress
    pause = 0 if progress.keeper is None else _PAUSE_SECONDS
    rows = [row for row in writing.files(vault.database).values() if row.checksum]
    late: list[str] = []
    for row in rows:
        if pause:
            progress.give_way(_GIVE_WAY_SECONDS)
        if not _holds(vault, row):
            late.append(row.path)
        if progress.stopping.is_set() or (pause and progress.stopping.wait(pause)):
            return quick
    if late:
        refresh_paths(vault, late)
    note_compared(vault)
    return replace(quick, read=quick.read + len(late))


def note_compared(vault: Vault) -> None:
    """Note that the checksums of all files were compared just now."""
    _put_meta(vault, {"last_checksum_scan": vault.now()})


def _holds(vault: Vault, row: FileRow) -> bool:
    """Tell whether a file still has the bytes that the index knows."""
    try:
        data = reader.read(vault.root, row.path, limit=vault.policy.document_bytes)
    except KeepMError:
        return False
    return Checksum.of(data).hex == row.checksum


def _look(vault: Vault, made: str | None, *, deep: bool, certain: bool) -> Pass:
    # Before the walk: what is written meanwhile counts as unseen.
    told = news.read(vault, deep=deep)
    if told.versions or told.rulings or told.anew:
        # And before the files: what is withheld is so from its first row on. How far the ledgers
        # were read is said with the files only.
        writing.apply(
            vault.database, Batch(versions=told.versions, rulings=told.rulings, anew=told.anew)
        )
    listed = listing.listing(vault.database, racy_ns=_RACY_NS)
    scanned_ns = time.time_ns()
    same, others, left_out = _walk(vault, listed.documents)
    # Of what is as it was, nothing more has to be known; of nearly everything nearly always.
    changed = () if len(same) == len(listed.documents) else listed.documents - same
    known = {**listed.rows, **writing.file_rows(vault.database, (path for path, *_ in changed))}
    unread = [state for state in others if state[:3] not in listed.left_out]
    skipped: list[FileRow] = []
    for item in left_out:
        row = known.get(item.path)
        if row is None or row.reason != item.reason or item.reason == "unreadable":
            skipped.append(intake.unread_row(item.path, item.reason, scanned_ns))
    seen = len(same) + len(others) + len(left_out)
    holding.refuse_empty(vault, known, seen)
    # What lies in a folder that denies access is unknown, not gone.
    closed = tuple(f"{row.path}/" for row in skipped if row.reason == "unreadable")
    absent = known.keys() - {state.path for state in others} - {item.path for item in left_out}
    missing = tuple(sorted(path for path in absent if not path.startswith(closed)))
    documents = len(same) + sum(row.reason is None for row in known.values())
    vault.progress.left = len(unread)
    if (unread or missing) and not vault.progress.rebuilding:
        vault.progress.state = IndexState.CATCHING_UP
    on_record = intake.on_record_of(vault, told) if vault.progress.rebuilding else None
    read = intake.batches(vault, unread, known, scanned_ns=scanned_ns, on_record=on_record)
    written = _write(vault, read)
    _settle(vault, written, most=2 * len(written) > seen)
    if vault.progress.stopping.is_set() and vault.progress.left:
        return Pass(seen, 0, 0, len(skipped))  # the next start reads the rest
    arrived = {row.checksum for row in written}
    rows = [known[path] for path in missing]
    lost = holding.judge(vault, rows, arrived, of=documents, deep=deep, certain=certain)
    removed = lost.gone
    meta = {"filled": "1", **(told.marks or {}), **_held_since(vault, lost.held)}
    gone = () if vault.progress.rebuilding else tuple(intake.edit(p, known[p]) for p in removed)
    if skipped or removed or any(vault.database.get_meta(k) != v for k, v in meta.items()):
        writing.apply(
            vault.database,
            Batch(
                skipped=tuple(skipped),
                removed=removed,
                edits=gone,
                meta=meta,
                of=made,
            ),
        )
    if told.marks:
        anchoring.advance_others(vault)
    if unread or skipped or removed:
        settle_copies(vault)
    return Pass(seen, len(unread), len(removed), len(skipped), len(lost.held))


def _walk(vault: Vault, known: Set[Stamp]) -> tuple[set[Stamp], list[FileState], list[Skipped]]:
    """Return which files are as they were known, which others there are, and what is left out."""
    same: set[Stamp] = set()
    others: list[FileState] = []
    left_out: list[Skipped] = []
    stretches = reader.stretches(vault.root, expect_memory=True, known=known)
    for stretch in _in_turn(vault, stretches):
        same.update(stretch.known)
        others += stretch.files
        left_out += stretch.skipped
    return same, others, _without_needless_marks(left_out, others, same)


def _without_needless_marks(
    left_out: list[Skipped], others: Sequence[FileState], same: Collection[Stamp]
) -> list[Skipped]:
    """Leave out each mark that a file's bytes are elsewhere, where something lies there itself."""
    if not any(item.reason == "evicted" for item in left_out):
        return left_out
    there = {path for path, *_ in same} | {state.path for state in others}
    there.update(item.path for item in left_out if item.reason != "evicted")
    return [item for item in left_out if item.reason != "evicted" or item.path not in there]


def _in_turn(vault: Vault, items: Iterable[Item]) -> Iterable[Item]:
    """Return the items; a look beside answers lets them go on every now and then.

    An answer is dozens of short steps in SQLite, and gets its turn back only when another thread
    lets go.
    """
    beside = threading.current_thread() in (vault.progress.worker, vault.progress.keeper)
    return _with_pauses(items) if beside else items


def _with_pauses(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        time.sleep(_TURN_SECONDS)
        yield item


def _held_since(vault: Vault, held: Sequence[str]) -> dict[str, str]:
    """Remember since when files are held back; an empty value says that none are."""
    known = vault.database.get_meta(holding.SINCE)
    if held:
        return {holding.SINCE: known or vault.now()}
    return {holding.SINCE: ""} if known else {}


def _put_meta(vault: Vault, meta: dict[str, str]) -> None:
    writing.apply(vault.database, Batch(meta=meta))


def settle_copies(vault: Vault) -> None:
    """Keep out what became a copy of a note, and take in what is none any more."""
    for _ in range(2):
        late = lookalikes.unsettled(vault.database)
        if not late:
            return
        known = writing.file_rows(vault.database, late)
        writing.apply(vault.database, intake.read_batch(vault, late, known, time.time_ns()))


def _write(vault: Vault, batches: Generator[Batch, None, None]) -> list[FileRow]:
    """Write batches into the index as they come; return the files that they hold."""
    written: list[FileRow] = []

    def noted() -> Iterator[Batch]:
        for batch in batches:
            yield batch
            written.extend(entry.file for entry in batch.entries)

    with contextlib.closing(batches):  # also when the index fails: a process may be parsing
        if vault.progress.rebuilding:
            with collector.paused():
                writing.rebuild(vault.database, noted())
        else:
            for batch in noted():
                writing.apply(vault.database, batch)
    return written


def _settle(vault: Vault, written: Sequence[FileRow], *, most: bool = False) -> None:
    """Read again what changed while it was on its way into the index; it may be `most` files.

    Without this, a writer's newer row could be replaced by the version read before it.
    """
    for _ in range(3):
        late = _moved_on(vault, written, most=most)
        if not late:
            return
        batch = intake.read_batch(vault, late, {row.path: row for row in written}, time.time_ns())
        writing.apply(vault.database, batch)
        written = [entry.file for entry in batch.entries]


def _moved_on(vault: Vault, rows: Sequence[FileRow], *, most: bool) -> list[str]:
    """Return the files that aren't as these rows say."""
    if not most:
        with vault.root.paths.looking_once():
            states = [reader.state(vault.root, row.path) for row in rows]
        pairs = zip(rows, states, strict=True)
        return [row.path for row, state in pairs if state is None or state[:3] != row[:3]]
    # A walk tells it sooner than a look at each.
    stamps = {row[:3] for row in rows}
    for stretch in reader.stretches(vault.root, expect_memory=True, known=stamps):
        stamps.difference_update(stretch.known)
    return sorted(path for path, *_ in stamps)


def refresh_paths(vault: Vault, paths: Iterable[str]) -> None:
    """Bring the index up to these files, which may have been changed by hand.

    Raises:
        RootUnavailable: the vault isn't there.
        IndexUnavailable: the index can't be written.
    """
    holding.refuse_another(vault)
    wanted = list(dict.fromkeys(paths))
    there = [path for path in wanted if reader.state(vault.root, path) is not None]
    if len(there) < len(wanted) and not vault.progress.held:
        # One missing file may be many: only a look at all of them can tell.
        with contextlib.suppress(RootUnavailable):
            reconcile(vault)
    if not there:
        return
    known = writing.file_rows(vault.database, there)
    batch = intake.read_batch(vault, there, known, time.time_ns())
    writing.apply(vault.database, batch)
    _settle(vault, [entry.file for entry in batch.entries])
    settle_copies(vault)


def take_up(
    vault: Vault,
    paths: Iterable[str],
    committed: Commit | None = None,
) -> None:
    """Bring the index up to what a mutation wrote, its ledger event included.

    `committed` is the commit that wrote these paths, if it is being made just now; when it is
    durable the caller moves the anchor on. The caller holds the vault's lock: only then are these
    paths all that the ledger's news is about, and the next retrieval needn't look at the whole
    vault.
    """
    told = news.of(vault, committed.event, committed.appended) if committed else None
    told = told or news.read(vault)
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
    settle_copies(vault)
    if told.marks and committed is None:
        anchoring.advance(vault)
