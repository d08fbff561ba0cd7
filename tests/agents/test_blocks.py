"""The managed block of a Markdown file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepm.agents import blocks
from keepm.agents.textfile import Refused
from tests.agents.support import case_bytes


def test_the_block_stands_behind_the_first_heading() -> None:
    changed = blocks.add("# Rules\n\n- one\n", "text", newline="\n")

    assert changed == f"# Rules\n\n{blocks.BEGIN}\ntext\n{blocks.END}\n\n- one\n"


def test_front_matter_stays_first() -> None:
    changed = blocks.add("---\na: 1\n---\n# T\nrest\n", "text", newline="\n")

    assert changed.startswith(f"---\na: 1\n---\n# T\n{blocks.BEGIN}\n")


def test_a_long_file_keeps_the_block_within_the_hosts_budget() -> None:
    text = case_bytes("62-instruction-budget/AGENTS.md").decode()

    changed = blocks.add(text, "text", newline="\n")

    assert changed.index(blocks.END) < 1024
    assert blocks.take_out(changed) == text


def test_a_block_is_replaced_where_it_is() -> None:
    text = f"a\n{blocks.BEGIN}\nold\n{blocks.END}\nb\n"

    assert blocks.add(text, "new", newline="\n") == text.replace("old", "new")


def test_the_files_own_line_endings_are_used() -> None:
    changed = blocks.add("# T\r\n\r\nx\r\n", "a\nb", newline="\r\n")

    assert changed.count("\n") == changed.count("\r\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a\n{blocks.BEGIN}\nb\n", 2),
        (f"a\n\n{blocks.END}\n", 3),
        (f"{blocks.BEGIN}\n{blocks.BEGIN}\n{blocks.END}\n", 2),
        (f"{blocks.BEGIN}\n{blocks.END}\n{blocks.BEGIN}\n{blocks.END}\n", 3),
    ],
)
def test_broken_markers_are_refused_with_their_line(text: str, line: int) -> None:
    with pytest.raises(Refused) as caught:
        blocks.add(text, "x", newline="\n")

    assert caught.value.line == line


def test_markers_in_a_code_block_are_an_example() -> None:
    text = f"# T\n\n```\n{blocks.BEGIN}\n```\n"

    assert blocks.take_out(blocks.add(text, "x", newline="\n")) == text


LINES = st.sampled_from(
    ["# T", "text", "", "  ", "---", "```", "~~~", "文字 😀", "\u2028x", "\x0c", "<!-- x -->"]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_adding_then_taking_out_gives_the_old_text(
    lines: list[str], newline: str, ends: bool
) -> None:
    text = newline.join(lines) + (newline if ends else "")
    try:
        changed = blocks.add(text, "our\ntext", newline=newline)
    except Refused:
        return

    assert blocks.add(changed, "our\ntext", newline=newline) == changed
    assert blocks.take_out(changed) == text
