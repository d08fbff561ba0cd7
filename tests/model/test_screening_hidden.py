"""What nobody sees: invisible characters, markup that hides, runs that nobody can read."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm import config
from keepm.model import screening
from keepm.model.screening.blocks import leaves
from tests import corpora, strategies

RULES = config.load_policy().screening
INVISIBLE = {"control_character", "invisible_character"}
MARKUP = {"html_comment", "hiding_html", "unsafe_link", "hidden_definition"}
NOISE = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(40))


def rules(text: str) -> set[str | int]:
    return {p.details["rule"] for p in screening.text("body", text, rules=RULES)}


# ---- characters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", corpora.escaped("invisible/refused"))
def test_what_nobody_sees_is_refused(text: str) -> None:
    assert rules(text) & INVISIBLE


@pytest.mark.parametrize("text", corpora.escaped("invisible/clean"))
def test_what_a_script_or_an_emoji_needs_passes(text: str) -> None:
    assert rules(text) == set()


@given(
    st.characters(categories=["Cf", "Co", "Cs"], exclude_characters="\u200c\u200d"),
    st.text("ab 记忆", min_size=1, max_size=4),
    st.text("ab 记忆", max_size=4),
)
def test_the_classes_are_refused_as_a_whole(character: str, before: str, after: str) -> None:
    # The signs that Unicode counts as format characters and that everybody sees.
    shown = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
    found = rules(f"{before}{character}{after}") & INVISIBLE

    assert found or character in shown


def test_a_run_is_named_once_by_its_first_character() -> None:
    (problem,) = screening.text("body", "a\u200b\u200c\u2060\u202eb", rules=RULES)

    assert problem.details == {"rule": "invisible_character", "line": 1, "column": 2}
    assert "U+200B" in problem.message


# ---- markup --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", corpora.lines("markup/refused"))
def test_markup_that_hides_or_runs_is_refused(text: str) -> None:
    assert rules(text) & MARKUP


@pytest.mark.parametrize("text", corpora.lines("markup/clean"))
def test_markup_that_shows_what_it_says_passes(text: str) -> None:
    assert rules(text) == set()


@pytest.mark.parametrize("text", corpora.lines("markup/refused"))
def test_in_a_fence_everything_is_shown_and_passes(text: str) -> None:
    assert not rules(f"```````\n{text}\n```````") & MARKUP


_PIECES = (
    *("```", "~~~", "`", "``", "> ", "- ", "1. ", "    ", "\t", "\n", "\n\n", "# ", "text"),
    *("<div>", "</div>", "<pre>", "|", "|-|-|", "\\", "---", "===", "* * *"),
)
_pieces = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


@given(_pieces)
def test_a_comment_after_a_text_without_code_is_found(before: str) -> None:
    text = before.replace("`", "").replace("~", "")

    assert "html_comment" in rules(f"{text}\n\nx <!-- hidden -->")


@given(_pieces | strategies.bodies)
def test_what_is_read_for_markup_stands_where_it_says(text: str) -> None:
    for leaf in leaves(text):
        original = text[leaf.start : leaf.start + len(leaf.text)]
        assert len(original) == len(leaf.text)
        assert all(a == b or a == " " for a, b in zip(leaf.text, original, strict=True))


# ---- encoded runs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "run",
    [
        base64.b64encode(NOISE).decode(),
        base64.urlsafe_b64encode(NOISE).decode(),
        base64.b32encode(NOISE).decode(),
        NOISE.hex(),
        NOISE.hex().upper(),
        base64.encodebytes(NOISE).decode(),
        base64.encodebytes(NOISE).decode().replace("\n", "\r\n    "),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "```\n{}\n```", "x = '{}'", "> {}", "数据：{}"])
def test_a_long_encoded_run_is_refused(run: str, frame: str) -> None:
    assert "encoded_run" in rules(frame.format(run))


@pytest.mark.parametrize("size", [255, 256])
def test_a_run_up_to_the_limit_passes(size: int) -> None:
    run = base64.b64encode(NOISE).decode()
    assert "encoded_run" not in rules(run[:size])
    assert "encoded_run" in rules(run[:257])


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2000,
        "-" * 300,
        "=" * 300,
        "_" * 300,
        "记" * 3000,
        "/".join(["some", "long", "path", "of-words"] * 30),
        "\n".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(20)),
        "\n".join(hashlib.sha1(bytes([n])).hexdigest() for n in range(20)),
        "\n".join(f"{hashlib.sha256(bytes([n])).hexdigest()}  file-{n}" for n in range(20)),
        " ".join(["word"] * 400),
    ],
)
def test_what_is_merely_long_passes(text: str) -> None:
    assert "encoded_run" not in rules(text)
