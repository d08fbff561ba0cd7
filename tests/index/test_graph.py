from __future__ import annotations

import pytest

from keepm.index import graph
from keepm.index.database import Database
from keepm.index.graph import Direction, LinkRow, LinkState
from keepm.index.writing import Batch, apply
from keepm.model.document import Standing
from keepm.model.memory import Status, Visibility
from tests.index.building import GADGETS, WIDGETS, damaged, note, proposal
from tests.index.conftest import Fill

OWN = Visibility("widgets")


def forward(db: Database, note_id: str, visibility: Visibility = OWN) -> list[LinkRow]:
    return graph.links(db, note_id, visibility, direction=Direction.FORWARD)[0]


@pytest.mark.parametrize(
    "target", ["Port Map", "port_map", "pm", "id-ports", "Memory/global/port-map", "port-map.md"]
)
def test_a_link_leads_to_its_note_by_any_handle(filled: Fill, target: str) -> None:
    db = filled(
        note("from", f"See [[{target}]].", id="f"),
        note("port-map", id="id-ports", aliases=("PM",)),
    )
    (link,) = forward(db, "f")
    assert (link.id, link.name, link.state) == ("id-ports", "port-map", LinkState.RESOLVED)
    assert (link.target_text.removesuffix(".md"), link.line) == (target.removesuffix(".md"), 1)
    (back,) = graph.links(db, "id-ports", OWN, direction=Direction.BACK)[0]
    assert (back.id, back.direction, back.state) == ("f", Direction.BACK, LinkState.RESOLVED)


def test_a_link_to_nothing_is_kept_and_resolves_when_its_note_comes(filled: Fill) -> None:
    db = filled(note("from", "[[later]]", id="f"))
    (link,) = forward(db, "f")
    assert (link.target_text, link.id, link.state) == ("later", None, LinkState.UNRESOLVED)
    apply(db, Batch((note("later", id="l"),)))
    assert forward(db, "f")[0].id == "l"
    apply(db, Batch(removed=("Memory/global/later.md",)))
    assert forward(db, "f")[0].state == LinkState.UNRESOLVED


def test_a_target_that_fits_two_notes_is_ambiguous_with_both(filled: Fill) -> None:
    db = filled(
        note("from", "[[x]]", id="f"),
        note("one", id="1", aliases=("x",)),
        note("two", id="2", aliases=("X",)),
    )
    (link,) = forward(db, "f")
    assert (link.state, link.id) == (LinkState.AMBIGUOUS, None)
    assert link.candidates == (("1", "one"), ("2", "two"))
    (back,) = graph.links(db, "1", OWN, direction=Direction.BACK)[0]
    assert (back.id, back.state) == ("f", LinkState.AMBIGUOUS)


def test_a_stronger_handle_settles_it(filled: Fill) -> None:
    db = filled(
        note("from", "[[x]] [[y]]", id="f"),
        note("x", id="by-name"),
        note("other", id="by-alias", aliases=("x", "y")),
        note("y", id="archived", status=Status.ARCHIVED),
    )
    assert [link.id for link in forward(db, "f")] == ["by-name", "by-alias"]


def test_the_project_s_note_shadows_the_global_one(filled: Fill) -> None:
    db = filled(
        note("from", "[[slot]]", id="f"),
        note("slot", id="global"),
        note("slot", id="own", scope=WIDGETS),
        note("slot", id="foreign", scope=GADGETS),
    )
    assert forward(db, "f")[0].id == "own"
    assert forward(db, "f", Visibility())[0].id == "global"
    assert graph.links(db, "global", OWN, direction=Direction.BACK) == ([], 0)


@pytest.mark.parametrize("hidden", ["foreign", "withheld", "guess"])
def test_a_link_never_shows_what_may_not_be_seen(filled: Fill, hidden: str) -> None:
    db = filled(
        note("from", f"[[{hidden}]]", id="f"),
        note("foreign", "[[from]]", scope=GADGETS),
        damaged("withheld", "[[from]]", standing=Standing.WITHHELD),
        proposal("guess", "[[from]]"),
    )
    (link,) = forward(db, "f")
    assert (link.state, link.id, link.candidates) == (LinkState.UNRESOLVED, None, ())
    assert graph.links(db, "f", OWN, direction=Direction.BACK) == ([], 0)
    assert graph.links(db, "id-" + hidden, Visibility()) == ([], 0)


def test_the_owner_sees_each_project_s_links_stay_in_it(filled: Fill) -> None:
    db = filled(
        note("from", "[[slot]]", id="f", scope=GADGETS),
        note("slot", id="own", scope=WIDGETS),
        note("slot", id="theirs", scope=GADGETS),
    )
    assert forward(db, "f", Visibility(everything=True))[0].id == "theirs"


def test_relations_are_kept_and_filter(filled: Fill) -> None:
    db = filled(note("from", "depends_on:: [[a]]\n\nAnd [[b]].\n", id="f"), note("a"), note("b"))
    assert [link.relation for link in forward(db, "f")] == ["depends_on", None]
    found, total = graph.links(db, "f", OWN, relation="Depends_On")
    assert ([link.name for link in found], total) == (["a"], 1)


def test_both_directions_come_in_pages(filled: Fill) -> None:
    db = filled(
        note("hub", "[[n1]] [[n2]] [[n3]]", id="h"),
        *(note(f"n{n}", "[[hub]]") for n in range(1, 5)),
    )
    whole, total = graph.links(db, "h", OWN)
    assert (len(whole), total) == (7, 7)
    assert [link.direction for link in whole] == [Direction.FORWARD] * 3 + [Direction.BACK] * 4
    pages = [graph.links(db, "h", OWN, limit=3, offset=offset)[0] for offset in (0, 3, 6)]
    assert [link for page in pages for link in page] == whole


def test_every_link_to_a_note_counts_also_those_from_one_note(filled: Fill) -> None:
    db = filled(note("a", "[[b]]"), note("b", id="b"), note("c", "[[b]] [[b#part]]"))
    found, total = graph.links(db, "b", OWN, direction=Direction.BACK)
    assert ([link.name for link in found], total) == (["a", "c", "c"], 3)
