from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepm.index import search as index_search
from keepm.index.database import Database
from keepm.index.hits import Hit
from keepm.index.search import Query, SearchResult, search
from keepm.index.writing import Batch, Entry, apply
from keepm.model.document import Standing
from keepm.model.memory import GLOBAL, Kind, Language, Scope, Status, Visibility
from tests import strategies  # noqa: F401 (its profile: no deadlines)
from tests.index.building import GADGETS, WIDGETS, damaged, handoff, note, proposal
from tests.index.conftest import Fill

CASES = Path(__file__).parent.parent / "cases"
OWN = Visibility("widgets")


def look(db: Database, text: str, visibility: Visibility = OWN) -> SearchResult:
    return search(db, Query(text, visibility))


def names(result: SearchResult) -> list[str]:
    return [hit.note.name for hit in result.hits]


def from_case(path: Path) -> Entry:
    """Read a case's note: its `title` is our `name`."""
    _, front, body = path.read_text("utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    return note(fields["title"], body, id=fields["id"])


# ---- any string is a legal query -------------------------------------------------------------

FOUND = (
    *("pre-edit", "gpt-4o", "src/main.py", "C++", "rm -rf", "GB/s", "CLAUDE.md", "it's"),
    *("session-rec", "database migration", "50%", "e=mc2", "@team #tag"),
)
NO_WORDS = ("", "   ", "*", "\\", "\x00")


def test_no_query_of_the_table_raises_and_the_listed_ones_find_their_note(filled: Fill) -> None:
    db = filled(from_case(CASES / "40-query-table/notes/q.md"), note("other", "Unrelated."))
    for query in json.loads((CASES / "40-query-table/queries.json").read_text("utf-8")):
        result = look(db, query)
        if query in FOUND:
            assert result.hits[0].note.id == "mem-4001", query
        if query in NO_WORDS:
            assert (result.total, result.used_terms) == (0, False), query
    assert set(FOUND) < set(json.loads((CASES / "40-query-table/queries.json").read_text("utf-8")))
    assert look(db, "C#").total == 0


def test_queries_in_every_script_find_exactly_their_notes(filled: Fill) -> None:
    case = CASES / "41-cjk"
    db = filled(*(from_case(path) for path in sorted(case.glob("*.md"))))
    for query, expected in json.loads((case / "queries.json").read_text("utf-8")).items():
        result = look(db, query)
        assert [hit.note.id for hit in result.hits] == expected, query
        assert result.searched == 5


def test_a_single_character_is_found_wherever_it_stands(filled: Fill) -> None:
    db = filled(note("plan", "今天讨论了部署"), note("other", "别的"))
    for character in "今论署":
        assert names(look(db, character)) == ["plan"]


@pytest.mark.parametrize("query", ["\x00", "\ud800", "a\x00b", "x" * 10_000, "部" * 10_000])
def test_extreme_strings_are_queries_like_others(filled: Fill, query: str) -> None:
    assert look(filled(note("one")), query).total == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(['"', "AND", "OR", "NOT", "NEAR(", ")", "*", "^", ":", "-", "a"])
    ).map(" ".join)
)
def test_no_text_makes_a_search_fail(db: Database, text: str) -> None:
    result = search(db, Query(text, OWN))
    assert result.total == len(result.hits) == 0


# ---- what is found ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("migrations", "We migrate the schema."),
        ("http response", "See parseHTTPResponse there."),
        ("main.py", "It is in src/app/main.py now."),
        ("cafe", "The Café rule."),
        ("deploy the unheard-of thing", "Deploys happen on Monday."),
        ("端口", "数据库端口是多少"),
    ],
)
def test_words_find_their_other_forms(filled: Fill, query: str, text: str) -> None:
    db = filled(note("right", text), note("wrong", "Nothing to see."))
    assert names(look(db, query)) == ["right"]


def test_cpp_is_neither_c_nor_c_sharp(filled: Fill) -> None:
    db = filled(
        note("one", "In C++ only."), note("two", "In C# only."), note("three", "In C only.")
    )
    assert names(look(db, "C++")) == ["one"]
    assert names(look(db, "C#")) == ["two"]
    assert names(look(db, "C")) == ["three"]


def test_stop_words_alone_still_find_something(filled: Fill) -> None:
    assert names(look(filled(note("one", "To be or not to be.")), "to be")) == ["one"]


def test_a_source_pointer_is_found(filled: Fill) -> None:
    db = filled(note("ports", "Values.", sources=("deploy/compose.yml#db",)), note("other"))
    assert names(look(db, "deploy/compose.yml")) == ["ports"]


def test_a_damaged_note_is_found_by_its_text(filled: Fill) -> None:
    db = filled(damaged("broken", "---\nname: [\n---\nThe watermelon rule."))
    (hit,) = look(db, "watermelon").hits
    assert (hit.note.kind, hit.note.standing) == (None, Standing.DAMAGED)
    assert "watermelon" in hit.snippet


# ---- what is never found ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "hidden",
    [
        note("canary", "A canary.", scope=GADGETS),
        note("canary", "A canary.", status=Status.ARCHIVED),
        note("canary", "A canary.", status=Status.SUPERSEDED),
        damaged("canary", "A canary.", standing=Standing.WITHHELD),
        proposal("canary", "A canary."),
        handoff("canary", goal="A canary."),
    ],
    ids=lambda entry: entry.file.path,
)
def test_only_visible_active_memory_is_found(filled: Fill, hidden: Entry) -> None:
    db = filled(hidden)
    assert look(db, "canary").total == 0
    filled(note("control", "A canary."))
    assert names(look(db, "canary")) == ["control"]


def test_without_a_project_only_global_notes_are_found(filled: Fill) -> None:
    db = filled(note("one", "canary"), note("two", "canary", scope=WIDGETS))
    assert names(look(db, "canary", Visibility())) == ["one"]
    assert names(look(db, "canary", Visibility(everything=True))) == ["two", "one"]


def test_a_global_note_is_shadowed_by_the_project_s_note_of_its_slot(filled: Fill) -> None:
    db = filled(
        note("Package Manager", "Use npm."),
        note("package-manager", "Use pnpm.", scope=WIDGETS),
        note("package-manager", "Use yarn.", scope=GADGETS),
    )
    assert [hit.note.body for hit in look(db, "package manager use").hits] == ["Use pnpm."]
    assert [hit.note.body for hit in look(db, "package_manager").hits] == ["Use pnpm."]
    assert look(db, "npm", Visibility()).total == 1


def test_what_other_projects_say_changes_no_answer(filled: Fill) -> None:
    def answer(db: Database) -> tuple[object, ...]:
        result = look(db, "proxy deployments por")
        parts = [(h.note.name, h.band, h.coverage) for h in result.hits]
        return parts, result.weak_match, result.did_you_mean, result.total

    db = filled(
        note("proxy", "The port of the deployment.", scope=WIDGETS), note("other", "A harbour.")
    )
    alone = answer(db)
    filled(*(note(f"n{n}", "por proxy deployments dpeloyments", scope=GADGETS) for n in range(30)))
    assert answer(db) == alone


# ---- filters ---------------------------------------------------------------------------------


def test_filters_narrow_a_search(filled: Fill) -> None:
    db = filled(
        note("a", "word", scope=WIDGETS, kind=Kind.FIX, tags=("Docker", "db")),
        note("b", "word", language=Language.ZH, tags=("docker",)),
        note("c", "word", status=Status.ARCHIVED),
    )

    def found(**filters: object) -> list[str]:
        return sorted(names(search(db, Query("word", OWN, **filters))))  # type: ignore[arg-type]

    assert found() == ["a", "b"]
    assert found(scope="global") == ["b"]
    assert found(scope="project") == ["a"]
    assert found(kind=Kind.FIX) == ["a"]
    assert found(language=Language.ZH) == ["b"]
    assert found(tags=("docker",)) == ["a", "b"]
    assert found(tags=("docker", "db")) == ["a"]
    assert found(statuses=(Status.ARCHIVED,)) == ["c"]


# ---- order -----------------------------------------------------------------------------------


def test_an_exact_name_or_alias_comes_first(filled: Fill) -> None:
    db = filled(
        note("other", "port port port " * 20, tags=("port",), description="Port of port."),
        note("port", "Number."),
        note("gateway", "Number.", aliases=("the_port",)),
    )
    first: Hit = look(db, "Port").hits[0]
    assert (first.note.name, first.band) == ("port", "exact")
    assert look(db, "the port").hits[0].note.name == "gateway"
    assert [hit.band for hit in look(db, "port").hits] == ["exact", "lexical", "lexical"]


def test_a_name_weighs_more_than_a_body(filled: Fill) -> None:
    db = filled(
        note("build notes", "On the proxy and other things."),
        note("proxy setup", "On the build and other things."),
    )
    assert names(look(db, "proxy")) == ["proxy setup", "build notes"]


def test_equal_notes_come_project_first_then_by_name(filled: Fill) -> None:
    db = filled(
        note("item b", "same"),
        note("item a", "same"),
        note("item d", "same", scope=WIDGETS),
        note("item c", "same", scope=WIDGETS),
    )
    assert names(look(db, "same")) == ["item c", "item d", "item a", "item b"]


def test_pages_follow_each_other_without_gap_or_repeat(filled: Fill) -> None:
    db = filled(note("word", "x"), *(note(f"n{n:02}", "word " * (n + 1)) for n in range(12)))
    whole = names(search(db, Query("word", OWN, limit=50)))
    pages = [
        name
        for offset in range(0, 15, 5)
        for name in names(search(db, Query("word", OWN, limit=5, offset=offset)))
    ]
    assert pages == whole
    assert whole[0] == "word"
    assert {search(db, Query("word", OWN, limit=5, offset=o)).total for o in (0, 5, 12, 99)} == {13}


def test_a_hit_explains_itself(filled: Fill) -> None:
    db = filled(note("proxy port", "The port is 9721."), note("x", "Nothing."))
    (hit,) = search(db, Query("proxy port 9721 unheard", OWN, explain=True)).hits
    assert hit.score == 100
    assert sum(hit.field_scores.values()) == pytest.approx(100, abs=0.2)
    assert set(hit.field_scores) == {"name", "body"}
    assert hit.field_scores["name"] > hit.field_scores["body"]
    assert 0 < hit.coverage < 1


def test_an_answer_that_holds_little_of_the_query_is_called_weak(filled: Fill) -> None:
    db = filled(note("proxy", "The port of it."), *(note(f"n{n}", "port") for n in range(5)))
    assert look(db, "port astronomy breakfast").weak_match
    assert not look(db, "port of the proxy").weak_match
    assert not look(db, "astronomy").weak_match  # nothing found is no match at all


def test_a_snippet_keeps_wiki_links_as_they_are(filled: Fill) -> None:
    db = filled(note("one", "See [[alpha-beta]] for it."))
    assert look(db, "alpha").hits[0].snippet == "See [[alpha-beta]] for it."


def test_the_index_can_be_asked_while_a_batch_is_being_written(filled: Fill) -> None:
    db = filled(note("before", "word"))
    with db.writing():
        assert names(look(db, "word")) == ["before"]
    apply(db, Batch((note("after", "word"),)))
    assert names(look(db, "word")) == ["after", "before"]


@pytest.mark.parametrize("scope", [GLOBAL, WIDGETS, Scope("项目")])
def test_a_scope_comes_back_as_it_was_given(filled: Fill, scope: Scope) -> None:
    db = filled(note("one", "word", scope=scope))
    (hit,) = look(db, "word", Visibility(scope.project_id)).hits
    assert hit.note.scope == scope


def test_a_common_beginning_of_a_word_finds_nothing_beside_a_known_word(
    filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Looking up each word that begins so is what takes long in a large vault.
    db = filled(note("proxy", "The port."), *(note(f"n{n}", "server") for n in range(9)))
    assert look(db, "port serv").total == 10

    monkeypatch.setattr(index_search, "_LEAD_ROWS", 8)
    assert names(look(db, "port serv")) == ["proxy"]
    assert look(db, "serv").total == 9


@pytest.mark.parametrize(
    ("filler", "telling", "text"),
    [
        ("please look at the thing number{n} that came up", "flywheel", "The flywheel turns."),
        ("先看第{n}条，再看别的编号{n}甲乙丙丁", "飞轮", "飞轮在转。"),
    ],
)
def test_a_long_query_is_not_cut_before_its_telling_word(
    filled: Fill, filler: str, telling: str, text: str
) -> None:
    """Fault 37's relative: only the first words of a long task counted."""
    lines = [filler.format(n=n) for n in range(60)]
    db = filled(
        note("gold", text),
        *(note(f"n{n}", f"{lines[n]} and more of it") for n in range(0, 60, 2)),
    )

    found = search(db, Query(f"{' '.join(lines)[:1900]} {telling}", OWN, limit=100))

    assert names(found)[0] == "gold"
