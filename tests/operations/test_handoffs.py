"""Handoffs: saved, taken up, changed without loss, completed."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from keepm.errors import (
    AmbiguousIdentifier,
    ChecksumMismatch,
    ConfigurationError,
    InvalidInput,
    LimitExceeded,
    MalformedDocument,
    NotFound,
    TokenInvalid,
    WrongState,
)
from keepm.model.handoff import Handoff, HandoffEdit, HandoffStatus
from keepm.operations import context, handoffs
from keepm.operations.handoffs import HandoffReading, HandoffWritten
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, HANDOFF, FixedClock, Machine, Opening, events, look


def proven(written: HandoffWritten | HandoffReading) -> WriteProof:
    assert written.token is not None
    return WriteProof(written.token, written.document.checksum)


def content(reading: HandoffReading) -> Handoff:
    assert isinstance(reading.document.content, Handoff)
    return reading.document.content


def test_a_handoff_is_a_file_and_one_event(vault: Vault, machine: Machine) -> None:
    made = handoffs.create(vault, AGENT, HANDOFF)
    assert machine.files() == {made.document.path: made.document.data}
    assert made.document.path.startswith("Memory/.handoffs/pending/projects/widgets/")
    (event,) = events(vault)
    assert (event.operation, event.channel, event.scope) == ("handoff_create", None, "widgets")


def test_what_was_saved_is_taken_up(vault: Vault) -> None:
    handoffs.create(vault, AGENT, HANDOFF)
    read = content(handoffs.read(vault))
    for field in fields(HandoffEdit):
        if field.name != "language":
            assert getattr(read, field.name) == getattr(HANDOFF, field.name)
    assert (read.source_client, read.status) == ("tester", HandoffStatus.ACTIVE)


def test_absent_fields_stay_and_an_empty_list_clears(vault: Vault) -> None:
    """Fault 7: an update without lists emptied them."""
    made = handoffs.create(vault, AGENT, HANDOFF)
    once = handoffs.update(
        vault, AGENT, None, HandoffEdit(current_state="Nearly done."), proven(made)
    )
    twice = handoffs.update(vault, AGENT, None, HandoffEdit(unresolved=()), proven(once))
    read = content(handoffs.read(vault))
    assert read == twice.document.content
    assert (read.current_state, read.unresolved) == ("Nearly done.", ())
    assert (read.goal, read.completed, read.next_steps) == (
        HANDOFF.goal,
        HANDOFF.completed,
        HANDOFF.next_steps,
    )
    assert [event.operation for event in events(vault)] == ["handoff_create"] + [
        "handoff_update"
    ] * 2


def test_what_a_person_wrote_into_it_counts_and_stays(vault: Vault, machine: Machine) -> None:
    """Fault 8: hand edits of the visible sections were ignored, then destroyed."""
    made = handoffs.create(vault, AGENT, HANDOFF)
    text = made.document.data.decode()
    text = text.replace("- move web\n", "- move web first\n") + "\n## My notes\n\nAsk Kim.\n"
    machine.put(made.document.path, text)

    reading = handoffs.read(vault)
    assert content(reading).next_steps == ("move web first", "move api")
    with pytest.raises(ChecksumMismatch):
        handoffs.update(vault, AGENT, None, HandoffEdit(goal="x"), proven(made))
    handoffs.update(vault, AGENT, None, HandoffEdit(goal="Another goal."), proven(reading))
    after = machine.files()[made.document.path].decode()
    assert "- move web first\n" in after
    assert after.endswith("\n## My notes\n\nAsk Kim.\n")


def test_several_are_active_and_the_latest_is_the_one_written_last(
    vault: Vault, clock: FixedClock
) -> None:
    """Fault 65: two branches overwrote or blocked each other's handoff."""
    first = handoffs.create(vault, AGENT, HANDOFF)
    clock.forward(seconds=1)
    second = handoffs.create(vault, AGENT, replace(HANDOFF, title="Other branch"))
    assert handoffs.read(vault).document == second.document
    clock.forward(seconds=1)
    again = handoffs.update(vault, AGENT, "Move to pnpm", HandoffEdit(goal="Newer."), proven(first))
    assert handoffs.read(vault).document == again.document
    assert handoffs.read(vault, "latest").document == again.document
    assert handoffs.read(vault, "other-BRANCH").document == second.document
    assert handoffs.read(vault, second.document.content.id).document == second.document


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59Z", "2999-01-01", "soon"])
def test_a_handoff_from_the_future_is_not_the_latest_for_ever(
    vault: Vault, machine: Machine, time: str
) -> None:
    """A wrong clock or hand once, and every later session took up the wrong work."""
    place = machine.root / handoffs.create(vault, AGENT, HANDOFF).document.path
    text = place.read_text("utf-8").replace("updated: '2026-11-29T18:15:00Z'", f"updated: '{time}'")
    assert time in text
    place.write_text(text, "utf-8")
    look(vault)
    assert content(handoffs.read(vault)).title == HANDOFF.title
    handoffs.create(vault, AGENT, replace(HANDOFF, title="Other branch"))

    assert content(handoffs.read(vault)).title == "Other branch"
    shown = context.context(vault).handoff
    assert shown is not None
    assert (shown.title, shown.others) == ("Other branch", 1)


def test_a_title_of_two_is_refused(vault: Vault) -> None:
    handoffs.create(vault, AGENT, HANDOFF)
    handoffs.create(vault, AGENT, HANDOFF)
    with pytest.raises(AmbiguousIdentifier):
        handoffs.read(vault, "Move to pnpm")


def test_a_completed_handoff_is_filed_away(vault: Vault, machine: Machine) -> None:
    made = handoffs.create(vault, AGENT, HANDOFF)
    done = handoffs.complete(vault, AGENT, None, proven(made))
    assert set(machine.files()) == {made.document.path.replace("/pending/", "/archive/")}
    assert done.document.content.status is HandoffStatus.COMPLETED
    assert events(vault)[-1].operation == "handoff_complete"
    with pytest.raises(NotFound):
        handoffs.read(vault)
    by_id = handoffs.read(vault, made.document.content.id)
    assert (by_id.document, by_id.token) == (done.document, None)
    forged = WriteProof(
        vault.tokens.issue(made.document.content.id, done.document.checksum),
        done.document.checksum,
    )
    with pytest.raises(WrongState):
        handoffs.complete(vault, AGENT, made.document.content.id, forged)


def test_a_refused_change_spends_nothing(vault: Vault) -> None:
    made = handoffs.create(vault, AGENT, HANDOFF)
    for wrong in (
        HandoffEdit(),
        HandoffEdit(goal=" "),
        HandoffEdit(title="two\nlines"),
        HandoffEdit(completed=("\x00",)),
        HandoffEdit(completed=("",)),
    ):
        with pytest.raises(InvalidInput):
            handoffs.update(vault, AGENT, None, wrong, proven(made))
    handoffs.update(vault, AGENT, None, HandoffEdit(goal="Right."), proven(made))
    with pytest.raises(ChecksumMismatch):
        handoffs.update(vault, AGENT, None, HandoffEdit(goal="Again."), proven(made))


def test_a_token_of_another_handoff_is_refused(vault: Vault) -> None:
    made = handoffs.create(vault, AGENT, HANDOFF)
    other = handoffs.create(vault, AGENT, replace(HANDOFF, title="Other"))
    with pytest.raises(TokenInvalid):
        handoffs.complete(
            vault, AGENT, "Move to pnpm", WriteProof(other.token, made.document.checksum)
        )


def test_a_file_holds_what_the_limits_say(vault: Vault, machine: Machine) -> None:
    """Fault 25: a handoff held half its stated size."""
    most = vault.policy.handoff
    full = replace(HANDOFF, goal="g" * most.text_characters, completed=("c" * 800,) * 12)
    made = handoffs.create(vault, AGENT, full)
    room = most.file_bytes - len(made.document.data)
    assert room > 0
    unresolved = tuple("u" * 380 for _ in range(12))
    with pytest.raises(LimitExceeded) as caught:
        handoffs.update(vault, AGENT, None, HandoffEdit(unresolved=unresolved), proven(made))
    (problem,) = caught.value.problems
    assert problem.details["limit"] == most.file_bytes
    over = int(problem.details["actual"]) - most.file_bytes
    assert 0 < over < 380
    fits = (*unresolved[:-1], "u" * (380 - over))
    changed = handoffs.update(vault, AGENT, None, HandoffEdit(unresolved=fits), proven(made))
    assert len(changed.document.data) == most.file_bytes


def test_without_a_project_there_are_no_handoffs(opened: Opening) -> None:
    outside = opened(None)
    with pytest.raises(ConfigurationError) as caught:
        handoffs.create(outside, AGENT, HANDOFF)
    assert "keepm setup" in caught.value.next_step
    with pytest.raises(NotFound):
        handoffs.read(outside)


def test_a_torn_handoff_is_shown_and_never_changed(vault: Vault, machine: Machine) -> None:
    made = handoffs.create(vault, AGENT, HANDOFF)
    torn = b"---\ntitle: [cut\n"
    machine.put(made.document.path, torn)
    look(vault)
    reading = handoffs.read(vault)
    assert (reading.document.data, reading.token) == (torn, None)
    checksum = reading.document.checksum
    forged = WriteProof(vault.tokens.issue(reading.document.content.id, checksum), checksum)
    with pytest.raises(MalformedDocument):
        handoffs.complete(vault, AGENT, None, forged)
    assert machine.files() == {made.document.path: torn}
