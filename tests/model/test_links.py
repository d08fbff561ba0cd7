from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.model import links
from keepm.model.links import WikiLink
from tests import strategies

CASES = Path(__file__).parent.parent / "cases"


def body(name: str) -> str:
    return (CASES / name).read_text(encoding="utf-8").split("---\n", 2)[2]


def targets(text: str) -> list[str]:
    return [link.target for link in links.parse(text)]


def relations(text: str) -> list[tuple[str, str | None]]:
    return [(link.target, link.relation) for link in links.parse(text)]


def test_a_pipe_in_a_table_parts_target_and_alias() -> None:
    found = links.parse(body("43-table-pipes/t.md"))
    assert [(n.target, n.alias, n.heading, n.block, n.embed) for n in found] == [
        ("target", "shown", None, None, False),
        ("plain", None, None, None, False),
        ("pic.png", None, None, None, True),
        ("target", "Shown", None, None, False),
        ("target", "H", "Head", None, False),
        ("target", None, None, "b1", False),
        ("", None, "Local", None, False),
    ]


def test_links_in_code_and_comments_are_none() -> None:
    assert targets(body("44-links-in-code/c.md")) == ["yes1", "yes2"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_places_are_those_of_the_text(newline: str) -> None:
    text = f"第一行{newline}{newline}a [[x|y]] b{newline}"
    (link,) = links.parse(text)
    assert link.line == 3
    assert text[link.start : link.end] == "[[x|y]]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a ` b [[x]]", ["x"]),
        ("a `b\n[[no]] c` [[x]]", ["x"]),
        ("a ` b\n\n[[x]] ` c", ["x"]),
        ("100%% of [[x]]", ["x"]),
        ("%% [[no]]\n[[no]] %% [[x]]", ["x"]),
        ("<!-- [[no]]", []),
        ("\\\\[[x]]", ["x"]),
        ("\\[[no]]", []),
        ("\\`[[x]]\\`", ["x"]),
        ("```\n[[no]]\n```\n[[x]]", ["x"]),
        ("````\n```\n[[no]]\n````\n[[x]]", ["x"]),
        ("```inline``` [[x]]", ["x"]),
        ("> ```\n> [[no]]\n> ```\n\n[[x]]", ["x"]),
        ("- ```\n  [[no]]\n  ```\n- [[x]]", ["x"]),
        ("text\n    [[x]] goes on", ["x"]),
        ("text\n\n    [[no]]\n\n    [[no]]\n\n[[x]]", ["x"]),
        ("\t[[no]]", []),
        ("- item\n\n    [[x]] belongs to it", ["x"]),
        ("- item\n\n      [[no]]", []),
        ("- a\n    - [[x]]", ["x"]),
        ("- a\n\nafter\n\n    [[no]]", []),
        ("[[]] [[ ]] [[a]b]] [[|x]]", []),
    ],
)
def test_what_counts_as_text(text: str, expected: list[str]) -> None:
    assert targets(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("supersedes:: [[x]] and [[y]]", [("x", "supersedes"), ("y", "supersedes")]),
        ("- Depends_on:: [[x]]", [("x", "depends_on")]),
        ("  * [ ] 依赖:: [[x]]", [("x", "依赖")]),
        ("> связь:: [[x]]", [("x", "связь")]),
        ("निर्भर:: [[x]]", [("x", "निर्भर")]),
        ("[[x]] is:: [[y]]", [("x", None), ("y", None)]),
        ("std::[[x]]", [("x", None)]),
        ("12:: [[x]]", [("x", None)]),
        ("one: [[x]]", [("x", None)]),
    ],
)
def test_a_line_may_name_its_relation(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert relations(text) == expected


def test_front_matter_values_are_links_of_their_key() -> None:
    found = links.from_values("Related", ["[[Other note]]", "[[Folder/Parent|P]]", "no link"])
    assert [(n.target, n.alias, n.relation, n.line) for n in found] == [
        ("Other note", None, "related", 0),
        ("Folder/Parent", "P", "related", 0),
    ]


@given(
    st.lists(
        st.one_of(
            strategies.lines,
            st.sampled_from(("```", "`", "``", "<!--", "-->", "%%", "[[x]]", "\\", "    ", "")),
        ),
        max_size=12,
    ).map("\n".join)
)
def test_every_link_stands_where_it_says(text: str) -> None:
    for link in links.parse(text):
        assert isinstance(link, WikiLink)
        assert text[link.start : link.end].lstrip("!").startswith("[[")
        assert text[link.start : link.end].endswith("]]")
        assert text.count("\n", 0, link.start) + 1 == link.line
        assert not link.target.endswith("\\") or "\\\\" in text
