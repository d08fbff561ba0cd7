from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm import config
from keepm.errors import InvalidIdentifier
from keepm.model import identity, memory
from tests import strategies

CASES = Path(__file__).parent.parent / "cases"
TITLES: list[str] = json.loads((CASES / "22-hostile-titles/titles.json").read_text("utf-8"))
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Build Command", "build-command"),
        ("build_command", "build -- command"),
        ("ＡＢＣ", "abc"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "CAFÉ"),
        (" 构建 命令 ", "构建-命令"),
    ],
)
def test_one_slot_has_many_spellings(one: str, other: str) -> None:
    assert identity.slot_key(one) == identity.slot_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C", "C++"), ("C++", "C#"), (".env file", "env-file"), ("a.b", "ab")]
)
def test_signs_that_carry_meaning_part_slots(one: str, other: str) -> None:
    assert identity.slot_key(one) != identity.slot_key(other)


@given(strategies.lines)
def test_a_slot_key_is_its_own_key(name: str) -> None:
    key = identity.slot_key(name)
    assert identity.slot_key(key) == key


def portable(stem: str) -> bool:
    name = f"{stem}.md"
    return (
        len(f"{name}.keepm-12345678.tmp".encode()) <= 255
        and not re.search(r'[<>:"/\\|?*\[\]#^\x00-\x1f]', name)
        and not stem.startswith((".", " "))
        and not stem.endswith((".", " "))
        and not DEVICES.fullmatch(stem)
        and stem not in ("", ".", "..")
    )


@pytest.mark.parametrize("title", TITLES)
def test_a_hostile_title_makes_a_portable_file_name(title: str) -> None:
    assert portable(identity.file_stem(title))


def test_titles_that_are_two_slots_never_share_a_file_name() -> None:
    by_file: dict[str, set[str]] = {}
    for title in TITLES:
        key = identity.file_key(identity.file_stem(title))
        by_file.setdefault(key, set()).add(identity.slot_key(title))
    assert all(len(slots) == 1 for slots in by_file.values())


def test_blank_titles_are_refused() -> None:
    assert list(memory.name_problems("name", "  ", config.load_policy()))


@given(strategies.lines | st.text(max_size=300))
def test_any_name_makes_a_portable_file_name(name: str) -> None:
    stem = identity.file_stem(name)
    assert portable(stem)
    assert unicodedata.is_normalized("NFC", stem)


def test_a_long_name_is_cut_between_characters() -> None:
    stem = identity.file_stem("👩‍💻" * 60)
    assert len(stem.encode()) < 200
    assert not stem.rsplit("-", 1)[0].endswith("\u200d")


@pytest.mark.parametrize("text", ["widgets", "我的项目", "проект", "a.b_c-d", "x" * 80])
def test_project_ids_keep_letters_of_any_script(text: str) -> None:
    assert identity.parse_project_id(f" {text} ") == text


@pytest.mark.parametrize(
    "text",
    ["", "  ", ".", "..", ".hidden", "-rf", "a/b", "a\\b", "a b", "x" * 81, "CON", "nul.md", "a.",
     "a\x00", "../x"],
)  # fmt: skip
def test_what_can_be_no_folder_is_no_project_id(text: str) -> None:
    with pytest.raises(InvalidIdentifier):
        identity.parse_project_id(text)


@given(st.text(max_size=120))
def test_what_is_proposed_is_a_project_id(text: str) -> None:
    proposed = identity.propose_project_id(text)
    assert identity.parse_project_id(proposed) == proposed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6F0C9D52-93A5-4A38-8F0D-0A4C1F2F7B11", True),
        ("6f0c9d5293a54a388f0d0a4c1f2f7b11", True),
        ("6f0c", False),
        ("build-command", False),
    ],
)
def test_ids_are_uuids(text: str, expected: bool) -> None:
    assert identity.is_id(text) is expected
