"""Undo: events taken back, in one previewed transaction that can be undone itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from keepm.errors import (
    InvalidInput,
    NotFound,
    Problem,
    WrongState,
    refuse_if_any,
)
from keepm.model.scope import Scope
from keepm.operations import identifying, showing
from keepm.operations.mutation import Desk, Plan, as_shown, carry_out, draft, preview
from keepm.operations.reversal import Bench
from keepm.operations.showing import PlannedChange
from keepm.operations.vault import Caller, Vault
from keepm.store import ledger
from keepm.store.changes import ChangeSet
from keepm.store.event import LedgerEvent

OPERATION = "undo"
_FINAL = frozenset({"gc", "repair", "ledger_accept"})
"""What no undo can take back."""


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """Which events to take back: one (the last one by default), or all of one origin."""

    event: str | None = None
    session: str | None = None
    client: str | None = None
    since: str | None = None

    @property
    def by_origin(self) -> bool:
        """Tell whether all that one origin wrote is meant."""
        return bool(self.session or self.client or self.since)

    def as_record(self) -> dict[str, str]:
        """Return the request as texts, for a plan's file."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, str]) -> UndoRequest:
        """The inverse of `as_record`."""
        return cls(**record)


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """The events to take back, newest first, and what that does to files."""

    events: tuple[LedgerEvent, ...]
    changes: tuple[PlannedChange, ...]
    digest: str
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """An undo that stands: its own event, and the plan that was carried out."""

    event: LedgerEvent
    plan: UndoPlan


def plan(vault: Vault, caller: Caller, request: UndoRequest) -> UndoPlan:
    """Preview an undo.

    Raises:
        NotFound: there is no such event that may be seen, or a version is no longer kept.
        AmbiguousIdentifier: the beginning of an id fits several events.
        WrongState: it was undone already, a later change stands on it, or it is final.
        AlreadyExists: a slot that would come back is held by another note.
        InvalidInput: the request makes no sense.
    """
    return preview(vault, caller, lambda desk: _plan(desk, caller, request))


def undo(vault: Vault, caller: Caller, request: UndoRequest, *, digest: str) -> Undone:
    """Carry out exactly the plan that was previewed.

    Raises:
        ConfirmationRequired: the plan is another one by now.
        KeepMError: as `plan`.
    """
    receipt, made = carry_out(
        vault, caller, lambda desk: _plan(desk, caller, request), as_shown(digest)
    )
    return Undone(receipt.event, made)


def _plan(desk: Desk, caller: Caller, request: UndoRequest) -> tuple[Plan, UndoPlan]:
    events = _chosen(desk.vault, request)
    bench = Bench(desk)
    for event in events:
        bench.take_back(event)
    changes = bench.changes()
    # A ruling may have changed no file: it is taken back by the event of the undo alone.
    record_only = any(not event.changes for event in events)
    if not changes and not record_only:
        raise WrongState("nothing is left to take back", hint="No step is needed.")
    last = events[0]
    ids = " ".join(each.transaction_id for each in events)
    made = UndoPlan(
        events=tuple(events),
        changes=tuple(showing.shown(desk.vault, each) for each in changes),
        digest=hashlib.sha256(f"{ids} {showing.digest_of(changes)}".encode()).hexdigest(),
    )
    record = draft(
        caller,
        OPERATION,
        object_id=last.object_id,
        object_kind=last.object_kind,
        scope=Scope.from_key(last.scope),
        approved=True,
        extra={"undoes": ids},
    )
    return Plan(ChangeSet(changes, record_only=record_only), record), made


# ---- which events ------------------------------------------------------------------------------


def all_events(vault: Vault) -> list[LedgerEvent]:
    """Return every machine's events in the order they happened."""
    return sorted(ledger.read_all(vault.root), key=lambda event: (event.time, event.sequence))


def standing(
    events: Sequence[LedgerEvent], but: Callable[[LedgerEvent], bool] = lambda _: False
) -> list[LedgerEvent]:
    """Return the events that no standing undo took back, newest first.

    `but`: undos that don't count, for they are taken back themselves.
    """
    undone: set[str] = set()
    found: list[LedgerEvent] = []
    for event in reversed(events):
        if event.transaction_id in undone:
            continue
        if event.operation == OPERATION and not but(event):
            undone.update(event.extra.get("undoes", "").split())
        found.append(event)
    return found


def _chosen(vault: Vault, request: UndoRequest) -> list[LedgerEvent]:
    # An unset variable of a script must not turn `--client "$NAME"` into the last event.
    empty = [name for name, value in request.as_record().items() if not value.strip()]
    refuse_if_any([Problem(name, "is empty") for name in empty])
    if request.event and request.by_origin:
        message = "give one event or an origin, not both"
        raise InvalidInput(message, problems=[Problem("EVENT", message)])
    events = all_events(vault)
    if request.by_origin:
        return _of_origin(vault, events, request)
    alive = standing(events)
    if request.event:
        return [_named(vault, events, alive, request.event)]
    seen = [event for event in alive if vault.visibility.sees(Scope.from_key(event.scope))]
    for event in seen:
        if event.operation not in _FINAL and event.operation != OPERATION:
            return [event]
    raise NotFound("there is nothing to undo", hint="`keepm ledger show` lists the events.")


def _named(
    vault: Vault, events: Sequence[LedgerEvent], alive: Sequence[LedgerEvent], text: str
) -> LedgerEvent:
    event = find(vault, events, text)
    if event.operation in _FINAL:
        raise WrongState(
            f"{event.operation} is final",
            hint="Older versions of a note are in `keepm history`; what a repair put aside lies "
            "in the trash, which `keepm restore` lists.",
            details={"operation": event.operation},
        )
    if event.transaction_id not in {each.transaction_id for each in alive}:
        raise WrongState(
            f"event {event.sequence} was undone already",
            hint="Undo the undo to have it back: `keepm ledger show` lists it.",
        )
    return event


def find(vault: Vault, events: Iterable[LedgerEvent], text: str) -> LedgerEvent:
    """Return the event with this sequence number of this machine, or this beginning of an id.

    Raises:
        NotFound: none that may be seen.
        AmbiguousIdentifier: several begin so.
    """
    wanted = text.strip().lower()
    seen = [event for event in events if vault.visibility.sees(Scope.from_key(event.scope))]
    if wanted.isdecimal():
        ours = {e.transaction_id for e in ledger.read(vault.root, vault.root.writer_id)}
        for event in seen:
            if str(event.sequence) == wanted and event.transaction_id in ours:
                return event
    return identifying.by_beginning(
        seen,
        wanted,
        key=lambda event: event.transaction_id,
        what="event",
        hint="`keepm ledger show` lists the events.",
    )


def _of_origin(
    vault: Vault, events: Sequence[LedgerEvent], request: UndoRequest
) -> list[LedgerEvent]:
    since = moment(request.since) if request.since else ""
    seen = [event for event in events if vault.visibility.sees(Scope.from_key(event.scope))]
    session = identifying.session(seen, request.session) if request.session else None

    def is_meant(event: LedgerEvent) -> bool:
        return (
            event.operation not in _FINAL
            and session in (None, event.session)
            and request.client in (None, event.client)
            and event.time >= since
            and vault.visibility.sees(Scope.from_key(event.scope))
        )

    # A change whose undo is taken back as well stands again, and has to go too.
    found = [event for event in standing(events, is_meant) if is_meant(event)]
    if not found:
        raise NotFound("nothing of that origin is there to undo")
    return found


def moment(text: str, *, field: str = "since") -> str:
    """Return a time or date as events write it; `field` names it in the refusal.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        message = "must be a date or time, such as 2026-11-29 or 2026-11-29T18:15:00Z"
        raise InvalidInput(f"--{field} {message}", problems=[Problem(field, message)]) from error
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
