"""Tools on the Inbox: propose, list, read, update, promote, reject, prune."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastmcp import FastMCP
from pydantic import MISSING, Field

from keepm.errors import ConfirmationRequired, InvalidInput, Problem
from keepm.mcp import inbox_views as views
from keepm.mcp import parameters as p
from keepm.mcp.confirmation import Asks
from keepm.mcp.inbox_views import (
    InboxList,
    PromotedView,
    ProposalChanged,
    ProposalMade,
    ProposalRead,
    PruneAnswer,
)
from keepm.mcp.memory_tools import claim_edit
from keepm.mcp.session import Session
from keepm.mcp.tools import tool
from keepm.model.memory import Claim, Kind, Language
from keepm.model.proposal import ProposalStatus, TargetAction
from keepm.operations import discarding, inbox, promotion, pruning, reviewing, waiting
from keepm.operations.inbox import Suggestion, SuggestionEdit
from keepm.operations.promotion import Target
from keepm.operations.waiting import InboxFilter
from keepm.tokens import WriteProof


def register(server: FastMCP[Any], session: Session) -> None:
    """Put the Inbox tools on the server."""

    @tool(server, session, "Propose a memory")
    def memory_propose(
        name: p.Name,
        description: p.Description,
        kind: p.KindName,
        body: p.Body,
        proposal_reason: p.Reason,
        target_identifier: Annotated[str, Field(description="Note to correct.", max_length=240)]
        | MISSING = MISSING,
        target_action: Annotated[
            Literal["update", "supersede"], Field(description="How it corrects it.")
        ]
        | MISSING = MISSING,
        scope: p.ScopeName = "project",
        language: p.LanguageName | MISSING = MISSING,
        tags: p.Tags | MISSING = MISSING,
        pinned: p.Pinned = False,
        aliases: p.Aliases | MISSING = MISSING,
        sources: p.Sources | MISSING = MISSING,
        verified_at: p.VerifiedAt | MISSING = MISSING,
        source_ref: p.SourceRef | MISSING = MISSING,
        allow_similar: p.AllowSimilar = False,
    ) -> ProposalMade:
        """Put your own inference into the Inbox, where the user decides. It is no memory before
        that. Never secrets."""
        vault = session.vault()
        action = p.given(target_action)
        suggestion = Suggestion(
            claim=Claim(
                name=name,
                description=description,
                kind=Kind(kind),
                body=body,
                scope=vault.scope(scope),
                language=Language(p.given(language) or vault.settings.language),
                tags=p.listed(tags) or (),
                pinned=pinned,
                aliases=p.listed(aliases) or (),
                sources=p.listed(sources) or (),
                verified_at=p.given(verified_at) or None,
            ),
            reason=proposal_reason,
            source_ref=p.given(source_ref) or "",
            target_identifier=p.given(target_identifier),
            target_action=TargetAction(action) if action else None,
            allow_similar=allow_similar,
        )
        return views.proposal_made(inbox.propose(vault, session.caller(), suggestion))

    @tool(server, session, "List proposals", reads=True)
    def memory_inbox_list(
        status: Annotated[
            Literal["pending", "promoted", "rejected", "all"],
            Field(description="Which state."),
        ] = "pending",
        scope: p.OnlyScope | MISSING = MISSING,
        kind: p.OnlyKind | MISSING = MISSING,
        review_overdue: Annotated[bool, Field(description="Only overdue ones.")] = False,
        limit: p.Limit = 20,
        offset: p.Offset = 0,
    ) -> InboxList:
        """List proposals, the oldest first."""
        chosen = p.given(kind)
        wanted = InboxFilter(
            status=None if status == "all" else ProposalStatus(status),
            scope=p.given(scope),
            kind=Kind(chosen) if chosen else None,
            overdue_only=review_overdue,
        )
        page = waiting.list_page(session.vault(), wanted, limit=limit, offset=offset)
        return views.inbox_list(page, offset=offset)

    @tool(server, session, "Read a proposal", reads=True)
    def memory_inbox_read(identifier: p.Identifier, max_chars: p.BodyChars = 20000) -> ProposalRead:
        """Read one proposal completely, to show it to the user as P1, P2 …"""
        vault = session.vault()
        reading = inbox.read(vault, identifier, max_chars=max_chars)
        return views.proposal_read(reading, reviewing.advice(vault, reading.document))

    @tool(server, session, "Change a proposal", destroys=True)
    def memory_inbox_update(
        identifier: p.Identifier,
        expected_checksum: p.ExpectedChecksum,
        update_token: p.UpdateToken,
        name: p.Name | MISSING = MISSING,
        description: p.Description | MISSING = MISSING,
        kind: p.KindName | MISSING = MISSING,
        body: p.Body | MISSING = MISSING,
        proposal_reason: p.Reason | MISSING = MISSING,
        scope: p.ScopeName | MISSING = MISSING,
        language: p.LanguageName | MISSING = MISSING,
        tags: p.Tags | MISSING = MISSING,
        pinned: p.Pinned | MISSING = MISSING,
        aliases: p.Aliases | MISSING = MISSING,
        sources: p.Sources | MISSING = MISSING,
        verified_at: p.VerifiedAt | MISSING = MISSING,
        source_ref: p.SourceRef | MISSING = MISSING,
    ) -> ProposalChanged:
        """Change a pending proposal you have read completely; absent fields stay."""
        vault = session.vault()
        new_scope = p.given(scope)
        edit = SuggestionEdit(
            claim=claim_edit(
                name=p.given(name),
                description=p.given(description),
                kind=p.given(kind),
                body=p.given(body),
                language=p.given(language),
                tags=p.listed(tags),
                pinned=p.given(pinned),
                aliases=p.listed(aliases),
                sources=p.listed(sources),
                verified_at=p.given(verified_at),
                scope=vault.scope(new_scope) if new_scope else None,
            ),
            reason=p.given(proposal_reason),
            source_ref=p.given(source_ref),
        )
        proof = WriteProof.parse(expected_checksum, update_token)
        written = inbox.update(vault, session.caller(), identifier, edit, proof)
        return views.proposal_changed(written, pending=True)

    @tool(server, session, "Promote a proposal", destroys=True, asks=Asks.ALWAYS)
    def memory_inbox_promote(
        identifier: p.Identifier,
        expected_checksum: p.ExpectedChecksum,
        update_token: p.UpdateToken,
        target_identifier: Annotated[
            str, Field(description="Note to promote into.", max_length=240)
        ]
        | MISSING = MISSING,
        target_expected_checksum: Annotated[
            str,
            Field(description="From its full read.", max_length=64),
        ]
        | MISSING = MISSING,
        target_update_token: Annotated[str, Field(description="From that read.", max_length=64)]
        | MISSING = MISSING,
    ) -> PromotedView:
        """Make a proposal formal memory: only when the user approved exactly this one, by its
        label, as you showed it. General assent is no approval."""
        vault = session.vault()
        done = promotion.promote(
            vault,
            session.caller(),
            identifier,
            WriteProof.parse(expected_checksum, update_token),
            target=_target(
                p.given(target_identifier),
                p.given(target_expected_checksum),
                p.given(target_update_token),
            ),
        )
        return views.promoted(done)

    @tool(server, session, "Reject a proposal", destroys=True, asks=Asks.ALWAYS)
    def memory_inbox_reject(
        identifier: p.Identifier,
        expected_checksum: p.ExpectedChecksum,
        update_token: p.UpdateToken,
        reason: Annotated[str, Field(description="Why, in the user's words.", max_length=600)]
        | MISSING = MISSING,
        remember: Annotated[bool, Field(description="For good, if they confirm it.")] = True,
    ) -> ProposalChanged:
        """File a proposal away as rejected, at the user's word."""
        done = discarding.reject(
            session.vault(),
            session.caller(relayed=not remember),
            identifier,
            WriteProof.parse(expected_checksum, update_token),
            reason=p.given(reason) or "",
            remember=remember and session.wants_also(),
        )
        return views.rejected(done)

    @tool(server, session, "Prune decided proposals", destroys=True)
    def memory_inbox_prune(
        older_than_days: Annotated[
            int, Field(description="Decided so many days ago.", ge=0, le=36500)
        ] = 30,
        dry_run: p.DryRun = True,
        confirm: p.Confirm = False,
        prune_token: Annotated[str, Field(description="From the dry run.", max_length=64)]
        | MISSING = MISSING,
    ) -> PruneAnswer:
        """Move old decided proposals to the trash: the dry run first, then exactly that plan."""
        vault = session.vault()
        if dry_run:
            return views.prune_preview(pruning.plan_prune(vault, older_than_days=older_than_days))
        if not confirm:
            raise ConfirmationRequired("pruning needs confirm=true and the dry run's token")
        return views.pruned(
            pruning.prune(
                vault,
                session.caller(),
                older_than_days=older_than_days,
                token=p.given(prune_token) or "",
            )
        )


def _target(identifier: str | None, checksum: str | None, token: str | None) -> Target | None:
    if identifier is None and checksum is None and token is None:
        return None
    if identifier is None or checksum is None or token is None:
        missing = [
            field
            for field, value in (
                ("target_identifier", identifier),
                ("target_expected_checksum", checksum),
                ("target_update_token", token),
            )
            if value is None
        ]
        raise InvalidInput(
            "the three target fields go together",
            problems=[Problem(field, "is missing") for field in missing],
        )
    return Target(identifier, WriteProof.parse(checksum, token, field="target_expected_checksum"))
