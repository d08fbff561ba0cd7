"""What a path of a working tree names, links and dots included."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepm.operations import worktree
from keepm.operations.worktree import Look, Relocations


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    (top / "src/deep").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    for place in (top / "a.py", top / "src/b.py", top / "src/deep/c.py", tmp_path / "outside/o.py"):
        place.write_text(place.name)
    (top / "src/link.py").symlink_to(top / "a.py")
    (top / "away.py").symlink_to(tmp_path / "outside/o.py")
    (top / "out").symlink_to(tmp_path / "outside")
    (top / "in").symlink_to(top / "src")
    (top / "dangling.py").symlink_to(top / "gone.py")
    return top


PATHS = [
    "a.py", "src/b.py", "src/deep/c.py", "src", "src/", "src//b.py", "./a.py", "src/../a.py",
    "src/.", "src/..", "", ".", "..", "../outside/o.py", "src/link.py", "away.py", "out/o.py",
    "out", "in/b.py", "in/gone.py", "in/../a.py", "dangling.py", "gone.py", "gone/more.py",
    "a.py/below", "/etc/hostname", "/", "nul\0.py", "nul\0/a.py", "x" * 300, "ü/ö.py",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_path_names_what_it_leads_to_if_that_is_in_the_tree(tree: Path, path: str) -> None:
    look = Look(tree)
    look.at("src/b.py")
    look.at("out/other.py")

    found = look.at(path)

    place = worktree.inside(tree, path)
    assert found.file == place
    if place is None:
        assert found.is_there is None
    elif len(place.name) < 256:
        assert found.is_there is place.exists()


def test_what_is_found_once_is_hashed_once(tree: Path) -> None:
    look = Look(tree)
    digest = look.at("src/b.py").digest
    (tree / "src/b.py").write_text("other")
    assert look.at("src/b.py").digest == digest == worktree.digest(b"b.py")
    assert Look(tree).at("src/b.py").digest == worktree.digest(b"other")


def test_where_a_file_went_is_no_place_that_it_has_left(tree: Path) -> None:
    """Although the list of the tree's files is trusted for a while."""
    relocations, wanted = Relocations(), worktree.digest(b"c.py")
    first, second = tree / "src/deep/c.py", tree / "d.py"
    assert relocations.find(tree, "gone.py", wanted) == "src/deep/c.py"
    first.rename(second)
    assert relocations.find(tree, "gone.py", wanted) == "d.py"
    second.write_text("something else")
    assert relocations.find(tree, "gone.py", wanted) is None
