"""Who holds a key: in one scope, as things stand now."""

from __future__ import annotations

from keepm.config.sameness import load_sameness
from keepm.index import likeness
from keepm.index.database import Database
from keepm.index.writing import Batch, apply
from keepm.model import similarity
from keepm.model.memory import GLOBAL, Claim, Kind, Scope, Status
from keepm.model.proposal import ProposalStatus
from tests.index.building import GADGETS, WIDGETS, damaged, note, proposal
from tests.index.conftest import Fill

RULES = load_sameness()


def met(db: Database, name: str, scope: Scope, *, with_proposals: bool = False) -> set[str]:
    """Return the paths of who is surely the same as a claim of this name."""
    claim = Claim(name, "d", Kind.REFERENCE, f"All about {name}.", scope=scope)
    keys = similarity.exact_keys(claim, RULES)
    found = likeness.holders(db, keys, scope, with_proposals=with_proposals)
    assert all(each.is_proposal == ("/Inbox/" in each.path) for each in found)
    return {each.path for each in found}


def test_only_the_very_scope_is_met(filled: Fill) -> None:
    db = filled(note("port", scope=WIDGETS), note("port", scope=GADGETS), note("port"))
    assert met(db, "port-new", WIDGETS) == {"Memory/projects/widgets/port.md"}
    assert met(db, "port-new", GLOBAL) == {"Memory/global/port.md"}
    assert met(db, "port-new", Scope("others")) == set()


def test_only_active_notes_that_can_be_read_are_met(filled: Fill) -> None:
    db = filled(
        note("one", status=Status.ARCHIVED),
        note("two", status=Status.SUPERSEDED),
        note("three", id="id-3"),
        note("four", supersedes=("id-3",)),
        damaged("five", "text"),
        note("six"),
    )
    names = ("one", "two", "three", "four", "five", "six")
    found = [name for name in names if met(db, f"{name} (new)", GLOBAL)]
    assert found == ["four", "six"]


def test_pending_proposals_are_met_where_asked_for(filled: Fill) -> None:
    waits = proposal("idea")
    db = filled(waits, proposal("done", status=ProposalStatus.REJECTED))
    assert met(db, "idea-2", GLOBAL) == set()
    assert met(db, "idea-2", GLOBAL, with_proposals=True) == {waits.file.path}
    assert met(db, "done-2", GLOBAL, with_proposals=True) == set()


def test_what_is_gone_or_changed_is_met_no_longer(filled: Fill) -> None:
    old, waits = note("port"), proposal("idea")
    db = filled(old, waits)
    apply(db, Batch((note("lock-file", path=old.file.path),), removed=(waits.file.path,)))
    assert met(db, "port-new", GLOBAL) == set()
    assert met(db, "lock-file-new", GLOBAL) == {old.file.path}
    assert met(db, "idea-2", GLOBAL, with_proposals=True) == set()


def test_a_look_costs_no_walk_through_the_scope(filled: Fill) -> None:
    """Left to itself the planner read every active note for each look."""
    db = filled(*(note(f"topic {number} of many") for number in range(300)))
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with db.reading() as connection:
        connection.set_progress_handler(count, 10)
    assert met(db, "topic 7 of many (new)", GLOBAL)
    with db.reading() as connection:
        connection.set_progress_handler(None, 0)
    assert 0 < steps < 60
