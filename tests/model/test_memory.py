from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from keepm import config
from keepm.errors import ContentRefused, ContractMissing, InvalidInput, LimitExceeded
from keepm.model import memory
from keepm.model.memory import GLOBAL, Claim, ClaimEdit, Kind, Scope, Visibility
from tests import strategies

POLICY = config.load_policy()
TODAY = "2026-11-29"
CLAIM = Claim("build-command", "How it is built", Kind.REFERENCE, "Run make.")


def check(claim: Claim) -> None:
    memory.check(claim, POLICY, today=TODAY)


def test_a_plain_claim_is_accepted() -> None:
    check(CLAIM)


@pytest.mark.parametrize(("field", "limit"), [("name", 120), ("description", 600), ("body", 16384)])
def test_a_text_passes_at_its_limit_and_not_above(field: str, limit: int) -> None:
    check(replace(CLAIM, **{field: "x" * limit}))  # type: ignore[arg-type]  # a text field
    with pytest.raises(LimitExceeded) as caught:
        check(replace(CLAIM, **{field: "x" * (limit + 1)}))  # type: ignore[arg-type]
    assert caught.value.problems[0].details["actual"] == limit + 1


@pytest.mark.parametrize(("field", "each"), [("tags", 48), ("aliases", 120), ("sources", 240)])
def test_a_list_passes_at_its_limits_and_not_above(field: str, each: int) -> None:
    twelve = tuple(f"{n:02}".ljust(each, "x") for n in range(12))
    check(replace(CLAIM, **{field: twelve}))  # type: ignore[arg-type]  # a list field
    for values in ((*twelve, "13"), ("x" * (each + 1),)):
        with pytest.raises(LimitExceeded):
            check(replace(CLAIM, **{field: values}))  # type: ignore[arg-type]


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        check(replace(CLAIM, name=" ", description="", body="\x00", sources=("/etc/passwd",)))
    fields = {problem.field for problem in caught.value.problems}
    assert fields == {"name", "description", "body", "sources[0]"}


def test_a_change_is_judged_by_what_it_changes() -> None:
    old = replace(CLAIM, kind=Kind.DECISION, description="", sources=("/etc/hosts",))

    def change(new: Claim) -> None:
        memory.check_change(old, new, POLICY, today=TODAY)

    change(replace(old, tags=("new",)))
    change(replace(old, verified_at=TODAY))
    for wrong in (
        replace(old, tags=("x" * 49,)),
        replace(old, body="Run cmake."),
        replace(old, kind=Kind.FIX),
        replace(old, sources=(*old.sources, "a.py")),
    ):
        with pytest.raises(InvalidInput):
            change(wrong)
    with pytest.raises(ContractMissing):
        change(replace(old, body="Run cmake."))


def test_control_characters_are_refused_in_every_text() -> None:
    for changed in (
        replace(CLAIM, name="a\x1bb"),
        replace(CLAIM, description="a\nb"),
        replace(CLAIM, body="\x00"),
        replace(CLAIM, tags=("a\x07",)),
        replace(CLAIM, aliases=("a\n",)),
        replace(CLAIM, sources=("a\x7f",)),
    ):
        with pytest.raises(ContentRefused):
            check(changed)


@pytest.mark.parametrize(
    "pointer",
    ["src/app.py", "./src/app.py#function", "src\\app.py#L10-20", "文档/说明.md", "a#b#c"],
)
def test_pointers_inside_the_repository_pass(pointer: str) -> None:
    assert not list(memory.pointer_problems("sources", pointer))


@pytest.mark.parametrize(
    "pointer",
    ["", "#hint", "/etc/passwd", "~/x", "C:\\x", "c:x", "https://x.y/z", "../x", "a/../../b",
     "a\\..\\b", "file:///x", "\\\\host\\share"],
)  # fmt: skip
def test_pointers_outside_are_refused(pointer: str) -> None:
    assert list(memory.pointer_problems("sources", pointer))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("2026-11-29", 0),
        ("2024-02-29", 0),
        ("2026-11-30", 1),
        ("2026-02-30", 1),
        ("2026-13-01", 1),
        ("2025-02-29", 1),
        ("29.11.2026", 1),
        ("0000-01-01", 1),
        ("２026-01-01", 1),
    ],
)
def test_dates_are_of_the_calendar_and_not_of_the_future(text: str, count: int) -> None:
    assert len(list(memory.date_problems("verified_at", text, today=TODAY))) == count


def test_what_is_absent_from_an_edit_stays_and_what_is_empty_clears() -> None:
    claim = replace(CLAIM, tags=("a",), verified_at=TODAY, pinned=True)
    assert memory.apply(claim, ClaimEdit()) == claim
    cleared = memory.apply(claim, ClaimEdit(tags=(), verified_at="", pinned=False))
    assert cleared == replace(claim, tags=(), verified_at=None, pinned=False)


def test_a_renamed_slot_keeps_its_old_name_as_an_alias() -> None:
    renamed = memory.apply(CLAIM, ClaimEdit(name="构建"))
    assert (renamed.name, renamed.aliases) == ("构建", ("build-command",))
    assert memory.apply(renamed, ClaimEdit(name="build command")).aliases == ("构建",)
    assert memory.apply(CLAIM, ClaimEdit(name="Build Command")).aliases == ()


@given(strategies.claims(GLOBAL))
def test_an_empty_edit_changes_nothing(claim: Claim) -> None:
    assert memory.apply(claim, ClaimEdit()) == claim


def test_twins_count_once() -> None:
    assert memory.distinct((" a ", "A", "", "b")) == ("a", "b")
    assert memory.distinct(("a", "A", "a"), fold=False) == ("a", "A")


@pytest.mark.parametrize(
    ("view", "scope", "seen"),
    [
        (Visibility(), GLOBAL, True),
        (Visibility(), Scope("a"), False),
        (Visibility("a"), GLOBAL, True),
        (Visibility("a"), Scope("a"), True),
        (Visibility("a"), Scope("b"), False),
        (Visibility(everything=True), Scope("b"), True),
    ],
)
def test_one_predicate_says_what_is_visible(view: Visibility, scope: Scope, seen: bool) -> None:
    assert view.sees(scope) is seen


def test_a_scope_survives_its_key() -> None:
    for scope in (GLOBAL, Scope("a")):
        assert Scope.from_key(scope.key) == scope
