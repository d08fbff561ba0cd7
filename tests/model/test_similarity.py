"""When two notes say the same: marks come off titles, and honest names stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.config.sameness import load_sameness
from keepm.model import similarity
from keepm.model.memory import Claim, Kind
from keepm.model.similarity import Sameness, nearness, title

CORPORA = Path(__file__).parents[1] / "corpora"
RULES = load_sameness()
EVASIONS = [
    tuple(line.split("\t"))
    for line in (CORPORA / "evasions.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
HONEST = (CORPORA / "honest-slots.txt").read_text("utf-8").splitlines()
MARKS = (
    *("2", "(1)", "[3]", "v2", "v1.2", "2.0", "2026-09-16", "20260916", "0916", "Sep 2026"),
    *("updated", "new", "final", "Final 2", "copy", "latest", "2026年9月16日", "9月16日", "#2"),
    *(
        "更新",
        "新",
        "（新）",
        "最终版",
        "副本",
        "新版",
        "临时",
        "第2版",
        "🚀",
        "!",
        "“",
        "【新】",
        "*",
    ),
)
END_MARKS = (*MARKS, "notes", "again", "addendum", "补充说明", "定稿", "II", "second")
BASES = (
    "project-package-manager",
    "C++",
    "postgres-14-upgrade",
    "项目包管理器",
    ".env file",
    "a/b 配置",
)


def claim(name: str, body: str = "", *, aliases: tuple[str, ...] = ()) -> Claim:
    return Claim(name, "d", Kind.REFERENCE, body or f"All about {name}.", aliases=aliases)


def sameness(old: Claim, new: Claim) -> Sameness | None:
    """Compare two claims as the index does: by keys, then near titles."""
    stored = similarity.stored_keys(old, RULES)
    exact = similarity.exact_keys(new, RULES)
    if met := [exact[key] for key in stored & set(exact)]:
        return min(met, key=list(Sameness).index)
    if stored & similarity.near_keys(new.name, RULES):
        near = nearness(title(new.name, RULES), title(old.name, RULES), RULES)
        return Sameness.NEAR_TITLE if near else None
    return None


def test_there_are_enough_evasions_in_both_languages() -> None:
    assert len(EVASIONS) >= 80
    assert sum(not name.isascii() and "项" in slot for slot, name in EVASIONS) >= 30


@pytest.mark.parametrize(("slot", "name"), EVASIONS)
def test_an_evasion_is_the_slot_it_evades(slot: str, name: str) -> None:
    assert sameness(claim(slot), claim(name)) in (
        Sameness.ALIAS,  # the very same slot, which is refused before
        Sameness.TITLE,
        Sameness.NEAR_TITLE,
    )


@pytest.mark.parametrize(("slot", "name"), EVASIONS)
def test_an_evasion_that_came_first_is_met_by_the_plain_name(slot: str, name: str) -> None:
    assert sameness(claim(name), claim(slot)) is not None


@given(
    base=st.sampled_from(BASES),
    front=st.lists(st.tuples(st.sampled_from(MARKS), st.sampled_from((" ", "-", "_"))), max_size=4),
    end=st.lists(
        st.tuples(st.sampled_from((" ", "-", "_")), st.sampled_from(END_MARKS)), max_size=4
    ),
)
def test_no_row_of_marks_changes_what_a_title_is_about(
    base: str, front: list[tuple[str, str]], end: list[tuple[str, str]]
) -> None:
    """Stripped to a fixpoint: another mark at either end never helps."""
    worn = "".join(map("".join, front)) + base + "".join(map("".join, end))
    assert title(worn, RULES).core == title(base, RULES).core
    assert sameness(claim(base), claim(worn)) is not None


@given(st.text(max_size=60))
def test_any_text_has_a_title_and_is_the_same_as_itself(name: str) -> None:
    assert title(name, RULES) == title(name, RULES)
    assert sameness(claim(name), claim(name, "Quite another text.")) is not None


@given(st.text(max_size=40), st.text(max_size=40))
def test_sameness_of_titles_has_no_direction(one: str, other: str) -> None:
    first, second = title(one, RULES), title(other, RULES)
    assert nearness(first, second, RULES) == nearness(second, first, RULES)


def test_a_title_of_marks_alone_keeps_the_last() -> None:
    for name in ("new", "v2", "2.0", "新", "更新", "final-final", "copy of", "2026-09-16"):
        assert title(name, RULES).core
    assert sameness(claim("🚀"), claim("🔥")) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("api-v1", "api-v2"),
        ("phase-1", "phase-2"),
        ("phase two", "phase three"),
        ("utf-8", "utf-16"),
        ("python-3.12", "python-3.13"),
        ("oauth1", "oauth2"),
        ("postgres-14-upgrade", "postgres-15-upgrade"),
        ("C", "C++"),
        ("C++", "C#"),
        (".env file", "env-file"),
        ("a:b", "a?b"),
        ("postgres-to-mysql", "mysql-to-postgres"),
        ("deploy-with-docker", "deploy-without-docker"),
        ("sync-client", "async-client"),
        ("http-proxy", "https-proxy"),
        ("前端部署流程", "后端部署流程"),
        ("数据库备份", "数据库恢复"),
    ],
)
def test_topics_of_their_own_stay_apart(one: str, other: str) -> None:
    """Fault 21 and its relatives."""
    assert sameness(claim(one), claim(other)) is None
    assert sameness(claim(other), claim(one)) is None


def test_one_number_has_one_spelling() -> None:
    for name in ("api-v2", "api-02", "api v2.0", "api-2", "api version 2", "api-second"):
        assert sameness(claim("api-v2"), claim(name)) is not None, name
        assert sameness(claim("api-v3"), claim(name)) is None, name


def test_the_honest_names_are_many_and_each_there_once() -> None:
    """How few of them are refused is measured by `tests/benchmarks/sameness`."""
    assert len(HONEST) == len(set(HONEST)) >= 500


def test_an_identical_text_is_the_same_whatever_it_is_called() -> None:
    text = "Use pnpm in all packages.\n"
    for twin in (text, "  USE pnpm\nin all packages.", "Use  pnpm in all packages.\r\n"):
        assert sameness(claim("one", text), claim("other", twin)) is Sameness.BODY
    assert sameness(claim("one", text), claim("other", "Use npm in all packages.")) is None


def test_a_text_so_short_that_it_is_a_value_may_stand_in_several_slots() -> None:
    assert sameness(claim("docs-manager", "pnpm"), claim("web-tool", "pnpm")) is None


def test_a_name_or_alias_in_common_is_the_same() -> None:
    old = claim("manager", aliases=("pnpm-setup",))
    assert sameness(old, claim("PNPM setup")) is Sameness.ALIAS
    assert sameness(old, claim("tooling", aliases=("Manager",))) is Sameness.ALIAS
    assert sameness(old, claim("tooling", aliases=("pnpm_setup",))) is Sameness.ALIAS
    assert sameness(old, claim("tooling", aliases=("npm-setup",))) is None
