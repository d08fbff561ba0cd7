"""Data sets from elsewhere give the table, and tell what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.benchmarks.retrieval import __main__ as runner
from tests.benchmarks.retrieval import outside

DOCUMENT = {"id": "a", "text": "The ferry leaves at nine."}
QUESTION = {"question": "When does the ferry leave?", "gold": ["a"]}


def test_an_outside_data_set_gives_the_same_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = _jsonl(
        tmp_path / "documents.jsonl",
        {"id": "d1", "title": "Ferry", "text": "The ferry leaves at nine."},
        {"id": 2, "text": "渡轮九点开船，周日停航。"},
        {"id": "long", "text": "Other words. " * 3000 + "The lighthouse is at the end."},
    )
    questions = _jsonl(
        tmp_path / "questions.jsonl",
        {"question": "when does the ferry leave", "gold": ["d1"]},
        {"question": "周日有渡轮吗", "gold": [2], "type": "zh"},
        {"question": "lighthouse", "gold": ["long"], "type": "long"},
        {"question": "submarine", "gold": []},
    )
    table = tmp_path / "table.md"

    code = runner.main(
        ["--documents", str(documents), "--questions", str(questions), "--markdown", str(table)]
    )

    assert code == 0
    printed = capsys.readouterr().out
    for line in ("documents: all", "documents: zh", "documents: no-answer"):
        assert line in printed
    for sort in ("zh", "long"):
        assert f"| documents: {sort} | 1 | 100 / 100 / 100 |" in table.read_text("utf-8")


def test_what_other_tools_write_is_read(tmp_path: Path) -> None:
    documents, questions = tmp_path / "d.jsonl", tmp_path / "q.jsonl"
    text = "One line.\u2028The giraffe is on another.\x85And one more."
    line = json.dumps({"id": 1, "text": text, "title": None, "more": [1]}, ensure_ascii=False)
    documents.write_bytes(b"\xef\xbb\xbf" + line.encode() + b"\r\n\r\n")
    _jsonl(questions, {"question": "giraffe", "gold": [1, "1"], "type": None})

    corpus = outside.load(documents, questions)

    assert corpus.cards["1"].body == text
    assert [(q.gold, q.type) for q in corpus.questions] == [(("1",), "all")]


def test_a_question_that_nothing_answers_is_one_whatever_its_type(tmp_path: Path) -> None:
    documents = _jsonl(tmp_path / "d.jsonl", DOCUMENT)
    questions = _jsonl(tmp_path / "q.jsonl", {"question": "Why?", "gold": [], "type": "hard"})

    assert [q.type for q in outside.load(documents, questions).questions] == ["no-answer"]


@pytest.mark.parametrize(
    ("documents", "questions", "wrong"),
    [
        ('{"id": "a"}', None, "d.jsonl:1: no `text`; there are id"),
        ('{"_id": "a", "text": "x"}', None, "d.jsonl:1: no `id`; there are _id, text"),
        ('{"id": "a", "text": " "}', None, "d.jsonl:1: `text` must be text, and not blank"),
        ('{"id": true, "text": "x"}', None, "d.jsonl:1: `id` must be text, and not blank"),
        (
            '{"id": "a", "text": "x", "title": ["y"]}',
            None,
            "d.jsonl:1: `title` must be text, and not blank",
        ),
        (
            '{"id": "a", "text": "\\ud800"}',
            None,
            "d.jsonl:1: `text` holds half of a character (a lone surrogate)",
        ),
        (
            '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}',
            None,
            "d.jsonl:2: the id 'a' stands twice",
        ),
        (
            '\n{"id": oops}',
            None,
            "d.jsonl:2: not JSON: Expecting value, column 8",
        ),
        ("7", None, "d.jsonl:1: not a JSON object"),
        (
            ' [{"id": "a", "text": "x"}]',
            None,
            "d.jsonl: one JSON object a line is expected, not one array",
        ),
        ("", None, "d.jsonl: nothing in it"),
        (None, "\n", "q.jsonl: nothing in it"),
        (None, '{"gold": ["a"]}', "q.jsonl:1: no `question`; there are gold"),
        (
            None,
            '{"question": "x"}',
            "q.jsonl:1: `gold` must be a list of document ids, or an empty one",
        ),
        (
            None,
            '{"question": "x", "gold": "a"}',
            "q.jsonl:1: `gold` must be a list of document ids, or an empty one",
        ),
        (
            None,
            '{"question": "x", "gold": ["a", "b", "c"]}',
            "q.jsonl:1: `gold` names no document: b, c",
        ),
        (
            None,
            '{"question": "x", "gold": [["a"]]}',
            "q.jsonl:1: what `gold` lists must be text, and not blank",
        ),
        (
            None,
            '{"question": "x", "gold": ["a"], "type": "no-answer"}',
            "q.jsonl:1: of type no-answer, but `gold` lists documents",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, documents: str | None, questions: str | None, wrong: str
) -> None:
    (tmp_path / "d.jsonl").write_text(documents if documents is not None else json.dumps(DOCUMENT))
    (tmp_path / "q.jsonl").write_text(questions if questions is not None else json.dumps(QUESTION))

    with pytest.raises(outside.UnusableError) as raised:
        outside.load(tmp_path / "d.jsonl", tmp_path / "q.jsonl")

    assert raised.value.args == (wrong,)


def test_all_that_is_wrong_is_told_at_once_and_not_as_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d.jsonl").write_bytes('{"id": "a", "text": "café"}'.encode("latin-1"))
    questions = _jsonl(tmp_path / "q.jsonl", *({"question": str(n)} for n in range(25)))

    code = runner.main(["--documents", str(tmp_path / "d.jsonl"), "--questions", str(questions)])

    told = capsys.readouterr().err.splitlines()
    assert code == 2
    assert told[0] == "d.jsonl: not UTF-8: byte 25"
    assert told[1].startswith("q.jsonl:1: ")
    assert told[-1] == "and 6 more"


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = _jsonl(tmp_path / "d.jsonl", DOCUMENT)
    missing = tmp_path / "missing.jsonl"

    assert runner.main(["--documents", str(there), "--questions", str(missing)]) == 2

    assert str(missing) in capsys.readouterr().err


def _jsonl(path: Path, *objects: Mapping[str, object]) -> Path:
    path.write_text(
        "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects), "utf-8"
    )
    return path
