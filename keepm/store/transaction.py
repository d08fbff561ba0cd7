"""All or nothing: how a change set becomes files, and how an interrupted one is finished.

What is on disk, step by step: the record's draft with old and new versions as objects, the new
versions beside their targets; then the record is sealed (the commit point), the targets are
replaced and the event appended, these and the folders synced, the record removed. Before the
commit point a failure leaves the vault as it was; after it recovery finishes, and may run twice.
A version that nobody of ours wrote is never overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from keepm.errors import (
    AlreadyExists,
    ChecksumMismatch,
    InvalidInput,
    KeepMError,
    NotFound,
    RecoveryBlocked,
)
from keepm.model import identity, layout
from keepm.model.checksum import Checksum
from keepm.store import history, journal, ledger
from keepm.store.changes import Change, ChangeSet, Create, Delete, Move
from keepm.store.commits import Appended as Appended
from keepm.store.commits import Commit as Commit
from keepm.store.commits import Staged as Staged
from keepm.store.disk import failed, reporting
from keepm.store.event import Digests, EventDraft, Head, LedgerEvent
from keepm.store.finishing import Outcome, finish, version
from keepm.store.journal import FileIntent, Intent
from keepm.store.ledger import Tail, Written
from keepm.store.reader import FileState, file_state
from keepm.store.root import Root as Root
from keepm.store.root import check_id
from keepm.store.root import initialise as initialise


@dataclass(frozen=True, slots=True)
class BlockedIntent:
    """A transaction that can't be finished without the owner.

    `reason` is `stranger` (at `paths` stands a version nobody of ours wrote, or the new version
    is lost) or `unreadable` (the record itself is damaged). `touched` are all paths it changes.
    """

    id: str
    paths: tuple[str, ...]
    reason: str
    touched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovery:
    """What recovery did and found."""

    finished: tuple[str, ...] = ()  # paths that may have changed
    blocked: tuple[BlockedIntent, ...] = ()
    foreign: tuple[str, ...] = ()  # ids of other machines' records

    @property
    def waiting(self) -> frozenset[str]:
        """The paths at which something waits for the owner."""
        return frozenset(path for intent in self.blocked for path in intent.paths)


def commit(
    root: Root,
    changes: ChangeSet,
    draft: EventDraft,
    *,
    recovered: Recovery,
    transaction_id: str,
    at: str,
    resolves: str | None = None,
    staged: Callable[[Staged], None] | None = None,
    placed: Callable[[Commit], None] | None = None,
) -> Commit:
    """Apply a change set with its ledger event, or nothing.

    The caller holds the lock and has `recovered` under it; nothing was changed since. `resolves`
    is the id of a blocked record whose files this may touch: its owner has decided.

    Both are called while the disk is waited for, and must not fail: `staged` before the commit
    point, where all may still come to nothing; `placed` when the files and the event are in their
    places. Nothing takes them back from there any more, but they may not be durable yet. When an
    error has to be ridden over, `placed` may not be called at all.

    Raises:
        ChecksumMismatch: a file isn't the expected version; the newer text was kept.
        NotFound: a file that should change is gone.
        AlreadyExists: the name of a new file is taken, also in another case or normal form.
        RecoveryBlocked: an unfinished transaction waits on one of the files.
        StorageFailed: the file system refused. The originals are intact, unless the details say
            `committed`: then the change is recorded and the next recovery finishes it.
    """
    check_id(transaction_id)
    _refuse_waiting(recovered, changes, transaction_id, resolves)
    planned = [_plan(root, change) for change in changes.changes]
    files = tuple(each.file for each in planned)
    if resolves is not None:
        draft = replace(draft, extra={**draft.extra, "resolves": resolves})
    with reporting(ledger.FOLDER):
        last = ledger.tail(root)
    event = LedgerEvent.following(
        last.head,
        draft,
        transaction_id=transaction_id,
        at=at,
        # What gc and repair remove from our own records is no document's version.
        changes=tuple(
            Digests(file.before, file.after) for file in files if not _is_ours(file.path)
        ),
    )
    intent = Intent(transaction_id, root.writer_id, files, event)
    written: dict[str, Checksum | None] = {}
    for file in files:
        written[file.path] = None
        if file.after is not None:
            written[file.target] = Checksum(file.after)

    def tell_staged(states: Mapping[str, FileState]) -> None:
        if staged is not None:
            staged(Staged(stands(event, ledger.head_after(last, event)), states))

    def stands(event: LedgerEvent, head: Head | None) -> Commit:
        # Nobody takes an end for known that has no size.
        after = head or Head(event.sequence, event.hash, 0)
        return Commit(event, written, Appended(last.head, after))

    def tell(line: Written) -> None:
        if placed is not None:
            placed(stands(line.event, line.head))

    _stage(root, intent, planned, told=tell_staged)
    _seal(root, intent)
    outcome = _conclude(root, intent, last, tell)
    return stands(outcome.event, outcome.head)


def _is_ours(path: str) -> bool:
    name = path.rpartition("/")[2]
    return path.startswith(f"{layout.RECORDS}/") or name.startswith(".keepm-")


def record(
    root: Root,
    draft: EventDraft,
    changes: tuple[Digests, ...],
    *,
    versions: tuple[bytes, ...],
    transaction_id: str,
    at: str,
) -> LedgerEvent:
    """Put on record what others did to files, and keep these versions. Caller holds the lock.

    The files stay as they are; the event goes through the journal all the same, so that it is
    never torn.

    Raises:
        StorageFailed: the file system refused.
    """
    check_id(transaction_id)
    with reporting(ledger.FOLDER):
        last = ledger.tail(root)
    event = LedgerEvent.following(
        last.head, draft, transaction_id=transaction_id, at=at, changes=changes
    )
    intent = Intent(transaction_id, root.writer_id, (), event)
    _stage(root, intent, [], versions)
    _seal(root, intent)
    return _conclude(root, intent, last).event


def recover(root: Root) -> Recovery:
    """Finish what passed the commit point, clear away what didn't. Caller holds the lock.

    Raises:
        StorageFailed: the file system refused; the records stay and recovery may run again.
    """
    finished: list[str] = []
    while True:
        with reporting(journal.FOLDER):
            listing = journal.read(root)
        blocked = [BlockedIntent(each, (), "unreadable") for each in listing.damaged]
        moved = len(finished)
        for intent in listing.intents:
            try:
                outcome = finish(root, intent)
            except OSError as error:
                raise failed(intent.about, error, committed=True) from error
            if outcome.strangers:
                blocked.append(
                    BlockedIntent(intent.id, outcome.strangers, "stranger", intent.touched)
                )
            else:
                finished += intent.touched
        # What was finished may have cleared the way for what was blocked, or taken it back.
        if len(finished) == moved or not any(each.reason == "stranger" for each in blocked):
            break
    journal.clear(root, listing.temporary)
    return Recovery(tuple(finished), tuple(blocked), listing.foreign)


def pending(root: Root) -> tuple[str, ...]:
    """Return the ids of the `records` in the journal; raises as these do."""
    return records(root).ids


def records(root: Root) -> journal.Listing:
    """Return what is in the journal; without the lock some may be in flight.

    Raises:
        StorageFailed: the journal can't be read.
    """
    with reporting(journal.FOLDER):
        return journal.read(root)


# ---- before the commit point -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Planned:
    file: FileIntent
    old: bytes | None
    data: bytes
    mode: int | None


def _refuse_waiting(
    recovered: Recovery, changes: ChangeSet, transaction_id: str, resolves: str | None
) -> None:
    if transaction_id in (*(each.id for each in recovered.blocked), *recovered.foreign):
        raise InvalidInput("a transaction's id is used once")
    ours = {identity.file_key(path) for path in changes.touched} if recovered.blocked else set()
    for intent in recovered.blocked:
        if intent.id == resolves:
            continue
        waiting = [path for path in intent.touched if identity.file_key(path) in ours]
        if waiting:
            raise _blocked(intent.id, tuple(waiting))


def _plan(root: Root, change: Change) -> _Planned:
    """Look at a change's files under the lock and compare them with what is expected."""
    if isinstance(change, Create):
        _require_free(root, change.path)
        after = Checksum.of(change.data).hex
        return _Planned(FileIntent(change.path, None, None, after), None, change.data, None)
    place = root.paths.locate(change.path)
    with reporting(change.path):
        try:
            old, seen = root.disk.read(place, limit=history.LARGEST)
        except FileNotFoundError as error:
            raise NotFound(f"{change.path} is gone", details={"path": change.path}) from error
    found = Checksum.of(old)
    if found != change.expect:
        raise _mismatch(change.path, change.expect.hex, found.hex)
    if isinstance(change, Delete):
        return _Planned(FileIntent(change.path, None, found.hex, None), None, b"", None)
    to = None
    if isinstance(change, Move):
        to = change.to
        _require_free(root, to)
    mode = seen.st_mode & 0o777
    after = Checksum.of(change.data).hex
    return _Planned(FileIntent(change.path, to, found.hex, after), old, change.data, mode)


def _require_free(root: Root, path: str) -> None:
    """Refuse a name that this file system takes for one that is there.

    What only another file system takes for the same is kept apart where names are chosen, by the
    index: here it would cost a look at all names of a folder, which may have thousands.
    """
    place = root.paths.locate(path)
    with reporting(path):
        taken = root.disk.state(place) is not None
    if taken:
        raise AlreadyExists(
            f"{path}: the file name is taken", hint="Choose another name.", details={"path": path}
        )


def _stage(
    root: Root,
    intent: Intent,
    planned: list[_Planned],
    seen: tuple[bytes, ...] = (),
    told: Callable[[Mapping[str, FileState]], None] = lambda states: None,
) -> None:
    """Write the record's draft and the versions, durably; `seen` are versions of no planned file.

    One wait for the disk, in which the states of the new files are `told`. The draft comes first:
    it lists what is to be cleared away.
    """
    here = intent.about
    versions = {Checksum.of(data): data for data in seen}
    for each in planned:
        if each.old is not None and each.file.before is not None:
            versions[Checksum(each.file.before)] = each.old
        if each.file.after is not None:
            versions[Checksum(each.file.after)] = each.data
    kept: history.Written | None = None
    states: dict[str, FileState] = {}
    try:
        staged = [journal.draft(root, intent)]
        kept = history.write(root, versions)
        for number, each in enumerate(planned):
            if each.file.after is None:
                continue
            here = each.file.target
            place = intent.staged(root, number)
            root.disk.make_folders(place.parent)
            root.disk.create(place, each.data, mode=each.mode, sync=False)
            if (seen_there := root.disk.state(place)) is not None:
                states[here] = file_state(here, seen_there)
            staged.append(place)
        root.disk.sync_all([*staged, *kept.unsynced], lambda: told(states))
        kept.settle(root)
    except (OSError, KeepMError) as error:
        journal.discard(root, intent)
        if kept is not None:
            kept.discard(root)
        if isinstance(error, OSError):
            raise failed(here, error) from error
        raise


def _seal(root: Root, intent: Intent) -> None:
    try:
        journal.seal(root, intent)
    except OSError as error:
        journal.discard(root, intent)
        raise failed(intent.about, error) from error


# ---- after the commit point ------------------------------------------------------------------


def _conclude(
    root: Root, intent: Intent, last: Tail, placed: Callable[[Written], None] | None = None
) -> Outcome:
    """Finish a sealed record; a second attempt rides over an error that passes."""
    refusal: OSError | None = None
    for attempt in (1, 2):
        try:
            journal.sync(root)
            # The first attempt may have left its event behind, or a part of it.
            first = attempt == 1
            outcome = finish(root, intent, last if first else None, placed if first else None)
        except OSError as error:
            refusal = error
            continue
        if not outcome.strangers:
            return outcome
        if attempt == 1 and not outcome.begun:
            # An editor was faster than us and nothing has changed yet: the change can be refused.
            try:
                journal.withdraw(root, intent)
            except OSError as error:
                raise _blocked(intent.id, outcome.strangers) from error
            journal.clear_staged(root, intent)
            raise _overtaken(root, intent, outcome.strangers[0])
        raise _blocked(intent.id, outcome.strangers)
    assert refusal is not None
    raise failed(intent.about, refusal, committed=True) from refusal


# ---- refusals ----------------------------------------------------------------------------------


def _mismatch(path: str, expected: str, found: str | None) -> ChecksumMismatch:
    return ChecksumMismatch(
        f"{path} changed since it was read",
        details={"path": path, "expected": expected, "found": found},
    )


def _overtaken(root: Root, intent: Intent, path: str) -> KeepMError:
    file = next(file for file in intent.files if file.target == path)
    if file.before is None:
        return AlreadyExists(f"{path}: the file name is taken", details={"path": path})
    return _mismatch(file.path, file.before, version(root, file.path))


def _blocked(intent_id: str, paths: tuple[str, ...]) -> RecoveryBlocked:
    return RecoveryBlocked(
        f"an unfinished change waits: {', '.join(paths)} was changed by another program",
        details={"transaction": intent_id, "paths": list(paths)},
    )
