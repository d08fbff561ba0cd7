"""The tool on two notes that contradict each other: one stays, the other gives way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastmcp import FastMCP
from pydantic import MISSING, Field

from keepm.errors import ConfirmationRequired
from keepm.mcp import parameters as p
from keepm.mcp import views
from keepm.mcp.confirmation import Asks
from keepm.mcp.memory_tools import claim_edit
from keepm.mcp.session import Session
from keepm.mcp.tools import tool
from keepm.mcp.views import MemoryView
from keepm.model.resolution import LoserAction, Resolution
from keepm.operations import conflicts
from keepm.operations.conflicts import ResolutionPlan, Resolved, Ruling, Side
from keepm.tokens import WriteProof

# The parameters are memory_update's; said briefly, for there are many of them.
_READ = Field(description="From its read.")
_NEW = Field(description="New.")


@dataclass(frozen=True, slots=True)
class ChangeView:
    path: str
    becomes: str
    diff: str
    to: str | None = None


@dataclass(frozen=True, slots=True)
class HandleView:
    id: str
    name: str
    status: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class PlanView:
    winner: HandleView
    loser: HandleView
    loser_action: str
    changes: list[ChangeView]
    links_to_loser: list[str] | None = None


@dataclass(frozen=True, slots=True)
class ResolveAnswer:
    plan: PlanView | None = None
    resolution_token: str | None = None
    memory: MemoryView | None = None
    checksum: str | None = None
    update_token: str | None = None
    loser: HandleView | None = None
    index_state: str | None = None
    next_step: str | None = None


def register(server: FastMCP[Any], session: Session) -> None:
    """Put the tool on the server."""

    @tool(server, session, "Resolve a conflict", destroys=True, asks=Asks.ALWAYS)
    def memory_resolve_conflict(
        winner_identifier: Annotated[p.Identifier, Field(description="Stays.")],
        winner_expected_checksum: Annotated[p.ExpectedChecksum, _READ],
        winner_update_token: Annotated[p.UpdateToken, _READ],
        loser_identifier: Annotated[p.Identifier, Field(description="Gives way.")],
        loser_expected_checksum: Annotated[p.ExpectedChecksum, _READ],
        loser_update_token: Annotated[p.UpdateToken, _READ],
        loser_action: Annotated[
            Literal["supersede", "archive", "delete"], Field(description="How.")
        ],
        resolution_reason: Annotated[str, Field(description="Why.", max_length=600)],
        winner_description: Annotated[p.Description, _NEW] | MISSING = MISSING,
        winner_kind: Annotated[p.KindName, _NEW] | MISSING = MISSING,
        winner_body: Annotated[p.Body, _NEW] | MISSING = MISSING,
        winner_language: Annotated[p.LanguageName, _NEW] | MISSING = MISSING,
        winner_tags: Annotated[p.Tags, _NEW] | MISSING = MISSING,
        winner_pinned: Annotated[p.Pinned, _NEW] | MISSING = MISSING,
        winner_aliases: Annotated[p.Aliases, _NEW] | MISSING = MISSING,
        winner_sources: Annotated[p.Sources, _NEW] | MISSING = MISSING,
        winner_verified_at: Annotated[p.VerifiedAt, _NEW] | MISSING = MISSING,
        dry_run: Annotated[bool, Field(description="Plan only.")] = True,
        confirm: Annotated[bool, Field(description="Do it.")] = False,
        resolution_token: Annotated[str, Field(description="The plan's.", max_length=64)]
        | MISSING = MISSING,
    ) -> ResolveAnswer:
        """Let one of two contradicting notes give way, as the user ruled: read both, show the
        dry run, then confirm."""
        ruling = Ruling(
            winner=Side(
                winner_identifier,
                WriteProof.parse(
                    winner_expected_checksum, winner_update_token, field="winner_expected_checksum"
                ),
            ),
            loser=Side(
                loser_identifier,
                WriteProof.parse(
                    loser_expected_checksum, loser_update_token, field="loser_expected_checksum"
                ),
            ),
            resolution=Resolution(LoserAction(loser_action), resolution_reason.strip()),
            edit=claim_edit(
                description=p.given(winner_description),
                kind=p.given(winner_kind),
                body=p.given(winner_body),
                language=p.given(winner_language),
                tags=p.listed(winner_tags),
                pinned=p.given(winner_pinned),
                aliases=p.listed(winner_aliases),
                sources=p.listed(winner_sources),
                verified_at=p.given(winner_verified_at),
            ),
        )
        vault, caller = session.vault(), session.caller()
        if dry_run:
            return _preview(conflicts.plan_resolution(vault, caller, ruling))
        if not confirm:
            raise ConfirmationRequired("resolving needs confirm=true and the dry run's token")
        token = p.given(resolution_token) or ""
        return _done(conflicts.resolve(vault, caller, ruling, token=token))


def _preview(plan: ResolutionPlan) -> ResolveAnswer:
    return ResolveAnswer(
        plan=PlanView(
            winner=HandleView(plan.winner.id, plan.winner.claim.name),
            loser=HandleView(plan.loser.id, plan.loser.claim.name),
            loser_action=str(plan.action),
            changes=[
                ChangeView(each.path, each.becomes, each.diff, each.to) for each in plan.changes
            ],
            links_to_loser=list(plan.linked_from) or None,
        ),
        resolution_token=plan.token,
        next_step="Show the plan; after the user's word call again with the same arguments, "
        "dry_run=false, confirm=true and resolution_token.",
    )


def _done(done: Resolved) -> ResolveAnswer:
    return ResolveAnswer(
        memory=views.memory_view(done.winner),
        checksum=done.winner.checksum.hex,
        update_token=done.token,
        loser=HandleView(
            done.loser.id, done.loser.claim.name, str(done.loser.status), done.loser_path
        ),
        index_state=None if done.index_current else "catching_up",
    )
