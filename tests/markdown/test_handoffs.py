from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from keepm.errors import MalformedDocument
from keepm.markdown import handoffs
from keepm.model.document import Damaged, Document
from keepm.model.handoff import Handoff, HandoffStatus
from tests import strategies

PATH = "Memory/.handoffs/pending/projects/widgets/h.md"
ARCHIVED = "Memory/.handoffs/archive/projects/widgets/h.md"
ID = "6f0c9d52-93a5-4a38-8f0d-0a4c1f2f7b11"

OURS = f"""---
id: {ID}
type: handoff
scope: project
project_id: widgets
title: Move the parser
status: active
language: en
created: '2026-11-29T18:15:00Z'
updated: '2026-11-29T18:15:00Z'
source_client: codex
---

## Goal

Parse faster.

## Current state

Half done.

## Notes of mine

Ask Ann. # not a key

## Next steps

- measure
- rewrite the loop
  and test it
"""

KEEPM_3 = f"""---
id: {ID}
type: handoff
scope: project
project_id: widgets
title: Move the parser
goal: Parse faster.
current_state: Half done.
completed:
- read the code
unresolved: []
next_steps:
- measure
verification: []
language: en
status: active
created: '2025-03-01'
updated: '2025-03-02'
---

# Move the parser

## Goal

Parse faster.

## Current state

Half done.

## Completed

- read the code

## Next steps

- measure
"""


def handoff(data: bytes | str, path: str = PATH) -> Document[Handoff]:
    document = handoffs.read(path, data.encode() if isinstance(data, str) else data)
    assert isinstance(document.content, Handoff)
    return document


def codes(document: Document[Handoff]) -> list[str]:
    return [finding.code for finding in document.findings]


def test_the_visible_sections_are_the_handoff() -> None:
    document = handoff(OURS)
    assert document.findings == ()
    content = document.content
    assert (content.goal, content.current_state) == ("Parse faster.", "Half done.")
    assert content.next_steps == ("measure", "rewrite the loop\nand test it")
    assert content.completed == ()


def test_a_hand_edit_of_a_section_counts() -> None:
    edited = OURS.replace("Half done.", "Nearly done.").replace("- measure", "* profile")
    content = handoff(edited).content
    assert content.current_state == "Nearly done."
    assert content.next_steps[0] == "profile"


def test_a_keepm_3_handoff_is_read_from_its_front_matter() -> None:
    document = handoff(KEEPM_3, "Memory/.handoffs/pending/projects/widgets/current.md")
    content = document.content
    assert document.findings == ()
    assert (content.goal, content.current_state) == ("Parse faster.", "Half done.")
    assert (content.completed, content.next_steps) == (("read the code",), ("measure",))
    assert content.updated == "2025-03-02"


@given(strategies.handoffs())
def test_a_rendered_handoff_reads_back(content: Handoff) -> None:
    document = handoff(handoffs.render(content))
    assert document.content == content
    assert document.findings == ()


@given(strategies.handoffs(), strategies.handoffs())
def test_a_patched_handoff_reads_back(old: Handoff, new: Handoff) -> None:
    document = handoff(handoffs.render(old))
    new = replace(new, id=old.id)
    assert handoff(handoffs.patch(document, new)).content == new
    assert handoffs.patch(document, old) == document.data


@pytest.mark.parametrize(
    "text",
    ["## Goal", "\\## Goal", "```\n## Next steps", "~~~\n## Goal\n~~~", "a\n# b\n```x\n```\n## c"],
)
def test_headings_inside_a_text_stay_its_own(text: str) -> None:
    content = replace(handoff(OURS).content, goal=text, current_state=f"{text}\nend")
    assert handoff(handoffs.render(content)).content == content


def test_only_the_changed_section_is_rewritten() -> None:
    document = handoff(OURS.replace("Parse faster.", "Parse   faster.  "))
    changed = replace(document.content, current_state="Done.\n\nReally.")
    patched = handoffs.patch(document, changed)
    assert patched == document.data.replace(b"Half done.", b"Done.\n\nReally.")


def test_a_new_section_comes_in_its_order_and_an_empty_list_goes() -> None:
    document = handoff(OURS)
    changed = replace(document.content, completed=("read",), next_steps=())
    patched = handoffs.patch(document, changed).decode()
    assert "Half done.\n\n## Completed\n\n- read\n\n## Notes of mine\n" in patched
    assert "## Next steps" not in patched
    assert "Ask Ann. # not a key" in patched
    assert handoff(patched).content == changed


def test_completing_changes_metadata_only() -> None:
    for text in (OURS, KEEPM_3):
        document = handoff(text)
        changed = replace(document.content, status=HandoffStatus.COMPLETED)
        patched = handoffs.patch(document, changed).decode()
        assert patched == text.replace("status: active", "status: completed")


def test_a_changed_keepm_3_handoff_says_each_thing_once() -> None:
    document = handoff(KEEPM_3)
    changed = replace(document.content, goal="Parse twice as fast.", next_steps=("a", "b"))
    patched = handoffs.patch(document, changed).decode()
    assert handoff(patched).content == changed
    head, _, body = patched.partition("\n---\n")
    assert "goal:" not in head and "next_steps:" not in head
    assert "# Move the parser\n" in body
    assert body.count("## Goal") == 1


def test_line_endings_stay_in_a_changed_section() -> None:
    document = handoff(OURS.replace("\n", "\r\n"))
    patched = handoffs.patch(document, replace(document.content, goal="New\ngoal"))
    assert patched == document.data.replace(b"Parse faster.", b"New\r\ngoal")


def test_a_second_section_of_one_name_is_noted_and_kept() -> None:
    line = OURS.count("\n") + 2
    document = handoff(OURS + "\n## Goal\n\nAnother.\n")
    assert document.content.goal == "Parse faster."
    assert [(f.code, f.line) for f in document.findings] == [("duplicate_section", line)]
    patched = handoffs.patch(document, replace(document.content, goal="New."))
    assert b"Another." in patched


def test_a_handoff_without_its_sections_is_noted() -> None:
    document = handoff(OURS.partition("## Goal")[0])
    assert codes(document) == ["missing_section", "missing_section"]


@pytest.mark.parametrize(("path", "status"), [(ARCHIVED, "active"), (PATH, "completed")])
def test_a_status_that_its_folder_denies_is_noted(path: str, status: str) -> None:
    document = handoff(OURS.replace("status: active", f"status: {status}"), path)
    assert codes(document) == ["status_mismatch"]


def test_a_handoff_without_a_project_is_kept_as_text() -> None:
    document = handoffs.read("Memory/.handoffs/pending/global/h.md", OURS.encode())
    assert isinstance(document.content, Damaged)
    assert document.findings[0].code == "scope_mismatch"


def test_a_handoff_without_an_id_is_not_changed() -> None:
    document = handoff(OURS.replace(f"id: {ID}\n", "", 1))
    with pytest.raises(MalformedDocument):
        handoffs.patch(document, replace(document.content, goal="x"))
