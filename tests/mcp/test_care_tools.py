"""memory_sync and memory_repair: what each demands, and that nothing more is done."""

from __future__ import annotations

import pytest

from tests.mcp.client import Answer, Tools
from tests.operations.support import Machine

HERE = "Memory/projects/widgets"
PATH = f"{HERE}/note.md"


@pytest.fixture
def broken(tools: Tools, machine: Machine) -> Tools:
    """A client of a vault with a note that lacks its id."""
    machine.put(PATH, "---\nname: note\n---\nx\n")
    tools.done("sync")
    return tools


def diagnosed(tools: Tools) -> str:
    return str(tools.done("doctor")["repair_token"])


def asked(tools: Tools, token: str, **more: object) -> Answer:
    checksum = tools.done("read", identifier="note")["checksum"]
    arguments = {"identifier": "note", "expected_checksum": checksum, "repair_token": token, **more}
    return tools.call("repair", **arguments)


def test_a_quick_look_tells_what_it_found(tools: Tools, machine: Machine) -> None:
    machine.put(PATH, "---\nid: id-1\nname: note\n---\nlighthouse\n")
    answer = tools.done("sync")
    assert (answer["files"], answer["changed"], answer["gone"]) == (1, 1, 0)
    assert answer["index_state"] == "current"
    assert tools.done("search", query="lighthouse")["total"] == 1


def test_a_rebuild_needs_doctors_token_and_a_confirmation(broken: Tools) -> None:
    assert broken.call("sync", full=True).code == "confirmation_required"
    assert broken.call("sync", full=True, confirm=True).code == "confirmation_required"
    token = diagnosed(broken)
    plan = broken.done("sync", full=True, repair_token=token)
    assert plan["files"] == 1
    assert "changed" not in plan.data
    done = broken.done("sync", full=True, confirm=True, repair_token=token)
    assert done["index_state"] == "current"
    again = broken.call("sync", full=True, confirm=True, repair_token=token)
    assert again.code == "confirmation_required"


def test_a_repair_is_shown_and_then_made_as_shown(broken: Tools, machine: Machine) -> None:
    before = machine.files()
    shown = asked(broken, diagnosed(broken))
    assert not shown.is_error, shown.text
    assert "+id: " in shown["diff"]
    assert {each["code"] for each in shown["repairs"]} == {"missing_id", "missing_key"}
    assert machine.files() == before

    done = asked(broken, shown["repair_token"], dry_run=False, confirm=True)
    assert not done.is_error, done.text
    read = broken.done("read", identifier="note")
    assert read["checksum"] == done["checksum"]
    assert read["update_token"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"dry_run": False},
        {"dry_run": False, "confirm": True},
    ],
    ids=["preview", "unconfirmed", "confirmed"],
)
def test_a_repair_without_a_diagnosis_is_refused(
    broken: Tools, machine: Machine, more: dict[str, bool]
) -> None:
    before = machine.files()
    assert asked(broken, "made-up", **more).code == "confirmation_required"
    assert machine.files() == before


def test_doctors_token_alone_confirms_no_repair(broken: Tools, machine: Machine) -> None:
    """What is confirmed is a plan that was shown, not a finding."""
    before = machine.files()
    answer = asked(broken, diagnosed(broken), dry_run=False, confirm=True)
    assert answer.code == "confirmation_required"
    assert machine.files() == before


def test_a_plan_is_of_the_version_that_was_shown(broken: Tools, machine: Machine) -> None:
    token = asked(broken, diagnosed(broken))["repair_token"]
    machine.put(PATH, "---\nname: note\n---\nby hand\n")
    broken.done("sync")
    assert asked(broken, token, dry_run=False, confirm=True).code == "confirmation_required"
    stale = broken.call(
        "repair", identifier="note", expected_checksum="0" * 64, repair_token=diagnosed(broken)
    )
    assert stale.code == "checksum_mismatch"
    assert (machine.root / PATH).read_text() == "---\nname: note\n---\nby hand\n"


def test_what_has_no_one_right_repair_is_left_to_the_user(tools: Tools, machine: Machine) -> None:
    machine.put(PATH, "---\nid: [\nname: note\n---\nx\n")
    tools.done("sync")
    answer = asked(tools, diagnosed(tools))
    assert "repair_token" not in answer.data
    (left,) = [each for each in answer["left_to_the_user"] if each["code"] == "invalid_yaml"]
    assert left["fix"]
    assert answer["next_step"]


def test_another_projects_files_are_out_of_reach(tools: Tools, machine: Machine) -> None:
    theirs = "Memory/projects/gears/secret-name.md"
    machine.put(theirs, "---\nname: secret-name\n---\nx\n")
    tools.done("sync")
    token = diagnosed(tools)
    for identifier in (theirs, "secret-name"):
        answer = tools.call(
            "repair", identifier=identifier, expected_checksum="0" * 64, repair_token=token
        )
        assert answer.code == "not_found"
        assert "secret" not in answer.whole
