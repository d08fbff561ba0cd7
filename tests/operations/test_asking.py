"""What a host's person is asked: the whole of the change, and nothing that an attempt has anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.errors import ApprovalRequired
from keepm.model.approval import Channel
from keepm.model.checksum import Checksum
from keepm.model.memory import Claim, Kind, Language
from keepm.operations import memories
from keepm.operations.asking import ConsentNeeded, Question
from keepm.operations.vault import Caller, Vault
from tests.operations.support import AGENT, CONTRACT, Machine, claim, edit, events, proof

HOST = replace(AGENT, channel=Channel.HOST)


def asked(vault: Vault, wanted: Claim, *, supersedes: tuple[str, ...] = ()) -> Question:
    """Return what would be asked before a note is created."""
    with pytest.raises(ConsentNeeded) as needed:
        memories.create(vault, HOST, wanted, supersedes=supersedes)
    return needed.value.question


def agreeing(question: Question) -> Caller:
    return replace(HOST, agreed=question.digest)


def test_the_hosts_channel_passes_only_with_a_yes_to_this_very_change(
    vault: Vault, machine: Machine
) -> None:
    question = asked(vault, claim("a"))
    assert machine.files() == {}
    for caller, wanted in (
        (replace(HOST, agreed=Checksum("0" * 64)), claim("a")),
        (agreeing(question), claim("b")),
        (agreeing(question), replace(claim("a"), pinned=True)),
    ):
        with pytest.raises(ApprovalRequired) as refused:
            memories.create(vault, caller, wanted)
        assert refused.value.details == {"reason": "changed"}
    assert machine.files() == {} and events(vault) == []
    memories.create(vault, agreeing(question), claim("a"))
    assert events(vault)[0].shown == question.digest.hex


def test_no_other_channel_is_asked_or_gains_by_an_agreement(vault: Vault) -> None:
    question = asked(vault, claim("a"))
    memories.create(vault, replace(AGENT, agreed=question.digest), claim("a"))
    (event,) = events(vault)
    assert (event.channel, event.shown) == ("relayed", None)


def test_the_same_change_makes_the_same_question_at_any_time(
    vault: Vault, machine: Machine
) -> None:
    first = asked(vault, claim("a"))
    machine.clock.forward(days=3)
    assert asked(vault, claim("a")) == first


BASE = replace(claim("a"), kind=Kind.DECISION, body=CONTRACT, tags=("x", "y"))


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, name="b"),
        replace(BASE, description="another"),
        replace(BASE, kind=Kind.CONSTRAINT),
        replace(BASE, body=CONTRACT.replace("9721", "9722")),
        replace(BASE, scope=replace(BASE.scope, project_id=None)),
        replace(BASE, language=Language.ZH),
        replace(BASE, tags=("x, y",)),
        replace(BASE, aliases=("other",)),
        replace(BASE, sources=("src/a.py",)),
        replace(BASE, pinned=True),
        replace(BASE, verified_at="2026-11-01"),
    ],
)
def test_every_field_is_part_of_the_question(vault: Vault, other: Claim) -> None:
    assert asked(vault, other) != asked(vault, BASE)


def test_what_gives_way_is_part_of_the_question(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("old"))
    memories.create(vault, AGENT, claim("older", body="Something else altogether."))
    new = claim("new", body="What holds from now on.")
    texts = {asked(vault, new, supersedes=each).text for each in ((), ("old",), ("older",))}
    assert len(texts) == 3
    before = asked(vault, new, supersedes=("old",))
    memories.update(vault, AGENT, "old", edit(tags=("x",)), proof(vault, "old"))
    assert asked(vault, new, supersedes=("old",)) != before
