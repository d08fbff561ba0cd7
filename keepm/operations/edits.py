"""Hand edits that wait for a person's look: listed, shown, accepted or put back.

With `approval.external_edits = "review"` an edited or new file is withheld from every read until
then, whole: the version before isn't served in its place, for it isn't what the file says. As in
`reviewing`, a decision is on exactly the bytes that were shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keepm.errors import (
    AmbiguousIdentifier,
    ApprovalRequired,
    ChecksumMismatch,
    KeepMError,
    NotFound,
    WrongState,
)
from keepm.index import handmade, rulings, versions, withholding
from keepm.index import withheld as index_withheld
from keepm.index.withheld import Withheld
from keepm.markdown import documents
from keepm.model.approval import Channel
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument
from keepm.model.identity import slot_key
from keepm.model.quarantine import BY_REVIEW
from keepm.operations import drafting, history, recording, sync, undoing
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.reversal import Bench
from keepm.operations.reviewing import Notice, of_file
from keepm.operations.vault import Caller, Vault
from keepm.store import history as objects
from keepm.store import reader
from keepm.store.changes import ChangeSet
from keepm.store.event import LedgerEvent

ACCEPT = "edit_accept"


@dataclass(frozen=True, slots=True)
class EditReview:
    """A file as somebody wrote it by hand, whole, and what that changed."""

    item: Withheld
    document: AnyDocument
    diff: str  # from the version before; of a new file all of it
    is_new: bool
    edits: tuple[str, ...]  # the transactions of the edits that an acceptance accepts
    behind: tuple[str, ...]  # those to take back to have the version before, newest first
    warnings: tuple[Notice, ...]


def listing(vault: Vault) -> list[Withheld]:
    """Return the files that wait, by path; what was found and not on record yet is put there."""
    sync.refresh(vault)
    left = len(handmade.pending(vault.database))
    while left:
        recording.record(vault)
        before, left = left, len(handmade.pending(vault.database))
        if left >= before:
            break  # the lock is busy, or nothing can be written now
    return index_withheld.listed(vault.database, vault.visibility, by=BY_REVIEW)


def look(vault: Vault, identifier: str) -> EditReview:
    """Read a file that waits, named by its path, its id or its name.

    Raises:
        NotFound: none that waits has it.
        AmbiguousIdentifier: several have.
        WrongState: the edit isn't on record yet.
    """
    item = _chosen(listing(vault), identifier)
    data = reader.read(vault.root, item.path, limit=vault.policy.document_bytes)
    if Checksum.of(data).hex != item.checksum:
        sync.refresh_paths(vault, (item.path,))
        item = _chosen(listing(vault), item.path)
        data = reader.read(vault.root, item.path, limit=vault.policy.document_bytes)
    document = documents.read(item.path, data)
    edits = _edits(vault, item)
    chain = _chain(vault, item)
    before = chain[-1].old if chain else None
    return EditReview(
        item=item,
        document=document,
        diff=history.diff(_kept(vault, before), _text(data), item.path),
        is_new=before is None,
        edits=edits,
        behind=tuple(row.transaction_id for row in chain) if before else (),
        warnings=tuple(of_file(vault, document)),
    )


def accept(vault: Vault, caller: Caller, review: EditReview) -> LedgerEvent:
    """Let the file that was shown be read from now on; it stays as it is.

    Raises:
        ApprovalRequired: the caller is no owner.
        ChecksumMismatch: it is no longer what was shown.
        WrongState: it doesn't wait any more.
    """
    _require_owner(caller)

    def plan(desk: Desk) -> Plan:
        _require_shown(desk.vault, review)
        event = draft(
            caller,
            ACCEPT,
            object_id=review.document.content.id,
            object_kind=review.item.kind,
            scope=review.item.scope,
            approved=True,
            shown=review.document.checksum,
            extra={"ruling": rulings.LIFTED, "subjects": " ".join(_edits(vault, review.item))},
        )
        return Plan(ChangeSet((), record_only=True), event)

    return mutate(vault, caller, plan).event


def put_back(vault: Vault, caller: Caller, review: EditReview) -> LedgerEvent:
    """Put the version before the edits back in place; a new file goes to the trash.

    Raises:
        ApprovalRequired, ChecksumMismatch, WrongState: as `accept`.
        NotFound: the version before is no longer kept.
        AlreadyExists: its slot is held by another note by now.
    """
    _require_owner(caller)

    def plan(desk: Desk) -> Plan:
        _require_shown(desk.vault, review)
        document, item = review.document, review.item
        if not review.behind:
            return Plan(
                ChangeSet((drafting.to_trash(desk, document),)),
                draft(
                    caller,
                    "delete",
                    object_id=document.content.id,
                    object_kind=item.kind,
                    scope=item.scope,
                    approved=True,
                    shown=document.checksum,
                ),
            )
        bench = Bench(desk)
        found = {event.transaction_id: event for event in undoing.all_events(desk.vault)}
        for transaction_id in review.behind:
            bench.take_back(found[transaction_id])
        return Plan(
            ChangeSet(bench.changes()),
            draft(
                caller,
                undoing.OPERATION,
                object_id=document.content.id,
                object_kind=item.kind,
                scope=item.scope,
                approved=True,
                shown=document.checksum,
                extra={"undoes": " ".join(review.behind)},
            ),
        )

    return mutate(vault, caller, plan).event


# ---- parts ---------------------------------------------------------------------------------------


def _chosen(waiting: Sequence[Withheld], identifier: str) -> Withheld:
    wanted = identifier.strip()
    key = slot_key(wanted)
    fitting = [each for each in waiting if each.path == wanted]
    if not fitting:
        fitting = [each for each in waiting if key in (slot_key(each.id), slot_key(each.name))]
    if not fitting:
        raise NotFound(
            "no hand edit that waits has this path, id or name",
            hint="`keepm review --edits --list` shows those that wait.",
        )
    if len(fitting) > 1:
        raise AmbiguousIdentifier(
            f"this fits {len(fitting)} files",
            hint="Give the path of the one you mean.",
            details={"candidates": [each.path for each in fitting[:20]]},
        )
    return fitting[0]


def _edits(vault: Vault, item: Withheld) -> tuple[str, ...]:
    found = withholding.edits_behind(vault.database, item.checksum, item.scope, item.kind)
    if not found:
        raise WrongState(
            "this edit isn't on record yet",
            hint="Another process holds the vault's lock; try again in a moment.",
        )
    return tuple(found)


def _chain(vault: Vault, item: Withheld) -> list[versions.VersionRow]:
    """Return the waiting edits that made this version one after the other, newest first."""
    waiting = withholding.waiting_edits(vault.database)
    chain: list[versions.VersionRow] = []
    for row in versions.ancestry(vault.database, item.checksum):
        if row.transaction_id not in waiting:
            break
        chain.append(row)
    return chain


def _require_shown(vault: Vault, review: EditReview) -> None:
    item = review.item
    waiting = index_withheld.listed(vault.database, vault.visibility, by=BY_REVIEW)
    there = next((each for each in waiting if each.path == item.path), None)
    if there is None:
        raise WrongState("this file doesn't wait any more", hint="List what waits again.")
    data = reader.read(vault.root, item.path, limit=vault.policy.document_bytes)
    found = Checksum.of(data)
    if not found.hex == there.checksum == item.checksum:
        raise ChecksumMismatch(
            "it is no longer the version that was shown",
            details={"expected": item.checksum, "found": found.hex},
        )


def _kept(vault: Vault, digest: str | None) -> str | None:
    if digest is None:
        return ""
    try:
        return _text(objects.get(vault.root, Checksum(digest)))
    except KeepMError:
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def _require_owner(caller: Caller) -> None:
    if caller.channel.rank <= Channel.HOST.rank:
        raise ApprovalRequired("only the owner decides on hand edits")
