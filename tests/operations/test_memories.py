"""Reading and creating notes: what is on disk, one event each, every refusal without effect."""

from __future__ import annotations

import pytest

from keepm.errors import (
    AlreadyExists,
    ContractMissing,
    IncompleteRead,
    InvalidInput,
)
from keepm.model.memory import GLOBAL, Kind
from keepm.operations import memories, retrieval
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    CONTRACT,
    HAND_MADE,
    Machine,
    claim,
    edit,
    events,
)

PATH = "Memory/projects/widgets/build-command.md"


# ---- read ------------------------------------------------------------------------------------


def test_a_complete_read_gives_what_a_change_needs(vault: Vault) -> None:
    memories.create(vault, AGENT, claim(body="twelve chars"))
    reading = memories.read(vault, "build-command", max_chars=12)

    assert (reading.part.text, reading.part.complete) == ("twelve chars", True)
    assert reading.token is not None
    memories.update(
        vault,
        AGENT,
        "build-command",
        edit(body="new"),
        WriteProof(reading.token, reading.document.checksum),
    )


@pytest.mark.parametrize(("max_chars", "offset"), [(11, 0), (1, 0), (12, 1), (100, 12)])
def test_a_truncated_read_gives_no_token_and_the_whole_length(
    vault: Vault, max_chars: int, offset: int
) -> None:
    memories.create(vault, AGENT, claim(body="twelve chars"))
    reading = memories.read(vault, "build-command", max_chars=max_chars, offset=offset)

    assert reading.token is None
    assert (reading.part.total, reading.part.complete) == (12, False)
    with pytest.raises(IncompleteRead):
        memories.update(
            vault,
            AGENT,
            "build-command",
            edit(body="new"),
            WriteProof("", reading.document.checksum),
        )


def test_a_note_answers_to_id_name_and_alias(vault: Vault) -> None:
    """Fault 23: aliases were advertised as other names, and no tool took them."""
    made = memories.create(vault, AGENT, claim("构建命令", aliases=("how to build", "c++ build")))
    for handle in (
        made.document.content.id,
        made.document.content.id.upper(),
        "构建命令",
        " 构建命令 ",
        "How_to-BUILD",
        "C++ Build",
    ):
        read = memories.read(vault, handle, max_chars=1)
        assert read.document.content.id == made.document.content.id
        assert retrieval.links(vault, handle).id == made.document.content.id


def test_a_name_of_two_visible_notes_is_refused_with_both_handles(vault: Vault) -> None:
    here = memories.create(vault, AGENT, claim("deploy"))
    there = memories.create(vault, AGENT, claim("deploy", scope=GLOBAL))
    with pytest.raises(InvalidInput) as caught:
        memories.read(vault, "deploy", max_chars=1)

    assert caught.value.code == "ambiguous_identifier"
    candidates = caught.value.details["candidates"]
    assert isinstance(candidates, list)
    assert {each["id"] for each in candidates} == {
        here.document.content.id,
        there.document.content.id,
    }
    assert memories.read(vault, here.document.content.id, max_chars=1).document == here.document


def test_a_changed_file_is_read_as_it_is_now(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim())
    machine.put(PATH, made.document.data.replace(b"The text", b"Another text"))
    assert memories.read(vault, "build-command", max_chars=99).part.text.startswith("Another text")


def test_a_hand_made_note_is_found_at_once(vault: Vault, machine: Machine) -> None:
    retrieval.search(vault, Wanted("anything"))
    machine.put("Memory/projects/widgets/sorted/by-hand.md", "---\nname: by hand\n---\nSaid.\n")
    assert memories.read(vault, "by hand", max_chars=99).part.text == "Said."


# ---- create ----------------------------------------------------------------------------------


def test_a_new_note_is_a_file_and_one_event(vault: Vault, machine: Machine) -> None:
    written = memories.create(vault, AGENT, claim())

    assert machine.files() == {PATH: written.document.data}
    (event,) = events(vault)
    assert (event.operation, event.channel, event.object_id, event.scope) == (
        "create",
        "relayed",
        written.document.content.id,
        "widgets",
    )
    note = written.document.content
    assert (note.created, note.updated) == ("2026-11-29T18:15:00Z",) * 2  # fault 59: with time
    assert [item.id for item in retrieval.search(vault, Wanted("text")).items] == [note.id]


def test_an_equal_slot_is_refused_and_named(vault: Vault, machine: Machine) -> None:
    first = memories.create(vault, AGENT, claim("Build Command"))
    before = machine.files()
    for name in ("build-command", "BUILD_command", "ｂｕｉｌｄ command"):
        with pytest.raises(AlreadyExists) as caught:
            memories.create(vault, AGENT, claim(name))
        assert caught.value.details["id"] == first.document.content.id  # fault 26
    assert machine.files() == before
    assert len(events(vault)) == 1


def test_a_slot_taken_by_hand_just_now_is_refused(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim("other"))
    machine.put(PATH, HAND_MADE)
    with pytest.raises(AlreadyExists):
        memories.create(vault, AGENT, claim())
    assert machine.files()[PATH] == HAND_MADE.encode()


def test_symbols_that_mean_something_make_slots_of_their_own(
    vault: Vault, machine: Machine
) -> None:
    """Fault 21: C++ and C# were one slot, and so were `.env file` and `env-file`."""
    names = ("C", "C++", "C#", ".env file", "env-file", "a/b", "a:b", "a?b")
    for name in names:
        memories.create(vault, AGENT, claim(name))
    for name in names:
        note = memories.read(vault, name, max_chars=99)
        assert note.part.text == f"The text of {name}."
    assert len(machine.files()) == len(names)


def test_a_long_chinese_name_is_kept_whole(vault: Vault, machine: Machine) -> None:
    """Fault 25: a long name of 3-byte characters was too long for a file's name."""
    name, twin = "数" * 120, "数" * 119 + "据"
    memories.create(vault, AGENT, claim(name))
    memories.create(vault, AGENT, claim(twin))

    assert [memories.read(vault, each, max_chars=1).document.content.id for each in (name, twin)]
    for path in machine.files():
        assert len(path.rsplit("/", 1)[-1].encode()) <= 255


def test_every_problem_of_a_claim_is_named_at_once(vault: Vault, machine: Machine) -> None:
    wrong = claim(
        "\u200b \n",
        description="",
        kind=Kind.FIX,
        body="",
        tags=("x" * 49,),
        sources=("/etc/passwd",),
        verified_at="2026-11-30",
    )
    with pytest.raises(InvalidInput) as caught:
        memories.create(vault, AGENT, wrong)
    named = {problem.field for problem in caught.value.problems}
    assert {"description", "body", "tags[0]", "sources[0]", "verified_at"} <= named
    assert machine.files() == {}
    assert events(vault) == []


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x07", "\x85", "\ud83d"])
@pytest.mark.parametrize("field", ["name", "description", "body", "tags", "aliases", "sources"])
def test_control_characters_are_refused_everywhere(
    vault: Vault, machine: Machine, field: str, character: str
) -> None:
    """Faults 16 and 57: NUL and control characters were written into the file."""
    text = f"some{character}thing"
    with pytest.raises(InvalidInput) as caught:
        memories.create(
            vault,
            AGENT,
            claim(**{field: (text,) if field.endswith("s") else text}),
        )
    assert {problem.code for problem in caught.value.problems} == {"content_refused"}
    assert machine.files() == {}


def test_a_missing_contract_is_refused_and_a_met_one_passes(vault: Vault) -> None:
    with pytest.raises(ContractMissing):
        memories.create(vault, AGENT, claim(kind=Kind.DECISION, body="no headings"))
    memories.create(vault, AGENT, claim(kind=Kind.DECISION, body=CONTRACT))


def test_twins_of_tags_are_kept_once(vault: Vault) -> None:
    """Fault 58; and two pointers into one file are fine."""
    made = memories.create(
        vault, AGENT, claim(tags=("CI", "ci", " ci "), sources=("a.py#x", "a.py#y"))
    )
    assert made.document.content.claim.tags == ("CI",)
    assert made.document.content.claim.sources == ("a.py#x", "a.py#y")


def test_indentation_and_spaces_in_a_body_stay(vault: Vault) -> None:
    """Fault 33: leading indentation was lost."""
    body = "    code first\n\n  - nested  \n\n\ttabbed"
    made = memories.create(vault, AGENT, claim(body=body))
    assert made.document.content.claim.body == body
    assert memories.read(vault, "build-command", max_chars=99).part.text == body


def test_no_token_for_what_can_not_be_changed(vault: Vault, machine: Machine) -> None:
    folder = machine.root / "Memory/global"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bare.md").write_text("---\nname: bare\n---\nwords\n", "utf-8")
    written = memories.create(vault, AGENT, claim("whole"))

    assert memories.read(vault, "bare", max_chars=1000).token is None
    assert memories.read(vault, written.document.content.id, max_chars=1000).token is not None


def test_a_claimed_channel_is_a_finding(vault: Vault, machine: Machine) -> None:
    written = memories.create(vault, AGENT, claim("forged"))
    path = machine.root / written.document.path
    path.write_text(path.read_text("utf-8").replace("via: relayed", "via: owner-cli"), "utf-8")

    read = memories.read(vault, "forged", max_chars=1000)

    assert str(read.approved_via) == "owner-edit"
    assert [each.code for each in read.document.findings] == ["approval_mismatch"]
