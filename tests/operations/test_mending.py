"""Metadata with one possible value is written down; nothing is guessed, nothing else changes."""

from __future__ import annotations

import pytest

from keepm.errors import (
    ApprovalRequired,
    ChecksumMismatch,
    ConfirmationRequired,
    NotFound,
    WrongState,
)
from keepm.markdown import damage
from keepm.model.checksum import Checksum
from keepm.model.memory import Memory
from keepm.operations import handoffs, inbox, memories, mending, undoing
from keepm.operations.mending import Mended, MendPlan
from keepm.operations.mutation import as_shown
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Caller, Vault
from tests.operations.support import (
    AGENT,
    OWNER,
    Machine,
    Opening,
    claim,
    edit,
    events,
    look,
    proof,
)

HERE = "Memory/projects/widgets"
HAND_MADE = (
    "\ufeff---\r\n# why: asked twice\r\ntags: [ci,  docker]\r\n状态: 人写的\r\n---\r\n\r\n"
    "    indented first line\r\n--- not a rule\r\n"
)


def agree(_: MendPlan) -> None:
    """Let any plan pass."""


def mended(vault: Vault, identifier: str, caller: Caller = OWNER) -> Mended:
    """Show a plan and carry out just that."""
    plan = mending.plan(vault, caller, identifier)
    shown = as_shown(plan.digest)
    return mending.mend(vault, caller, identifier, plan.checksum, confirmed=shown)


def codes(plan: MendPlan) -> set[str]:
    return {each.code for each in plan.repairs}


def left(plan: MendPlan) -> set[str]:
    return {each.rule.code for each in plan.unmended}


def put(machine: Machine, vault: Vault, text: str, name: str = "note") -> str:
    path = f"{HERE}/{name}.md"
    machine.put(path, text)
    look(vault)
    return path


def test_a_hand_made_note_gets_what_it_lacks_and_keeps_the_rest(
    vault: Vault, machine: Machine
) -> None:
    """Fault 32: repair could fix nothing of what people's notes look like."""
    path = put(machine, vault, HAND_MADE)
    before = memories.read(vault, "note", max_chars=99)
    assert before.token is None  # what has no id of its own can't be changed

    done = mended(vault, "note")
    assert codes(done.plan) == {"missing_id", "missing_key"}
    data = (machine.root / path).read_bytes().decode("utf-8")
    assert data.startswith("\ufeff---\r\n# why: asked twice\r\ntags: [ci,  docker]\r\n")
    assert data.endswith("---\r\n\r\n    indented first line\r\n--- not a rule\r\n")
    assert f"id: {damage.derived_id(path)}\r\n" in data
    assert "project_id: widgets\r\n" in data
    after = memories.read(vault, "note", max_chars=99)
    assert after.document.content.id == before.document.content.id
    assert after.part.text == before.part.text
    assert after.document.checksum == done.checksum
    memories.update(vault, AGENT, "note", edit(tags=("x",)), proof(vault, "note"))


def test_a_file_without_any_front_matter_gets_one(vault: Vault, machine: Machine) -> None:
    path = put(machine, vault, "# Title\n\nSome words.\n")
    mended(vault, "note")
    data = (machine.root / path).read_bytes()
    assert data.startswith(b"---\n")
    assert data.endswith((b"---\n\n# Title\n\nSome words.\n", b"---\n# Title\n\nSome words.\n"))


def test_a_note_that_was_moved_to_another_folder_says_so_again(
    vault: Vault, machine: Machine
) -> None:
    """A renamed project's folder, and a note that a person made global."""
    made = memories.create(vault, AGENT, claim("note"))
    text = (machine.root / made.document.path).read_bytes()
    (machine.root / made.document.path).unlink()
    machine.put("Memory/global/note.md", text)
    look(vault)
    done = mended(vault, made.document.content.id)
    assert codes(done.plan) == {"scope_mismatch"}
    data = (machine.root / "Memory/global/note.md").read_text("utf-8")
    assert "scope: global\n" in data
    assert "project_id" not in data

    renamed = put(machine, vault, text.decode().replace("widgets", "gadgets"))
    done = mended(vault, renamed)
    assert "project_id: widgets\n" in (machine.root / renamed).read_text("utf-8")


def test_dates_come_from_the_ledger_or_from_each_other(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("note"))
    path = machine.root / made.document.path
    lines = [line for line in path.read_text("utf-8").splitlines() if "ed: '" not in line]
    path.write_text("\n".join(lines) + "\n")
    look(vault)
    done = mended(vault, "note")
    assert codes(done.plan) == {"missing_date"}
    document = memories.read(vault, "note", max_chars=99).document
    assert isinstance(document.content, Memory)
    assert document.content.created == vault.now()


def test_a_date_that_nobody_knows_is_not_made_up(vault: Vault, machine: Machine) -> None:
    path = put(machine, vault, "---\nid: id-2\nname: n\nscope: project\n---\nx\n")
    plan = mending.plan(vault, OWNER, path)
    assert "missing_date" in left(plan)
    assert plan.change is not None
    assert "created" not in plan.change.diff


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("---\nid: id-1\nname: note\nname: other\n---\nx\n", "duplicate_key"),
        ("---\nid: [\n---\nx\n", "invalid_yaml"),
        ("---\nname: note\n---\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n", "merge_markers"),
        ("---\nname: note\n---\n---\nname: other\n---\nx\n", "second_front_matter_block"),
    ],
)
def test_what_would_be_a_guess_is_explained_and_left_alone(
    vault: Vault, machine: Machine, text: str, code: str
) -> None:
    path = put(machine, vault, text)
    before = machine.files()
    plan = mending.plan(vault, OWNER, path)
    assert plan.is_empty
    assert code in left(plan)
    assert all(each.fix for each in plan.unmended)
    with pytest.raises(WrongState):
        mending.mend(vault, OWNER, path, None, confirmed=agree)
    assert machine.files() == before
    assert events(vault) == []


def test_an_id_that_another_file_has_is_not_given_twice(vault: Vault, machine: Machine) -> None:
    """The path gives the id; a file that had the path before may have kept it."""
    path = put(machine, vault, "First.\n")
    mended(vault, path)
    (machine.root / path).rename(machine.root / HERE / "moved.md")
    put(machine, vault, "Second.\n")
    plan = mending.plan(vault, OWNER, path)
    assert "missing_id" not in codes(plan)
    assert "missing_id" in left(plan)


def test_proposals_and_handoffs_are_mended_too(vault: Vault, machine: Machine) -> None:
    machine.put(
        "Memory/Inbox/pending/projects/widgets/idea.md", "---\nname: idea\n---\nIt is so.\n"
    )
    machine.put(
        "Memory/.handoffs/pending/projects/widgets/task.md",
        "---\ntitle: task\n---\n## Goal\n\nG.\n\n## Current state\n\nS.\n",
    )
    look(vault)
    assert mended(vault, "idea").event.object_kind == "proposal"
    assert mended(vault, "task").event.object_kind == "handoff"
    assert inbox.read(vault, "idea", max_chars=99).token
    assert handoffs.read(vault, "task").token
    assert {event.channel for event in events(vault)} == {None}


# ---- the plan is what is done --------------------------------------------------------------------


def test_a_preview_changes_nothing(vault: Vault, machine: Machine) -> None:
    path = put(machine, vault, "---\nname: note\n---\nx\n")
    before = machine.files()
    plan = mending.plan(vault, OWNER, path)
    assert plan.change is not None
    assert "+id: " in plan.change.diff
    assert machine.files() == before
    assert events(vault) == []


def test_another_version_or_another_plan_is_refused(vault: Vault, machine: Machine) -> None:
    path = put(machine, vault, "---\nname: note\n---\nx\n")
    plan = mending.plan(vault, OWNER, path)
    with pytest.raises(ChecksumMismatch):
        mending.mend(vault, OWNER, path, Checksum("0" * 64), confirmed=agree)

    (machine.root / path).write_text("---\nname: note\n---\nedited\n")
    before = machine.files()
    with pytest.raises(ChecksumMismatch):
        mending.mend(vault, OWNER, path, plan.checksum, confirmed=agree)

    with pytest.raises(ConfirmationRequired):
        mending.mend(vault, OWNER, path, None, confirmed=as_shown(plan.digest))
    assert machine.files() == before


def test_a_repair_is_one_event_and_can_be_undone(vault: Vault, machine: Machine) -> None:
    path = put(machine, vault, "---\nid: id-1\nname: note\nscope: global\n---\nx\n")
    before = (machine.root / path).read_bytes()
    mended(vault, "note")
    (event,) = [each for each in events(vault) if each.operation == mending.OPERATION]
    assert (event.object_id, event.channel) == ("id-1", "owner-cli")
    assert "scope_mismatch" in event.extra["repairs"]
    undo = undoing.plan(vault, OWNER, UndoRequest())
    undoing.undo(vault, OWNER, UndoRequest(), digest=undo.digest)
    assert (machine.root / path).read_bytes() == before


def test_a_mended_note_says_by_which_channel_its_bytes_came(vault: Vault, machine: Machine) -> None:
    made = memories.create(vault, AGENT, claim("note"))
    path = machine.root / made.document.path
    path.write_text(path.read_text("utf-8").replace("kind: reference\n", "scope: global\n", 1))
    text = path.read_text("utf-8").replace("scope: project\n", "", 1)
    path.write_text(text)
    look(vault)
    mended(vault, "note")
    assert "approved_via: owner-cli\n" in path.read_text("utf-8")
    assert memories.read(vault, "note", max_chars=99).approved_via == "owner-cli"


def test_the_gates_minimum_holds(machine: Machine, opened: Opening) -> None:
    machine.configure({"approval": {"minimum": "owner"}})
    vault = opened(machine.folder / "work/widgets")
    put(machine, vault, "---\nname: note\n---\nx\n")
    with pytest.raises(ApprovalRequired):
        mending.plan(vault, AGENT, "note")
    mended(vault, "note", OWNER)


def test_another_projects_files_are_not_there(vault: Vault, machine: Machine) -> None:
    path = "Memory/projects/gears/note.md"
    machine.put(path, "---\nname: note\n---\nx\n")
    look(vault)
    for identifier in ("note", path, damage.derived_id(path)):
        with pytest.raises(NotFound):
            mending.plan(vault, OWNER, identifier)
