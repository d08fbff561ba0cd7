from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.errors import InvalidIdentifier, MalformedDocument
from keepm.markdown import memories
from keepm.model.approval import Channel
from keepm.model.document import Damaged, Document, Standing
from keepm.model.memory import GLOBAL, Kind, Language, Memory, Scope, Status
from tests import strategies

CASES = Path(__file__).parent.parent / "cases"
PATH = "Memory/global/note.md"
ID = "6f0c9d52-93a5-4a38-8f0d-0a4c1f2f7b11"


def case(name: str) -> bytes:
    return (CASES / name).read_bytes()


def memory(data: bytes | str, path: str = PATH) -> Document[Memory]:
    document = memories.read(path, data.encode() if isinstance(data, str) else data)
    assert isinstance(document.content, Memory)
    return document


def damaged(data: bytes) -> Document[Damaged]:
    document = memories.read(PATH, data)
    assert isinstance(document.content, Damaged)
    return document


def note(front: str, body: str = "Body.\n", path: str = PATH) -> Document[Memory]:
    return memory(f"---\nid: {ID}\n{front}---\n\n{body}", path)


def codes(document: Document[Memory] | Document[Damaged]) -> list[str]:
    return [finding.code for finding in document.findings]


EXAMPLE = f"""---
id: {ID}
name: postgres-wsl2-io-config
description: Why compose pins the data volume on ext4, and the exact mount options
scope: project
project_id: widgets
kind: fix
language: en
tags: [docker]
pinned: false
aliases: [pg-slow-wsl]
status: active
created: '2026-11-29T18:15:00Z'
updated: '2026-11-29T18:15:00Z'
sources:
- deploy/docker-compose.yml#service:db
verified_at: '2026-11-29'
source_digests: {{deploy/docker-compose.yml: 4b825dc642cb}}
approved_via: host
---

## Decision and constraints
ext4.
"""
EXAMPLE_PATH = "Memory/projects/widgets/postgres-wsl2-io-config.md"


# ---- reading -------------------------------------------------------------------------------


def test_a_note_as_documented_is_read_whole() -> None:
    document = memory(EXAMPLE, EXAMPLE_PATH)
    content, claim = document.content, document.content.claim
    assert document.findings == ()
    assert content.id == ID
    assert claim.scope == Scope("widgets")
    assert claim.kind is Kind.FIX
    assert claim.tags == ("docker",)
    assert claim.sources == ("deploy/docker-compose.yml#service:db",)
    assert claim.verified_at == "2026-11-29"
    assert content.source_digests == (("deploy/docker-compose.yml", "4b825dc642cb"),)
    assert content.approved_via is Channel.HOST
    assert claim.body == "## Decision and constraints\next4."


def test_a_note_as_documented_is_written_the_same() -> None:
    assert memories.render(memory(EXAMPLE, EXAMPLE_PATH).content) == EXAMPLE.encode()


def test_a_keepm_3_note_with_plain_dates_is_read() -> None:
    document = note("name: a\ncreated: 2025-03-01\nupdated: '2025-04-02'\nstatus: active\n")
    assert (document.content.created, document.content.updated) == ("2025-03-01", "2025-04-02")
    assert document.findings == ()


def test_lists_may_be_one_text_and_tags_may_carry_their_sign() -> None:
    content = note("aliases: Old name\ntags: '#ops, #网络'\nsources: a.py\nsupersedes: x\n").content
    assert content.claim.aliases == ("Old name",)
    assert content.claim.tags == ("ops", "网络")
    assert content.claim.sources == ("a.py",)
    assert content.supersedes == ("x",)


def test_case_twins_of_tags_are_one() -> None:
    assert note("tags: ['#Ops', ops, b]\n").content.claim.tags == ("Ops", "b")


def test_the_file_name_stands_in_for_a_missing_name() -> None:
    assert (
        note("title: not ours\n", path="Memory/global/My Note.MD").content.claim.name == "My Note"
    )


def test_a_numeric_name_is_text() -> None:
    assert note("name: 0123\n").content.claim.name == "0123"


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("yes", True), ("On", True), ("1", True), ("no", False)]
)
def test_pinned_is_read_kindly(text: str, expected: bool) -> None:
    assert note(f"pinned: {text}\n").content.claim.pinned is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-29T00:00:00", "2026-11-29"),
        ("2026-11-29 00:00", "2026-11-29"),
        ("2026-11-29 18:15:00 +02:00", "2026-11-29 18:15:00 +02:00"),
        ("2026-11-29T18:15:00Z", "2026-11-29T18:15:00Z"),
    ],
)
def test_times_are_kept_as_written(text: str, expected: str) -> None:
    assert note(f"created: {text}\n").content.created == expected


def test_verified_at_takes_the_date_of_a_time() -> None:
    assert note("verified_at: 2026-11-29 18:15\n").content.claim.verified_at == "2026-11-29"


def test_impossible_dates_are_absent_and_noted_with_their_lines() -> None:
    data = case("10-impossible-date/d.md").replace(b"due:", b"created:")
    document = memory(data.replace(b"review_after:", b"verified_at:"))
    found = {(f.code, f.line) for f in document.findings if f.code == "invalid_date"}
    assert found == {("invalid_date", 3), ("invalid_date", 4)}
    assert (document.content.created, document.content.claim.verified_at) == ("", None)
    assert "Impossible dates" in document.content.claim.body


@pytest.mark.parametrize("name", ["null", "blank", "none"])
def test_a_missing_kind_is_reference_without_a_word(name: str) -> None:
    document = memory(case(f"05-type-missing/{name}.md").replace(b"type:", b"kind:"))
    assert document.content.claim.kind is Kind.REFERENCE
    assert codes(document) == ["missing_id"]


def test_a_kind_that_is_a_list_is_one_warning() -> None:
    document = memory(case("05-type-missing/list.md").replace(b"type:", b"kind:"))
    assert document.content.claim.kind is Kind.REFERENCE
    assert codes(document).count("not_text") == 1


@pytest.mark.parametrize("name", ["wrong-top", "scalar-top"])
def test_front_matter_that_is_no_map_leaves_the_text_readable(name: str) -> None:
    document = damaged(case(f"05-type-missing/{name}.md"))
    assert codes(document) == ["front_matter_not_a_map"]
    assert document.content.standing is Standing.DAMAGED
    assert "eta" in document.content.text or "epsilon" in document.content.text


def test_an_unknown_kind_is_reference_and_noted() -> None:
    document = note("kind: recipe\n")
    assert document.content.claim.kind is Kind.REFERENCE
    assert [(f.code, f.line) for f in document.findings] == [("unknown_kind", 3)]


def test_an_unknown_status_counts_as_the_less_trusted() -> None:
    document = memory(case("08-norway/n.md"))
    assert document.content.status is Status.ARCHIVED
    assert "unknown_status" in codes(document)
    assert document.content.claim.tags == ("no", "on", "yes", "1.10", "0123", "null", "~")


def test_an_empty_tag_value_is_noted_and_not_invented() -> None:
    document = memory(case("16-obsidian-values/v.md"))
    assert document.content.claim.tags == ()
    assert document.content.claim.aliases == ("Old name",)
    assert "empty_value" in codes(document)


def test_a_missing_id_is_derived_from_the_path() -> None:
    first, again = memory("Just text."), memory("Other text.")
    assert first.content.id == again.content.id
    assert first.content.id != memory("Just text.", "Memory/global/other.md").content.id
    assert codes(first) == ["missing_id"]


def test_an_empty_file_is_an_empty_note() -> None:
    document = memory(case("04-poison-among-good/bad/empty.md"), "Memory/global/empty.md")
    assert (document.content.claim.name, document.content.claim.body) == ("empty", "")


@pytest.mark.parametrize("name", ["path", "star", "list", "rule"])
def test_a_poisoned_note_keeps_its_words_and_has_one_finding(name: str) -> None:
    data = case(f"04-poison-among-good/bad/{name}.md")
    document = damaged(data)
    assert len(document.findings) == 1
    assert document.content.text == data.decode()
    assert document.content.name == "note"


@pytest.mark.parametrize(
    ("front", "path"),
    [
        ("scope: project\n", PATH),
        ("project_id: widgets\n", PATH),
        ("scope: global\n", EXAMPLE_PATH),
        ("scope: project\nproject_id: other\n", EXAMPLE_PATH),
    ],
)
def test_the_folder_decides_the_scope(front: str, path: str) -> None:
    document = note(front, path=path)
    assert codes(document) == ["scope_mismatch"]
    assert document.content.claim.scope == (GLOBAL if path == PATH else Scope("widgets"))


@pytest.mark.parametrize(
    ("front", "body", "expected"),
    [
        ("", "Use pnpm.", Language.EN),
        ("", "使用 pnpm 构建项目", Language.ZH),
        ("language: zh-CN\n", "Use pnpm.", Language.ZH),
        ("language: en\n", "使用", Language.EN),
    ],
)
def test_the_language_is_named_or_seen(front: str, body: str, expected: Language) -> None:
    assert note(front, body).content.claim.language is expected


def test_a_body_over_the_limit_is_still_a_note() -> None:
    assert "over_limit" not in codes(note("", "x" * 16384 + "\n"))
    document = note("", "x" * 16385 + "\n")
    assert codes(document) == ["over_limit"]
    assert len(document.content.claim.body) == 16385


def test_the_indentation_of_the_body_stays() -> None:
    assert note("", "\n    code\n\ntext\n\n").content.claim.body == "    code\n\ntext"


@pytest.mark.parametrize("name", ["crlf", "cr", "mixed", "bomcrlf"])
def test_line_endings_make_no_difference_to_the_body(name: str) -> None:
    document = memory(case(f"14-line-endings/{name}.md"))
    assert document.content.claim.body == "First line.\n\nSecond line."


@pytest.mark.parametrize(
    ("data", "code", "standing"),
    [
        (case("11-duplicate-keys/dup.md"), "duplicate_key", Standing.WITHHELD),
        (case("31-merge-markers/m.md"), "merge_markers", Standing.WITHHELD),
        (b"text\x00more", "nul_byte", Standing.WITHHELD),
        (b"text \xff more", "not_utf8", Standing.DAMAGED),
        (case("01-second-block/broken.md"), "invalid_yaml", Standing.DAMAGED),
    ],
)
def test_a_file_that_can_not_be_relied_on_says_why(
    data: bytes, code: str, standing: Standing
) -> None:
    document = damaged(data)
    assert document.content.standing is standing
    assert document.findings[0].code == code
    assert all(finding.line for finding in document.findings)


def test_every_half_of_a_merge_is_named_by_line() -> None:
    assert [f.line for f in damaged(case("31-merge-markers/m.md")).findings] == [4, 11]


def test_a_path_outside_the_shelves_is_refused() -> None:
    with pytest.raises(InvalidIdentifier):
        memories.read("Elsewhere/note.md", b"")


# ---- writing -------------------------------------------------------------------------------


@given(strategies.memories(Scope("widgets")))
def test_a_rendered_memory_reads_back(content: Memory) -> None:
    try:
        data = memories.render(content)
    except MalformedDocument:
        assert content.claim.body.startswith("---")
        return
    document = memory(data, "Memory/projects/widgets/n.md")
    assert document.content == content
    assert document.findings == ()


@given(
    strategies.memories(Scope("widgets")),
    strategies.memories(Scope("widgets")),
    st.sampled_from(("\n", "\r\n", "\r")),
)
def test_a_patched_memory_reads_back(old: Memory, new: Memory, newline: str) -> None:
    try:
        data = memories.render(old).decode().replace("\n", newline).encode()
        document = memory(data, "Memory/projects/widgets/n.md")
        patched = memories.patch(document, replace(new, id=old.id))
    except MalformedDocument:
        assert "---" in old.claim.body + new.claim.body
        return
    assert memory(patched, "Memory/projects/widgets/n.md").content == replace(new, id=old.id)
    assert memories.patch(document, document.content) == data


def test_a_patch_touches_one_line() -> None:
    document = memory(EXAMPLE.replace("tags: [docker]", "tags: [docker] # 我的"), EXAMPLE_PATH)
    claim = replace(document.content.claim, tags=("docker", "wsl"))
    patched = memories.patch(document, replace(document.content, claim=claim))
    assert patched == document.data.replace(b"[docker] #", b"[docker, wsl] #")


def test_a_body_keeps_the_line_endings_of_its_file() -> None:
    document = memory(case("14-line-endings/bomcrlf.md"))
    claim = replace(document.content.claim, body="New\n\ntext")
    patched = memories.patch(document, replace(document.content, claim=claim))
    head = document.data[: document.data.index(b"First")]
    assert patched == head + b"New\r\n\r\ntext\r\n"


def test_a_cleared_list_takes_its_key_along() -> None:
    document = note("tags:\n- a\n# mine\nx: y\n")
    claim = replace(document.content.claim, tags=())
    patched = memories.patch(document, replace(document.content, claim=claim))
    assert patched == document.data.replace(b"tags:\n- a\n", b"")


def test_defaults_that_were_only_read_are_not_written() -> None:
    document = note("x: y\n")
    patched = memories.patch(document, replace(document.content, status=Status.SUPERSEDED))
    assert patched == document.data.replace(b"x: y\n", b"x: y\nstatus: superseded\n")


def test_one_superseded_id_is_a_text_and_several_are_a_list() -> None:
    document = note("supersedes: a\n")
    two = memories.patch(document, replace(document.content, supersedes=("a", "b")))
    assert b"supersedes: [a, b]\n" in two
    one = memories.patch(memory(two), replace(document.content, supersedes=("b",)))
    assert b"supersedes: [b]\n" in one


@pytest.mark.parametrize(
    "data", [case("01-second-block/stub.md"), b"No front matter.\n", b"---\nname: a\n---\n"]
)
def test_a_note_without_a_sure_identity_is_not_changed(data: bytes) -> None:
    document = memory(data)
    before = hashlib.sha256(document.data).digest()
    with pytest.raises(MalformedDocument):
        memories.patch(document, replace(document.content, status=Status.ARCHIVED))
    assert hashlib.sha256(document.data).digest() == before


# ---- relations -----------------------------------------------------------------------------


def test_links_of_the_body_and_of_foreign_keys_are_relations() -> None:
    document = memory(case("16-obsidian-values/v.md").replace(b"Body.", b"See [[Third]]."))
    assert [(link.target, link.relation) for link in memories.relations(document)] == [
        ("Third", None),
        ("Other note", "related"),
        ("Folder/Parent", "parent"),
    ]
