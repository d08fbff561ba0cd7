"""No path leaves the vault."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepm.errors import InvalidIdentifier, StorageFailed
from keepm.store.paths import VaultPaths, is_portable

CASE = Path(__file__).parents[1] / "cases" / "25-escape-paths"
HOSTILE: list[str] = json.loads((CASE / "paths.json").read_text("utf-8"))


@pytest.fixture
def paths(tmp_path: Path) -> VaultPaths:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    notes = tmp_path / "vault" / "Memory" / "global"
    notes.mkdir(parents=True)
    (notes / "link-out.md").symlink_to(outside / "secret.md")
    (notes / "dir-out").symlink_to(outside)
    (notes / "dangling.md").symlink_to(outside / "missing.md")
    (notes / "note.md").write_text("note")
    return VaultPaths(tmp_path / "vault")


@pytest.mark.parametrize("path", HOSTILE)
def test_every_hostile_path_is_refused(paths: VaultPaths, path: str) -> None:
    """Case 25."""
    with pytest.raises(InvalidIdentifier):
        paths.locate(path)


# Below a folder of notes these two are ordinary names: nothing is ever decoded or expanded.
ORDINARY_BELOW = {"%2e%2e/x.md", "%252e%252e%252fx.md", "~/x.md"}


@pytest.mark.parametrize("path", [p for p in HOSTILE if p not in ORDINARY_BELOW])
def test_every_hostile_path_is_refused_below_a_folder_of_notes(
    paths: VaultPaths, path: str
) -> None:
    """Case 25."""
    with pytest.raises(InvalidIdentifier):
        paths.locate(f"Memory/global/{path}")


@pytest.mark.parametrize(
    "name",
    [
        "dangling.md",
        "note.md/below.md",
        "nul.md",
        "COM1",
        "com¹.md",
        "con .md",
        "trailing.",
        "trailing ",
        "x" * 256,
        "字" * 86,
        "a\ud800.md",
        "a\x7f.md",
        ".GIT/x.md",
        ".g\u200cit/x.md",
        ".obsidian",
    ],
)
def test_names_that_mean_something_else_somewhere_are_refused(paths: VaultPaths, name: str) -> None:
    with pytest.raises(InvalidIdentifier):
        paths.locate(f"Memory/global/{name}")


@pytest.mark.parametrize(
    "path",
    [
        "Memory/global/note.md",
        "Memory/global/%2e%2e/x.md",
        "Memory/projects/我的项目/为什么?.md",
        "Memory/.trash/20261129T181500Z-t/global/x.md",
        "Memory/global/" + "字" * 85,
        "Memory/global/C++ & C#.md",
    ],
)
def test_plain_paths_lead_to_their_place(paths: VaultPaths, path: str) -> None:
    assert paths.locate(path) == paths.root.joinpath(*path.split("/"))


def test_the_refusal_names_no_absolute_path(paths: VaultPaths) -> None:
    with pytest.raises(InvalidIdentifier) as refused:
        paths.locate("Memory/global/link-out.md")

    assert str(paths.root) not in refused.value.message


def test_the_root_itself_may_lie_behind_a_symlink(paths: VaultPaths, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(paths.root)
    aliased = VaultPaths(tmp_path / "alias")

    assert aliased.locate("Memory/global/note.md").read_text() == "note"


PIECES = st.one_of(
    st.sampled_from(
        ["..", ".", "", "Memory", "global", "dir-out", "link-out.md", "note.md", "new", "%2e%2e"]
    ),
    st.sampled_from(["C:", "\\", "..\\", "~", "\x00", "/", ".. ", "...", ".git", "con"]),
    st.text(max_size=8),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=8), below=st.booleans())
def test_what_is_located_lies_below_the_real_root(
    paths: VaultPaths, pieces: list[str], below: bool
) -> None:
    path = ("Memory/global/" if below else "") + "/".join(pieces)
    try:
        place = paths.locate(path)
    except InvalidIdentifier:
        return

    real = os.path.realpath(place)
    assert real == os.path.join(os.path.realpath(paths.root), *path.split("/"))
    assert all(is_portable(part) for part in path.split("/"))


def test_what_stands_in_the_way_is_named_with_what_to_do(paths: VaultPaths) -> None:
    """The caller's identifier was right, so that no other identifier would help."""
    for path, obstacle in (
        ("Memory/global/link-out.md", "Memory/global/link-out.md"),
        ("Memory/global/dir-out/secret.md", "Memory/global/dir-out"),
        ("Memory/global/note.md/below.md", "Memory/global/note.md"),
    ):
        with pytest.raises(InvalidIdentifier) as caught:
            paths.locate(path)
        assert caught.value.message.startswith(f"{obstacle} is ")
        assert caught.value.next_step != InvalidIdentifier.hint


def test_a_folder_that_denies_a_look_is_told_as_the_file_system_tells_it(
    paths: VaultPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: str) -> os.stat_result:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "lstat", denied)
    with pytest.raises(StorageFailed) as caught:
        paths.locate("Memory/global/note.md")
    assert caught.value.details == {"path": "Memory", "reason": "EACCES", "committed": False}


def test_during_one_change_the_last_part_is_looked_at_each_time(
    paths: VaultPaths, tmp_path: Path
) -> None:
    with paths.looking_once():
        place = paths.locate("Memory/global/new.md")
        assert place == paths.locate("Memory/global/new.md")
        place.symlink_to(tmp_path / "outside.md")
        with pytest.raises(InvalidIdentifier):
            paths.locate("Memory/global/new.md")


def test_after_a_change_the_folders_are_looked_at_again(paths: VaultPaths, tmp_path: Path) -> None:
    with paths.looking_once():
        paths.locate("Memory/global/note.md")
    (paths.root / "Memory/global").rename(tmp_path / "moved")
    (paths.root / "Memory/global").symlink_to(tmp_path / "moved")

    with pytest.raises(InvalidIdentifier):
        paths.locate("Memory/global/note.md")


def test_a_look_within_a_look_ends_with_the_outer_one(paths: VaultPaths, tmp_path: Path) -> None:
    with paths.looking_once():
        with paths.looking_once():
            paths.locate("Memory/global/note.md")
        (paths.root / "Memory/global").rename(tmp_path / "moved")
        (paths.root / "Memory/global").symlink_to(tmp_path / "moved")
        paths.locate("Memory/global/note.md")
    with pytest.raises(InvalidIdentifier):
        paths.locate("Memory/global/note.md")
