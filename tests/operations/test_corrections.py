"""A correction that waits is told wherever its note is recalled, by id and never by its text."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from keepm.model.proposal import TargetAction
from keepm.model.scope import GLOBAL, Scope
from keepm.operations import answers, context, inbox, memories, retrieval
from keepm.operations.answers import Corrections
from keepm.operations.inbox import Suggestion
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, Machine, Opening, claim, look

NOTE = "build-command"


def correction(vault: Vault, name: str = NOTE, **fields: object) -> inbox.ProposalWritten:
    """Propose a correction of the note whose text would show if it leaked."""
    action = fields.pop("action", TargetAction.UPDATE)
    assert isinstance(action, TargetAction)
    given = {"body": f"zzbodyzz {name}", "description": "zzdescriptionzz", **fields}
    suggestion = Suggestion(
        claim(name, **given),
        "zzreasonzz",
        source_ref="zzrefzz",
        target_identifier=NOTE,
        target_action=action,
    )
    return inbox.propose(vault, AGENT, suggestion)


def told(vault: Vault, query: str = NOTE) -> Iterator[Corrections | None]:
    """Yield what every way of recalling the note says."""
    for answer in (
        retrieval.search(vault, Wanted(query)).items,
        retrieval.catalog(vault).items,
        context.context(vault).items,
        context.context(vault, query=query).items,
    ):
        (item,) = [each for each in answer if each.name == NOTE]
        yield item.pending_corrections
    yield memories.read(vault, NOTE, max_chars=1000).pending_corrections
    yield memories.read(vault, NOTE, max_chars=1).pending_corrections


@pytest.mark.parametrize("action", TargetAction)
def test_every_recall_of_a_note_names_the_correction_that_waits(
    vault: Vault, action: TargetAction
) -> None:
    memories.create(vault, AGENT, claim(NOTE))
    memories.create(vault, AGENT, claim("other"))
    assert set(told(vault)) == {None}
    proposal = correction(vault, action=action).document.content.id

    assert all(each == Corrections(1, [proposal]) for each in told(vault))
    assert memories.read(vault, "other", max_chars=9).pending_corrections is None
    everything = [
        retrieval.search(vault, Wanted(NOTE, explain=True)),
        retrieval.catalog(vault),
        context.context(vault, query=NOTE),
    ]
    text = json.dumps([answers.plain(each) for each in everything])
    assert "zz" not in text


def test_a_decided_correction_is_told_no_more(vault: Vault) -> None:
    memories.create(vault, AGENT, claim(NOTE))
    made = correction(vault)
    proof = WriteProof(made.token, made.document.checksum)
    inbox.reject(vault, AGENT, made.document.content.id, proof)

    assert set(told(vault)) == {None}


def test_a_proposal_that_holds_the_slot_is_told_of_too(vault: Vault) -> None:
    """It was proposed while the slot was free."""
    made = inbox.propose(vault, AGENT, Suggestion(claim(NOTE, body="first"), "seen"))
    memories.create(vault, AGENT, claim(NOTE.upper(), body="second", aliases=("x",)))

    found = memories.read(vault, "x", max_chars=9).pending_corrections
    assert found == Corrections(1, [made.document.content.id])


def test_an_archived_note_holds_its_slot_no_more(vault: Vault, machine: Machine) -> None:
    machine.put(
        "Memory/projects/widgets/old.md",
        f"---\nid: old\nname: {NOTE}\nstatus: archived\nkind: reference\n---\nOld.\n",
    )
    look(vault)
    inbox.propose(vault, AGENT, Suggestion(claim(NOTE, body="new"), "seen"))

    assert memories.read(vault, "old", max_chars=9).pending_corrections is None


def test_many_corrections_are_counted_and_the_oldest_named(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim(NOTE))
    ids = []
    for name in ("one", "two", "three", "four"):
        ids.append(correction(vault, name, action=TargetAction.SUPERSEDE).document.content.id)
        machine.clock.forward(seconds=60)

    assert all(each == Corrections(4, ids[:3]) for each in told(vault))


def test_another_projects_correction_is_never_told(
    vault: Vault, machine: Machine, opened: Opening
) -> None:
    """A hand-made one may aim at a global note from another project's Inbox."""
    other = opened(machine.project("gadgets"))
    note = memories.create(vault, AGENT, claim(NOTE, scope=GLOBAL)).document.content.id
    machine.put(
        "Memory/Inbox/pending/projects/gadgets/p.md",
        f"---\nid: p-1\nname: {NOTE}\nkind: reference\ntarget_id: {note}\n---\nzzbodyzz\n",
    )
    look(vault)

    assert set(told(vault)) == {None}
    assert all(each == Corrections(1, ["p-1"]) for each in told(other))


def test_the_same_slot_of_another_scope_is_another_slot(vault: Vault) -> None:
    memories.create(vault, AGENT, claim(NOTE, body="everywhere", scope=GLOBAL))
    inbox.propose(vault, AGENT, Suggestion(claim(NOTE, body="here", scope=Scope("widgets")), "r"))

    assert set(told(vault)) == {None}


def test_a_note_that_cannot_be_read_is_told_of_too(vault: Vault, machine: Machine) -> None:
    machine.put("Memory/projects/widgets/broken.md", "---\nname: [x\n---\nText.\n")
    look(vault)
    note = memories.read(vault, "broken", max_chars=99).document.content.id
    machine.put(
        "Memory/Inbox/pending/projects/widgets/p.md",
        f"---\nid: p-1\nname: mended\nkind: reference\ntarget_id: {note}\n---\nText.\n",
    )
    look(vault)

    found = memories.read(vault, "broken", max_chars=99).pending_corrections
    assert found == Corrections(1, ["p-1"])
