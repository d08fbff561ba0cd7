"""Proposals and handoffs are no memory: canaries of theirs over everything that recalls."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from keepm.errors import NotFound
from keepm.model.proposal import TargetAction
from keepm.model.scope import Scope
from keepm.operations import answers, context, handoffs, inbox, memories, retrieval
from keepm.operations.inbox import Suggestion
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, HANDOFF, Machine, claim, look, written_proof

GADGETS = Scope("gadgets")
FIELDS = ("name", "description", "body", "tags", "aliases", "sources")
WORDS = {field: f"zz{field}zz" for field in FIELDS}
TEXTS: dict[str, Any] = {
    **{field: (f"zz{field}zz",) for field in ("tags", "aliases", "sources")},
    "description": "zzdescriptionzz",
    "body": "zzbodyzz [[note]]\n\n- depends_on:: [[note]]",
}


def recalled(vault: Vault) -> str:
    """Return all that recall answers to questions about the canaries, as one text."""
    told: list[Any] = [
        context.context(vault, max_chars=100_000, limit=100),
        retrieval.catalog(vault, limit=100, max_chars=100_000),
        retrieval.catalog(vault, source_path="zzsourceszz"),
        retrieval.links(vault, "note"),
        retrieval.links(vault, "note", relation="depends_on"),
    ]
    for word in WORDS.values():
        told.append(retrieval.search(vault, Wanted(word, explain=True)))
        told.append(replace(context.context(vault, query=word), handoff=None))
    told.append(retrieval.search(vault, Wanted("zzbodyzz", tags=("zztagszz",))))
    return json.dumps([answers.plain(each) for each in told], ensure_ascii=False)


def as_memory(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("zznamezz", **TEXTS))


def as_proposal(vault: Vault) -> None:
    inbox.propose(vault, AGENT, Suggestion(claim("zznamezz", **TEXTS), reason="zznamezz"))


def as_rejected(vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, Suggestion(claim("zznamezz", **TEXTS), reason="zznamezz"))
    proof = WriteProof(made.token, made.document.checksum)
    inbox.reject(vault, AGENT, "zznamezz", proof, reason="zznamezz")


def as_correction(vault: Vault) -> None:
    suggestion = Suggestion(
        claim("zznamezz", **TEXTS),
        reason="zznamezz",
        target_identifier="note",
        target_action=TargetAction.SUPERSEDE,
    )
    inbox.propose(vault, AGENT, suggestion)


def as_completed_handoff(vault: Vault) -> None:
    words = tuple(WORDS.values())
    fields = replace(
        HANDOFF, title="zznamezz", goal="zzbodyzz [[note]]", completed=words, next_steps=words
    )
    made = handoffs.create(vault, AGENT, fields)
    handoffs.complete(vault, AGENT, None, WriteProof(made.token, made.document.checksum))


def as_deleted(vault: Vault) -> None:
    made = memories.create(vault, AGENT, claim("zznamezz", **TEXTS))
    memories.delete(vault, AGENT, "zznamezz", written_proof(made))


@pytest.mark.parametrize(
    "put", [as_proposal, as_rejected, as_correction, as_completed_handoff, as_deleted]
)
def test_what_is_no_memory_is_never_recalled(vault: Vault, put: Callable[[Vault], None]) -> None:
    memories.create(vault, AGENT, claim("note"))
    put(vault)
    look(vault)
    told = recalled(vault)
    assert not {word for word in WORDS.values() if word in told}
    for word in WORDS.values():
        with pytest.raises(NotFound):
            memories.read(vault, word, max_chars=9)


def test_the_same_words_in_a_note_are_recalled(vault: Vault) -> None:
    """The positive control: each of the words can be found in each of the fields."""
    memories.create(vault, AGENT, claim("note"))
    as_memory(vault)
    for field, word in WORDS.items():
        found = retrieval.search(vault, Wanted(word, explain=True))
        assert [item.name for item in found.items] == ["zznamezz"], field
        assert [item.name for item in context.context(vault, query=word).items] == [
            "zznamezz",
            "note",
        ]
    assert retrieval.links(vault, "note").total == 2
    assert retrieval.catalog(vault, source_path="zzsourceszz").total == 1


def test_an_active_handoff_is_shown_only_as_one(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("note"))
    handoffs.create(vault, AGENT, replace(HANDOFF, title="zznamezz", goal="zzbodyzz"))
    told = context.context(vault, query="zzbodyzz")
    assert told.handoff is not None
    assert (told.handoff.title, told.handoff.goal) == ("zznamezz", "zzbodyzz")
    assert told.items == []
    assert "zznamezz" not in recalled(vault).replace(
        json.dumps(answers.plain(told.handoff), ensure_ascii=False), ""
    )


def test_a_waiting_proposal_is_only_counted_and_named_as_the_reason(vault: Vault) -> None:
    as_proposal(vault)
    assert context.context(vault).inbox_summary.pending == 1
    empty = retrieval.search(vault, Wanted("zznamezz"))
    assert (empty.items, empty.reason) == ([], "inbox_only")
    for query, reason in (
        ("zznamezz", "inbox_only"),
        ("zebra", "no_match"),
        ("***", "no_usable_words"),
    ):
        assert retrieval.search(vault, Wanted(query)).reason == reason
        assert context.context(vault, query=query).reason == reason


def test_another_project_s_notes_change_no_byte_of_what_is_recalled(
    vault: Vault, machine: Machine
) -> None:
    for n, name in enumerate(("relay", "lattice", "quorum")):
        text = f"The {name}: " + "zzbodyzz and more. " * (n + 1)
        memories.create(vault, AGENT, claim(name, body=text, description=f"Of a {name}."))
    as_memory(vault)
    memories.create(vault, AGENT, claim("note"))
    before = recalled(vault)

    gadgets = machine.open(machine.project("gadgets"))
    for n, name in enumerate(("walrus", "lantern", "meadow", "cobalt", "thimble")):
        text = f"A {name}. " + "zzbodyzz and zznamezz, zzdescriptionzz. " * (n + 1)
        made = claim(name, body=text, description=f"On the {name}.", tags=("zztagszz",))
        memories.create(gadgets, AGENT, replace(made, scope=GADGETS))
    gadgets.close()
    look(vault)

    assert recalled(vault) == before
    assert '"score"' in before


def test_withheld_notes_are_counted_and_not_shown(vault: Vault, machine: Machine) -> None:
    machine.put("Memory/projects/widgets/x.md", "---\nname: a\nname: b\n---\nzzbodyzz\n")
    look(vault)
    answer = retrieval.search(vault, Wanted("zzbodyzz"))
    assert (answer.items, answer.reason, answer.withheld) == ([], "withheld", 1)
