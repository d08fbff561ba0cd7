from __future__ import annotations

import pytest

from keepm import config
from keepm.model import contracts

POLICY = config.load_policy()
HEADED = "## Decision and constraints\n\n{}\n\n## Reproducible parameters\n\nport 5432\n"


def lacking(kind: str, body: str, *, sources: int = 1) -> int:
    return len(list(contracts.missing(POLICY.kinds[kind], body, sources=sources)))


@pytest.mark.parametrize(
    "text",
    [
        "Use pnpm.",
        "- Use pnpm.",
        "### Why\n\nspeed",
        "```sh\nmake\n```",
        "- [ ] to do",
        "| a | b |\n|---|---|",
        "使用 pnpm。",
    ],
)
def test_a_section_with_content_fulfils(text: str) -> None:
    """Fault 34, with those below: sub-headings counted as empty, a `-` and fences as content."""
    assert lacking("decision", HEADED.format(text)) == 0


@pytest.mark.parametrize("text", ["", "-", "- \n*", "- [ ]", "### Empty", "```\n```", "<!-- x -->"])
def test_a_section_without_content_does_not(text: str) -> None:
    assert lacking("decision", HEADED.format(text)) == 1


@pytest.mark.parametrize(
    "heading",
    ["DECISION and Constraints", "Decision and constraints:", "Decision and constraints ##"],
)
def test_case_and_one_colon_are_tolerated(heading: str) -> None:
    body = HEADED.format("x").replace("Decision and constraints", heading)
    assert lacking("constraint", body) == 0


def test_headings_inside_a_fence_do_not_count() -> None:
    assert lacking("decision", f"```\n{HEADED.format('x')}```\n") == 2
    assert lacking("decision", HEADED.format("x").replace("## Dec", "### Dec")) == 1


def test_a_fix_needs_a_source() -> None:
    assert lacking("fix", HEADED.format("x"), sources=0) == 1
    assert lacking("fix", HEADED.format("x"), sources=1) == 0


@pytest.mark.parametrize(
    "body",
    [
        "How to apply: run it",
        "how to apply：运行",
        "**How to apply:** run it",
        "- How to apply: run it",
        "How to apply:\n- run it",
        "## How to apply:\n\n```\nmake\n```",
    ],
)
def test_a_label_with_text_fulfils(body: str) -> None:
    assert lacking("workflow", body) == 0


@pytest.mark.parametrize(
    "body", ["", "Run it.", "How to apply:", "How to apply:\n-", "```\nHow to apply: x\n```"]
)
def test_a_label_without_text_does_not(body: str) -> None:
    assert lacking("preference", body) == 1


def test_feedback_needs_both_labels_each_with_its_own_text() -> None:
    assert lacking("feedback", "Why: slow\nHow to apply: cache") == 0
    assert lacking("feedback", "Why:\nHow to apply: cache") == 1
    assert lacking("feedback", "nothing") == 2


@pytest.mark.parametrize("kind", ["capability", "overview", "reference"])
def test_other_kinds_ask_for_nothing(kind: str) -> None:
    assert lacking(kind, "", sources=0) == 0
