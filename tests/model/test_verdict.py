"""What a verdict is about outlives how it was put, and stops where something else is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm import config
from keepm.config.sameness import load_sameness
from keepm.model import verdict
from keepm.model.memory import Claim
from tests.operations.support import claim

POLICY, RULES = config.load_policy(), load_sameness()
BODY = "Use pnpm 9 for every package, never npm."
SMALL = claim("project-package-manager", description="Which package manager we use", body="pnpm")


def form(text: str) -> str:
    return verdict.form(text, POLICY, RULES)


def meets(rejected: Claim, later: Claim, there: Claim | None = None) -> bool:
    """Tell whether a later claim meets the rejection of an earlier one."""
    ruled = verdict.rejected(rejected, there, POLICY, RULES)
    return not set(ruled).isdisjoint(verdict.values(later, POLICY, RULES))


RESTATED = [
    (BODY, BODY.upper()),
    (BODY, BODY.replace(",", "").removesuffix(".") + "!"),
    (BODY, f"  {BODY}\n\n"),
    (BODY, "Use   pnpm 9\nfor every package,\tnever npm."),
    (BODY, "Use pnpm9 for everypackage, never npm"),
    (BODY, "Ｕｓｅ ｐｎｐｍ ９ for every package, never npm."),
    (BODY, "Use **pnpm 9** for _every_ package, never `npm`."),
    (BODY, "## Use pnpm 9 for every package, never npm."),
    (BODY, "- Use pnpm 9 for every package,\n- never npm."),
    (BODY, "> Use pnpm 9 for every package,\n> never npm."),
    (BODY, "1. Use pnpm 9 for every package,\n2. never npm."),
    (BODY, "- [ ] Use pnpm 9 for every package, never npm."),
    (BODY, "Use <b>pnpm 9</b> for every package, never npm."),
    (BODY, "<details><a href='x'>Use</a> pnpm 9 for <q>every</q> package</details>, never npm."),
    (BODY, f"```text\n{BODY}\n```"),
    (BODY, f"> ~~~ markdown\n> {BODY}\n> ~~~"),
    (BODY, "Use ᴘɴᴘᴍ 9 for every package, never npm."),
    (BODY, "Use pnpm 9 for every package,&nbsp;never&#32;npm."),
    (BODY, "Use pnpm 9 for every package — never npm ✅"),
    (BODY, "Use pnpm 9 for every package; never “npm”…"),
    (BODY, "Úse pnpm 9 for every packagé, never npm."),
    (BODY, "Use рnpm 9 for every package, never nрm."),  # a Cyrillic er
    (BODY, "Use pn\u200bpm 9 for every package, never npm."),
    (BODY, f"Why: {BODY}"),
    (BODY, f"**How to apply**: {BODY}"),
    (BODY, f"## Decision and constraints\n\n{BODY}\n\n## Reproducible parameters\n"),
    ("The pool holds 10,000 connections at most.", "The pool holds 10000 connections at most."),
    ("Keep coverage >= 80 % of all lines.", "keep coverage ≥80% of all lines"),
    ("所有包都使用 pnpm，不要用 npm。", "所有包都使用pnpm,不要用npm"),
    ("所有包都使用 pnpm，不要用 npm。", "「所有包」都使用 ＰＮＰＭ；不要用 npm！"),
    ("提交前，必须先运行全部测试。", "提交前必须先运行全部测试"),
    ("कमिट से पहले सभी परीक्षण चलाएँ।", "कमिट से पहले, सभी परीक्षण चलाएँ"),
]
TOLD_APART = [
    (BODY, "Use npm 9 for every package, never pnpm."),
    (BODY, BODY.replace("9", "10")),
    (BODY, f"{BODY} Except in the docs folder."),
    (BODY, BODY.replace("9", "```9``` or <version>")),
    ("Write every command line tool in C++.", "Write every command line tool in C."),
    ("Write every command line tool in C++.", "Write every command line tool in C#."),
    ("Keep coverage >= 80% of all lines.", "Keep coverage <= 80% of all lines."),
    ("Keep coverage >= 80% of all lines.", "Keep coverage > 80% of all lines."),
    ("The exit code must be != 0 on failure.", "The exit code must be 0 on failure."),
    ("The default offset of the scheduler is -1.", "The default offset of the scheduler is 1."),
    (
        "Pin the base image to version 1.5 everywhere.",
        "Pin the base image to version 15 everywhere.",
    ),
    ("The timeout of every request is 1 5 seconds.", "The timeout of every request is 15 seconds."),
    ("Give the cache 80% of the memory there is.", "Give the cache 80 of the memory there is."),
    ("所有包都使用 pnpm，不要用 npm。", "所有包都使用 npm，不要用 pnpm。"),
    ("कमिट से पहले सभी परीक्षण चलाएँ।", "कमिट से पहले सभी परीक्षण चलें।"),
]


@pytest.mark.parametrize(("one", "other"), RESTATED)
def test_a_restated_text_is_the_same(one: str, other: str) -> None:
    assert form(one) == form(other)
    assert meets(claim(body=one), claim("elsewhere", description="Other words", body=other))
    assert meets(claim(body=other), claim("elsewhere", description="Other words", body=one))


@pytest.mark.parametrize(("one", "other"), TOLD_APART)
def test_a_text_that_says_something_else_is_not(one: str, other: str) -> None:
    assert form(one) != form(other)
    assert not meets(claim(body=one), claim(body=other))


@given(
    st.text(
        st.one_of(
            st.sampled_from(
                list("ab cC+#-<>=!%1250.,_'’\n>*[x]&;()≠≤–−Éе中①ﬁᴬक\u093f\u0338\ufe0f")
            ),
            st.characters(exclude_categories=["Cs"]),
        )
    )
)
def test_a_form_is_its_own_form(text: str) -> None:
    assert form(form(text)) == form(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_case_and_blanks_around_never_make_another_text(text: str) -> None:
    assert form(f"\n\n  {text} \n") == form(text)
    assert form(text.casefold()) == form(text)


@pytest.mark.parametrize(
    "later",
    [
        SMALL,
        claim("package-manager", description="Which package manager we use!", body="PNPM."),
        claim("project-package-manager", description="The manager of packages", body="pnpm"),
        claim("project-package-manager-2", description="Other words", body="`pnpm`"),
        claim("2026-09-16 project-package-manager (updated)", description="Other", body="pnpm"),
        claim("Project Package Manager v2", description="Other", body="pnpm"),
        claim("project-package-manager-最终版", description="Other", body="pnpm"),
    ],
)
def test_a_small_value_is_met_with_its_title_or_its_description(later: Claim) -> None:
    assert meets(SMALL, later)


@pytest.mark.parametrize(
    "later",
    [
        claim("script-runner", description="What runs the scripts", body="pnpm"),
        claim("project-package-manager", description="Which package manager we use", body="yarn"),
    ],
)
def test_a_small_value_may_be_that_of_another_slot(later: Claim) -> None:
    assert not meets(SMALL, later)


def test_a_body_of_signs_alone_still_has_a_form() -> None:
    assert form("…::…") == "...::..."
    assert form(" \n ") == ""


def test_a_correction_with_the_text_that_the_note_has_rejects_what_it_comes_with() -> None:
    there = claim(body=BODY, description="How packages are installed")
    wanted = claim(body=BODY, description="Always and everywhere")

    assert not meets(wanted, there, there)
    assert meets(wanted, wanted, there)
    assert meets(
        wanted, claim("elsewhere", description="always, and everywhere!", body=BODY), there
    )
    assert (
        verdict.rejected(claim(body=BODY, description=there.description), there, POLICY, RULES)
        == ()
    )
    assert meets(claim(body=BODY), claim(body=BODY)), "without a target the text is rejected"


def test_a_pair_is_told_by_what_both_say_in_either_order() -> None:
    def said(description: str, body: str) -> str:
        return verdict.said(description, body, POLICY, RULES)

    one, other = said("A", BODY), said("B", "Use yarn.")
    assert verdict.pair(one, other) == verdict.pair(other, one)
    assert verdict.pair(said("a.", BODY.upper()), other) == verdict.pair(one, other)
    assert verdict.pair(said("A", "Use npm."), other) != verdict.pair(one, other)
    assert verdict.pair(said("C", BODY), other) != verdict.pair(one, other)
