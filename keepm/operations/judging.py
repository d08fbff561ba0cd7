"""The owner's verbs on verdicts: list those that stand, tell two notes apart, lift one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from keepm.errors import (
    InvalidInput,
    MalformedDocument,
    NotFound,
    Problem,
    WrongState,
)
from keepm.index import catalog, rulings
from keepm.index.rulings import RulingRow
from keepm.model import verdict
from keepm.model.scope import GLOBAL, Scope
from keepm.operations import identifying, undoing, verdicts
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.vault import Caller, Vault
from keepm.operations.verdicts import NOT_DUPLICATE, REJECTED
from keepm.store.changes import ChangeSet
from keepm.store.event import LedgerEvent

RULE = "verdict"
LIFT = "verdict_lift"


@dataclass(frozen=True, slots=True)
class Subject:
    """A document that a verdict was given on; no name when it is gone."""

    id: str
    name: str | None


@dataclass(frozen=True, slots=True)
class StandingVerdict:
    """A verdict as the owner sees it; `id` is its event's transaction.

    `applies`: of a pair, whether both notes still say what they said then.
    """

    id: str
    kind: str
    time: str
    channel: str
    scope: Scope
    about: tuple[Subject, ...]
    reason: str
    applies: bool


def standing(vault: Vault) -> list[StandingVerdict]:
    """Return the verdicts of visible scopes that hold, newest first."""
    events = {event.transaction_id: event for event in undoing.all_events(vault)}
    found = [
        _shown(vault, rows, events.get(transaction_id))
        for transaction_id, rows in _by_event(vault).items()
    ]
    return sorted(found, key=lambda each: (each.time, each.id), reverse=True)


def tell_apart(
    vault: Vault, caller: Caller, kind: str, identifiers: tuple[str, str]
) -> StandingVerdict:
    """Rule that two documents are no duplicates, or that two notes don't conflict.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier: of either.
        MalformedDocument: what one of them says can't be read.
        InvalidInput: they are one, or one is a proposal where only notes can be meant.
        WrongState: that was ruled already.
    """
    about: list[Subject] = []

    def plan(desk: Desk) -> Plan:
        one, other = (_document(vault, kind, each) for each in identifiers)
        if one.id == other.id:
            problem = Problem("B", "is the same document as A")
            raise InvalidInput("a verdict on a pair needs two", problems=[problem])
        pair = verdict.pair(one.said, other.said)
        if pair in verdicts.ruled_pairs(vault, kind, [pair]):
            raise WrongState("that was ruled already", hint="`keepm verdict list` lists it.")
        about[:] = (Subject(each.id, _name(vault, each.id)) for each in (one, other))
        # A project's note is nobody else's business; nor is what was ruled about it.
        scope = next((each.scope for each in (one, other) if each.scope != GLOBAL), GLOBAL)
        return Plan(
            ChangeSet((), record_only=True),
            draft(
                caller,
                RULE,
                object_id=one.id,
                object_kind=one.kind,
                scope=scope,
                approved=True,
                extra={"ruling": kind, "subjects": pair, "about": other.id},
            ),
        )

    event = mutate(vault, caller, plan).event
    # Told from the event: to read it back could fail, and what was done would seem refused.
    return StandingVerdict(
        id=event.transaction_id,
        kind=kind,
        time=event.time,
        channel=event.channel or "",
        scope=Scope.from_key(event.scope),
        about=tuple(about),
        reason="",
        applies=True,
    )


def lift(vault: Vault, caller: Caller, beginning: str) -> list[StandingVerdict]:
    """Lift the verdict whose id begins so, and every other one that rules the same.

    Raises:
        NotFound, AmbiguousIdentifier: by its beginning.
    """
    lifted: list[StandingVerdict] = []

    def plan(desk: Desk) -> Plan:
        rows = _by_event(vault)
        chosen = identifying.by_beginning(
            rows,
            beginning.strip().lower(),
            key=str,
            what="verdict",
            hint="`keepm verdict list` lists them.",
        )
        first = rows[chosen][0]
        subjects = {row.subject for row in rows[chosen]}
        same = [
            transaction_id
            for transaction_id, theirs in rows.items()
            if (theirs[0].ruling, theirs[0].scope) == (first.ruling, first.scope)
            and not subjects.isdisjoint(row.subject for row in theirs)
        ]
        lifted[:] = [each for each in standing(vault) if each.id in same]
        return Plan(
            ChangeSet((), record_only=True),
            draft(
                caller,
                LIFT,
                object_id=first.object_id,
                object_kind="proposal" if first.ruling == REJECTED else "memory",
                scope=Scope.from_key(first.scope),
                approved=True,
                extra={"ruling": rulings.LIFTED, "subjects": " ".join(same)},
            ),
        )

    mutate(vault, caller, plan)
    return lifted


# ---- parts ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Document:
    id: str
    kind: str
    scope: Scope
    said: str


def _document(vault: Vault, kind: str, identifier: str) -> _Document:
    try:
        note = identifying.note(vault, identifier)
    except NotFound:
        if kind != NOT_DUPLICATE:
            raise
        found = identifying.proposal(vault, identifier)
        path, document_id, object_kind = found.path, found.id, "proposal"
    else:
        path, document_id, object_kind = note.path, note.id, "memory"
    claim = verdicts.claim_at(vault, path)
    if claim is None:
        raise MalformedDocument(f"what {path} says can't be read", details={"path": path})
    return _Document(document_id, object_kind, claim.scope, verdicts.said(vault, claim))


def _shown(vault: Vault, rows: Sequence[RulingRow], event: LedgerEvent | None) -> StandingVerdict:
    first = rows[0]
    others = event.extra.get("about", "").split() if event else []
    ids = [first.object_id, *others]
    about = tuple(Subject(each, _name(vault, each)) for each in ids)
    rejected = first.ruling == REJECTED
    return StandingVerdict(
        id=first.transaction_id,
        kind=first.ruling,
        time=first.time,
        channel=first.channel or "",
        scope=Scope.from_key(first.scope),
        about=about,
        reason=verdicts.reason(vault, first.object_id) if rejected else "",
        applies=rejected or _still_said(vault, ids, {row.subject for row in rows}),
    )


def _name(vault: Vault, document_id: str) -> str | None:
    for find in (catalog.find, catalog.find_proposals):
        for row in find(vault.database, document_id, vault.visibility):
            if row.id == document_id:
                return row.name
    return None


def _still_said(vault: Vault, ids: Sequence[str], pairs: Collection[str]) -> bool:
    said = [digest for each in ids if (digest := verdicts.said_by(vault, each)) is not None]
    return any(verdict.pair(one, other) in pairs for one, other in combinations(said, 2))


def _by_event(vault: Vault) -> dict[str, list[RulingRow]]:
    found: dict[str, list[RulingRow]] = {}
    for kind in verdicts.KINDS:
        for row in rulings.all_of(vault.database, kind):
            if vault.visibility.sees(Scope.from_key(row.scope)) and verdicts.counts(row):
                found.setdefault(row.transaction_id, []).append(row)
    return found
