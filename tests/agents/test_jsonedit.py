"""JSON texts of other programs: changed in one place, everything else byte for byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepm.agents import jsonedit, jsontext
from keepm.agents.textfile import Refused

ENTRY: jsontext.Value = {"type": "stdio", "command": "/x/keepm", "args": ["serve"]}


def put(text: str) -> str:
    return jsonedit.put(text, ("mcpServers", "keepm"), ENTRY, newline="\n")


def test_a_new_file_is_written_in_readable_form() -> None:
    text = put("")

    assert json.loads(text) == {"mcpServers": {"keepm": ENTRY}}
    assert text.startswith('{\n  "mcpServers": {\n    "keepm": {\n')
    assert text.endswith("}\n")


def test_a_member_is_added_behind_the_others_in_their_indentation() -> None:
    text = '{\n    "mcpServers": {\n        "other": {"command": "x"}\n    },\n    "z": 1\n}\n'

    changed = put(text)

    assert changed.startswith(text[: text.index("\n    },")])
    assert changed.endswith('\n    },\n    "z": 1\n}\n')
    assert '\n        "keepm": {\n            "type"' in changed
    assert jsonedit.remove(changed, ("mcpServers", "keepm")) == text


def test_comments_and_trailing_commas_stay() -> None:
    text = '{\n  // keep me\n  "hooks": {}, /* and me */\n  "model": "m",\n}\n'

    changed = jsonedit.put(text, ("hooks", "Stop"), [], newline="\n")

    assert "// keep me" in changed
    assert changed.endswith('}, /* and me */\n  "model": "m",\n}\n')
    assert jsonedit.remove(changed, ("hooks", "Stop")) == text


def test_a_comment_on_the_last_line_stays_with_its_member() -> None:
    text = '{\n  "a": 1 // about a\n}\n'

    changed = jsonedit.put(text, ("b",), 2, newline="\n")

    assert changed == '{\n  "a": 1, // about a\n  "b": 2\n}\n'
    assert jsonedit.remove(changed, ("b",)) == text


def test_one_line_stays_one_line() -> None:
    text = '{"mcpServers":{"other":{"command":"x"}}}\n'

    changed = put(text)

    assert changed.count("\n") == 1
    assert json.loads(changed)["mcpServers"]["keepm"] == ENTRY
    assert jsonedit.remove(changed, ("mcpServers", "keepm")) == text


def test_an_equal_value_is_not_written_again() -> None:
    text = '{"mcpServers": {"keepm": {"args": ["serve"],"command":"/x/keepm", "type":"stdio"}}}'

    assert put(text) == text


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"hooks": {"Stop": [', 1, 21),
        ('{"a": 1,\n "a": 2}', 2, 2),
        ('{"a": 1} x', 1, 10),
        ('{\n "a" 1}', 2, 6),
        ("{'a': 1}", 1, 2),
        ('{"a": 01}', 1, 8),
        ("/* open", 1, 1),
        ('{"a": [1 2]}', 1, 10),
        ("[" * 5000, 1, 102),
        ("", 1, 1),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(Refused) as caught:
        jsontext.parse(text)

    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("text", ["[]\n", '{"mcpServers": []}\n', '{"mcpServers": null}', "1"])
def test_another_type_on_the_way_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        put(text)

    assert caught.value.line == 1


def test_space_inside_strings_is_no_mere_space() -> None:
    assert jsontext.same_but_for_space('{"a": "b c"}', '{ "a":\n"b c" }')
    assert not jsontext.same_but_for_space('{"a": "b c"}', '{"a": "bc"}')
    assert not jsontext.same_but_for_space("{} // a", "{} // b")


def _documents() -> st.SearchStrategy[jsontext.Value]:
    keys = st.text(st.characters(codec="utf-8"), max_size=6)
    leaf = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
    return st.dictionaries(
        keys,
        st.recursive(
            leaf,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    )


@settings(max_examples=150, deadline=None)
@given(_documents(), st.sampled_from([None, 2, "\t", 4]), st.sampled_from(["\n", "\r\n"]))
def test_adding_then_removing_gives_the_old_text(
    document: jsontext.Value, indent: int | str | None, newline: str
) -> None:
    assert isinstance(document, dict)
    document.pop("mcpServers", None)
    document["mcpServers"] = {"other": 1}
    text = json.dumps(document, ensure_ascii=False, indent=indent).replace("\n", newline)

    changed = jsonedit.put(text, ("mcpServers", "keepm"), ENTRY, newline=newline)

    expected = json.loads(text)
    expected["mcpServers"]["keepm"] = ENTRY
    assert json.loads(changed) == expected == jsontext.parse(changed).value
    assert jsonedit.remove(changed, ("mcpServers", "keepm")) == text
