from __future__ import annotations

from dataclasses import replace

import pytest

from keepm import config
from keepm.errors import WrongState
from keepm.model import proposal
from keepm.model.memory import Claim, Kind
from keepm.model.proposal import Proposal, ProposalStatus, TargetAction

POLICY = config.load_policy()
PROPOSAL = Proposal("id", Claim("a", "b", Kind.REFERENCE, "c"), "seen twice")


def fields(candidate: Proposal) -> list[str]:
    return [problem.field for problem in proposal.problems(candidate, POLICY)]


@pytest.mark.parametrize("status", sorted(set(ProposalStatus) - {ProposalStatus.PENDING}))
def test_a_decided_proposal_is_decided(status: ProposalStatus) -> None:
    proposal.require_pending(PROPOSAL, to="promoted")
    with pytest.raises(WrongState):
        proposal.require_pending(replace(PROPOSAL, status=status), to="promoted")


def test_a_reason_is_needed() -> None:
    assert fields(PROPOSAL) == []
    assert fields(replace(PROPOSAL, reason=" ")) == ["proposal_reason"]


@pytest.mark.parametrize(
    ("attribute", "field", "limit"),
    [
        ("reason", "proposal_reason", 600),
        ("source_client", "source_client", 80),
        ("source_ref", "source_ref", 240),
    ],
)
def test_texts_pass_at_their_limit_and_not_above(attribute: str, field: str, limit: int) -> None:
    at, above = ({attribute: "x" * n} for n in (limit, limit + 1))
    assert fields(replace(PROPOSAL, **at)) == []  # type: ignore[arg-type]  # a text field
    assert fields(replace(PROPOSAL, **above)) == [field]  # type: ignore[arg-type]


def test_a_target_and_its_action_go_together() -> None:
    both = replace(PROPOSAL, target_id="x", target_action=TargetAction.UPDATE)
    assert fields(both) == []
    assert fields(replace(both, target_action=None)) == ["target_action"]
