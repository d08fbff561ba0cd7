"""A blocked transaction, and the owner's decision: ours is finished, or the other version stays."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from enum import StrEnum

from keepm.errors import (
    AmbiguousIdentifier,
    NotFound,
    RootUnavailable,
    WrongState,
)
from keepm.model import layout
from keepm.model.scope import Scope
from keepm.operations import showing, sync
from keepm.operations.mutation import Desk, Plan, as_shown, carry_out, draft, preview, writing_time
from keepm.operations.showing import PlannedChange
from keepm.operations.vault import Caller, Vault
from keepm.store import journal, resolving, transaction
from keepm.store.changes import Change, ChangeSet
from keepm.store.event import LedgerEvent
from keepm.store.journal import Intent

OPERATION = "repair"


class Keep(StrEnum):
    """Whose version stays."""

    MINE = "mine"  # KeepM's: the interrupted change is finished
    THEIRS = "theirs"  # the other program's: the interrupted change is taken back


@dataclass(frozen=True, slots=True)
class Blocked:
    """A transaction that waits for the owner; what it does, when its record can be read."""

    transaction_id: str
    paths: tuple[str, ...]
    reason: str  # stranger | unreadable
    operation: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What a decision does to files."""

    transaction_id: str
    keep: Keep
    changes: tuple[PlannedChange, ...]
    digest: str
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Repaired:
    """A decision that was carried out."""

    event: LedgerEvent
    plan: RepairPlan


def blocked(vault: Vault, caller: Caller) -> tuple[Blocked, ...]:
    """Return the transactions that wait for the owner, as far as their files may be seen.

    Raises:
        RootLocked, StorageFailed: as of every change.
    """
    with writing_time(vault, caller):
        known = {intent.id: intent for intent in transaction.records(vault.root).intents}
        found = []
        for each in transaction.recover(vault.root).blocked:
            intent = known.get(each.id)
            if intent is not None and not _is_visible(vault, intent):
                continue
            event = intent.event if intent else None
            found.append(
                Blocked(
                    each.id,
                    intent.touched if intent else each.paths,
                    each.reason,
                    event.operation if event else None,
                    event.time if event else None,
                )
            )
    return tuple(found)


def plan(vault: Vault, caller: Caller, transaction_id: str, keep: Keep) -> RepairPlan:
    """Preview a decision.

    Raises:
        NotFound: no such transaction waits, or a version it needs is no longer kept.
        AmbiguousIdentifier: the beginning of the id fits several.
        WrongState: the record is another machine's, or unreadable and can't be finished.
    """
    return preview(vault, caller, lambda desk: _plan(desk, caller, transaction_id, keep))


def repair(
    vault: Vault, caller: Caller, transaction_id: str, keep: Keep, *, digest: str
) -> Repaired:
    """Carry out exactly the decision that was previewed.

    Raises:
        ConfirmationRequired: the plan is another one by now.
        KeepMError: as `plan`.
    """
    receipt, made = carry_out(
        vault, caller, lambda desk: _plan(desk, caller, transaction_id, keep), as_shown(digest)
    )
    # The way is clear now: recovery finishes the record, if it still is there; when it can't now,
    # the next change does. The decision stands either way.
    with contextlib.suppress(RootUnavailable):
        sync.recover(vault)
    return Repaired(receipt.event, made)


def _plan(desk: Desk, caller: Caller, beginning: str, keep: Keep) -> tuple[Plan, RepairPlan]:
    vault = desk.vault
    listing = transaction.records(vault.root)
    chosen = _chosen(vault, listing, beginning)
    intent = next((each for each in listing.intents if each.id == chosen), None)
    stamp = desk.at.replace("-", "").replace(":", "")
    trash = f"{layout.TRASH}/{stamp}-{desk.transaction_id}"
    changes: tuple[Change, ...]
    if intent is None:
        if keep is Keep.MINE:
            raise WrongState(
                "the record can't be read, so the change can't be finished",
                hint="Take the record away with --keep theirs; the files stay as they are.",
            )
        changes = (resolving.remove_record(vault.root, chosen),)
    elif keep is Keep.MINE:
        changes = resolving.to_finish(vault.root, intent, trash=trash)
    else:
        changes = resolving.to_withdraw(vault.root, intent, trash=trash)
    if not changes:
        raise WrongState("nothing is in its way any more", hint="The next change finishes it.")
    digest = hashlib.sha256(f"{chosen} {keep} {showing.digest_of(changes)}".encode()).hexdigest()
    coming = changes
    if intent is not None and keep is Keep.MINE:
        # These only clear the way; whoever decides must see what is there in the end.
        coming = resolving.when_finished(vault.root, intent, changes)
    shown = tuple(
        showing.shown(vault, each) for each in coming if layout.place(each.path) is not None
    )
    event = draft(
        caller,
        OPERATION,
        object_id=intent.event.object_id if intent else chosen,
        object_kind=intent.event.object_kind if intent else "transaction",
        scope=Scope.from_key(intent.event.scope) if intent else Scope(),
        approved=True,
        extra={"keep": str(keep)},
    )
    return (
        Plan(ChangeSet(changes), event, resolves=chosen),
        RepairPlan(chosen, keep, shown, digest),
    )


def _chosen(vault: Vault, listing: journal.Listing, beginning: str) -> str:
    wanted = beginning.strip()
    mine = [intent.id for intent in listing.intents if _is_visible(vault, intent)]
    fitting = [each for each in (*mine, *listing.damaged) if each.startswith(wanted)]
    if len(fitting) > 1 and wanted not in fitting:
        raise AmbiguousIdentifier(
            f"{len(fitting)} transactions begin so", hint="Give more of the id."
        )
    if wanted and fitting:
        return wanted if wanted in fitting else fitting[0]
    if wanted and any(each.startswith(wanted) for each in listing.foreign):
        raise WrongState("this transaction is another machine's", hint="Repair it on that machine.")
    raise NotFound(
        "no such transaction waits", hint="`keepm repair` lists those that wait for a decision."
    )


def _is_visible(vault: Vault, intent: Intent) -> bool:
    return vault.visibility.sees(Scope.from_key(intent.event.scope))
