"""Quarantine: all that one origin wrote out of every read at once, until the owner lifts it.

No file is touched. The ledger's event holds the rule, and what the rule takes is derived from it
again and again (`index/withholding`): it survives the index, travels with the vault, and a rule
for a session or a client takes what that one writes later too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from keepm.errors import (
    AmbiguousIdentifier,
    ApprovalRequired,
    NotFound,
    WrongState,
)
from keepm.index import rulings, withholding
from keepm.index import withheld as index_withheld
from keepm.index.withheld import Reach, Withheld
from keepm.index.withholding import Standing
from keepm.model.approval import Channel
from keepm.model.identity import slot_key
from keepm.model.quarantine import RULING, Rule
from keepm.model.scope import Scope
from keepm.operations import identifying, undoing
from keepm.operations.mutation import Desk, Plan, as_shown, carry_out, draft, preview
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet
from keepm.store.event import LedgerEvent

OPERATION = "quarantine"
LIFT = "quarantine_lift"
_DATE = len("2026-11-29")


@dataclass(frozen=True, slots=True)
class QuarantineRequest:
    """Whose writing is to be withheld, as the owner names it; times and dates as people write them.

    `include` names, by id or name, owner-approved notes of that origin that go along.
    """

    session: str | None = None
    client: str | None = None
    since: str | None = None
    until: str | None = None
    include: tuple[str, ...] = ()

    def as_record(self) -> dict[str, str]:
        """Return the request as texts, for a plan's file."""
        named = {"session": self.session, "client": self.client}
        span = {"since": self.since, "until": self.until}
        said = {key: value for key, value in {**named, **span}.items() if value is not None}
        return {**said, "include": "\n".join(self.include)}

    @classmethod
    def from_record(cls, record: Mapping[str, str]) -> QuarantineRequest:
        """The inverse of `as_record`."""
        said = dict(record)
        include = tuple(said.pop("include", "").split("\n"))
        return cls(**said, include=tuple(each for each in include if each))


@dataclass(frozen=True, slots=True)
class QuarantinePlan:
    """What a rule would take out of recall, and the approved notes of that origin that stay."""

    rule: Rule
    taken: tuple[Withheld, ...]
    spared: tuple[Withheld, ...]
    digest: str

    @property
    def is_empty(self) -> bool:
        """Tell whether it would do nothing, now or later."""
        return not self.taken and not self.rule.is_open


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A quarantine that stands now, by its event, with what it took."""

    event: LedgerEvent
    plan: QuarantinePlan


@dataclass(frozen=True, slots=True)
class LiftPlan:
    """A quarantine that would be lifted, and what is withheld by it alone and so comes back."""

    standing: Standing
    back: tuple[Withheld, ...]
    digest: str
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Lifted:
    """A lifted quarantine, by the event that lifted it."""

    event: LedgerEvent
    plan: LiftPlan


@dataclass(frozen=True, slots=True)
class Listed:
    """A quarantine that stands, with what it withholds in sight."""

    standing: Standing
    taken: tuple[Withheld, ...]


def listing(vault: Vault) -> list[Listed]:
    """Return the quarantines that stand and reach what may be seen, oldest first."""
    return [
        Listed(
            each,
            tuple(index_withheld.taken_by(vault.database, each.transaction_id, vault.visibility)),
        )
        for each in withholding.standing(vault.database)
        if vault.visibility.sees(Scope.from_key(each.rule.reach or ""))
    ]


# ---- to withhold -------------------------------------------------------------------------------


def plan(vault: Vault, caller: Caller, request: QuarantineRequest) -> QuarantinePlan:
    """Preview what a rule would withhold.

    Raises:
        InvalidInput: the origin isn't exactly one, or a time makes no sense.
        NotFound, AmbiguousIdentifier: of a note to include.
        WrongState: this origin is in quarantine already.
    """
    return preview(vault, caller, lambda desk: _plan(desk, caller, request))


def add(vault: Vault, caller: Caller, request: QuarantineRequest, *, digest: str) -> Quarantined:
    """Withhold what was previewed, and what comes under an open rule until then and later.

    Raises:
        ApprovalRequired: the caller is no owner.
        ConfirmationRequired: the rule, or which documents a span takes, is another by now.
        KeepMError: as `plan`.
    """
    _require_owner(caller)
    receipt, made = carry_out(
        vault, caller, lambda desk: _plan(desk, caller, request), as_shown(digest)
    )
    return Quarantined(receipt.event, made)


def _plan(desk: Desk, caller: Caller, request: QuarantineRequest) -> tuple[Plan, QuarantinePlan]:
    vault = desk.vault
    everything = vault.visibility.everything
    session = request.session
    if session:
        events = (
            e for e in undoing.all_events(vault) if vault.visibility.sees(Scope.from_key(e.scope))
        )
        session = identifying.session(events, session)
    rule = Rule(
        session=session,
        client=request.client,
        since=_moment(request.since),
        until=_moment(request.until, ends=True),
        reach=None if everything else (vault.visibility.project_id or ""),
    )
    rule.check()
    if any(replace(each.rule, include=()) == rule for each in withholding.standing(vault.database)):
        raise WrongState(
            "this origin is in quarantine already",
            hint="`keepm quarantine list` shows it. To change what it includes, lift it first.",
        )
    reached = index_withheld.reach(vault.database, rule, vault.visibility, at=desk.at)
    if request.include:
        ids = tuple(sorted({_named(reached.spared, each) for each in request.include}))
        rule = replace(rule, include=ids)
        reached = index_withheld.reach(vault.database, rule, vault.visibility, at=desk.at)
    made = QuarantinePlan(rule, reached.taken, reached.spared, _bound(rule, reached))
    event = draft(
        caller,
        OPERATION,
        object_id="",
        object_kind="vault",
        scope=Scope(rule.reach or None),
        approved=True,
        extra={"ruling": RULING, "subject": rule.as_subject()},
    )
    return Plan(ChangeSet((), record_only=True), event), made


def _bound(rule: Rule, reached: Reach) -> str:
    """Return what a confirmation is bound to: nothing that the origin can go on changing.

    Else it could hold its quarantine off by writing. An open rule says itself what it takes; of
    a span it is which documents, in whatever version.
    """
    if rule.is_open:
        return hashlib.sha256(rule.as_subject().encode()).hexdigest()
    ids = (sorted({each.id for each in listed}) for listed in (reached.taken, reached.spared))
    lines = [rule.as_subject(), *("\n".join(("", *each)) for each in ids)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _named(spared: Iterable[Withheld], identifier: str) -> str:
    """Return the id of the owner-approved note that an id or name means."""
    key = slot_key(identifier)
    fitting = {each.id for each in spared if key in (slot_key(each.id), slot_key(each.name))}
    if not fitting:
        raise NotFound(
            "no owner-approved note of that origin has this id or name",
            hint="Name one that `keepm quarantine add … --dry-run` lists as staying.",
        )
    if len(fitting) > 1:
        raise AmbiguousIdentifier(
            f"this name fits {len(fitting)} notes", details={"candidates": sorted(fitting)}
        )
    return fitting.pop()


def _moment(text: str | None, *, ends: bool = False) -> str | None:
    """Return a time as events write it; a date as an end is the whole day."""
    if text is None:
        return None
    found = undoing.moment(text, field="between")
    return f"{found[:_DATE]}T23:59:59Z" if ends and len(text.strip()) == _DATE else found


def _digest(rule: Rule, listed: Iterable[Withheld]) -> str:
    lines = [rule.as_subject(), "", *(f"{each.path} {each.checksum}" for each in listed)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# ---- to lift -----------------------------------------------------------------------------------


def plan_lift(vault: Vault, caller: Caller, identifier: str) -> LiftPlan:
    """Preview what comes back when a quarantine is lifted, named by the beginning of its id.

    Raises:
        NotFound, AmbiguousIdentifier: of the quarantine.
    """
    return preview(vault, caller, lambda desk: _plan_lift(desk.vault, caller, identifier))


def lift(vault: Vault, caller: Caller, identifier: str, *, digest: str) -> Lifted:
    """Lift exactly the quarantine that was previewed; what it withheld is read again.

    Raises:
        ApprovalRequired: the caller is no owner.
        ConfirmationRequired: something else would come back by now.
        NotFound, AmbiguousIdentifier: as `plan_lift`.
    """
    _require_owner(caller)
    receipt, made = carry_out(
        vault, caller, lambda desk: _plan_lift(desk.vault, caller, identifier), as_shown(digest)
    )
    return Lifted(receipt.event, made)


def _plan_lift(vault: Vault, caller: Caller, identifier: str) -> tuple[Plan, LiftPlan]:
    standing = _chosen(vault, identifier)
    back = index_withheld.taken_by(
        vault.database, standing.transaction_id, vault.visibility, alone=True
    )
    digest = _digest(standing.rule, back)
    event = draft(
        caller,
        LIFT,
        object_id="",
        object_kind="vault",
        scope=Scope(standing.rule.reach or None),
        approved=True,
        extra={"ruling": rulings.LIFTED, "subject": standing.transaction_id},
    )
    made = LiftPlan(standing, tuple(back), f"{standing.transaction_id} {digest}")
    return Plan(ChangeSet((), record_only=True), event), made


def _chosen(vault: Vault, identifier: str) -> Standing:
    return identifying.by_beginning(
        (each.standing for each in listing(vault)),
        identifier.strip().lower(),
        key=lambda standing: standing.transaction_id,
        what="quarantine",
        hint="`keepm quarantine list` shows those that stand.",
    )


def _require_owner(caller: Caller) -> None:
    if caller.channel.rank <= Channel.HOST.rank:
        raise ApprovalRequired("only the owner decides what is withheld")
