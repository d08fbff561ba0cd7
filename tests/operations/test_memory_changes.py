"""Updating, renaming, moving, archiving and deleting notes; refusals leave the file alone."""

from __future__ import annotations

import pytest

from keepm.errors import (
    AlreadyExists,
    ChecksumMismatch,
    ContractMissing,
    InvalidInput,
    MalformedDocument,
    NotFound,
    TokenInvalid,
    WrongState,
)
from keepm.model.memory import GLOBAL, Kind, Status
from keepm.operations import memories, retrieval
from keepm.operations.memories import MemoryEdit
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    HAND_MADE,
    FixedClock,
    Machine,
    claim,
    edit,
    events,
    look,
    proof,
    written_proof,
)

PATH = "Memory/projects/widgets/build-command.md"


# ---- update ----------------------------------------------------------------------------------


def test_absent_fields_stay_and_empty_ones_clear(vault: Vault) -> None:
    """Fault 7: an update without tags cleared them."""
    made = memories.create(
        vault,
        AGENT,
        claim(
            tags=("ci",),
            aliases=("build",),
            sources=("a.py",),
            pinned=True,
            verified_at="2026-11-29",
        ),
    )
    once = memories.update(
        vault, AGENT, "build-command", edit(description="new"), written_proof(made)
    )
    before, after = made.document.content.claim, once.document.content.claim
    assert after.description == "new"
    assert (after.tags, after.aliases, after.sources, after.pinned, after.verified_at) == (
        before.tags,
        before.aliases,
        before.sources,
        before.pinned,
        before.verified_at,
    )
    cleared = memories.update(
        vault,
        AGENT,
        "build-command",
        edit(tags=(), aliases=(), sources=(), pinned=False, verified_at=""),
        written_proof(once),
    ).document.content.claim
    assert (cleared.tags, cleared.aliases, cleared.sources, cleared.pinned) == ((), (), (), False)
    assert cleared.verified_at is None
    assert cleared.body == before.body


def test_an_update_is_one_event_and_a_later_time(vault: Vault, clock: FixedClock) -> None:
    made = memories.create(vault, AGENT, claim())
    clock.forward(seconds=5)
    changed = memories.update(
        vault, AGENT, "build-command", edit(description="new"), written_proof(made)
    )
    note = changed.document.content
    assert (note.created, note.updated) == ("2026-11-29T18:15:00Z", "2026-11-29T18:15:05Z")
    assert [event.operation for event in events(vault)] == ["create", "update"]
    (digests,) = events(vault)[1].changes
    assert (digests.before, digests.after) == (
        made.document.checksum.hex,
        changed.document.checksum.hex,
    )


def test_what_people_wrote_survives_an_update(vault: Vault, machine: Machine) -> None:
    """Faults 33 and 22: comments, unknown keys, quoting, CRLF, BOM and indentation stay."""
    machine.put(PATH, HAND_MADE)
    memories.update(
        vault,
        AGENT,
        "build-command",
        edit(description="How to build it"),
        proof(vault, "build-command"),
    )
    after = machine.files()[PATH].decode()
    kept = [line for line in HAND_MADE.split("\r\n") if not line.startswith("description")]
    assert [line for line in after.split("\r\n") if line in kept] == kept
    assert "description: How to build it\r\n" in after
    assert "\n" not in after.replace("\r\n", "")


def test_a_hand_edit_between_read_and_write_is_kept(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    edited = made.document.data + b"A person's line.\n"
    machine.put(PATH, edited)

    with pytest.raises(ChecksumMismatch):
        memories.update(vault, AGENT, "build-command", edit(body="mine"), written_proof(made))
    with pytest.raises(ChecksumMismatch):
        memories.delete(vault, AGENT, "build-command", written_proof(made))
    assert machine.files() == {PATH: edited}
    assert len(events(vault)) == 1


def test_a_spent_token_is_refused(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    other = memories.update(
        vault, AGENT, "build-command", edit(description="one"), written_proof(made)
    )
    again = WriteProof(made.token, other.document.checksum)
    with pytest.raises(TokenInvalid):
        memories.update(vault, AGENT, "build-command", edit(description="two"), again)
    memories.update(vault, AGENT, "build-command", edit(description="two"), written_proof(other))


def test_a_refused_call_spends_nothing(vault: Vault) -> None:
    """Fault 24: a typo in a field burnt the token and cost another full read."""
    made = memories.create(vault, AGENT, claim())
    memories.create(vault, AGENT, claim("taken"))
    token = written_proof(made)
    for wrong in (
        edit(description=""),
        edit(tags=("x" * 49,)),
        edit(kind=Kind.FIX),
        edit(name="taken"),
        edit(),
        edit(verified_at="2026-02-30"),
    ):
        with pytest.raises((InvalidInput, AlreadyExists)):
            memories.update(vault, AGENT, "build-command", wrong, token)
    memories.update(vault, AGENT, "build-command", edit(description="right"), token)


def test_a_token_opens_only_its_own_note(vault: Vault) -> None:
    made = memories.create(vault, AGENT, claim())
    other = memories.create(vault, AGENT, claim("other"))
    crossed = WriteProof(other.token, made.document.checksum)
    with pytest.raises(TokenInvalid):
        memories.update(vault, AGENT, "build-command", edit(body="x"), crossed)


def test_what_a_hand_made_note_misses_hinders_no_other_change(
    vault: Vault, machine: Machine
) -> None:
    machine.put(PATH, "---\nid: hand-made\n---\nNo name, no description.\n")
    memories.update(
        vault, AGENT, "build-command", edit(tags=("ci",)), proof(vault, "build-command")
    )
    for wrong in (edit(description=" "), edit(tags=("x" * 49,))):
        with pytest.raises(InvalidInput):
            memories.update(vault, AGENT, "build-command", wrong, proof(vault, "build-command"))
    memories.update(
        vault, AGENT, "build-command", edit(description="said"), proof(vault, "build-command")
    )


def test_an_older_note_without_its_contract_stays_editable_in_the_rest(
    vault: Vault, machine: Machine
) -> None:
    text = HAND_MADE.replace("kind: reference", "kind: decision")
    machine.put(PATH, text)
    memories.update(
        vault, AGENT, "build-command", edit(tags=("new",)), proof(vault, "build-command")
    )
    with pytest.raises(ContractMissing):
        memories.update(
            vault, AGENT, "build-command", edit(body="still none"), proof(vault, "build-command")
        )


@pytest.mark.parametrize(
    "bad",
    [
        "---\nid: 1\nname: [unclosed\n---\nBody.\n",
        "---\nname: a\nname: b\n---\nBody.\n",
        "---\nname: &a x\nother: *a\n---\nBody.\n",
        "---\nname: !!python/object:os.system x\n---\nBody.\n",
        "---\nname: *star\n---\nBody.\n",
    ],
    ids=["unclosed", "duplicate", "anchor", "tag", "alias"],
)
def test_a_damaged_note_is_shown_raw_and_never_changed(
    vault: Vault, machine: Machine, bad: str
) -> None:
    """Fault 31: what couldn't be parsed couldn't be seen either."""
    machine.put("Memory/projects/widgets/bad.md", bad)
    reading = memories.read(vault, "bad", max_chars=999)

    assert (reading.part.text, reading.token) == (bad, None)
    assert reading.document.findings
    attempt = WriteProof("any", reading.document.checksum)
    for change in (
        lambda: memories.update(vault, AGENT, "bad", edit(body="x"), attempt),
        lambda: memories.delete(vault, AGENT, "bad", attempt),
    ):
        with pytest.raises(MalformedDocument):
            change()
    assert machine.files() == {"Memory/projects/widgets/bad.md": bad.encode()}
    assert events(vault) == []


def test_a_note_over_the_limit_can_be_read_and_shortened(vault: Vault, machine: Machine) -> None:
    """Fault 31: a note over 16 KiB was invisible, so that it could not be shortened."""
    big = HAND_MADE.replace("--- not a rule", "x" * 20_000)
    machine.put(PATH, big)
    reading = memories.read(vault, "build-command", max_chars=50_000)
    assert reading.part.complete
    assert [finding.code for finding in reading.document.findings] == ["over_limit"]

    memories.update(
        vault, AGENT, "build-command", edit(body="short\n"), proof(vault, "build-command")
    )
    assert b"short\r\n" in machine.files()[PATH]


# ---- rename, move, archive -------------------------------------------------------------------


def test_a_rename_keeps_the_id_and_the_old_name(vault: Vault, machine: Machine) -> None:
    """Fault 22: notes could not be renamed, and the name as written was lost."""
    made = memories.create(vault, AGENT, claim("Build Command!"))
    renamed = memories.update(
        vault, AGENT, "Build Command!", edit(name="Make it: fast"), written_proof(made)
    )
    note = renamed.document.content
    assert (note.id, note.claim.name, note.claim.aliases) == (
        made.document.content.id,
        "Make it: fast",
        ("Build Command!",),
    )
    assert set(machine.files()) == {renamed.document.path}
    assert renamed.document.path != made.document.path
    assert memories.read(vault, "build command!", max_chars=99).document == renamed.document
    assert [event.operation for event in events(vault)] == ["create", "update"]


def test_a_new_spelling_of_the_same_slot_moves_nothing(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    changed = memories.update(
        vault, AGENT, "build-command", edit(name="Build Command"), written_proof(made)
    )
    assert set(machine.files()) == {PATH}
    assert changed.document.content.claim.aliases == ()


def test_a_renamed_note_stays_in_the_folder_people_put_it_in(
    vault: Vault, machine: Machine
) -> None:
    machine.put("Memory/projects/widgets/ci/docker/x.md", HAND_MADE)
    memories.update(vault, AGENT, "build-command", edit(name="make"), proof(vault, "build-command"))
    assert set(machine.files()) == {"Memory/projects/widgets/ci/docker/make.md"}


def test_a_renamed_note_overwrites_no_file(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    foreign = machine.put("Memory/projects/widgets/make.md", "---\nname: other\n---\n")
    memories.update(vault, AGENT, "build-command", edit(name="make"), written_proof(made))
    assert foreign.read_bytes() == b"---\nname: other\n---\n"
    assert set(machine.files()) == {
        "Memory/projects/widgets/make.md",
        "Memory/projects/widgets/make-2.md",
    }


def test_a_note_moves_between_scopes(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    moved = memories.update(vault, AGENT, "build-command", edit(scope=GLOBAL), written_proof(made))
    assert set(machine.files()) == {"Memory/global/build-command.md"}
    assert b"scope: global" in moved.document.data
    assert b"project_id" not in moved.document.data
    assert moved.document.findings == ()


def test_a_move_into_a_taken_slot_is_refused(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    memories.create(vault, AGENT, claim(scope=GLOBAL))
    before = machine.files()
    with pytest.raises(AlreadyExists):
        memories.update(
            vault,
            AGENT,
            made.document.content.id,
            edit(scope=GLOBAL),
            written_proof(made),
        )
    assert machine.files() == before


def test_the_name_of_an_archived_note_is_free_again(vault: Vault) -> None:
    """Fault 26: archived names stayed blocked for ever."""
    made = memories.create(vault, AGENT, claim())
    archived = memories.update(
        vault,
        AGENT,
        "build-command",
        MemoryEdit(edit().claim, Status.ARCHIVED),
        written_proof(made),
    )
    fresh = memories.create(vault, AGENT, claim())

    assert memories.read(vault, "build-command", max_chars=1).document == fresh.document
    by_id = memories.read(vault, made.document.content.id, max_chars=99)
    assert by_id.document == archived.document
    with pytest.raises(AlreadyExists):
        memories.update(
            vault,
            AGENT,
            made.document.content.id,
            MemoryEdit(edit().claim, Status.ACTIVE),
            written_proof(archived),
        )


def test_an_archived_note_comes_back(vault: Vault) -> None:
    made = memories.create(vault, AGENT, claim())
    archive = MemoryEdit(edit().claim, Status.ARCHIVED)
    away = memories.update(vault, AGENT, "build-command", archive, written_proof(made))
    assert retrieval.search(vault, Wanted("text")).total == 0
    memories.update(
        vault, AGENT, "build-command", MemoryEdit(edit().claim, Status.ACTIVE), written_proof(away)
    )
    assert retrieval.search(vault, Wanted("text")).total == 1


def test_a_superseded_note_is_not_revived_by_an_update(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    machine.put(PATH, made.document.data.replace(b"status: active", b"status: superseded"))
    with pytest.raises(WrongState):
        memories.update(
            vault,
            AGENT,
            "build-command",
            MemoryEdit(edit().claim, Status.ACTIVE),
            proof(vault, "build-command"),
        )


# ---- delete ----------------------------------------------------------------------------------


def test_a_deleted_note_lies_in_the_trash_as_it_was(vault: Vault, machine: Machine) -> None:
    """Fault 43: the trash didn't record the note's folder."""
    made = memories.create(vault, AGENT, claim())
    gone = memories.delete(vault, AGENT, "build-command", written_proof(made))

    assert machine.files() == {gone.trash_path: made.document.data}
    assert gone.trash_path.startswith("Memory/.trash/20261129T181500Z-")
    assert gone.trash_path.endswith("/projects/widgets/build-command.md")
    assert [event.operation for event in events(vault)] == ["create", "delete"]
    with pytest.raises(NotFound):
        memories.read(vault, "build-command", max_chars=1)
    assert retrieval.search(vault, Wanted("text")).total == 0
    memories.create(vault, AGENT, claim())


def test_a_deletion_says_who_still_links_there(vault: Vault) -> None:
    """Fault 44: deleting a note with backlinks gave no warning."""
    made = memories.create(vault, AGENT, claim())
    memories.create(vault, AGENT, claim("guide", body="See [[build-command]].\n"))
    gone = memories.delete(vault, AGENT, "build-command", written_proof(made))
    assert gone.linked_from == ("guide",)


def test_two_files_with_one_id_are_both_kept(vault: Vault, machine: Machine) -> None:
    """Fault 15: the last one read silently replaced the other."""
    made = memories.create(vault, AGENT, claim())
    copy = made.document.data.replace(b"build-command", b"a-copy")
    machine.put("Memory/projects/widgets/a-copy.md", copy)
    look(vault)

    assert memories.read(vault, "a-copy", max_chars=1).document.data == copy
    assert memories.read(vault, "build-command", max_chars=1).document.data == made.document.data
    with pytest.raises(InvalidInput):
        memories.read(vault, made.document.content.id, max_chars=1)
