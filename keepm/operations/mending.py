"""Mending a document's front matter where only one value is possible; the rest is explained.

What may be mended and how is `model/repairs`'; here it becomes one ordinary change, shown before
it is made, and made as it was shown or not at all. What a document says stays as every reader had
it: the same text, name, kind and status, only written down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from keepm.errors import ChecksumMismatch, WrongState
from keepm.index import lookalikes
from keepm.markdown import damage, documents, frontmatter
from keepm.model import repairs
from keepm.model.checksum import Checksum
from keepm.model.diagnosis import Finding
from keepm.model.document import AnyDocument, Damaged
from keepm.model.memory import Memory
from keepm.model.repairs import Repair
from keepm.operations import diagnosis, recording, showing
from keepm.operations.mutation import Desk, Plan, carry_out, draft, preview
from keepm.operations.showing import PlannedChange
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet, Replace
from keepm.store.event import LedgerEvent

OPERATION = "mend"
_ID = frozenset({repairs.MISSING_ID, repairs.INVALID_ID})


@dataclass(frozen=True, slots=True)
class MendPlan:
    """What would be written into one file, why, and what only a person can mend."""

    path: str
    document_id: str
    checksum: Checksum  # of the file as it is
    repairs: tuple[Repair, ...]
    unmended: tuple[Finding, ...]
    change: PlannedChange | None
    digest: str

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to write."""
        return self.change is None


@dataclass(frozen=True, slots=True)
class Mended:
    """A document that was mended: its new version, and the event of it."""

    plan: MendPlan
    checksum: Checksum
    event: LedgerEvent
    index_current: bool


def plan(
    vault: Vault, caller: Caller, identifier: str, expected: Checksum | None = None
) -> MendPlan:
    """Show what would be mended in the document that an id, name, alias or path names.

    Raises:
        NotFound, AmbiguousIdentifier: of the identifier.
        ChecksumMismatch: the file isn't the `expected` version.
        MalformedDocument: its front matter can't be changed line by line.
        ApprovalRequired: the caller's channel is below the minimum for the note's kind.
    """
    return preview(vault, caller, lambda desk: _plan(desk, caller, identifier, expected))


def mend(
    vault: Vault,
    caller: Caller,
    identifier: str,
    expected: Checksum | None,
    *,
    confirmed: Callable[[MendPlan], None],
) -> Mended:
    """Carry out exactly the plan that was shown: `confirmed` refuses any other.

    Raises:
        ConfirmationRequired: of `confirmed`.
        WrongState: there is nothing to mend.
        Else as `plan`.
    """

    def confirm(made: MendPlan) -> None:
        confirmed(made)
        if made.is_empty:
            raise WrongState("there is nothing here that can be mended without a guess")

    receipt, made = carry_out(
        vault, caller, lambda desk: _plan(desk, caller, identifier, expected), confirm
    )
    (change,) = receipt.changes.changes
    assert isinstance(change, Replace)
    return Mended(made, Checksum.of(change.data), receipt.event, receipt.index_current)


def _plan(
    desk: Desk, caller: Caller, identifier: str, expected: Checksum | None
) -> tuple[Plan, MendPlan]:
    vault, document = desk.vault, desk.document(identifier)
    if expected is not None and document.checksum != expected:
        raise ChecksumMismatch(
            "the file is not the version that was named",
            details={"expected": expected.hex, "found": document.checksum.hex},
        )
    examiner = diagnosis.examiner(vault)
    findings = examiner.examine(document)
    made: tuple[Repair, ...] = ()
    if not isinstance(document.content, Damaged):
        codes = {each.rule.code for each in findings}
        if _is_taken(vault, document):
            codes -= _ID
        made = repairs.plan(codes, examiner.facts(document))
    data = _written(document, made, caller)
    note = document.content if isinstance(document.content, Memory) else None
    if data is not None and note is not None:
        vault.approval.require(caller.channel, kind=note.claim.kind)
    mended = {each.code for each in made}
    place = damage.place(document.path)
    changes = () if data is None else (Replace(document.path, data, document.checksum),)
    shown = MendPlan(
        path=document.path,
        document_id=document.content.id,
        checksum=document.checksum,
        repairs=made,
        unmended=tuple(each for each in findings if each.rule.code not in mended),
        change=showing.shown(vault, changes[0]) if changes else None,
        digest=hashlib.sha256(
            f"{document.checksum.hex} {showing.digest_of(changes)}".encode()
        ).hexdigest(),
    )
    event = draft(
        caller,
        OPERATION,
        object_id=document.content.id,
        object_kind=recording.kind_of(place),
        scope=place.scope,
        approved=note is not None,
        extra={"repairs": ",".join(sorted(mended))},
    )
    return Plan(ChangeSet(changes, record_only=not changes), event), shown


def _is_taken(vault: Vault, document: AnyDocument) -> bool:
    """Tell whether another file has the id that this path gives: whose it is would be a guess."""
    scope = damage.place(document.path).scope
    known = lookalikes.holders(vault.database, scope, damage.derived_id(document.path))
    return bool(known - {document.path})


def _written(document: AnyDocument, made: tuple[Repair, ...], caller: Caller) -> bytes | None:
    """Return the mended bytes, or nothing where there is nothing to mend.

    Raises:
        MalformedDocument: the front matter can't be changed line by line.
        WrongState: the document would say something else than before.
    """
    if not made:
        return None
    changes = dict(repairs.merged(made))
    content = document.content
    if isinstance(content, Memory) and content.approved_via is not None:
        changes["approved_via"] = str(caller.channel)  # as every change of a note does
    data = frontmatter.patch(document.data, changes)
    after = documents.read(document.path, data)
    if _said(after) != _said(document):
        raise WrongState("mending it would change what the document says")
    return data


def _said(document: AnyDocument) -> object:
    """Return what a document says, without when it was made and by which channel."""
    content = document.content
    if isinstance(content, Damaged):
        return content
    plain = replace(content, created="", updated="")
    return replace(plain, approved_via=None) if isinstance(plain, Memory) else plain
