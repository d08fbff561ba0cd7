"""A proposal: an agent's inference, waiting in the Inbox for a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from keepm.config import Policy
from keepm.errors import Problem, WrongState
from keepm.model import limits, screening
from keepm.model.memory import Claim


class ProposalStatus(StrEnum):
    """What became of a proposal; only a pending one is changed, promoted or rejected."""

    PENDING = "pending"
    PROMOTED = "promoted"
    REJECTED = "rejected"


class TargetAction(StrEnum):
    """What promoting does to the note a proposal corrects."""

    UPDATE = "update"
    SUPERSEDE = "supersede"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A claim with its reason and its origin; never searched, never served as memory."""

    id: str
    claim: Claim
    reason: str
    status: ProposalStatus = ProposalStatus.PENDING
    created: str = ""
    updated: str = ""
    origin: str = "agent_inference"
    source_client: str = ""
    source_ref: str = ""
    target_id: str | None = None
    target_action: TargetAction | None = None
    promoted_memory_id: str | None = None
    resolved_at: str | None = None
    rejection_reason: str | None = None


def require_pending(proposal: Proposal, *, to: str) -> None:
    """Let a step on a pending proposal pass.

    Raises:
        WrongState: it was promoted or rejected already.
    """
    if proposal.status is not ProposalStatus.PENDING:
        raise WrongState(
            f"this proposal was {proposal.status} already and can't be {to}",
            details={"id": proposal.id, "status": str(proposal.status)},
        )


def problems(proposal: Proposal, policy: Policy) -> Iterator[Problem]:
    """Yield what is wrong with a proposal beside its claim."""
    most, rules = policy.proposal, policy.screening
    if not proposal.reason.strip():
        yield Problem("proposal_reason", "must say why this is worth remembering")
    yield from screening.text("proposal_reason", proposal.reason, rules=rules)
    yield from limits.characters("proposal_reason", proposal.reason, most.reason_characters)
    yield from screening.text("source_client", proposal.source_client, rules=rules, one_line=True)
    yield from limits.characters("source_client", proposal.source_client, most.client_characters)
    yield from screening.text("source_ref", proposal.source_ref, rules=rules, one_line=True)
    yield from limits.characters("source_ref", proposal.source_ref, most.reference_characters)
    if (proposal.target_id is None) != (proposal.target_action is None):
        yield Problem("target_action", "target_identifier and target_action go together")


def rejection_problems(reason: str, policy: Policy) -> Iterator[Problem]:
    """Yield what is wrong with the reason given for a rejection."""
    yield from screening.text("reason", reason, rules=policy.screening)
    yield from limits.characters("reason", reason, policy.proposal.reason_characters)
