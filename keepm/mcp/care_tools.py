"""Tools that take care of the vault: bring the index up to the files, mend a note's metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastmcp import FastMCP
from pydantic import MISSING

from keepm.mcp import parameters as p
from keepm.mcp.session import Session
from keepm.mcp.tools import tool
from keepm.operations import resyncing
from keepm.operations.resyncing import Synced


@dataclass(frozen=True, slots=True)
class SyncAnswer:
    """What a look at the files found, or what a rebuild would read."""

    files: int
    changed: int | None = None
    gone: int | None = None
    held: int | None = None
    index_state: str | None = None
    next_step: str | None = None


def register(server: FastMCP[Any], session: Session) -> None:
    """Put the tools of care on the server."""

    @tool(server, session, "Synchronise the index", repeatable=True)
    def memory_sync(
        full: p.Full = False,
        confirm: p.Confirm = False,
        repair_token: p.RepairToken | MISSING = MISSING,
    ) -> SyncAnswer:
        """Look at the files now, or rebuild the index. Hardly ever needed."""
        vault = session.vault()
        if not full:
            return _synced(resyncing.quick(vault))
        token = p.given(repair_token) or ""
        vault.diagnoses.require(token)
        if not confirm:
            return SyncAnswer(
                files=resyncing.files(vault),
                next_step="Files that are missing will count as deleted. If the user agrees, call "
                "again with full=true, confirm=true and the same repair_token.",
            )
        done = resyncing.full(vault)
        vault.diagnoses.spend(token)
        return _synced(done)


def _synced(done: Synced) -> SyncAnswer:
    held = done.found.held
    return SyncAnswer(
        files=done.found.seen,
        changed=done.found.read,
        gone=done.found.removed,
        held=held or None,
        index_state=done.state,
        next_step="Files are missing and not taken for deleted: ask the user whether they are."
        if held
        else None,
    )
