"""The one spine that every change takes.

Lock → recover → plan on freshly read files → commit, and index while the disk is waited for →
spend the tokens → receipt.
A plan reads documents through its `Desk`, which knows the files as they are under the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from keepm.errors import (
    ChecksumMismatch,
    ConfirmationRequired,
    KeepMError,
    NotFound,
    RecoveryBlocked,
    RootUnavailable,
    WrongState,
)
from keepm.index import catalog
from keepm.index.rows import NoteRow, ProposalRow
from keepm.markdown import documents
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument, Damaged, Document
from keepm.model.handoff import Handoff
from keepm.model.memory import Claim, Memory, Scope
from keepm.model.proposal import Proposal
from keepm.operations import anchoring, asking, holding, identifying, recording, sync, withheld
from keepm.operations.ahead import Ahead
from keepm.operations.vault import Caller, Vault
from keepm.store import ledger, lock, reader, transaction
from keepm.store.changes import ChangeSet, Delete, Move
from keepm.store.ledger import EventDraft, LedgerEvent
from keepm.store.root import furnish, is_bare, is_there
from keepm.store.transaction import Commit, Recovery
from keepm.tokens import WriteProof

Content = TypeVar("Content", Memory, Proposal, Handoff, Damaged)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a mutation will do: the changes, their ledger event, and the proofs it uses up."""

    changes: ChangeSet
    event: EventDraft
    proofs: tuple[WriteProof, ...] = ()
    resolves: str | None = None  # the blocked transaction that the owner decides on


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a mutation did. `index_current` is false when the index must catch up first."""

    event: LedgerEvent
    changes: ChangeSet
    index_current: bool = True

    @property
    def subject(self) -> AnyDocument:
        """The document that the event is about, as this change wrote it."""
        return self.document(self.event.object_id)

    def document(self, document_id: str) -> AnyDocument:
        """Return the new version of a document this change wrote."""
        for change in self.changes.changes:
            if isinstance(change, Delete):
                continue
            path = change.to if isinstance(change, Move) else change.path
            if layout.place(path) is not None:
                document = documents.read(path, change.data)
                if document.content.id == document_id:
                    return document
        raise NotFound("this change wrote no such document")


@dataclass(slots=True)
class Desk:
    """The documents a plan works on, read under the lock; one transaction's id and time."""

    vault: Vault
    transaction_id: str
    at: str
    _looked_again: bool = field(default=False)

    def memory(self, identifier: str, proof: WriteProof) -> Document[Memory]:
        """Return the note to change, with its proof checked.

        Raises:
            NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead.
        """
        document = self._current(identifier, identifying.note_path)
        return self._proven(identifying.as_memory(document), proof)

    def note(self, identifier: str) -> Document[Memory]:
        """Return a note as it is under the lock, for a change that needs no proof of a read."""
        return identifying.as_memory(self._current(identifier, identifying.note_path))

    def proposal(self, identifier: str, proof: WriteProof) -> Document[Proposal]:
        """Return the proposal to change, with its proof checked."""
        document = self._current(identifier, identifying.proposal_path)
        return self._proven(identifying.as_proposal(document), proof)

    def inbox_file(
        self, identifier: str, proof: WriteProof
    ) -> Document[Proposal] | Document[Damaged]:
        """Return a file of the Inbox, readable as a proposal or not, with its proof checked."""
        document = self._current(identifier, identifying.proposal_path)
        if isinstance(document.content, Damaged):
            return self._proven(document, proof)
        return self._proven(identifying.as_proposal(document), proof)

    def handoff(self, identifier: str | None, proof: WriteProof) -> Document[Handoff]:
        """Return the handoff to change (the latest without an identifier), its proof checked."""
        document = self._current(identifier, identifying.handoff_path)
        return self._proven(identifying.as_handoff(document), proof)

    def document(self, identifier: str) -> AnyDocument:
        """Return whatever an id, name, alias, title or path names, for a change without a read."""
        return self._current(identifier, identifying.any_path)

    def slot_holder(self, claim: Claim, *, but: Collection[str] = ()) -> NoteRow | None:
        """Return the active note that holds a claim's slot in exactly its scope, withheld or not.

        `but` are the ids of notes that leave it in this very change.
        """
        holder = self._slot_holder(claim, but)
        path = holder.path if holder else layout.memory_path(claim.scope, claim.name)
        if self._is_behind(path, holder):
            self._look_again()
            holder = self._slot_holder(claim, but)
        return holder

    def pending_in_slot(self, claim: Claim) -> ProposalRow | None:
        """Return the pending proposal for a claim's slot in exactly its scope, withheld or not."""
        found = self._pending_in_slot(claim)
        if (
            found is not None
            and not self._looked_again
            and reader.state(self.vault.root, found.path) is None
        ):
            self._look_again()
            found = self._pending_in_slot(claim)
        return found

    def _pending_in_slot(self, claim: Claim) -> ProposalRow | None:
        return catalog.pending_in_slot(self.vault.database, claim.name, claim.scope)

    def _slot_holder(self, claim: Claim, but: Collection[str]) -> NoteRow | None:
        rows = catalog.find_slot(self.vault.database, claim.slot, claim.scope)
        holders = [row for row in rows if row.status == "active" and row.id not in but]
        return min(holders, key=lambda row: bool(row.withheld_by), default=None)

    def _is_behind(self, path: str, row: NoteRow | None) -> bool:
        """Tell whether the file there was made, changed or removed by hand just now."""
        if self._looked_again:
            return False
        row = row or catalog.note_by_path(self.vault.database, path)
        state = reader.state(self.vault.root, path)
        if row is None or state is None:
            return (row is None) != (state is None)
        return (state.size, state.mtime_ns) != (row.size, row.mtime_ns)

    def _look_again(self) -> None:
        self._looked_again = True
        sync.reconcile(self.vault)

    def _proven(self, document: Document[Content], proof: WriteProof) -> Document[Content]:
        if document.checksum != proof.checksum:
            raise ChecksumMismatch(
                "the file is not the version that was read",
                details={"expected": proof.checksum.hex, "found": document.checksum.hex},
            )
        self.vault.tokens.check(proof, document.content.id)
        return document

    def _current(
        self, identifier: str | None, find: Callable[[Vault, str | None], str]
    ) -> AnyDocument:
        """Read the file an identifier names now; look at the vault again if the index is behind."""
        try:
            document = self._read(find(self.vault, identifier))
            if withheld.is_settled(self.vault, document):
                return document
        except NotFound:
            if self._looked_again:
                raise
        self._look_again()
        document = self._read(find(self.vault, identifier))
        if not withheld.is_settled(self.vault, document):
            raise WrongState("the file is being changed", hint="Read it again in a moment.")
        return document

    def _read(self, path: str) -> AnyDocument:
        data = reader.read(self.vault.root, path, limit=self.vault.policy.document_bytes)
        return documents.read(path, data)


def mutate(vault: Vault, caller: Caller, plan: Callable[[Desk], Plan]) -> Receipt:
    """Make one change, whole or not at all, and answer when it is durable.

    Raises:
        RootLocked: another process kept the lock for too long.
        RecoveryBlocked: a target is held by an interrupted change that met a stranger's version.
        ConsentNeeded: the caller comes by the host's channel, and nobody was asked yet.
        KeepMError: whatever the plan or the store refuses; nothing was changed then.
    """
    with writing_time(vault, caller) as recovered:
        desk = Desk(vault, vault.new_id(), ledger.next_time(vault.root, vault.now()))
        planned = plan(desk)
        held = recovered.waiting.intersection(planned.changes.touched)
        if held and planned.resolves is None:
            raise RecoveryBlocked(
                "an interrupted change of this file waits for the owner's decision",
                details={"paths": sorted(held)},
            )
        event = asking.agreed(vault, planned.changes, planned.event, caller.agreed)
        recording.before_change(vault, planned.changes.changes)
        current: bool | None = None

        def take_up(placed: Commit) -> None:
            nonlocal current
            current = _index(vault, placed.written, placed, ahead)

        with Ahead(vault, planned.changes.changes) as ahead:
            committed = transaction.commit(
                vault.root,
                planned.changes,
                event,
                recovered=recovered,
                transaction_id=desk.transaction_id,
                at=desk.at,
                resolves=planned.resolves,
                staged=ahead.write,
                placed=take_up,
            )
            if current is None:
                take_up(committed)
        with suppress(KeepMError):  # the change stands
            anchoring.advance(vault, committed.appended)
        for proof in planned.proofs:
            vault.tokens.spend(proof)
    return Receipt(committed.event, planned.changes, index_current=bool(current))


class Previewed(Protocol):
    """What a person is shown of a plan; its digest tells it from every other."""

    @property
    def digest(self) -> str: ...

    @property
    def is_empty(self) -> bool: ...


Made = TypeVar("Made")
Make = Callable[[Desk], tuple[Plan, Made]]
"""Plans a change, and says what is to be shown or told of it."""


def preview(vault: Vault, caller: Caller, make: Make[Made]) -> Made:
    """Plan what `carry_out` would do now, stop there, and return what is to be shown of it."""
    with writing_time(vault, caller):
        return make(Desk(vault, vault.new_id(), ledger.next_time(vault.root, vault.now())))[1]


def carry_out(
    vault: Vault, caller: Caller, make: Make[Made], confirm: Callable[[Made], None]
) -> tuple[Receipt, Made]:
    """Plan anew what was shown and do it, unless `confirm` refuses what the plan is by now.

    Raises:
        ConfirmationRequired: of `confirm`; else as `mutate`.
    """
    kept: list[Made] = []

    def plan(desk: Desk) -> Plan:
        planned, made = make(desk)
        confirm(made)
        kept.append(made)
        return planned

    receipt = mutate(vault, caller, plan)
    return receipt, kept[-1]


def as_shown(digest: str) -> Callable[[Previewed], None]:
    """Return the confirmation of just the plan that had this digest when it was shown."""

    def confirm(made: Previewed) -> None:
        if made.digest != digest:
            raise ConfirmationRequired("the plan has changed since it was shown")

    return confirm


@contextmanager
def writing_time(vault: Vault, caller: Caller) -> Iterator[Recovery]:
    """Hold the vault's lock, recovered; yield what recovery found."""
    vault.require_writable()
    if not is_there(vault.root):
        raise RootUnavailable(
            "the vault's Memory folder isn't there",
            hint="Mount the folder, or run `keepm setup` to make a new vault there.",
        )
    holding.refuse_another(vault)  # before anything is written there
    # Slots are looked up in the index: it must have seen every file and every event. The first
    # look, which may be long, comes before the lock, the short one after it.
    if vault.progress.ended is None or is_bare(vault.root):
        sync.require_complete(vault)
    with (
        lock.hold(
            vault.root.paths,
            surface=caller.surface,
            timeout=vault.settings.lock_timeout_seconds,
            now=vault.now(),
        ),
        vault.database.steady(),
    ):
        furnish(vault.root)
        recovery = transaction.recover(vault.root)
        if recovery.finished:
            _index(vault, dict.fromkeys(recovery.finished))
        sync.require_complete(vault)
        recording.record_held(vault)
        yield recovery


def draft(
    caller: Caller,
    operation: str,
    *,
    object_id: str,
    object_kind: str,
    scope: Scope,
    approved: bool = False,
    shown: Checksum | None = None,
    extra: Mapping[str, str] | None = None,
) -> EventDraft:
    """Draft the ledger event of a change; `approved` when the caller's channel lets text in."""
    told = {"terminal": caller.terminal} if caller.terminal else {}
    return EventDraft(
        operation=operation,
        surface=caller.surface,
        object_id=object_id,
        object_kind=object_kind,
        scope=scope.key,
        channel=str(caller.channel) if approved else None,
        client=caller.client,
        client_version=caller.client_version,
        session=caller.session,
        shown=shown.hex if shown else None,
        extra={**(extra or {}), **told},
    )


def _index(
    vault: Vault,
    written: Mapping[str, Checksum | None],
    committed: Commit | None = None,
    ahead: Ahead | None = None,
) -> bool:
    try:
        if ahead is None or committed is None or not ahead.keep(committed):
            sync.take_up(vault, written, committed)
    except KeepMError:
        # The change stands; the ledger is longer than the index remembers, so the next
        # retrieval looks at the files.
        return False
    return True
