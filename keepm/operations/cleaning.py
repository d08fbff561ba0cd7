"""Garbage: the one way by which anything is deleted for good, and never without its plan's token.

Old files in the trash whose time of deletion is certain, and kept versions that nobody needs. A
version is needed while a file has it, an interrupted transaction does, or the ledger names it
and `history.keep_days` doesn't say otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from keepm.errors import InvalidInput, KeepMError, Problem, RootUnavailable
from keepm.index import versions, writing
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.model.scope import Scope
from keepm.operations import anchoring, showing
from keepm.operations.mutation import Desk, Plan, as_shown, carry_out, draft, writing_time
from keepm.operations.vault import Caller, Vault
from keepm.store import history, lock, reader, transaction, trash
from keepm.store.changes import ChangeSet, Delete
from keepm.store.event import LedgerEvent

OPERATION = "gc"
_MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class CleanRequest:
    """How old something must be to go, counted from `at` (the time of the preview)."""

    older_than_days: int
    at: str


@dataclass(frozen=True, slots=True)
class Doomed:
    """One file that would go for good."""

    path: str
    size: int
    kind: str  # trash | object


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """What would go, and what stays although it lies in the trash."""

    files: tuple[Doomed, ...]
    unknown_age: int  # files in the trash whose time of deletion nothing tells
    ledger_incomplete: bool  # then no version goes: the ledger may have named it
    digest: str

    @property
    def size(self) -> int:
        """Bytes that become free."""
        return sum(each.size for each in self.files)

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to do."""
        return not self.files


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What went for good, and the event that says so."""

    event: LedgerEvent
    plan: CleanPlan


def plan(vault: Vault, caller: Caller, request: CleanRequest) -> CleanPlan:
    """Preview what would go.

    Raises:
        InvalidInput: the number of days makes no sense.
        RootLocked, StorageFailed: as of every change.
    """
    with writing_time(vault, caller):
        return _plan(vault, request)[1]


def clean(vault: Vault, caller: Caller, request: CleanRequest, *, digest: str) -> Cleaned:
    """Delete exactly what was previewed.

    Raises:
        ConfirmationRequired: the plan is another one by now.
        RootLocked, StorageFailed: as of every change.
    """

    def make(desk: Desk) -> tuple[Plan, CleanPlan]:
        changes, made = _plan(desk.vault, request)
        counts = {
            kind: str(sum(each.kind == kind for each in made.files)) for kind in ("trash", "object")
        }
        record = draft(
            caller,
            OPERATION,
            object_id=vault.root.writer_id,
            object_kind="vault",
            scope=Scope(),
            approved=True,
            extra={**counts, "bytes": str(made.size), "plan": made.digest},
        )
        return Plan(ChangeSet(changes), record), made

    receipt, made = carry_out(vault, caller, make, as_shown(digest))
    # The event stands: folders that nobody lets us remove now are removed the next time.
    with (
        contextlib.suppress(RootUnavailable),
        lock.hold(
            vault.root.paths,
            surface=caller.surface,
            timeout=vault.settings.lock_timeout_seconds,
            now=vault.now(),
        ),
    ):
        trash.tidy(vault.root)
    return Cleaned(receipt.event, made)


def _plan(vault: Vault, request: CleanRequest) -> tuple[tuple[Delete, ...], CleanPlan]:
    if not 0 <= request.older_than_days <= _MOST_DAYS:
        message = f"must be from 0 to {_MOST_DAYS}"
        raise InvalidInput(
            f"--older-than-days {message}", problems=[Problem("older_than_days", message)]
        )
    before = _days_before(request.at, request.older_than_days)
    entries = [each for each in trash.entries(vault.root) if _may_see(vault, each.old_path)]
    doomed = [
        Doomed(each.path, each.size, "trash")
        for each in entries
        if each.deleted_at is not None and _moment(each.deleted_at) < before
    ]
    incomplete = bool(anchoring.lost(vault))
    if not incomplete:
        doomed += _unneeded(vault, request, before)
    doomed.sort(key=lambda each: each.path)
    changes = []
    files = []
    for each in doomed:
        try:
            data = reader.read(vault.root, each.path, limit=history.LARGEST)
        except KeepMError:
            continue  # too large for us or out of reach: it stays
        changes.append(Delete(each.path, Checksum.of(data)))
        files.append(each)
    digest = hashlib.sha256(
        f"{request.older_than_days} {request.at} {showing.digest_of(changes)}".encode()
    ).hexdigest()
    unknown = sum(each.deleted_at is None for each in entries)
    return tuple(changes), CleanPlan(tuple(files), unknown, incomplete, digest)


def _unneeded(vault: Vault, request: CleanRequest, before: datetime) -> Iterator[Doomed]:
    """Yield the kept versions that nobody needs."""
    current = {row.checksum for row in writing.files(vault.database).values()}
    for intent in transaction.records(vault.root).intents:
        for file in intent.files:
            current.update(digest for digest in (file.before, file.after) if digest)
    named = versions.last_named(vault.database)
    days = vault.settings.history_keep_days
    keep_from = _days_before(request.at, days) if days else None
    objects = list(history.objects(vault.root))
    durable = {each.digest for each in objects if not each.is_seen}
    for each in objects:
        twin = each.is_seen and each.digest in durable
        if not twin:
            if each.digest in current:
                continue
            last = named.get(each.digest)
            if last is not None and (keep_from is None or _moment(last) >= keep_from):
                continue
        if datetime.fromtimestamp(each.mtime_ns / 1e9, UTC) < before:
            yield Doomed(each.path, each.size, "object")


def _moment(text: str) -> datetime:
    """Read a time; one that the calendar doesn't have counts as now, so that nothing goes by it."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)


def _days_before(at: str, days: int) -> datetime:
    return _moment(at) - timedelta(days=days)


def _may_see(vault: Vault, old_path: str | None) -> bool:
    place = layout.place(old_path) if old_path else None
    return place is None or vault.visibility.sees(place.scope)
