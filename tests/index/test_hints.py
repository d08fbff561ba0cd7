from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from keepm.index import hints
from keepm.index.database import Database
from keepm.index.hints import ConflictHint
from keepm.index.writing import Batch, Entry, apply, rebuild
from keepm.model.document import Standing
from keepm.model.memory import GLOBAL, Kind, Scope, Status, Visibility
from tests.index.building import GADGETS, WIDGETS, damaged, note
from tests.index.conftest import Fill

OWN = Visibility("widgets")
UNRELATED = Path(__file__).parent.parent / "corpora/unrelated/notes.toml"


def around(db: Database, *entries: Entry, limit: int = 20) -> list[ConflictHint]:
    return hints.around(db, [entry.file.path for entry in entries], OWN, limit=limit)


def told(db: Database, *entries: Entry) -> list[tuple[str, str, str, str]]:
    return [(h.kind, h.a[1], h.b[1], h.detail) for h in around(db, *entries)]


def stating(name: str, *values: str, text: str = "", **fields: object) -> Entry:
    """A note with a list of reproducible parameters."""
    items = "\n".join(f"- {value}" for value in values)
    decided = text or f"What holds for {name}."
    body = f"## Decision and constraints\n\n{decided}\n\n## Reproducible parameters\n\n{items}\n"
    return note(name, body, **{"kind": Kind.DECISION, **fields})  # type: ignore[arg-type]


def unrelated(scope: Scope = GLOBAL) -> list[Entry]:
    return [
        stating(
            each["name"],
            *each["parameters"],
            text=each["description"],
            kind=Kind(each["kind"]),
            description=each["description"],
            tags=tuple(each.get("tags", ())),
            scope=scope,
        )
        for each in tomllib.loads(UNRELATED.read_text("utf-8"))["note"]
    ]


# ---- names -----------------------------------------------------------------------------------


def test_notes_that_answer_to_one_name_in_one_scope_are_hinted_at(filled: Fill) -> None:
    one = note("ports", id="1", path="Memory/global/1.md")
    two = note("Ports", id="2", path="Memory/global/2.md")
    other = note("other", id="3", aliases=("ports",))
    db = filled(one, two, other)
    found = around(db, one, two, other)
    assert [(hint.kind, hint.a[0], hint.b[0]) for hint in found] == [
        ("name", "1", "2"),
        ("alias", "1", "3"),
        ("alias", "2", "3"),
    ]
    assert len(around(db, one, two, limit=2)) == 2


@pytest.mark.parametrize(("scope", "status"), [(WIDGETS, Status.ACTIVE), (GLOBAL, Status.ARCHIVED)])
def test_shadowing_and_retired_notes_are_no_conflict(
    filled: Fill, scope: Scope, status: Status
) -> None:
    one = note("ports")
    two = note("Ports", scope=scope, status=status, path=f"Memory/{status}.md")
    assert told(filled(one, two), one, two) == []


def test_another_project_s_conflicts_are_not_shown(filled: Fill) -> None:
    one = note("a", scope=GADGETS, aliases=("x",))
    two = note("b", scope=GADGETS, aliases=("x",))
    db = filled(one, two)
    paths = [one.file.path, two.file.path]
    assert hints.around(db, paths, OWN, limit=9) == []
    assert len(hints.around(db, paths, Visibility("gadgets"), limit=9)) == 1


# ---- values ----------------------------------------------------------------------------------


def test_two_values_of_one_parameter_of_one_matter_are_hinted_at(filled: Fill) -> None:
    one = stating("console-port", "port: 9721", "host: localhost")
    two = stating("listener", "Port = `8080`", "host: localhost", tags=("console",))
    db = filled(one, two, *unrelated())
    assert told(db, one) == [("value", "console-port", "listener", "port: 9721 / 8080")]
    assert told(db, two) == [("value", "listener", "console-port", "port: 8080 / 9721")]


def test_the_same_text_with_another_value_is_hinted_at(filled: Fill) -> None:
    text = "The console listens there, because the proxy expects it."
    one, two = stating("alpha", "port 9721", text=text), stating("beta", "port 8080", text=text)
    db = filled(one, two, *unrelated())
    assert told(db, one) == [("value", "alpha", "beta", "port: 9721 / 8080")]


def test_notes_on_one_file_that_state_two_values_are_hinted_at(filled: Fill) -> None:
    one = stating("alpha", "端口：9721", sources=("deploy/gateway.yml#a",))
    two = stating("beta", "端口：8080", sources=("deploy/gateway.yml",))
    assert told(filled(one, two, *unrelated()), one)[0][0] == "value"


@pytest.mark.parametrize(
    "other",
    [
        stating("console proxy", "port: 9721"),
        stating("console proxy", "Port: **9721** (fixed)."),
        stating("console proxy", "timeout: 8080"),
        stating("console proxy", "port: 8080", scope=WIDGETS),
        stating("console proxy", "port: 8080", status=Status.ARCHIVED),
        stating("console proxy", "port: 8080", status=Status.SUPERSEDED),
        stating("console proxy", "port: 8080", "port: 8081"),
        note("console proxy", "- port: 8080"),
        damaged("console proxy", "## Reproducible parameters\n\n- port: 8080"),
        damaged("console proxy", "- port: 8080", standing=Standing.WITHHELD),
    ],
    ids=lambda entry: repr(entry.rows)[:40],
)
def test_what_states_no_other_value_is_no_conflict(filled: Fill, other: Entry) -> None:
    one = stating("console-listener", "port: 9721")
    control = stating("console", "port: 8080")
    db = filled(one, other, *unrelated())
    assert [kind for kind, *_ in told(db, one)] in ([], ["topic"])
    filled(control)
    assert ("value", "console-listener", "console", "port: 9721 / 8080") in told(db, one)


def test_a_name_that_many_notes_give_a_value_tells_nothing(filled: Fill) -> None:
    many = [stating(f"gizmo {n}", f"size: {n}", sources=("x/gizmo.yml",)) for n in range(40)]
    assert told(filled(*many), *many[:5]) == []
    few = Batch(tuple(many[:3]))
    rebuild(filled(), [few])
    assert {kind for kind, *_ in told(filled(), *many[:3])} == {"value"}


# ---- topics ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two", "detail"),
    [
        (
            note("project-bundler-choice", kind=Kind.DECISION, description="Why esbuild bundles."),
            note("bundler-esbuild", kind=Kind.DECISION, description="The bundler: esbuild."),
            "bundler esbuild",
        ),
        (
            note("灰度发布比例", kind=Kind.CONSTRAINT),
            note("项目灰度发布比例调整", kind=Kind.CONSTRAINT),
            "发布 比例 灰度",
        ),
    ],
)
def test_notes_of_one_kind_on_one_topic_are_hinted_at(
    filled: Fill, one: Entry, two: Entry, detail: str
) -> None:
    ((kind, _, _, said),) = told(filled(one, two, *unrelated()), one)
    assert kind == "topic"
    assert set(detail.split()) <= set(said.split())


def test_notes_of_different_kinds_may_share_a_topic(filled: Fill) -> None:
    one = note("bundler-esbuild", kind=Kind.DECISION)
    db = filled(one, note("esbuild bundler", kind=Kind.WORKFLOW), *unrelated())
    assert told(db, one) == []
    filled(note("esbuild as bundler", kind=Kind.DECISION))
    assert [kind for kind, *_ in told(db, one)] == ["topic"]


def test_common_words_make_no_topic(filled: Fill) -> None:
    """Fault 69: hints counted stop words and templated text."""
    many = [
        note(
            f"how to retry the {name} service",
            "Retry with a pause, as all services do.",
            kind=Kind.WORKFLOW,
            description=f"How and when to retry what the {name} service refused",
        )
        for name in ("catalog", "billing", "search", "mail", "login", "export", "import", "audit")
    ]
    db = filled(*many, *unrelated())
    for each in many:
        assert told(db, each) == []


# ---- noise -----------------------------------------------------------------------------------


def test_a_vault_of_unrelated_notes_gives_no_hint(filled: Fill) -> None:
    notes = unrelated()
    db = filled(*notes)
    assert [hint for each in notes for hint in told(db, each)] == []


def test_few_unrelated_notes_give_no_hint_either(filled: Fill) -> None:
    notes = unrelated()
    for count in (2, 3, 5, 9):
        for start in range(len(notes) - count):
            some = notes[start : start + count]
            rebuild(filled(), [Batch(tuple(some))])
            assert told(filled(), *some) == [], [each.file.path for each in some]


def test_a_pair_is_named_once_by_its_strongest_hint_and_always_alike(filled: Fill) -> None:
    one = stating("gateway-listener", "port: 1", id="1")
    two = stating("listener-gateway", "port: 2", id="2", aliases=("gateway_listener",))
    db = filled(one, two, *unrelated())
    first = around(db, one, two)
    assert [(hint.kind, hint.a[0], hint.b[0]) for hint in first] == [("alias", "1", "2")]
    apply(db, Batch((one,)))
    assert around(db, one, two) == first
