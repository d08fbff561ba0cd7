"""Tools that take care of the vault: bring the index up to the files, mend a note's metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastmcp import FastMCP
from pydantic import MISSING

from keepm.errors import ConfirmationRequired
from keepm.mcp import parameters as p
from keepm.mcp.confirmation import Asks
from keepm.mcp.session import Session
from keepm.mcp.tools import tool
from keepm.model.checksum import Checksum
from keepm.operations import mending, reports, resyncing
from keepm.operations.mending import MendPlan
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


@dataclass(frozen=True, slots=True)
class RepairAnswer:
    """What a repair would write or wrote, and what is left to a person."""

    path: str
    checksum: str
    repairs: list[dict[str, str]] | None = None
    diff: str | None = None
    left_to_the_user: list[dict[str, str]] | None = None
    repair_token: str | None = None
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

    @tool(server, session, "Repair metadata", destroys=True, asks=Asks.WHEN_DEMANDED)
    def memory_repair(
        identifier: p.Identifier,
        expected_checksum: p.ExpectedChecksum,
        repair_token: p.RepairToken,
        dry_run: p.DryRun = True,
        confirm: p.Confirm = False,
    ) -> RepairAnswer:
        """Mend a file's metadata that memory_doctor calls repairable: the dry run first, then
        exactly that plan."""
        vault, caller = session.vault(), session.caller()
        expected = Checksum.parse(expected_checksum, field="expected_checksum")
        if dry_run:
            plan = mending.plan(vault, caller, identifier, expected)
            vault.diagnoses.check(repair_token, plan.path, plan.checksum.hex)
            return _planned(plan, token=vault.plans.issue(mending.OPERATION, plan.digest))
        if not confirm:
            raise ConfirmationRequired("a repair needs confirm=true and the dry run's token")
        done = mending.mend(
            vault,
            caller,
            identifier,
            expected,
            confirmed=lambda plan: vault.plans.check(repair_token, mending.OPERATION, plan.digest),
        )
        vault.plans.spend(repair_token)
        return RepairAnswer(
            path=done.plan.path,
            checksum=done.checksum.hex,
            repairs=_repairs(done.plan),
            left_to_the_user=_left(done.plan),
            index_state=None if done.index_current else "catching_up",
        )


def _planned(plan: MendPlan, *, token: str) -> RepairAnswer:
    return RepairAnswer(
        path=plan.path,
        checksum=plan.checksum.hex,
        repairs=_repairs(plan),
        diff=plan.change.diff if plan.change else None,
        left_to_the_user=_left(plan),
        repair_token=None if plan.is_empty else token,
        next_step="Nothing here can be mended without a guess: tell the user what is left to them."
        if plan.is_empty
        else "Show the diff to the user. If they agree, call again with dry_run=false, "
        "confirm=true and this repair_token.",
    )


def _repairs(plan: MendPlan) -> list[dict[str, str]] | None:
    return [{"code": each.code, "because": each.because} for each in plan.repairs] or None


def _left(plan: MendPlan) -> list[dict[str, str]] | None:
    items = (reports.item(each) for each in plan.unmended)
    found = [{key: str(item[key]) for key in ("code", "reason", "fix")} for item in items]
    return found or None


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
