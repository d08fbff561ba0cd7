"""Clearing away decided proposals: a preview, then exactly that, into the trash."""

from __future__ import annotations

from dataclasses import dataclass

from keepm.errors import InvalidInput
from keepm.index import catalog
from keepm.index.rows import ProposalRow
from keepm.markdown import documents
from keepm.model.proposal import ProposalStatus
from keepm.operations import drafting, identifying, sync, waiting
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.vault import Caller, Vault
from keepm.store import reader
from keepm.store.changes import ChangeSet


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """Decided proposals that would go to the trash, and the token that confirms just these."""

    candidates: tuple[ProposalRow, ...]
    token: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """Decided proposals that went to the trash."""

    moved: tuple[ProposalRow, ...]


def plan_prune(vault: Vault, *, older_than_days: int) -> PrunePlan:
    """Preview which decided proposals are older than so many days."""
    sync.refresh(vault)
    rows = _prunable(vault, older_than_days)
    return PrunePlan(tuple(rows), vault.plans.issue("inbox_prune", _digest(rows)))


def prune(vault: Vault, caller: Caller, *, older_than_days: int, token: str) -> Pruned:
    """Move exactly the previewed proposals to the trash.

    Raises:
        ConfirmationRequired: the token is not of this very plan.
    """
    moved: list[ProposalRow] = []

    def plan(desk: Desk) -> Plan:
        rows = _prunable(vault, older_than_days)
        vault.plans.check(token, "inbox_prune", _digest(rows))
        if not rows:
            raise InvalidInput("there is nothing to prune", hint="No step is needed.")
        moves = []
        for row in rows:
            data = reader.read(vault.root, row.path, limit=vault.policy.document_bytes)
            document = identifying.as_proposal(documents.read(row.path, data))
            moves.append(drafting.to_trash(desk, document))
        moved[:] = rows
        return Plan(
            ChangeSet(tuple(moves)),
            draft(
                caller,
                "inbox_prune",
                object_id=rows[0].id,
                object_kind="proposal",
                scope=rows[0].scope,
                extra={"count": str(len(rows))},
            ),
        )

    mutate(vault, caller, plan)
    vault.plans.spend(token)
    return Pruned(tuple(moved))


def _prunable(vault: Vault, days: int) -> list[ProposalRow]:
    found: list[ProposalRow] = []
    for status in (ProposalStatus.PROMOTED, ProposalStatus.REJECTED):
        rows, _ = catalog.proposals(
            vault.database,
            vault.visibility,
            status=status,
            scope=None,
            kind=None,
            limit=-1,
            offset=0,
        )
        found += [row for row in rows if waiting.is_older(vault, row.resolved_at or "", days)]
    return sorted(found, key=lambda row: row.path)


def _digest(rows: list[ProposalRow]) -> str:
    return "\n".join(f"{row.path} {row.checksum}" for row in rows)
