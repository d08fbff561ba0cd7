"""Secrets are refused, and texts that only speak of them pass: by the corpora."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm import config
from keepm.model import screening
from tests import corpora
from tests.corpora import tokens

RULES = config.load_policy().screening
REFUSED = [
    (name, line)
    for name in corpora.names("secrets")
    if not name.endswith(("/missed", "/unseen"))  # the benchmark counts them
    for line in corpora.lines(name)
]
CLEAN = [(name, line) for name in corpora.names("clean") for line in corpora.lines(name)]


def rules(text: str) -> set[str | int]:
    return {p.details["rule"] for p in screening.text("body", text, rules=RULES)}


@pytest.mark.parametrize(("name", "line"), REFUSED)
def test_a_secret_is_refused(name: str, line: str) -> None:
    """Fault 14: short ones, those with a dollar sign and those in JSON were stored."""
    assert rules(line)


@pytest.mark.parametrize(("name", "line"), CLEAN)
def test_a_text_that_only_speaks_of_secrets_passes(name: str, line: str) -> None:
    """Fault 35: false alarms blocked ordinary notes about code."""
    assert rules(line) == set()


@pytest.mark.parametrize(("rule", "text"), tokens.SHAPES)
@pytest.mark.parametrize("frame", ["{}", "see {}.", "`{}`", 'x = "{}"', "用 {} 登录", "（{}）"])
def test_the_shape_of_a_key_is_refused(rule: str, text: str, frame: str) -> None:
    assert rule in rules(frame.format(text))


@pytest.mark.parametrize("rule", sorted({pattern.rule.name for pattern in RULES.patterns}))
def test_every_pattern_has_a_case(rule: str) -> None:
    seen = {found for _, text in tokens.SHAPES for found in rules(text)}
    seen |= {found for _, line in REFUSED for found in rules(line)}

    assert rule in seen


@pytest.mark.parametrize(
    "text",
    [
        "gh" + "p_" + "x" * 36,
        "gh" + "p_" + "*" * 36,
        "gh" + "p_…",
        "sk-" + "ant-api03-...",
        "xo" + "xb-your-token-here",
        "eyJ… begins every JWT",
        "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5 + "\n...\n",
        "ta" + "sk-" + tokens.filling(40),
        "di" + "sk-usage-of-the-build-machine-in-the-cellar",
    ],
)
def test_a_mock_of_a_key_passes(text: str) -> None:
    assert rules(text) == set()


def test_a_secret_is_named_once() -> None:
    text = 'password = "' + "ghp_" + tokens.filling(36) + '"'

    assert len(list(screening.text("body", text, rules=RULES))) == 1


@given(
    st.lists(st.sampled_from([line for _, line in CLEAN if "\n" not in line]), max_size=6).map(
        "\n\n".join
    )
)
def test_clean_lines_stay_clean_together(text: str) -> None:
    assert rules(text) == set()


@given(st.sampled_from(REFUSED), st.sampled_from(CLEAN), st.booleans())
def test_a_secret_is_found_among_clean_lines(
    bad: tuple[str, str], good: tuple[str, str], first: bool
) -> None:
    lines = (bad[1], good[1]) if first else (good[1], bad[1])

    assert rules("\n\n".join(lines)) >= rules(bad[1])
