"""What the vault, its index and its ledger are doing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keepm import __version__
from keepm.index import catalog
from keepm.index import withheld as index_withheld
from keepm.operations import anchoring, sync
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault
from keepm.store import ledger, transaction
from keepm.store.root import unwritable


@dataclass(frozen=True, slots=True)
class Health:
    """`ok`, or `degraded` with the number of files that need a person's hand."""

    state: str
    problems: int


@dataclass(frozen=True, slots=True)
class LedgerHead:
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Storage:
    """What vault and index lie on, and how the index is kept.

    `watch` says how changes are met between two looks at the files: `events`, `polling: why`,
    `partial watched/all: why`, or `off` in a command.
    """

    vault: str
    index: str
    index_path: str
    journal_mode: str
    watch: str
    warnings: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Status:
    version: str
    project: str | None
    root: str
    index_state: str
    notes: int
    pending_proposals: int
    deep_scan_due: bool
    approval_minimum: str
    health: Health
    ledger_head: LedgerHead
    host_confirmation: str
    filesystem: Storage
    ledger_last_known: LedgerHead | None = None  # said when the ledger no longer holds it
    index_trouble: str | None = None  # why the index can't take in what the files say
    files_left: int | None = None  # that the index has still to read
    last_checksum_scan: str | None = None
    recovery_pending: list[str] | None = None
    deletions_held: int | None = None  # files that are missing and not taken for deleted yet
    stale_since: str | None = None  # the last look at the files, where none is possible now
    withheld: int | None = None  # documents that a person keeps out of every read, for now
    read_only: str | None = None  # why nothing can be changed here; reading goes on
    setup: str | None = None


def status(vault: Vault, *, host_can_ask: bool = False) -> Status:
    """Return the state of everything, without walking more than a retrieval would.

    `host_can_ask`: the calling host puts questions to its person.
    """
    state = sync.refresh(vault)
    counts = catalog.counts(vault.database, vault.visibility)
    problems = catalog.problem_count(vault.database, vault.visibility)
    waiting = list(transaction.pending(vault.root))
    head = ledger.head(vault.root)
    lost = anchoring.lost(vault)
    known = anchoring.anchors(vault).get(lost[0]) if lost else None
    out_of_sight = state is IndexState.UNAVAILABLE
    trouble = None if state is IndexState.CURRENT else vault.progress.trouble
    is_degraded = problems or waiting or lost or vault.progress.held or out_of_sight or trouble
    return Status(
        version=__version__,
        project=vault.identity.project_id,
        root=_shown(vault.settings.root),
        index_state=state,
        index_trouble=trouble,
        files_left=vault.progress.files_left,
        notes=counts.active,
        pending_proposals=counts.pending_proposals,
        last_checksum_scan=vault.database.get_meta("last_checksum_scan"),
        deep_scan_due=sync.deep_due(vault),
        approval_minimum=vault.settings.approval_minimum,
        health=Health("degraded" if is_degraded else "ok", problems),
        ledger_head=LedgerHead(head.sequence, head.hash),
        ledger_last_known=LedgerHead(known.sequence, known.hash) if known else None,
        host_confirmation="elicitation" if host_can_ask else "proposal-protocol",
        filesystem=_storage(vault),
        recovery_pending=waiting or None,
        deletions_held=vault.progress.held or None,
        stale_since=vault.progress.seen_at if out_of_sight else None,
        withheld=index_withheld.counts(vault.database, vault.visibility).total() or None,
        read_only=_read_only(vault),
        setup=None if vault.identity.project_id else vault.identity.reason,
    )


def _read_only(vault: Vault) -> str | None:
    closed = unwritable(vault.root)
    return vault.read_only or (f"{closed} can't be written" if closed else None)


def _storage(vault: Vault) -> Storage:
    where = vault.placement
    return Storage(
        vault=where.vault.label,
        index="temporary, in this process only" if vault.temporary else where.index.label,
        index_path=_shown(vault.database.path),
        journal_mode=vault.database.journal_mode,
        watch=vault.progress.watch,
        warnings=where.warnings or None,
    )


def problem_paths(vault: Vault, *, limit: int) -> list[str]:
    """Return the first of the files that need a person's hand."""
    return catalog.problem_paths(vault.database, vault.visibility, limit=limit)


def _shown(root: Path) -> str:
    """Return a place with the home folder as `~`."""
    try:
        return f"~/{root.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):  # elsewhere, or there is no home folder
        return str(root)
