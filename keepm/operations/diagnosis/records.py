"""KeepM's own records: changes in flight, ledgers, and the index against the files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from keepm.errors import KeepMError, RootUnavailable
from keepm.index import inventory, writing
from keepm.model import layout, rules
from keepm.model.diagnosis import Finding
from keepm.operations import auditing, repairing, sync
from keepm.operations.diagnosis.survey import Survey
from keepm.operations.vault import Caller, Vault
from keepm.store import ledger, transaction

_HARMLESS = "torn_tail"
_LEDGER = {
    "unreadable": "a line can't be read",
    "edited": "a line was changed after it was written",
    "gap": "events are missing before this line",
    "fork": "two events follow the same one",
    "reordered": "events stand in another order",
    "cut": "events that were there are gone from its end",
    "rewritten": "other events stand in the place of known ones",
}


def findings(vault: Vault, caller: Caller, survey: Survey) -> Iterator[Finding]:
    """Yield what is wrong with the records; what the index missed is read again on the way."""
    yield from _in_flight(vault, caller)
    yield from _ledgers(vault)
    yield from _beside_ledgers(vault)
    yield from _index(vault, survey)


def _in_flight(vault: Vault, caller: Caller) -> Iterator[Finding]:
    """Yield the changes that wait; recovery has had its turn, where the lock is free."""
    if not transaction.pending(vault.root):
        return
    try:
        blocked = repairing.blocked(vault, caller)
    except RootUnavailable:
        # Another process is at it, or nothing can be written here: then its records are named.
        for each in transaction.pending(vault.root):
            reason = "it can't be finished now: the vault is locked or can't be written"
            yield rules.finding("transaction_recovery_pending", reason, subject=each, detail=each)
        return
    for change in blocked:
        at = change.paths[0] if change.paths else None
        reason = (
            "another program's version stands where its own belongs"
            if change.reason == "stranger"
            else "its record can't be read"
        )
        yield rules.finding(
            "transaction_recovery_pending",
            reason,
            path=at,
            subject=change.transaction_id,
            scope=layout.scope_of(at) if at else None,
            detail=change.transaction_id,
        )
    for each in transaction.records(vault.root).foreign:
        yield rules.finding("foreign_transaction", subject=each, detail=each)


def _ledgers(vault: Vault) -> Iterator[Finding]:
    for each in auditing.verify(vault).problems:
        path = f"{ledger.FOLDER}/{each.writer}.jsonl"
        if each.code == _HARMLESS:
            yield rules.finding("ledger_torn", path=path, line=each.line, subject=each.writer)
        else:
            yield rules.finding(
                "ledger_broken",
                _LEDGER.get(each.code, each.code),
                path=path,
                line=max(1, each.line),
                subject=each.writer,
                detail=each.code,
            )


def _beside_ledgers(vault: Vault) -> Iterator[Finding]:
    for name in ledger.strangers(vault.root):
        shown = name.encode("utf-8", "replace").decode("utf-8")
        yield rules.finding("ledger_copy", path=f"{ledger.FOLDER}/{shown}", subject=shown)


def _index(vault: Vault, survey: Survey) -> Iterator[Finding]:
    healed = _read_again(vault, survey)
    visible = {each.path: each for each in survey.seen}
    for path in sorted(survey.deceived):
        if (each := visible.get(path)) is not None:
            reason = "" if healed else "the index holds another version and can't be written"
            yield rules.finding(
                "index_stale", reason, path=path, subject=each.subject, scope=each.scope
            )
    if healed:
        served = inventory.documents(vault.database)
        rows = writing.files(vault.database)
        for path, each in visible.items():
            row = rows.get(path)
            # Left out for a reason, or written since it was looked at: not for us to judge.
            is_lost = row is None or (row.reason is None and row.checksum == each.checksum)
            if is_lost and served.get(path) != each.checksum:
                yield rules.finding(
                    "index_incomplete", path=path, subject=each.subject, scope=each.scope
                )
    if vault.progress.held:
        yield rules.finding("deletions_held", f"{vault.progress.held} files are missing at once")


def _read_again(vault: Vault, survey: Survey) -> bool:
    """Bring the index up to what the deep pass saw; tell whether that worked."""
    try:
        if survey.behind:
            sync.refresh_paths(vault, survey.behind)
    except KeepMError:
        return False  # it can't be written, or the vault went away: the next pass says so
    if not vault.progress.held:  # else a deep pass has still to decide what is deleted
        with contextlib.suppress(KeepMError):  # a disk that can't be written: it stays due
            sync.note_compared(vault)
    return True
