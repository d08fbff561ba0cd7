"""Notes on an agent's word, and the owner's word for exactly what was shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.errors import ApprovalRequired, ChecksumMismatch, WrongState
from keepm.model.approval import Channel
from keepm.operations import memories, undoing, vouching
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, OWNER, Machine, claim, edit, events, proof


def channel(vault: Vault, name: str) -> str:
    return memories.read(vault, name, max_chars=100).approved_via


def undo(vault: Vault) -> None:
    plan = undoing.plan(vault, OWNER, UndoRequest())
    undoing.undo(vault, OWNER, UndoRequest(), digest=plan.digest)


def test_a_note_on_an_agents_word_is_listed_until_the_owner_confirms_it(vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    memories.create(vault, OWNER, claim("mine"))
    (row,) = vouching.relayed(vault)
    review = vouching.look(vault, row.id)

    done = vouching.confirm(vault, OWNER, review)

    assert done.content == replace(review.document.content, approved_via=Channel.OWNER_CLI)
    assert channel(vault, "build-command") == "owner-cli"
    assert vouching.relayed(vault) == []
    event = events(vault)[-1]
    assert (event.operation, event.channel) == ("confirm", "owner-cli")
    assert event.shown == review.document.checksum.hex
    assert event.changes[0].before == review.document.checksum.hex
    assert event.changes[0].after == done.checksum.hex
    with pytest.raises(WrongState):
        vouching.look(vault, row.id)


def test_a_confirmation_needs_a_persons_own_act_on_the_bytes_shown(
    vault: Vault, machine: Machine
) -> None:
    made = memories.create(vault, AGENT, claim()).document
    review = vouching.look(vault, made.content.id)
    with pytest.raises(ApprovalRequired):
        vouching.confirm(vault, AGENT, review)

    (machine.root / made.path).write_bytes(made.data + b"more\n")
    with pytest.raises(ChecksumMismatch):
        vouching.confirm(vault, OWNER, review)
    assert [event.operation for event in events(vault)][:1] == ["create"]
    assert "confirm" not in {event.operation for event in events(vault)}


def test_an_undo_vouches_for_nothing_and_takes_a_confirmation_back(vault: Vault) -> None:
    made = memories.create(vault, AGENT, claim()).document
    memories.update(
        vault, AGENT, made.content.id, edit(body="Else.\n"), proof(vault, made.content.id)
    )
    undo(vault)
    assert channel(vault, "build-command") == "relayed"
    (row,) = vouching.relayed(vault)

    vouching.confirm(vault, OWNER, vouching.look(vault, row.id))
    undo(vault)
    assert channel(vault, "build-command") == "relayed"
    assert [each.id for each in vouching.relayed(vault)] == [row.id]


def test_an_agents_later_change_stands_on_its_word_again(vault: Vault) -> None:
    made = memories.create(vault, AGENT, claim()).document
    vouching.confirm(vault, OWNER, vouching.look(vault, made.content.id))

    memories.update(
        vault, AGENT, "build-command", edit(tags=("ci",)), proof(vault, "build-command")
    )

    assert [row.id for row in vouching.relayed(vault)] == [made.content.id]


def test_the_owner_can_discard_a_note_on_an_agents_word(vault: Vault) -> None:
    made = memories.create(vault, AGENT, claim()).document

    gone = vouching.discard(vault, OWNER, vouching.look(vault, made.content.id))

    assert gone.trash_path.startswith("Memory/.trash/")
    assert vouching.relayed(vault) == []
