"""Files that move by hand: ids follow their content, whatever the order of the steps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from keepm.operations import answers, memories, retrieval
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, Machine, Opening, claim, look

CASE = Path(__file__).parents[1] / "cases/35-move-events/input/streams.json"
HERE = "Memory/projects/widgets"

Ids = dict[str, str]
Step = Callable[[], object]


def made(vault: Vault, folder: Path) -> Ids:
    """Make `a` and `b`, which point at each other by id, and thirty notes in a folder `x`."""
    ids = {
        name: memories.create(vault, AGENT, claim(name)).document.content.id for name in ("a", "b")
    }
    for name, other in (("a", "b"), ("b", "a")):
        with (folder / f"{name}.md").open("a", encoding="utf-8") as file:
            file.write(f"\nSee [[{ids[other]}]].\n")
    (folder / "x").mkdir()
    for number in range(30):
        name = f"n{number}"
        ids[name] = memories.create(vault, AGENT, claim(name)).document.content.id
        (folder / f"{name}.md").rename(folder / "x" / f"{name}.md")
    look(vault)
    return ids


def said(vault: Vault) -> list[object]:
    return [
        answers.plain(each)
        for each in (
            retrieval.search(vault, Wanted("text", limit=100, explain=True)),
            retrieval.catalog(vault, limit=100, max_chars=100_000),
            retrieval.links(vault, "a"),
            retrieval.links(vault, "b"),
        )
    ]


def streams(folder: Path) -> dict[str, list[Step]]:
    """Return the case's streams as steps, by their own words."""
    # The case makes a `b.md`; here that is a note already, so the new place is `c.md`.
    a, b, c, tmp = (folder / f"{name}.md" for name in ("a", "b", "c", "tmp"))
    data: list[bytes] = []

    def swap() -> None:
        a.rename(tmp)
        b.rename(a)
        tmp.rename(b)

    return {
        "create b.md; delete a.md": [lambda: shutil.copy(a, c), a.unlink],
        "delete a.md; create b.md": [
            lambda: data.append(a.read_bytes()),
            a.unlink,
            lambda: c.write_bytes(data[0]),
        ],
        "rename a->tmp; rename b->a; rename tmp->b": [
            lambda: a.rename(tmp),
            lambda: b.rename(a),
            lambda: tmp.rename(b),
        ],
        "rename a.md->A.md (case only)": [lambda: a.rename(folder / "A.md")],
        "move dir x/ -> y/ with 30 notes": [lambda: (folder / "x").rename(folder / "y")],
        "delete a.md; (5 s); create a.md with the same bytes": [
            lambda: data.append(a.read_bytes()),
            a.unlink,
            lambda: a.write_bytes(data[0]),
        ],
        "all at once": [swap],
    }


NAMES = [*map("; ".join, json.loads(CASE.read_text("utf-8"))), "all at once"]


@pytest.mark.parametrize("between", [False, True], ids=["seen-at-the-end", "seen-at-each-step"])
@pytest.mark.parametrize("stream", NAMES)
def test_ids_follow_their_content_and_a_rebuild_agrees(
    vault: Vault, machine: Machine, opened: Opening, stream: str, *, between: bool
) -> None:
    """Case 35: neither the order of the events nor their pairing can be trusted."""
    folder = machine.root / HERE
    ids = made(vault, folder)

    for step in streams(folder)[stream]:
        step()
        if between:
            look(vault)
    look(vault)

    for name, note_id in ids.items():
        document = memories.read(vault, note_id, max_chars=9).document
        assert document.content.id == note_id
        assert f"id: {note_id}".encode() in (machine.root / document.path).read_bytes()
        assert memories.read(vault, name, max_chars=9).document.path == document.path
    for name, other in (("a", "b"), ("b", "a")):
        (link, *_) = retrieval.links(vault, name).items
        assert (link.state, link.id) == ("resolved", ids[other])
    before = said(vault)
    vault.close()
    for path in machine.index_files():
        path.unlink()
    again = opened(machine.folder / "work/widgets")
    look(again)
    assert said(again) == before
