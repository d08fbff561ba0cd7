from __future__ import annotations

import pytest

from keepm.index import catalog
from keepm.index.writing import Batch, apply
from keepm.model.document import Finding, Standing
from keepm.model.handoff import HandoffStatus
from keepm.model.memory import GLOBAL, Kind, Status, Visibility
from keepm.model.proposal import ProposalStatus
from tests.index.building import GADGETS, WIDGETS, damaged, handoff, note, proposal, skipped
from tests.index.conftest import Fill

OWN = Visibility("widgets")
OWNER = Visibility(everything=True)


# ---- by handle -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "identifier", ["id-1", "ID_1", " Package  Manager", "packager", "PACKAGER"]
)
def test_a_note_is_found_by_id_name_or_alias(filled: Fill, identifier: str) -> None:
    db = filled(note("package-manager", id="id-1", aliases=("Packager",)), note("other"))
    assert [row.name for row in catalog.find(db, identifier, OWN)] == ["package-manager"]


@pytest.mark.parametrize("identifier", ["", "  ", "-", "absent", "\x00", "\ud800", "x" * 9999])
def test_what_names_nothing_finds_nothing(filled: Fill, identifier: str) -> None:
    assert catalog.find(filled(note("one")), identifier, OWN) == []


def test_all_notes_of_a_name_come_the_likeliest_first(filled: Fill) -> None:
    db = filled(
        note("ports", "archived", scope=WIDGETS, status=Status.ARCHIVED),
        note("other", "alias", scope=WIDGETS, aliases=("ports",)),
        note("ports", "global"),
        note("ports", "own", scope=WIDGETS, path="Memory/projects/widgets/p.md"),
        note("ports", "foreign", scope=GADGETS),
    )
    found = [row.body for row in catalog.find(db, "Ports", OWN)]
    assert found == ["own", "alias", "global", "archived"]
    assert [row.body for row in catalog.find(db, "ports", Visibility())] == ["global"]
    assert len(catalog.find(db, "ports", OWNER)) == 5


def test_two_files_with_one_id_are_both_found(filled: Fill) -> None:
    db = filled(note("one", id="same"), note("two", id="same"))
    assert [row.name for row in catalog.find(db, "same", OWN)] == ["one", "two"]


@pytest.mark.parametrize("standing", [Standing.DAMAGED, Standing.WITHHELD])
def test_a_note_without_metadata_is_found_by_its_file(filled: Fill, standing: Standing) -> None:
    db = filled(damaged("Broken Note", "text", standing=standing))
    (row,) = catalog.find(db, "broken-note", OWN)
    assert (row.standing, row.body) == (standing, "text")


def test_a_sound_note_is_not_found_by_its_file(filled: Fill) -> None:
    db = filled(note("name", path="Memory/global/file.md"))
    assert catalog.find(db, "file", OWN) == []


def test_symbols_tell_slots_apart(filled: Fill) -> None:
    db = filled(note("C++"), note("C#"), note("C"))
    for name in ("C++", "C#", "C"):
        assert [row.name for row in catalog.find(db, name.lower(), OWN)] == [name]


def test_a_slot_is_looked_up_in_exactly_its_scope(filled: Fill) -> None:
    db = filled(
        note("ports", status=Status.ARCHIVED, path="Memory/global/a.md"),
        note("Ports"),
        note("ports", scope=WIDGETS),
        note("other", aliases=("ports",)),
    )
    found = catalog.find_slot(db, "ports", GLOBAL)
    assert [row.status for row in found] == [Status.ACTIVE, Status.ARCHIVED]
    assert len(catalog.find_slot(db, "PORTS", WIDGETS)) == 1
    assert catalog.find_slot(db, "ports", GADGETS) == []


# ---- the catalog -----------------------------------------------------------------------------


def names(*args: object, **filters: object) -> list[str]:
    return [row.name for row in catalog.catalog(*args, **filters)[0]]  # type: ignore[arg-type]


def test_the_catalog_has_its_order(filled: Fill) -> None:
    db = filled(
        note("j unverified b", kind=Kind.FIX),
        note("i unverified a", kind=Kind.FIX),
        note("h", kind=Kind.FIX, verified_at="2026-01-01"),
        note("g", kind=Kind.FIX, verified_at="2026-02-01"),
        note("z", kind=Kind.CONSTRAINT),
        note("y", kind=Kind.REFERENCE, pinned=True),
        *(note(f"kind {kind}", kind=kind, pinned=True, verified_at="2026-01-01") for kind in Kind),
        damaged("x", "text"),
    )
    assert names(db, OWN) == [
        *(f"kind {kind}" for kind in Kind),
        *("y", "z", "g", "h", "i unverified a", "j unverified b", "x"),
    ]


def test_the_catalog_shows_visible_active_notes_once(filled: Fill) -> None:
    db = filled(
        note("slot", "global"),
        note("Slot", "own", scope=WIDGETS),
        note("foreign", scope=GADGETS),
        note("old", status=Status.SUPERSEDED),
        damaged("withheld", "text", standing=Standing.WITHHELD),
        proposal("guess"),
        handoff("task"),
    )
    assert names(db, OWN) == ["Slot"]
    assert names(db, Visibility()) == ["slot"]
    assert names(db, OWN, statuses=(Status.SUPERSEDED,)) == ["old"]
    assert names(db, OWN, kind=Kind.FIX) == []
    assert catalog.catalog(db, OWN)[0][0].body == ""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("src/app/main.py", ["file", "folder"]),
        ("./src/app/main.py", ["file", "folder"]),
        ("src\\app\\main.py", ["file", "folder"]),
        ("SRC/App/Main.py", ["file", "folder"]),
        ("src/app/main.py#function", ["file", "folder"]),
        ("src/app", ["file", "folder"]),
        ("src/app/", ["file", "folder"]),
        ("src", ["file", "folder"]),
        ("src/app/other.py", ["folder"]),
        ("src/application.py", []),
        ("src/app/main.py.bak", ["folder"]),
        ("main.py", ["file"]),
        ("ain.py", []),
        ("main", []),
        ("docs/数据.md", ["chinese"]),
        (".", ["chinese", "file", "folder"]),
        ("", ["chinese", "file", "folder"]),
    ],
)
def test_a_path_leads_to_the_notes_that_cover_it(
    filled: Fill, asked: str, expected: list[str]
) -> None:
    db = filled(
        note("file", sources=("src/app/main.py#function", "src/app/main.py#L10-20")),
        note("folder", sources=("./src/app/",)),
        note("chinese", sources=("docs/数据.md",)),
        note("none"),
        note("foreign", scope=GADGETS, sources=("src/app/main.py",)),
    )
    assert names(db, OWN, source_path=asked) == expected


# ---- counts ----------------------------------------------------------------------------------


def test_only_what_is_visible_is_counted(filled: Fill) -> None:
    wrong = (Finding("scope_mismatch", "The folder decides."),)
    db = filled(
        note("a"),
        note("b", scope=WIDGETS, findings=wrong),
        note("c", scope=GADGETS, findings=wrong),
        note("d", status=Status.ARCHIVED),
        note("e", status=Status.SUPERSEDED),
        damaged("f", "x"),
        damaged("g", "x", scope=GADGETS, standing=Standing.WITHHELD),
        proposal("h"),
        proposal("i", status=ProposalStatus.REJECTED),
        handoff("j"),
        handoff("k", scope=GADGETS),
    )
    broken = ("Memory/global/l.md", "Memory/projects/gadgets/m.md")
    apply(db, Batch(skipped=tuple(skipped(path) for path in broken)))
    assert catalog.counts(db, OWN) == catalog.Counts(
        active=2,
        superseded=1,
        archived=1,
        damaged=1,
        withheld=0,
        pending_proposals=1,
        active_handoffs=1,
        skipped_files=1,
    )
    assert catalog.problem_count(db, OWN) == 3
    assert catalog.problem_count(db, Visibility("gadgets")) == 5
    assert catalog.problem_count(db, OWNER) == 6
    assert broken[0] in catalog.problem_paths(db, OWN, limit=10)
    assert broken[1] not in catalog.problem_paths(db, OWN, limit=10)
    assert len(catalog.problem_paths(db, OWNER, limit=10)) == 6
    assert len(catalog.problem_paths(db, OWNER, limit=2)) == 2


def test_a_folder_that_is_left_out_is_counted_for_those_whose_notes_it_hides(
    filled: Fill,
) -> None:
    db = filled(note("a"))
    for path in ("Memory/Inbox/pending", "Memory/projects/gadgets", "Memory/projects/widgets/sub"):
        apply(db, Batch(skipped=(skipped(path),)))

    assert catalog.problem_paths(db, OWN, limit=10) == [
        "Memory/Inbox/pending",
        "Memory/projects/widgets/sub",
    ]
    assert catalog.problem_count(db, OWN) == 2


# ---- proposals and handoffs ------------------------------------------------------------------


def test_proposals_are_listed_in_pages_and_found_by_id_or_name(filled: Fill) -> None:
    db = filled(
        *(proposal(f"idea {n}", created=f"2026-01-0{n}T00:00:00Z") for n in range(1, 6)),
        proposal("own", scope=WIDGETS, kind=Kind.FIX),
        proposal("foreign", scope=GADGETS),
        proposal("done", status=ProposalStatus.PROMOTED),
    )
    page, total = catalog.proposals(db, OWN, limit=2, offset=2)
    assert ([row.name for row in page], total) == (["idea 2", "idea 3"], 6)
    assert catalog.proposals(db, OWN, scope="project")[1] == 1
    assert catalog.proposals(db, OWN, kind=Kind.FIX)[1] == 1
    assert [r.name for r in catalog.proposals(db, OWN, status=ProposalStatus.PROMOTED)[0]] == [
        "done"
    ]
    assert [row.id for row in catalog.find_proposals(db, "IDEA-3", OWN)] == ["pr-idea 3"]
    assert [row.name for row in catalog.find_proposals(db, "pr-own", OWN)] == ["own"]
    assert catalog.find_proposals(db, "foreign", OWN) == []
    assert catalog.find(db, "pr-own", OWN) == []


def test_the_handoff_written_last_comes_first(filled: Fill) -> None:
    db = filled(
        handoff("older", updated="2026-01-01T00:00:00Z"),
        handoff("newer", updated="2026-01-02T00:00:00Z"),
        handoff("done", updated="2026-01-03T00:00:00Z", status=HandoffStatus.COMPLETED),
        handoff("foreign", scope=GADGETS, updated="2026-01-04T00:00:00Z"),
    )
    assert [row.title for row in catalog.handoffs(db, OWN)] == ["newer", "older"]
    assert [row.title for row in catalog.handoffs(db, OWN, status=HandoffStatus.COMPLETED)] == [
        "done"
    ]
    assert len(catalog.handoffs(db, OWN, status=None)) == 3
    assert [row.id for row in catalog.find_handoffs(db, "Older", OWN)] == ["ho-older"]
    assert [row.title for row in catalog.find_handoffs(db, "ho-newer", OWN)] == ["newer"]
    assert catalog.find_handoffs(db, "foreign", OWN) == []
