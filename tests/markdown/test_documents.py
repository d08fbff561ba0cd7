from __future__ import annotations

import uuid

import pytest

from keepm.errors import InvalidIdentifier
from keepm.markdown import documents
from keepm.model import links
from keepm.model.document import Damaged, Standing
from keepm.model.handoff import Handoff
from keepm.model.memory import Memory, Scope
from keepm.model.proposal import Proposal


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Memory/global/a.md", Memory),
        ("Memory/projects/w/sub/a.MD", Memory),
        ("Memory/Inbox/pending/global/a.md", Proposal),
        ("Memory/Inbox/archive/projects/w/a.md", Proposal),
        ("Memory/.handoffs/pending/projects/w/current.md", Handoff),
        ("Memory/.handoffs/archive/projects/w/a.md", Handoff),
    ],
)
def test_the_place_decides_what_a_file_is(path: str, kind: type[object]) -> None:
    document = documents.read(path, b"Text.\n")
    assert isinstance(document.content, kind)
    assert (document.path, document.data) == (path, b"Text.\n")


@pytest.mark.parametrize(
    "path", ["a.md", "Memory/a.md", "Memory/.trash/x/global/a.md", "Memory/global/a.txt"]
)
def test_other_places_hold_no_documents(path: str) -> None:
    with pytest.raises(InvalidIdentifier):
        documents.read(path, b"")


@pytest.mark.parametrize("name", ["pending/global", "archive/projects/w"])
def test_a_broken_file_of_any_kind_is_damaged(name: str) -> None:
    document = documents.read(f"Memory/Inbox/{name}/x.md", b"\xef\xbb\xbf---\na: 1\na: 2\n---\n")
    assert isinstance(document.content, Damaged)
    assert document.content.standing is Standing.WITHHELD
    assert document.content.text == "---\na: 1\na: 2\n---\n"


def test_a_damaged_files_id_hangs_on_its_path_alone() -> None:
    one = documents.damaged("Memory/projects/w/a.md", b"\xff", (), Standing.DAMAGED)
    assert one.content.id == documents.damaged_id("Memory/projects/w/a.md")
    assert uuid.UUID(one.content.id)
    assert one.content.id != documents.damaged_id("Memory/global/a.md")
    assert one.content.scope == Scope("w")


@pytest.mark.parametrize(
    "text",
    [
        "---\nid: x\n---\n---\r\na: b\r\n" + "\r\n" * 5000 + "x",
        "---\nid: x\n---\n" + "\r\n" * 5000 + "x",
        "\n" * 100_000 + "\u3000",
        "x" + "\n" * 100_000 + "\u3000x",
        "---\n" + "a:\n" * 20_000 + "---\n",
        "[[x]] " + "`a` b " * 20_000,
        "[[x]] " + "[[" * 50_000,
        "[[x]] " + "%% <!-- " * 20_000,
        "[[x]]\n" + "```x\n" * 20_000,
        "<<<<<<< a\n" * 20_000,
        "> " * 50_000 + "[[x]]",
    ],
)
def test_hostile_text_takes_no_more_time_than_its_length(text: str) -> None:
    for path in ("Memory/global/a.md", "Memory/.handoffs/pending/projects/w/a.md"):
        document = documents.read(path, text.encode())
        if isinstance(document.content, Memory):
            links.parse(document.content.claim.body)
