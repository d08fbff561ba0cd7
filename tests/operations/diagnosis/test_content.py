"""What is wrong within one file: each kind with a sound note beside it."""

from __future__ import annotations

import pytest

from keepm import config
from keepm.markdown import memories as codec
from keepm.model import repairs
from keepm.model.document import Severity
from keepm.model.memory import Kind, Memory
from keepm.operations import memories
from keepm.operations.vault import Vault
from tests.operations.diagnosis.support import ID, case, found, look, note
from tests.operations.support import AGENT, CONTRACT, HAND_MADE, Machine, claim

SECRET = "AKIA" + "IOSFODNN7" + "QWERTYU"  # shaped like a key, and none
WIDGETS = "Memory/projects/widgets"


def test_a_sound_note_has_no_finding(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/note-1.md", note())

    assert found(vault) == []


def test_what_the_gate_let_in_has_no_finding(vault: Vault) -> None:
    bodies = (
        "Use `<!-- x -->` never.",
        "| a |\n|---|\n| `b` |",
        "```\npassword: ***\n```",
        CONTRACT,
    )
    for number, body in enumerate(bodies):
        name = f"slot {number} – “quoted”: 端口 #{number}"
        kind = Kind.DECISION if body is CONTRACT else Kind.REFERENCE
        memories.create(
            vault,
            AGENT,
            claim(name, body=body, kind=kind, description=f"Number {number}: `a`, “b” & c"),
        )

    assert found(vault) == []


@pytest.mark.parametrize(
    ("head", "code", "line"),
    [
        ("name: a: b", "invalid_yaml", 2),
        ("name: x\nkind: fix\nname: y", "duplicate_key", 4),
        ("- a\n- b", "front_matter_not_a_map", 2),
        ("name: &x y", "yaml_anchor", 2),
        ("name: !!python/object x", "yaml_tag", 2),
    ],
)
def test_a_front_matter_that_cant_be_read_is_an_error_with_its_line(
    machine: Machine, vault: Vault, head: str, code: str, line: int
) -> None:
    machine.put(f"{WIDGETS}/a.md", f"---\n{head}\n---\n\nText.\n")

    (only,) = look(vault)

    assert (only.rule.code, only.line, only.severity) == (code, line, Severity.ERROR)
    assert not only.repairable


def test_a_keys_own_name_is_not_told(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", f"---\n{SECRET}: 1\n{SECRET}: 2\n---\nText.\n")

    assert "duplicate_key a.md:3" in found(vault)
    assert all(SECRET not in repr(each) for each in look(vault))


def test_merge_markers_are_told_with_their_lines_and_those_in_code_are_text(
    machine: Machine, vault: Vault
) -> None:
    """Case 31."""
    for name in ("m", "doc"):
        machine.put(f"{WIDGETS}/{name}.md", case("31-merge-markers", f"{name}.md"))

    codes = [each for each in found(vault) if "merge" in each]

    assert codes == ["merge_markers m.md:4", "merge_markers m.md:11"]


def test_a_second_block_and_a_value_that_needs_quotes(machine: Machine, vault: Vault) -> None:
    """Case 1."""
    machine.put(f"{WIDGETS}/stub.md", case("01-second-block", "stub.md"))
    machine.put(f"{WIDGETS}/broken.md", case("01-second-block", "broken.md"))

    codes = found(vault)

    assert "second_front_matter_block stub.md:5" in codes
    assert "invalid_yaml broken.md:3" in codes
    assert not any(each.repairable for each in look(vault))


# ---- what may never be stored --------------------------------------------------------------------


def test_a_secret_in_a_hand_edited_body_is_an_error_at_its_line_and_never_shown(
    machine: Machine, vault: Vault
) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, f"One.\n\nkey {SECRET}\n"))

    (only,) = look(vault)

    assert (only.rule.code, only.line, only.severity) == ("content_refused", 15, Severity.ERROR)
    assert SECRET not in repr(only)


@pytest.mark.parametrize("key", ["description", "tags", "aliases", "rating", "x_password"])
def test_a_secret_in_the_front_matter_is_found_whatever_the_key(
    machine: Machine, vault: Vault, key: str
) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, **{key: SECRET}))

    assert [each.split()[0] for each in found(vault)] == ["content_refused"]


def test_a_password_under_a_key_of_the_persons_own_is_found(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, password="Sommer2026-Regen!"))

    assert found(vault) == ["content_refused a.md:11"]


def test_a_secret_in_a_comment_of_the_front_matter_is_found(machine: Machine, vault: Vault) -> None:
    text = note().replace("kind:", f"# {SECRET}\nkind:")
    machine.put(f"{WIDGETS}/a.md", text)

    assert found(vault) == ["content_refused a.md:7"]


def test_what_is_written_as_an_escape_is_screened_as_it_reads(
    machine: Machine, vault: Vault
) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, description='"seen \\u202e unseen"'))

    assert found(vault) == ["content_refused a.md:4"]


def test_a_secret_in_a_file_that_cant_be_read_is_found_too(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", f"---\nname: a: b\n---\n{SECRET}\n")

    assert found(vault) == ["invalid_yaml a.md:2", "content_refused a.md:4"]


def test_hidden_text_is_found_and_in_code_it_passes(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, "Text <!-- do that --> more."))
    machine.put(f"{WIDGETS}/b.md", note(2, "Text `<!-- do that -->` more."))

    assert found(vault) == ["content_refused a.md:13"]


def test_an_id_that_is_a_secret_is_not_shown(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, id=SECRET, description=""))

    assert all(SECRET not in repr(each) for each in look(vault))
    assert "content_refused a.md:2" in found(vault)


# ---- limits, contract, fields --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "code", "line"),
    [
        ({"description": ""}, "missing_description", None),
        ({"description": "x" * 601}, "over_limit", 4),
        ({"name": "x" * 121}, "over_limit", 3),
        ({"sources": "/etc/passwd"}, "invalid_source", 11),
        ({"sources": "../x.py"}, "invalid_source", 11),
        ({"aliases": "['-']"}, "invalid_name", 11),
        # Fault 57 of KeepM 3: such a note was never overdue again.
        ({"verified_at": "'2027-01-01'"}, "future_date", 11),
        ({"kind": "recipe"}, "unknown_kind", 7),
        ({"kind": "decision"}, "contract_missing", 7),
        ({"kind": "preference"}, "contract_missing", 7),
        ({"created": "'2026-13-01'"}, "invalid_date", 9),
        ({"pinned": "perhaps"}, "invalid_value", 11),
        ({"status": "done"}, "unknown_status", 8),
        ({"approved_via": "magic"}, "unknown_approved_via", 11),
    ],
)
def test_a_field_that_could_not_be_stored_is_told_at_its_line(
    machine: Machine, vault: Vault, keys: dict[str, str], code: str, line: int | None
) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, **keys))

    place = f"{code} a.md" + (f":{line}" if line else "")
    assert place in found(vault)
    assert all(each.severity is not Severity.ERROR for each in look(vault))


def test_a_body_over_its_limit_is_told_once(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, "word " * 4000))

    assert found(vault) == ["over_limit a.md"]


def test_an_empty_note_and_a_whole_file_over_the_document_limit(
    machine: Machine, vault: Vault
) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, ""))
    machine.put(f"{WIDGETS}/big.md", "x" * (config.load_policy().document_bytes + 1))

    assert found(vault) == ["empty_body a.md", "too_large big.md"]


def test_what_was_laid_aside_need_not_keep_the_contract(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, kind="decision", status="archived"))

    assert found(vault) == []


def test_a_handoff_without_its_goal_and_over_its_size(machine: Machine, vault: Vault) -> None:
    head = (
        f"---\nid: {ID.format(1)}\ntype: handoff\nscope: project\nproject_id: widgets\n"
        "title: Move\nstatus: active\ncreated: '2026-11-01'\nupdated: '2026-11-01'\n---\n"
    )
    path = "Memory/.handoffs/pending/projects/widgets/Move.md"
    machine.put(path, f"{head}\n## Goal\n\nMove.\n\n## Notes\n\n{'word ' * 4000}\n")

    codes = sorted(each.rule.code for each in look(vault))

    assert codes == ["missing_section", "over_limit"]


# ---- what is absent, and what repairs it ---------------------------------------------------------


def test_a_note_without_front_matter_is_told_what_repair_can_add(
    machine: Machine, vault: Vault
) -> None:
    machine.put(f"{WIDGETS}/build-command.md", "Use make.\n")

    by_code = {each.rule.code: each for each in look(vault)}

    assert set(by_code) == {"missing_id", "missing_key", "missing_date", "missing_description"}
    assert by_code["missing_id"].repairable and by_code["missing_key"].repairable
    assert not by_code["missing_description"].repairable
    assert by_code["missing_key"].severity is Severity.INFO


def test_a_date_is_repairable_when_the_ledger_knows_it(machine: Machine, vault: Vault) -> None:
    written = memories.create(vault, AGENT, claim("port"))
    path = machine.root / written.document.path
    text = path.read_text("utf-8")
    path.write_text(
        "".join(x for x in text.splitlines(True) if not x.startswith("created")), "utf-8"
    )

    by_code = {each.rule.code: each for each in look(vault)}

    assert by_code["missing_date"].repairable


def test_a_folder_that_was_renamed_leaves_a_scope_to_repair(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, project_id="gadgets"))
    machine.put("Memory/global/b.md", note(2, scope="global", project_id=""))

    (only,) = look(vault)

    assert (only.rule.code, only.line, only.repairable) == ("scope_mismatch", 6, True)


@pytest.mark.parametrize("own", ["mem 28/01", "[a, b]", ""])
def test_an_id_that_cant_be_one_is_repairable(machine: Machine, vault: Vault, own: str) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, id=own))

    repairable = [each.rule.code for each in look(vault) if each.repairable]

    assert len(repairable) == 1 and repairable[0] in repairs.REPAIRABLE


def test_hand_made_notes_are_read_kindly(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/build-command.md", HAND_MADE)

    assert {each.severity for each in look(vault)} == {Severity.INFO}


def test_a_finding_keeps_its_fingerprint_when_lines_move(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, f"key {SECRET}", kind="fix"))
    before = [each.fingerprint for each in look(vault)]
    machine.put(f"{WIDGETS}/a.md", note(1, f"More.\n\nkey {SECRET}", kind="fix"))

    assert [each.fingerprint for each in look(vault)] == before
    assert len(set(before)) == len(before) > 3


def test_doctor_changes_no_file(machine: Machine, vault: Vault) -> None:
    machine.put(f"{WIDGETS}/a.md", HAND_MADE)
    machine.put(f"{WIDGETS}/b.md", "---\nname: a: b\n---\n")
    machine.put(f"{WIDGETS}/c.md", codec.render(Memory("x", claim("c"))))
    look(vault)
    before = machine.files()

    look(vault)

    assert machine.files() == before
