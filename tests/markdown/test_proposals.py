from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from keepm.markdown import proposals
from keepm.model.document import Damaged, Document, Standing
from keepm.model.memory import Kind
from keepm.model.proposal import Proposal, ProposalStatus, TargetAction
from tests import strategies

PATH = "Memory/Inbox/pending/global/p.md"
ARCHIVED = "Memory/Inbox/archive/global/p.md"
ID = "6f0c9d52-93a5-4a38-8f0d-0a4c1f2f7b11"

KEEPM_3 = f"""---
id: {ID}
name: build-command
description: How the project is built
scope: global
kind: workflow
language: en
tags:
- build
pinned: false
aliases: []
sources: []
status: pending
created: '2025-03-01'
updated: '2025-03-01'
origin: agent_inference
proposal_reason: Seen twice
source_client: codex
source_ref: ''
promoted_memory_id: null
resolved_at: null
---

# Something for people

<!-- keepm:proposal-body -->

How to apply: run make.
"""


def proposal(data: bytes, path: str = PATH) -> Document[Proposal]:
    document = proposals.read(path, data)
    assert isinstance(document.content, Proposal)
    return document


def codes(document: Document[Proposal]) -> list[str]:
    return [finding.code for finding in document.findings]


def test_a_keepm_3_proposal_is_read_as_it_stands() -> None:
    document = proposal(KEEPM_3.encode())
    content = document.content
    assert document.findings == ()
    assert content.claim.kind is Kind.WORKFLOW
    assert content.claim.body == "How to apply: run make."
    assert (content.reason, content.source_client) == ("Seen twice", "codex")
    assert (content.promoted_memory_id, content.resolved_at) == (None, None)


def test_without_the_marker_the_whole_text_is_the_body() -> None:
    data = KEEPM_3.replace("<!-- keepm:proposal-body -->\n", "").encode()
    assert proposal(data).content.claim.body.startswith("# Something for people")


def test_the_first_marker_counts_and_a_second_is_text() -> None:
    body = f"a\n{proposals.MARKER}\nb"
    document = proposal(KEEPM_3.encode())
    claim = replace(document.content.claim, body=body)
    data = proposals.render(replace(document.content, claim=claim))
    assert proposal(data).content.claim.body == body


@given(strategies.proposals())
def test_a_rendered_proposal_reads_back(content: Proposal) -> None:
    document = proposal(proposals.render(content))
    assert document.content == content
    assert document.findings == ()


@given(strategies.proposals(), strategies.proposals())
def test_a_patched_proposal_reads_back(old: Proposal, new: Proposal) -> None:
    document = proposal(proposals.render(old))
    new = replace(new, id=old.id)
    assert proposal(proposals.patch(document, new)).content == new


def test_rejecting_changes_a_few_lines_and_no_text() -> None:
    document = proposal(KEEPM_3.encode())
    changed = replace(
        document.content,
        status=ProposalStatus.REJECTED,
        resolved_at="2026-11-29T18:15:00Z",
        rejection_reason="not true",
    )
    assert proposals.patch(document, changed).decode() == KEEPM_3.replace(
        "status: pending", "status: rejected"
    ).replace(
        "resolved_at: null\n", "resolved_at: '2026-11-29T18:15:00Z'\nrejection_reason: not true\n"
    )


def test_a_new_name_renames_the_heading() -> None:
    content = proposal(KEEPM_3.encode()).content
    document = proposal(proposals.render(content))
    claim = replace(content.claim, name="构建")
    assert "# Proposal: 构建\n" in proposals.patch(document, replace(content, claim=claim)).decode()


def test_a_target_and_its_action_are_read() -> None:
    data = KEEPM_3.replace("origin:", f"target_id: {ID}\ntarget_action: supersede\norigin:")
    content = proposal(data.encode()).content
    assert (content.target_id, content.target_action) == (ID, TargetAction.SUPERSEDE)


@pytest.mark.parametrize(("path", "status"), [(ARCHIVED, "pending"), (PATH, "promoted")])
def test_a_status_that_its_folder_denies_is_noted(path: str, status: str) -> None:
    data = KEEPM_3.replace("status: pending", f"status: {status}").encode()
    assert codes(proposal(data, path)) == ["status_mismatch"]


def test_an_unknown_status_is_not_open_to_decision() -> None:
    document = proposal(KEEPM_3.replace("status: pending", "status: approved").encode())
    assert document.content.status is not ProposalStatus.PENDING
    assert "unknown_status" in codes(document)


def test_a_broken_proposal_is_kept_as_text() -> None:
    document = proposals.read(PATH, b"---\na: b: c\n---\nx\n")
    assert isinstance(document.content, Damaged)
    assert document.content.standing is Standing.DAMAGED
