from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepm.errors import IndexUnavailable
from keepm.index import frequencies, hints, likeness, mentions
from keepm.index.catalog import note_by_path
from keepm.index.database import Database
from keepm.index.schema import TABLES
from keepm.index.search import Query, search
from keepm.index.writing import Batch, Entry, apply, files, rebuild
from keepm.model.document import Standing
from keepm.model.memory import GLOBAL, Kind, Language, Status, Visibility
from tests import strategies  # noqa: F401 (its profile: no deadlines)
from tests.index.building import GADGETS, WIDGETS, damaged, handoff, note, proposal, skipped
from tests.index.conftest import Fill


def contents(db: Database) -> dict[str, list[Any]]:
    """Everything that the index holds, in no order, with paths for its numbers."""
    tables: dict[str, list[Any]] = {}
    with db.reading() as connection:
        paths = dict(connection.execute("SELECT number, path FROM all_notes").fetchall())
        for table in TABLES:
            if table.startswith("terms_"):
                continue
            number = "rowid AS number, " if table == "terms" else ""
            found = connection.execute(f"SELECT {number}* FROM {table}")
            names = [column[0] for column in found.description]
            at = names.index("number") if "number" in names else None
            tables[table] = [
                row if at is None else (*row[:at], paths[row[at]], *row[at + 1 :]) for row in found
            ]
    tables["meta"] = [row for row in tables["meta"] if row[0] != "made"]
    _add_up(tables)
    return {name: sorted(rows, key=repr) for name, rows in tables.items()}


def _add_up(tables: dict[str, list[Any]]) -> None:
    """Put the rows of the last writes to the others, as readers see them."""
    tables["likenesses"] += tables.pop("recent_likenesses")
    counts: Counter[tuple[str, str]] = Counter()
    scopes = dict(tables.pop("scopes"))
    for scope, term, count in tables["frequencies"] + tables.pop("recent_frequencies"):
        counts[scopes[scope], term] += count
    tables["frequencies"] = [(*of, count) for of, count in counts.items() if count]


def told(db: Database) -> list[Any]:
    """What an index answers, with what could hang on the order in which it was filled."""
    sight = Visibility("widgets")
    paths = sorted(path for path in files(db))
    answers: list[Any] = []
    for text in ("alpha", "plain wrds port", "gama", "部署", "Gamma Ray"):
        result = search(db, Query(text, sight))
        answers += [[hit.note.path for hit in result.hits], result.weak_match, result.did_you_mean]
        answers.append([row.path for row in mentions.find(db, text, sight, limit=9)])
    return answers + [hints.around(db, [path], sight, limit=9) for path in paths]


# ---- incremental = rebuilt -------------------------------------------------------------------

_NAMES = st.sampled_from(["alpha", "beta", "Gamma Ray", "数据库", "c++"])
_BODIES = st.sampled_from(
    [
        "plain words",
        "see [[alpha]] and [[x/beta|b]]",
        "部署方案 in src/main.py, or Gamma Ray",
        "the the the",
        "## Reproducible parameters\n\n- port: 9721\n- 端口：1",
        "## Reproducible parameters\n\n- port: 8080",
    ]
)
_SCOPES = st.sampled_from([GLOBAL, WIDGETS, GADGETS])
_ENTRIES = st.one_of(
    st.builds(
        note,
        _NAMES,
        _BODIES,
        scope=_SCOPES,
        status=st.sampled_from(Status),
        tags=st.sampled_from([(), ("one",), ("one", "Two")]),
        aliases=st.sampled_from([(), ("alpha",), ("阿尔法", "al-pha")]),
        sources=st.sampled_from([(), ("src/main.py#x", "src/main.py#y"), ("docs",)]),
        id=st.sampled_from(["", "same-id"]),
        kind=st.sampled_from([Kind.REFERENCE, Kind.DECISION]),
        supersedes=st.sampled_from([(), ("same-id",)]),
    ),
    st.builds(
        damaged, _NAMES, _BODIES, scope=_SCOPES, standing=st.sampled_from(list(Standing)[1:])
    ),
    st.builds(proposal, _NAMES, _BODIES, scope=_SCOPES),
    st.builds(handoff, _NAMES, scope=st.sampled_from([WIDGETS, GADGETS])),
)
_STEP = st.tuples(st.lists(_ENTRIES, max_size=4), st.lists(st.integers(0, 9), max_size=2))


@settings(max_examples=25)
@given(st.lists(_STEP, max_size=5), st.sampled_from([1, 12, 1000]))
def test_an_index_grown_step_by_step_equals_one_built_at_once(
    steps: list[tuple[list[Entry], list[int]]], most_recent: int
) -> None:
    """However many rows of the last writes may wait in tables of their own."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        for module in (frequencies, likeness):
            patched.setattr(module, "_MOST_RECENT", most_recent)
        grown = Database.open(Path(folder, "grown"), vault_id="v")
        built = Database.open(Path(folder, "built"), vault_id="v")
        present: dict[str, Entry] = {}
        for entries, positions in steps:
            gone = tuple({p: None for n, p in enumerate(present) if n in positions})
            batch = {entry.file.path: entry for entry in entries}
            apply(grown, Batch(tuple(batch.values()), removed=gone))
            for path in gone:
                del present[path]
            present.update(batch)
        rebuild(built, (Batch((entry,)) for entry in present.values()))
        assert contents(grown) == contents(built)
        assert told(grown) == told(built)
        grown.check()
        grown.close()
        built.close()


def test_a_rebuild_forgets_what_it_was_not_told(filled: Fill) -> None:
    db = filled(note("kept"), note("gone"), proposal("gone"), handoff("gone"))
    apply(db, Batch(skipped=(skipped("Memory/global/gone.pdf.md"),)))
    rebuild(db, iter([Batch((note("kept"),))]))
    assert set(files(db)) == {"Memory/global/kept.md"}
    assert {name: len(rows) for name, rows in contents(db).items()}["all_notes"] == 1
    db.check()


def test_a_rebuild_answers_from_what_is_there_meanwhile(filled: Fill) -> None:
    db = filled(note("old", "word"))
    seen: list[int] = []

    def batches() -> Iterable[Batch]:
        for n in range(3):
            yield Batch((note(f"new {n}", "word"),))
            seen.append(search(db, Query("word", Visibility())).total)

    rebuild(db, batches())
    assert seen == [2, 3, 4]
    assert search(db, Query("word", Visibility())).total == 3


# ---- one batch -------------------------------------------------------------------------------


def test_a_batch_that_fails_changes_nothing(filled: Fill) -> None:
    db = filled(note("one"))
    before = contents(db)
    twice = note("two")
    with pytest.raises(IndexUnavailable), db.writing() as connection:
        connection.execute("DELETE FROM all_notes")
        connection.execute("INSERT INTO files SELECT * FROM files")
    assert contents(db) == before
    apply(db, Batch((twice, twice)))  # the later entry of a path replaces the earlier
    assert len(contents(db)["all_notes"]) == 2


def test_an_entry_replaces_all_that_its_path_held(filled: Fill) -> None:
    path = "Memory/global/x.md"
    db = filled(note("old", "[[old link]]", path=path, aliases=("a",), sources=("s",)))
    apply(db, Batch((note("new", "new text", path=path),)))
    assert search(db, Query("old", Visibility())).total == 0
    found = contents(db)
    assert (found["links"], found["pointers"]) == ([], [])
    assert len(found["bodies"]) == 1


def test_a_moved_note_leaves_its_old_path_only_when_that_is_removed(filled: Fill) -> None:
    db = filled(note("x", id="one", path="Memory/global/old.md"))
    moved = note("x", id="one", path="Memory/global/new.md")
    apply(db, Batch((moved,)))
    assert len(contents(db)["all_notes"]) == 2
    apply(db, Batch((moved,), removed=("Memory/global/old.md",)))
    assert [row[0] for row in contents(db)["bodies"]] == ["Memory/global/new.md"]


def test_a_file_that_became_unreadable_is_no_note_any_more(filled: Fill) -> None:
    db = filled(note("x", "word"))
    apply(db, Batch(skipped=(skipped("Memory/global/x.md"),)))
    assert search(db, Query("word", Visibility())).total == 0
    assert files(db)["Memory/global/x.md"].reason == "too_large"


def test_files_come_back_as_they_were_given(db: Database) -> None:
    rows = (
        skipped("Memory/global/数据.md"),
        skipped("Memory/global/caf\udce9.md", "not_unicode"),
    )
    apply(db, Batch((note("x"),), skipped=rows))
    found = files(db)
    assert [found[row.path] for row in rows] == list(rows)
    assert found["Memory/global/x.md"] == note("x").file
    apply(db, Batch(removed=tuple(found)))
    assert files(db) == {}


def test_meta_is_kept_with_its_batch(db: Database) -> None:
    assert db.get_meta("scan") is None
    apply(db, Batch(meta={"scan": "1"}))
    apply(db, Batch(meta={"scan": "2"}))
    assert db.get_meta("scan") == "2"


def test_text_that_is_no_unicode_is_stored_all_the_same(filled: Fill) -> None:
    db = filled(note("lone", "half \ud800 of a pair", aliases=("\udfff",), tags=("\ud800t",)))
    row = note_by_path(db, "Memory/global/lone.md")
    assert row is not None
    assert row.body == "half ? of a pair"


def test_a_note_comes_back_as_it_was_given(filled: Fill) -> None:
    given: dict[str, Any] = {
        "name": "Über-Name",
        "body": "Body.\n",
        "kind": Kind.WORKFLOW,
        "scope": WIDGETS,
        "language": Language.ZH,
        "description": "Line.",
        "tags": ("a", "b"),
        "aliases": ("x, y",),
        "sources": ("a/b.py#L1",),
        "pinned": True,
        "verified_at": "2026-02-01",
        "supersedes": ("id-1",),
    }
    entry = note(**given)
    row = note_by_path(filled(entry), entry.file.path)
    assert row is not None
    assert {name: getattr(row, name) for name in given} == given
    assert (row.id, row.status) == (entry.id, Status.ACTIVE)
    assert row.checksum == entry.file.checksum
