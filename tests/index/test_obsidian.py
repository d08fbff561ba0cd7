"""Every line of the compatibility tables in docs/obsidian.md, read from that page."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from keepm.index import graph
from keepm.markdown import documents, memories
from keepm.model import links
from keepm.model.links import WikiLink
from keepm.model.memory import Memory, Visibility
from tests.docs import DOCS
from tests.index.building import note
from tests.index.conftest import Fill

PAGE = (DOCS / "obsidian.md").read_text("utf-8")
_CELL = re.compile(r"(?<!\\)\|")


def rows(heading: str) -> list[tuple[str, str]]:
    """Return the example and the second cell of each row below a table's heading."""
    _, _, rest = PAGE.partition(f"\n{heading}\n")
    assert rest, heading
    found: list[tuple[str, str]] = []
    for line in rest.partition("\n\n")[0].splitlines()[1:]:
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]]
        code = re.fullmatch(r"(`+) ?(.*?) ?\1", cells[0])
        assert code, line
        found.append((code[2].replace("⏎", "\n"), cells[1]))
    return found


def shown(found: Sequence[WikiLink]) -> str:
    """Write links as the page does."""
    return "; ".join(map(_shown, found)) or "–"


def _shown(link: WikiLink) -> str:
    parts = [
        "→",
        link.target,
        f"| {link.alias}" if link.alias else "",
        f"# {link.heading}" if link.heading else "",
        f"^ {link.block}" if link.block else "",
        "!" if link.embed else "",
        f"({link.relation})" if link.relation else "",
    ]
    return " ".join(part for part in parts if part)


@pytest.mark.parametrize(("written", "read"), rows("| written | KeepM reads | |"))
def test_what_is_written_in_a_note_is_read_so(written: str, read: str) -> None:
    assert shown(links.parse(written)) == read


@pytest.mark.parametrize(("line", "read"), rows("| front matter | KeepM reads |"))
def test_what_is_written_in_front_matter_is_read_so(line: str, read: str) -> None:
    document = documents.read("Memory/global/a.md", f"---\nid: x\n{line}\n---\n\nText.\n".encode())
    assert isinstance(document.content, Memory)
    assert shown(memories.relations(document)) == read


@pytest.mark.parametrize(("target", "state"), rows("| target | state | |"))
def test_a_target_means_that_note(filled: Fill, target: str, state: str) -> None:
    db = filled(
        note("Data Volume", aliases=("pg-disk",), path="Memory/global/volumes/data-volume.md"),
        note("Twin", path="Memory/global/a/Twin.md"),
        note("Twin", path="Memory/global/b/Twin.md"),
        note("from", target, id="from"),
    )
    (link,), _ = graph.links(db, "from", Visibility())
    assert str(link.state) == state
    assert (link.name == "Data Volume") == (state == "resolved")
    assert len(link.candidates) == (2 if state == "ambiguous" else 0)


@pytest.mark.parametrize(("line", "kept"), rows("| in a note | KeepM |"))
def test_what_people_write_is_read_kindly_and_stays(line: str, kept: str) -> None:
    data = f"---\nid: x\nname: n\n{line}\n---\n\nText.\n".encode()
    document = documents.read("Memory/global/n.md", data)
    assert isinstance(document.content, Memory)
    claim = document.content.claim
    read = {
        "aliases": claim.aliases == ("pg-disk",),
        "tags": claim.tags == ("docker", "db"),
        "created": document.content.created.startswith("2026-01-02T10:00:00"),
        "cssclasses": not [f for f in document.findings if "cssclasses" in f.message],
    }
    assert read[line.partition(":")[0]], kept
    assert document.data == data


def test_the_page_has_its_tables() -> None:
    counts = [
        len(rows(heading))
        for heading in (
            "| written | KeepM reads | |",
            "| front matter | KeepM reads |",
            "| target | state | |",
            "| in a note | KeepM |",
        )
    ]
    assert counts == [29, 5, 7, 4]
