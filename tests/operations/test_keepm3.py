"""A vault as KeepM 3 left it, written by hand: opened as it stands, changed only where asked."""

from __future__ import annotations

import pytest

from keepm.model.approval import Channel
from keepm.model.handoff import Handoff, HandoffEdit
from keepm.model.memory import Kind
from keepm.operations import context, handoffs, inbox, memories, promotion, retrieval, status
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, Machine, Opening, edit, events, proof

NOTE = """\
---
id: 0b8f7d52-3c55-4c7e-9a86-55a9b1a3f001
name: project-package-manager
description: Which package manager this project uses
scope: project
project_id: widgets
kind: preference
language: en
tags:
- tooling
- node
pinned: true
aliases: []
status: active
created: '2025-03-01'
updated: '2025-03-02'
sources:
- package.json
verified_at: '2025-03-02'
---

How to apply: use pnpm, never npm.
"""
GLOBAL_NOTE = """\
---
id: 0b8f7d52-3c55-4c7e-9a86-55a9b1a3f002
name: reply-language
description: 回答用中文
scope: global
kind: preference
language: zh
tags: []
pinned: false
aliases:
- 语言
status: active
created: '2025-01-10'
updated: '2025-01-10'
---

How to apply: 用中文回答。
"""
PROPOSAL = """\
---
id: 0b8f7d52-3c55-4c7e-9a86-55a9b1a3f003
name: test-runner
description: Tests run with vitest
scope: project
project_id: widgets
kind: workflow
language: en
tags: []
pinned: false
aliases: []
status: pending
created: '2025-03-03'
updated: '2025-03-03'
sources: []
origin: agent_inference
proposal_reason: Seen in package.json
source_client: codex
source_ref: session 12
---

# Proposal: test-runner

> Waits for a decision.

<!-- keepm:proposal-body -->

How to apply: run `pnpm vitest`.
"""
PROMOTED = (
    PROPOSAL.replace("f003", "f004")
    .replace("status: pending", "status: promoted")
    .replace(
        "origin:",
        "promoted_memory_id: 0b8f7d52-3c55-4c7e-9a86-55a9b1a3f001\n"
        "resolved_at: '2025-03-04'\norigin:",
    )
    .replace("test-runner", "package-manager")
)
HANDOFF = """\
---
id: 0b8f7d52-3c55-4c7e-9a86-55a9b1a3f005
type: handoff
scope: project
project_id: widgets
title: Move to pnpm
status: active
language: en
created: '2025-03-05'
updated: '2025-03-06'
goal: One package manager
current_state: Half of it is moved
completed:
- the root
unresolved: []
next_steps:
- move web
- move api
verification:
- run the tests
source_client: claude-code
---

# Move to pnpm

## Goal

One package manager

## Next steps

- move web
- move api
"""
VAULT = {
    "Memory/projects/widgets/project-package-manager.md": NOTE,
    "Memory/global/reply-language.md": GLOBAL_NOTE,
    "Memory/Inbox/pending/projects/widgets/test-runner.md": PROPOSAL,
    "Memory/Inbox/archive/projects/widgets/package-manager.md": PROMOTED,
    "Memory/.handoffs/pending/projects/widgets/current.md": HANDOFF,
    "Memory/.trash/20250102T030405Z-old-note.md": NOTE.replace("f001", "f009"),
    "Memory/README.md": "People's own words in KeepM's folder.\n",
    "Journal/2025-03-01.md": "# A page of the owner's\n",
}


@pytest.fixture
def old(machine: Machine, opened: Opening) -> Vault:
    """The vault of KeepM 3, just opened: no folder of ours is in it yet but what opening makes."""
    for path, text in VAULT.items():
        machine.put(path, text)
    return opened(machine.folder / "work/widgets")


def test_everything_is_read_and_nothing_is_touched(old: Vault, machine: Machine) -> None:
    note = memories.read(old, "project_package_manager", max_chars=99)
    assert note.part.text == "How to apply: use pnpm, never npm."
    assert (note.approved_via, note.document.findings) == (Channel.IMPORT, ())
    assert note.token is not None
    assert memories.read(old, "语言", max_chars=99).approved_via == Channel.IMPORT

    proposal = inbox.read(old, "test-runner", max_chars=99)
    assert proposal.part.text == "How to apply: run `pnpm vitest`."
    assert proposal.token is not None
    handoff = handoffs.read(old)
    assert isinstance(handoff.document.content, Handoff)
    assert handoff.document.content.next_steps == ("move web", "move api")

    found = retrieval.search(old, Wanted("pnpm"))
    assert [item.name for item in found.items] == ["project-package-manager"]
    assert retrieval.catalog(old).total == 2
    told = context.context(old)
    assert (told.inbox_summary.pending, told.inbox_summary.overdue) == (1, 1)
    assert told.handoff is not None
    assert status.status(old).health.state == "ok"
    assert machine.files() == {path: text.encode() for path, text in VAULT.items()}
    assert events(old) == []


def test_an_update_changes_only_its_lines(old: Vault, machine: Machine) -> None:
    memories.update(
        old,
        AGENT,
        "project-package-manager",
        edit(description="Which package manager"),
        proof(old, "project-package-manager"),
    )
    expected = NOTE.replace("Which package manager this project uses", "Which package manager")
    expected = expected.replace("updated: '2025-03-02'", "updated: '2026-11-29T18:15:00Z'")
    expected = expected.replace("---\n\nHow", "approved_via: relayed\n---\n\nHow")
    path = "Memory/projects/widgets/project-package-manager.md"
    assert machine.files() == {
        **{each: text.encode() for each, text in VAULT.items()},
        path: expected.encode(),
    }
    note = memories.read(old, "project-package-manager", max_chars=9)
    assert note.approved_via == Channel.RELAYED


def test_a_body_is_replaced_below_untouched_metadata(old: Vault, machine: Machine) -> None:
    memories.update(
        old,
        AGENT,
        "reply-language",
        edit(body="How to apply: 一律用中文回答。"),
        proof(old, "reply-language"),
    )
    text = machine.files()["Memory/global/reply-language.md"].decode()
    assert text.endswith("---\n\nHow to apply: 一律用中文回答。\n")
    assert "tags: []\npinned: false\naliases:\n- 语言\n" in text


def test_a_proposal_is_promoted_from_where_it_lies(old: Vault, machine: Machine) -> None:
    reading = inbox.read(old, "test-runner", max_chars=99)
    assert reading.token is not None
    done = promotion.promote(
        old, AGENT, "test-runner", WriteProof(reading.token, reading.document.checksum)
    )
    assert done.memory.content.claim.kind is Kind.WORKFLOW
    assert done.memory.content.claim.body == "How to apply: run `pnpm vitest`."
    archived = "Memory/Inbox/archive/projects/widgets/test-runner.md"
    assert done.proposal.path == archived
    text = machine.files()[archived].decode()
    assert "# Proposal: test-runner\n\n> Waits for a decision.\n" in text
    assert f"promoted_memory_id: {done.memory.content.id}\n" in text


def test_a_handoff_is_carried_on(old: Vault, machine: Machine) -> None:
    """Fault 8's relative: fields that stand twice are kept once when one of them changes."""
    path = "Memory/.handoffs/pending/projects/widgets/current.md"
    reading = handoffs.read(old)
    assert reading.token is not None
    changed = handoffs.update(
        old,
        AGENT,
        None,
        HandoffEdit(current_state="All moved"),
        WriteProof(reading.token, reading.document.checksum),
    )
    handoff = changed.document.content
    assert (handoff.current_state, handoff.completed) == ("All moved", ("the root",))
    assert handoff.verification == ("run the tests",)
    text = machine.files()[path].decode()
    assert text.count("One package manager") == text.count("- move web") == 1
    done = handoffs.complete(old, AGENT, None, WriteProof(changed.token, changed.document.checksum))
    assert path not in machine.files()
    assert done.document.path.startswith("Memory/.handoffs/archive/projects/widgets/Move to pnpm-")


def test_the_trash_of_keepm_3_is_left_alone(old: Vault, machine: Machine) -> None:
    memories.delete(old, AGENT, "reply-language", proof(old, "reply-language"))
    trash = [path for path in machine.files() if path.startswith("Memory/.trash/")]
    assert len(trash) == 2
    assert "Memory/.trash/20250102T030405Z-old-note.md" in trash
