from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from keepm.errors import MalformedDocument
from keepm.markdown import frontmatter
from keepm.markdown.frontmatter import Value
from tests import strategies
from tests.strategies import Written

CASES = Path(__file__).parent.parent / "cases"


def case(name: str) -> bytes:
    return (CASES / name).read_bytes()


def header(text: str, body: str = "\nBody.\n") -> bytes:
    return f"---\n{text}---\n{body}".encode()


# ---- reading ------------------------------------------------------------------------------


def test_scalars_stay_the_text_as_written() -> None:
    fields = frontmatter.parse(case("07-lossy-scalars/log.md")).fields
    assert fields == {
        "date": "2026-03-16",
        "when": "2012-10-11T23:39:45-04:00",
        "sleep": "10:00",
        "wake": "06:20",
        "ver": "1.10",
        "zip": "0123",
        "quote": "keep 'these' quotes",
        "long": "folded text",
    }


def test_words_that_mean_no_or_yes_to_yaml_stay_words() -> None:
    fields = frontmatter.parse(case("08-norway/n.md")).fields
    assert fields["title"] == "yes"
    assert fields["status"] == "no"
    assert fields["tags"] == ["no", "on", "yes", "1.10", "0123", "null", "~"]
    assert fields["y"] == "1"
    assert fields["no"] == "2"


@pytest.mark.parametrize(
    ("text", "expected"), [("null", None), ("~", None), ("", None), ("'null'", "null"), ("''", "")]
)
def test_a_bare_null_is_absent_and_a_quoted_one_is_text(text: str, expected: str | None) -> None:
    assert frontmatter.parse(header(f"kind: {text}\n")).fields == {"kind": expected}


def test_a_value_that_is_a_comment_to_yaml_is_empty_and_noted() -> None:
    parsed = frontmatter.parse(case("16-obsidian-values/v.md"))
    assert parsed.fields["tags"] is None
    assert [(f.code, f.line) for f in parsed.findings] == [("empty_value", 3)]


def test_a_wiki_link_without_quotes_is_its_text() -> None:
    parsed = frontmatter.parse(
        header("a: [[Other note]]\nb:\n- [[甲|乙]]\n- c\nd: [[[x]], [[y]]]\n")
    )
    assert parsed.fields == {
        "a": "[[Other note]]",
        "b": ["[[甲|乙]]", "c"],
        "d": ["[[x]]", "[[y]]"],
    }


def test_impossible_dates_are_text() -> None:
    fields = frontmatter.parse(case("10-impossible-date/d.md")).fields
    assert fields["due"] == "2026-02-30"
    assert fields["review_after"] == "2026-13-01"


@pytest.mark.parametrize("name", ["crlf", "cr", "mixed", "bomcrlf"])
def test_every_line_ending_reads_as_its_lf_twin(name: str) -> None:
    parsed = frontmatter.parse(case(f"14-line-endings/{name}.md"))
    assert parsed.fields["title"] == "Windows note"
    assert parsed.fields["tags"] == ["win"]
    assert dict(parsed.lines) == {"id": 2, "title": 3, "tags": 4}
    assert parsed.body_line == 6
    body = parsed.body.replace("\r\n", "\n").replace("\r", "\n")
    assert body == "\nFirst line.\n\nSecond line.\n"


def test_a_bom_changes_nothing() -> None:
    parsed = frontmatter.parse(case("13-bom/bom.md"))
    assert parsed.fields["id"] == "mem-1301"
    assert parsed.lines["id"] == 2


def test_a_second_block_is_body_and_noted_with_its_line() -> None:
    parsed = frontmatter.parse(case("01-second-block/stub.md"))
    assert parsed.fields == {"id": "mem-0101"}
    assert "cache key" in parsed.body
    assert [(f.code, f.line) for f in parsed.findings] == [("second_front_matter_block", 5)]


@pytest.mark.parametrize(
    "body", ["\n---\n\ntext\n\n---\n", "\ntext\n---\na: b\n---\n", "---\n", "\n---\n- a\n---\n"]
)
def test_horizontal_rules_are_no_second_block(body: str) -> None:
    assert frontmatter.parse(header("id: x\n", body)).findings == ()


@pytest.mark.parametrize("data", [b"", b"Body.\n", b"\n---\nid: x\n---\n", b"----\nid: x\n---\n"])
def test_a_file_without_front_matter_is_all_body(data: bytes) -> None:
    parsed = frontmatter.parse(data)
    assert not parsed.has_header
    assert parsed.fields == {}
    assert parsed.body.encode() == data
    assert parsed.body_line == 1


@pytest.mark.parametrize("data", [b"---\n---\nx", b"---\n# only a comment\n---\nx"])
def test_an_empty_front_matter_has_no_fields(data: bytes) -> None:
    parsed = frontmatter.parse(data)
    assert (parsed.has_header, parsed.fields, parsed.body) == (True, {}, "x")


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (header("a: 1\nb: c: d\n"), "invalid_yaml", 3),
        (header("a: *x\n"), "yaml_anchor", 2),
        (header("b: 1\na: &x 1\n"), "yaml_anchor", 3),
        (header("a: !!python/object:os.system x\n"), "yaml_tag", 2),
        (header("a: ! x\n"), "yaml_tag", 2),
        (header("- a\n- b\n"), "front_matter_not_a_map", 2),
        (header("just words\n"), "front_matter_not_a_map", 2),
        (header("a: 1\n? [b]\n: 2\n"), "key_not_text", 3),
        (header("a: " + "[" * 40 + "]" * 40 + "\n"), "nesting_too_deep", 2),
        (header("a: " + "[" * 5000 + "]" * 5000 + "\n"), "invalid_yaml", 2),
        (header("a: 1\nb: x\x07y\n"), "control_character", 3),
        (header("a: 1\nb: x\ufffey\n"), "invalid_yaml", 3),
        (b"---\na: 1\n", "unclosed_front_matter", 1),
        (b"---\r\na: 1\r\nb: \xff\r\n---\r\n", "not_utf8", 3),
        (b"text\nmore\x00", "nul_byte", 2),
        ("---\na: 1\n---\n".encode("utf-16"), "not_utf8", 1),
        (case("01-second-block/broken.md"), "invalid_yaml", 3),
        (case("31-merge-markers/m.md"), "merge_markers", 4),
        (case("04-poison-among-good/bad/star.md"), "invalid_yaml", 2),
        (case("04-poison-among-good/bad/list.md"), "invalid_yaml", 3),
        (case("04-poison-among-good/bad/path.md"), "invalid_yaml", 2),
    ],
)
def test_what_can_be_misread_is_refused_with_its_line(data: bytes, reason: str, line: int) -> None:
    with pytest.raises(MalformedDocument) as caught:
        frontmatter.parse(data)
    if reason == "not_utf8" and data[:2] == b"\xff\xfe":
        assert caught.value.details["reason"] in ("not_utf8", "nul_byte")
        return
    assert (caught.value.details["reason"], caught.value.details["line"]) == (reason, line)


def test_duplicate_keys_are_all_named_with_both_lines() -> None:
    with pytest.raises(MalformedDocument) as caught:
        frontmatter.parse(case("11-duplicate-keys/dup.md"))
    assert [p.details["line"] for p in caught.value.problems] == [5, 6]
    assert "3 and 5" in str(caught.value)
    assert "4 and 6" in str(caught.value)


def test_duplicate_keys_in_an_inner_map_are_refused() -> None:
    with pytest.raises(MalformedDocument):
        frontmatter.parse(header("a: {b: 1, b: 2}\n"))


def test_merge_signs_inside_a_fence_are_text() -> None:
    assert frontmatter.parse(case("31-merge-markers/doc.md")).findings == ()


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda t: f"---\n{t}\n---\n".encode()))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        frontmatter.parse(data)
    except MalformedDocument as error:
        assert isinstance(error.details["line"], int)


# ---- rendering -----------------------------------------------------------------------------


@given(st.dictionaries(strategies.words, strategies.values, max_size=6), strategies.bodies)
def test_what_is_rendered_reads_back(fields: dict[str, Value], body: str) -> None:
    try:
        data = frontmatter.render(fields, body)
    except MalformedDocument:
        assert "---" in body  # it begins like a second block
        return
    parsed = frontmatter.parse(data)
    assert parsed.fields == {key: frontmatter.as_tree(value) for key, value in fields.items()}
    assert parsed.body.strip("\n") == body.strip("\n")
    assert data.endswith(b"\n") and not data.endswith(b"\n\n")


@given(st.dictionaries(strategies.words, strategies.lines | st.lists(strategies.words)))
def test_a_yaml_1_1_reader_sees_the_same_texts(fields: dict[str, Value]) -> None:
    data = frontmatter.render(fields, "")
    assert (yaml.safe_load(data.decode().split("---\n")[1] if fields else "{}") or {}) == fields


def test_a_body_that_begins_like_front_matter_is_refused() -> None:
    with pytest.raises(MalformedDocument):
        frontmatter.render({"id": "x"}, "---\nid: y\n---\n\ntext")


def test_a_body_with_merge_signs_is_refused() -> None:
    with pytest.raises(MalformedDocument):
        frontmatter.render({"id": "x"}, "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x")


# ---- patching ------------------------------------------------------------------------------


def test_a_new_key_is_one_new_line_at_the_end() -> None:
    old = case("02-foreign-keys/paper.md")
    new = frontmatter.patch(old, {"status": "active"})
    assert new == old.replace(b"type: litnote\n", b"type: litnote\nstatus: active\n")


def test_lossy_scalars_stay_as_they_are_written() -> None:
    old = case("07-lossy-scalars/log.md")
    new = frontmatter.patch(old, {"status": "done"})
    assert new == old.replace(b"  text\n---", b"  text\nstatus: done\n---")


@pytest.mark.parametrize(
    ("name", "newline"),
    [("crlf", b"\r\n"), ("cr", b"\r"), ("mixed", b"\r\n"), ("bomcrlf", b"\r\n")],
)
def test_a_new_line_has_the_files_dominant_ending(name: str, newline: bytes) -> None:
    old = case(f"14-line-endings/{name}.md")
    new = frontmatter.patch(old, {"status": "active"})
    line = b"tags: [win]" + newline
    assert new == old.replace(line, line + b"status: active" + newline)


def test_a_bom_stays() -> None:
    new = frontmatter.patch(case("13-bom/bom.md"), {"status": "active"})
    assert new.startswith(b"\xef\xbb\xbf---\n")


@pytest.mark.parametrize("name", ["01-second-block/stub.md", "01-second-block/broken.md"])
@pytest.mark.parametrize("changes", [{}, {"status": "active"}])
def test_what_can_not_be_relied_on_is_not_changed(name: str, changes: dict[str, Value]) -> None:
    with pytest.raises(MalformedDocument):
        frontmatter.patch(case(name), changes)


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        # an inline comment stays, and the quotation mark too
        ("a: 1   # why\n", {"a": "2"}, "a: '2'   # why\n"),
        ('a: "x"  # why\nb: 1\n', {"a": "y"}, 'a: "y"  # why\nb: 1\n'),
        ("a: 'x'\n", {"a": "it's"}, "a: 'it''s'\n"),
        ("status:   # todo\n", {"status": "active"}, "status: active   # todo\n"),
        ("a: ~\n", {"a": "b"}, "a: b\n"),
        ("a : x\n", {"a": "b"}, "a : b\n"),
        ("  a: x\n  b: y\n", {"a": "z", "c": "w"}, "  a: z\n  b: y\n  c: w\n"),
        # keys that go
        ("a: 1\n# c\nb: 2\n", {"a": None}, "# c\nb: 2\n"),
        ("a:\n  # c\n  - x\nb: 2\n", {"a": None}, "# c\nb: 2\n"),
        ("a: |\n  x\n\n  y\n\nb: 2\n", {"a": None}, "\nb: 2\n"),
        ("a: |\n  x\nb:\n  # c\n  - x\n", {"b": None}, "a: |\n  x\n# c\n"),
        # flow lists
        ("t: [a, 'b']  # c\n", {"t": ["a", "b", "c d"]}, "t: [a, 'b', c d]  # c\n"),
        ("t: [a]\n", {"t": []}, "t: []\n"),
        ("t: [\n  a,\n  # c\n  b\n]\n", {"t": ["b"]}, "t: [b]\n# c\n"),
        # block lists
        (
            't:\n    - a   # one\n    # two\n    - "b"\n    - c\nz: 1\n',
            {"t": ["a", "c", "d"]},
            "t:\n    - a   # one\n    # two\n    - c\n    - d\nz: 1\n",
        ),
        ("t:\n- a\n- b\n", {"t": ["x", "b"]}, "t:\n- x\n- b\n"),
        ("t:\n- a\n- b\n", {"t": ["new", "a", "b"]}, "t:\n- new\n- a\n- b\n"),
        ("t: # c\n- a\n# d\n- b\nz: 1\n", {"t": []}, "t: [] # c\n# d\nz: 1\n"),
        ("t:\n- a\n", {"t": "x"}, "t: x\n"),
        # a text becomes a list, a list's form when there was none
        ("aliases: Old name\n", {"aliases": ["Old name", "b"]}, "aliases: [Old name, b]\n"),
        ("tags: #ops\n", {"tags": ["a"]}, "tags: [a] #ops\n"),
        # texts of several lines
        ("a: >- # c\n  x\n  y\n\nb: 1\n", {"a": "z"}, "a: z # c\n\nb: 1\n"),
        ("a: x\n  y\nb: 1\n", {"a": "z"}, "a: z\nb: 1\n"),
        ("a: 'x\n\n  y' # c\nb: 1\n", {"a": "z"}, "a: 'z' # c\nb: 1\n"),
        ("a: x\n", {"a": "one\ntwo"}, 'a: "one\\ntwo"\n'),
        # maps
        ("m: {a: b}\n", {"m": {"a": "c"}}, "m: {a: c}\n"),
        ("m:\n  a: b # c\n  d: e\n", {"m": {"a": "b", "d": "f"}}, "m:\n  a: b # c\n  d: f\n"),
    ],
)
def test_only_the_changed_lines_change(
    before: str, changes: dict[str, Value | None], after: str
) -> None:
    assert frontmatter.patch(header(before), changes) == header(after)


@pytest.mark.parametrize("text", ["{a: 1}\n", "? a\n: 1\n"])
def test_forms_without_a_line_per_key_are_not_changed(text: str) -> None:
    with pytest.raises(MalformedDocument):
        frontmatter.patch(header(text), {"b": "x"})


def test_a_file_without_front_matter_gets_one() -> None:
    assert frontmatter.patch(b"Text.\r\n", {"id": "x"}) == b"---\r\nid: x\r\n---\r\n\r\nText.\r\n"


def test_the_body_changes_only_when_it_differs() -> None:
    old = header("a: 1 # c\n", "\nOld --- text\n---\n")
    assert frontmatter.patch(old, {}, body="\nOld --- text\n---\n") == old
    assert frontmatter.patch(old, {}, body="\nNew\n") == header("a: 1 # c\n", "\nNew\n")


def test_a_body_that_would_become_a_second_block_is_refused() -> None:
    with pytest.raises(MalformedDocument):
        frontmatter.patch(header("a: 1\n"), {}, body="\n---\nb: 2\n---\n")


@given(strategies.written_files())
def test_no_change_is_the_same_bytes(written: Written) -> None:
    parsed = frontmatter.parse(written.data)
    same: dict[str, Value | None] = {
        key: value for key, value in parsed.fields.items() if isinstance(value, str)
    }
    assert frontmatter.patch(written.data, same) == written.data


@given(strategies.written_files(), strategies.changes)
def test_a_patch_is_the_old_fields_with_the_changes(
    written: Written, changes: dict[str, Value | None]
) -> None:
    before = frontmatter.parse(written.data)
    result = frontmatter.patch(written.data, changes)
    after = frontmatter.parse(result)

    expected = dict(before.fields)
    for key, value in changes.items():
        if value is None:
            expected.pop(key, None)
        else:
            expected[key] = frontmatter.as_tree(value)
    assert after.fields == expected
    assert after.body == before.body
    assert [key for key in after.fields if key in before.fields] == [
        key for key in before.fields if key in after.fields
    ]
    position = 0
    for key, chunk in written.chunks:
        if key in changes:
            continue
        # Each untouched line stands where it stood: in the same order, byte for byte.
        found = result.find(chunk, position)
        assert found >= 0
        position = found + len(chunk)
    assert result.endswith(written.body)
    assert result.startswith(b"\xef\xbb\xbf") is written.data.startswith(b"\xef\xbb\xbf")


def test_a_mapping_in_the_place_of_a_list_is_replaced() -> None:
    data = b"---\nid: {a: 1, b: [2, 3]}\n---\n"
    assert frontmatter.patch(data, {"id": []}) == b"---\nid: []\n---\n"
