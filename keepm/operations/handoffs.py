"""Handoffs: saved by one session, taken up by the next, completed when the task is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

from keepm.errors import InvalidInput, refuse_if_any
from keepm.markdown import handoffs as codec
from keepm.model import handoff as rules
from keepm.model import layout, limits
from keepm.model.document import Damaged, Document
from keepm.model.handoff import Handoff, HandoffEdit, HandoffStatus
from keepm.model.layout import Shelf
from keepm.model.memory import Scope
from keepm.operations import identifying, reading
from keepm.operations.mutation import Desk, Plan, Receipt, draft, mutate
from keepm.operations.vault import Caller, Vault
from keepm.store.changes import ChangeSet, Create, Move, Replace
from keepm.tokens import WriteProof


@dataclass(frozen=True, slots=True)
class HandoffReading:
    """One read of a handoff; `token` only while it is active and readable."""

    document: Document[Handoff] | Document[Damaged]
    token: str | None


@dataclass(frozen=True, slots=True)
class HandoffWritten:
    """A handoff as a change left it."""

    document: Document[Handoff]
    token: str
    index_current: bool


def create(vault: Vault, caller: Caller, fields: HandoffEdit) -> HandoffWritten:
    """Save the state of an unfinished task as a new handoff of this project.

    Raises:
        ConfigurationError: no project is set up here.
        InvalidInput: naming every problem.
    """
    scope = vault.scope("project")
    assert scope.project_id is not None
    handoff_id = vault.new_id()
    empty = Handoff(handoff_id, scope.project_id, title="", goal="", current_state="")
    handoff = _normal(rules.apply(empty, fields))
    handoff = replace(
        handoff, source_client=caller.client[: vault.policy.proposal.client_characters]
    )
    _check(vault, handoff)

    def plan(desk: Desk) -> Plan:
        new = replace(handoff, created=desk.at, updated=desk.at)
        data = codec.render(new)
        _check_size(vault, data)
        path = layout.inbox_path(Shelf.HANDOFF, scope, handoff.title, handoff_id)
        return Plan(
            ChangeSet((Create(path, data),)),
            draft(
                caller,
                "handoff_create",
                object_id=handoff_id,
                object_kind="handoff",
                scope=scope,
            ),
        )

    return _written(vault, mutate(vault, caller, plan))


def read(vault: Vault, identifier: str | None = None) -> HandoffReading:
    """Read a handoff, the one written last by default.

    Raises:
        NotFound: there is none.
        AmbiguousIdentifier: the title fits several.
    """
    document = reading.current(vault, identifier, identifying.handoff_path)
    if isinstance(document.content, Damaged):
        return HandoffReading(document, None)
    handoff = identifying.as_handoff(document)
    active = handoff.content.status is HandoffStatus.ACTIVE
    return HandoffReading(
        handoff,
        vault.tokens.issue(handoff.content.id, handoff.checksum) if active else None,
    )


def update(
    vault: Vault, caller: Caller, identifier: str | None, edit: HandoffEdit, proof: WriteProof
) -> HandoffWritten:
    """Change fields of an active handoff; what the edit leaves out stays.

    Raises:
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead.
        WrongState: it was completed.
        InvalidInput: a field is wrong, or the edit changes nothing.
    """

    def plan(desk: Desk) -> Plan:
        document = desk.handoff(identifier, proof)
        old = document.content
        rules.require_active(old)
        new = _normal(rules.apply(old, edit))
        if new == old:
            raise InvalidInput("the call changes nothing", hint="Give at least one changed field.")
        _check(vault, new)
        data = codec.patch(document, replace(new, updated=desk.at))
        _check_size(vault, data)
        return Plan(
            ChangeSet((Replace(document.path, data, document.checksum),)),
            draft(
                caller,
                "handoff_update",
                object_id=old.id,
                object_kind="handoff",
                scope=Scope(old.project_id),
            ),
            (proof,),
        )

    return _written(vault, mutate(vault, caller, plan))


def complete(
    vault: Vault, caller: Caller, identifier: str | None, proof: WriteProof
) -> HandoffWritten:
    """Close a handoff whose task is done and file it away.

    Raises:
        NotFound, AmbiguousIdentifier, ChecksumMismatch, TokenInvalid, IncompleteRead.
        WrongState: it was completed already.
    """

    def plan(desk: Desk) -> Plan:
        document = desk.handoff(identifier, proof)
        old = document.content
        rules.require_active(old)
        done = replace(old, status=HandoffStatus.COMPLETED, updated=desk.at)
        return Plan(
            ChangeSet((_filed_away(desk, document, done),)),
            draft(
                caller,
                "handoff_complete",
                object_id=old.id,
                object_kind="handoff",
                scope=Scope(old.project_id),
            ),
            (proof,),
        )

    return _written(vault, mutate(vault, caller, plan))


def _filed_away(desk: Desk, document: Document[Handoff], done: Handoff) -> Move:
    # KeepM 3 called every handoff current.md: the archive's name must hold the id.
    path = layout.inbox_path(
        Shelf.ARCHIVED_HANDOFF, Scope(done.project_id), done.title or "handoff", done.id
    )
    return Move(document.path, path, codec.patch(document, done), document.checksum)


def _normal(handoff: Handoff) -> Handoff:
    return replace(
        handoff,
        title=handoff.title.strip(),
        goal=handoff.goal.strip(),
        current_state=handoff.current_state.strip(),
        completed=_stripped(handoff.completed),
        unresolved=_stripped(handoff.unresolved),
        next_steps=_stripped(handoff.next_steps),
        verification=_stripped(handoff.verification),
    )


def _stripped(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item.strip() for item in items)


def _check(vault: Vault, handoff: Handoff) -> None:
    refuse_if_any(list(rules.problems(handoff, vault.policy)))


def _check_size(vault: Vault, data: bytes) -> None:
    refuse_if_any(
        list(limits.size("handoff", data.decode("utf-8"), vault.policy.handoff.file_bytes))
    )


def _written(vault: Vault, receipt: Receipt) -> HandoffWritten:
    document = identifying.as_handoff(receipt.subject)
    token = vault.tokens.issue(document.content.id, document.checksum)
    return HandoffWritten(document, token, receipt.index_current)
