"""What waits in the Inbox: the list, and when it is time to look at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from keepm.index import catalog
from keepm.index.rows import ProposalRow
from keepm.model.memory import Kind
from keepm.model.proposal import ProposalStatus
from keepm.operations import retrieval, sync, withheld
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """Which proposals to list."""

    status: ProposalStatus | None = ProposalStatus.PENDING
    scope: str | None = None
    kind: Kind | None = None
    client: str | None = None  # by this name, whatever its case
    overdue_only: bool = False


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One line of the Inbox."""

    row: ProposalRow
    overdue: bool


@dataclass(frozen=True, slots=True)
class InboxPage:
    items: tuple[InboxItem, ...]
    total: int
    index_state: IndexState
    withheld: int  # of the Inbox, whatever the filter


@dataclass(frozen=True, slots=True)
class InboxSummary:
    """Counts only: what waits, and whether it is time to remind."""

    pending: int
    overdue: int
    remind: bool


def list_page(vault: Vault, wanted: InboxFilter, *, limit: int, offset: int = 0) -> InboxPage:
    """List proposals, oldest first."""
    state = sync.refresh(vault)
    rows, _ = catalog.proposals(
        vault.database,
        vault.visibility,
        status=wanted.status,
        scope=wanted.scope,
        kind=wanted.kind,
        limit=-1,
        offset=0,
    )
    items = [InboxItem(row, is_overdue(vault, row)) for row in rows]
    if wanted.client is not None:
        own = wanted.client.casefold()
        items = [item for item in items if item.row.source_client.casefold() == own]
    if wanted.overdue_only:
        items = [item for item in items if item.overdue]
    page = (
        replace(item, row=retrieval.shown(vault, item.row))
        for item in items[offset : offset + limit]
    )
    return InboxPage(tuple(page), len(items), state, withheld.count(vault, "proposal"))


def summary(vault: Vault) -> InboxSummary:
    """Count what waits."""
    rows, total = catalog.proposals(
        vault.database,
        vault.visibility,
        status=ProposalStatus.PENDING,
        scope=None,
        kind=None,
        limit=-1,
        offset=0,
    )
    overdue = sum(is_overdue(vault, row) for row in rows)
    return InboxSummary(
        pending=total,
        overdue=overdue,
        remind=overdue > 0 or total >= vault.settings.inbox_reminder_count,
    )


def is_overdue(vault: Vault, row: ProposalRow) -> bool:
    """Tell whether a pending proposal has waited longer than the configured days."""
    if row.status != ProposalStatus.PENDING:
        return False
    return is_older(vault, row.created, vault.settings.inbox_review_days)


def is_older(vault: Vault, text: str, days: int) -> bool:
    """Tell whether a time or date is known and more than that many days ago."""
    try:
        then = datetime.fromisoformat(text)
    except ValueError:
        return False
    if then.tzinfo is None:
        then = then.replace(tzinfo=vault.clock.now().tzinfo)
    return vault.clock.now() - then > timedelta(days=days)
