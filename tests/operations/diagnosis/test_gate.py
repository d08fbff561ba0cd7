"""What waits: decided by a person, overdue, or without a way out."""

from __future__ import annotations

import pytest

from keepm.model.document import Severity
from keepm.operations import inbox, memories
from keepm.operations.inbox import Suggestion
from keepm.operations.vault import Vault
from tests.operations.diagnosis.support import ID, found, look, note
from tests.operations.support import AGENT, FixedClock, Machine, claim

PENDING = "Memory/Inbox/pending/projects/widgets"
HANDOFFS = "Memory/.handoffs/pending/projects/widgets"


def proposed(vault: Vault) -> None:
    inbox.propose(vault, AGENT, Suggestion(claim("port"), reason="It came up."))


def test_a_proposal_is_overdue_after_the_configured_days_and_not_before(
    vault: Vault, clock: FixedClock
) -> None:
    proposed(vault)
    clock.forward(days=vault.settings.inbox_review_days)
    assert found(vault) == []

    clock.forward(days=1)

    (only,) = look(vault)
    assert (only.rule.code, only.severity) == ("pending_overdue", Severity.INFO)


def test_a_correction_of_a_note_that_is_gone_is_told(machine: Machine, vault: Vault) -> None:
    text = note(1, status="pending", proposal_reason="why", target_id=ID.format(9))
    machine.put(f"{PENDING}/a.md", text.replace("kind:", "target_action: update\nkind:"))

    assert [each.split()[0] for each in found(vault)] == ["pending_target_missing"]


@pytest.mark.parametrize("status", ["promoted", "rejected"])
def test_what_was_decided_and_still_lies_in_the_inbox_has_no_way_out(
    machine: Machine, vault: Vault, status: str
) -> None:
    machine.put(f"{PENDING}/a.md", note(1, status=status, proposal_reason="why"))

    by_code = {each.rule.code: each for each in look(vault)}

    assert by_code["pending_stuck"].severity is Severity.ERROR
    assert "status_mismatch" in by_code


@pytest.mark.parametrize("text", ["---\na: b: c\n---\n", "no front matter\n"])
def test_a_handoff_that_cant_be_completed_has_no_way_out(
    machine: Machine, vault: Vault, text: str
) -> None:
    machine.put(f"{HANDOFFS}/a.md", text)

    assert any(each.startswith("pending_stuck") for each in found(vault))


def test_a_broken_proposal_can_be_rejected_and_isnt_stuck(machine: Machine, vault: Vault) -> None:
    machine.put(f"{PENDING}/a.md", "---\na: b: c\n---\n")

    assert [each.split()[0] for each in found(vault)] == ["invalid_yaml"]


def test_a_note_that_claims_more_approval_than_it_had_is_told(
    machine: Machine, vault: Vault
) -> None:
    written = memories.create(vault, AGENT, claim("port"))
    path = machine.root / written.document.path
    assert found(vault) == []
    text = path.read_text("utf-8").replace("approved_via: relayed", "approved_via: owner-web")

    path.write_text(text, "utf-8")

    (only,) = look(vault)
    assert (only.rule.code, only.severity) == ("approval_mismatch", Severity.INFO)
    assert "owner-edit" in only.reason
