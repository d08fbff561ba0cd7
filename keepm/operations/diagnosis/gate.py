"""What waits for a person and can't be decided, waits too long, or claims another approval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepm.index import versions
from keepm.index import withheld as index_withheld
from keepm.markdown.claims import UNCHANGEABLE
from keepm.model import identity, rules
from keepm.model.diagnosis import Finding
from keepm.model.document import Damaged
from keepm.model.layout import Shelf
from keepm.model.memory import Memory
from keepm.model.proposal import Proposal, ProposalStatus
from keepm.operations import provenance, waiting
from keepm.operations.diagnosis.survey import Seen
from keepm.operations.vault import Vault


def findings(vault: Vault, seen: Sequence[Seen]) -> Iterator[Finding]:
    """Yield what is wrong with what waits, and with what notes say of their approval."""
    notes = {
        identity.slot_key(each.content.id) for each in seen if isinstance(each.content, Memory)
    }
    # What is withheld is there, though nobody is told where.
    kept_out = index_withheld.listed(vault.database, vault.visibility)
    notes.update(identity.slot_key(each.id) for each in kept_out)
    channels = versions.channels(vault.database)
    for each in seen:
        if reason := _stuck(each):
            yield each.finding("pending_stuck", reason)
        content = each.content
        if isinstance(content, Proposal) and content.status is ProposalStatus.PENDING:
            yield from _pending(vault, each, content, notes)
        elif isinstance(content, Memory):
            yield from _approval(each, content, channels.get(each.checksum))


def withheld(vault: Vault) -> Iterator[Finding]:
    """Yield how much a person keeps out of every read, for now."""
    counts = index_withheld.counts(vault.database, vault.visibility)
    if number := counts.total():
        each = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        yield rules.finding("withheld", f"{number} kept out of every read: {each}")


def _stuck(each: Seen) -> str:
    """Say why a waiting document has no way out through KeepM, or nothing.

    What can't be read as a proposal can be rejected all the same; a handoff has no such way.
    """
    if each.place.shelf is Shelf.HANDOFF and (
        isinstance(each.content, Damaged) or each.codes & UNCHANGEABLE
    ):
        return "this handoff can't be completed before it is mended"
    if (
        each.place.shelf is Shelf.PROPOSAL
        and isinstance(each.content, Proposal)
        and each.content.status is not ProposalStatus.PENDING
    ):
        return f"it waits in the Inbox although it says it was {each.content.status}"
    return ""


def _pending(vault: Vault, each: Seen, proposal: Proposal, notes: set[str]) -> Iterator[Finding]:
    days = vault.settings.inbox_review_days
    if waiting.is_older(vault, proposal.created, days):
        reason = f"it has waited for more than {days} days"
        yield each.finding("pending_overdue", reason, line=each.lines.get("created"))
    if proposal.target_id and identity.slot_key(proposal.target_id) not in notes:
        line = each.lines.get("target_id")
        yield each.finding("pending_target_missing", line=line)


def _approval(each: Seen, note: Memory, recorded: str | None) -> Iterator[Finding]:
    for found in provenance.findings(note, provenance.judged(note, recorded)):
        line = each.lines.get("approved_via")
        yield each.finding(found.code, found.message, line=line)
