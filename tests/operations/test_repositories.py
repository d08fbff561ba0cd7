"""Addresses of remotes, and what is found without running git."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm.operations import repositories
from tests.operations import git

TOP = Path("/w/a")


@pytest.mark.parametrize(
    "address",
    [
        "https://git.example.org/acme/widgets",
        "https://git.example.org/acme/widgets.git",
        "https://git.example.org/acme/widgets.git/",
        "https://user:token@Git.Example.Org:443/acme/widgets.git",
        "git@git.example.org:acme/widgets.git",
        "git.example.org:/acme/widgets.git",
        "ssh://git@git.example.org:22/acme/widgets.git",
        "git+ssh://git@git.example.org/acme/widgets",
        "git://git.example.org/acme/widgets.git",
        "https://git.example.org/acme/wid%67ets",
    ],
)
def test_one_repository_has_one_address(address: str) -> None:
    assert repositories.normalise(address, top=TOP) == "git.example.org/acme/widgets"


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("https://localhost:3000/a/b", "localhost:3000/a/b"),
        ("git@[::1]:a/b", "[::1]/a/b"),
        ("/srv/git/x.git", "file:/srv/git/x"),
        ("file:///srv/git/x/.git", "file:/srv/git/x"),
        ("../x.git", "file:/w/x"),
        ("https://git.example.org/a/我的.git", "git.example.org/a/我的"),
        ("ext::sh -c echo", None),
        ("", None),
        ("https://", None),
        ("https://[bad/x", None),
        ("file://[bad/x", None),
        ("https://h:port/x", None),
    ],
)
def test_other_addresses(address: str, wanted: str | None) -> None:
    assert repositories.normalise(address, top=TOP) == wanted


@given(st.text(max_size=60))
def test_no_text_makes_an_address_raise(text: str) -> None:
    repositories.normalise(text, top=TOP)


def test_an_address_keeps_no_credentials() -> None:
    for address in ("https://u:secret@h.example/x", "ssh://secret@h.example/x", "secret@h.ex:x"):
        assert "secret" not in (repositories.normalise(address, top=TOP) or "")


def found(folder: Path) -> repositories.Repository:
    repository = repositories.locate(folder)
    assert repository is not None
    return repository


@pytest.mark.parametrize("packed", [False, True])
def test_every_commit_is_found_and_no_other(tmp_path: Path, packed: bool) -> None:
    a, b = git.repository(tmp_path / "a", commits=12), git.repository(tmp_path / "b")
    if packed:
        git.run(a, "gc", "-q", "--prune=now")
        assert not list((a / ".git/objects").glob("??"))
    commits = git.run(a, "rev-list", "HEAD").split()

    for commit in commits:
        assert repositories.holds_any(found(a), (commit,))
    assert not repositories.holds_any(found(a), (git.run(b, "rev-parse", "HEAD"), "x", "0" * 40))
    assert not repositories.holds_any(found(a), ("0" * 40, "f" * 40, "f" * 64))
    assert repositories.first_commits(found(a)) == (commits[-1],)


def test_borrowed_objects_are_found(tmp_path: Path) -> None:
    a = git.repository(tmp_path / "a")
    git.run(tmp_path, "clone", "-q", "--shared", str(a), "b")

    assert repositories.holds_any(found(tmp_path / "b"), (git.run(a, "rev-parse", "HEAD"),))


def test_a_sha256_repository_is_understood(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    git.run(tmp_path / "a", "init", "-q", "--object-format=sha256")
    git.run(tmp_path / "a", "commit", "-q", "--allow-empty", "-m", "x")
    git.run(tmp_path / "a", "gc", "-q", "--prune=now")

    (commit,) = repositories.first_commits(found(tmp_path / "a"))
    assert len(commit) == 64
    assert repositories.holds_any(found(tmp_path / "a"), (commit,))


def test_a_shallow_clone_has_no_first_commit(tmp_path: Path) -> None:
    a = git.repository(tmp_path / "a", commits=3)
    b = git.clone(a, tmp_path / "b", "--depth=1")

    assert repositories.is_shallow(found(b))
    assert repositories.first_commits(found(b)) == ()


def test_a_repository_without_commits_has_none(tmp_path: Path) -> None:
    git.repository(tmp_path / "a", commits=0)

    assert repositories.first_commits(found(tmp_path / "a")) == ()


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    inner = git.repository(tmp_path / "inner")
    outer = git.repository(tmp_path / "outer")
    git.run(outer, "submodule", "--quiet", "add", f"file://{inner}", "sub")

    repository = found(outer / "sub")

    assert repository.top == outer / "sub"
    assert repositories.first_commits(repository) == (git.run(inner, "rev-parse", "HEAD"),)


def test_the_only_remote_counts_and_several_without_origin_do_not(tmp_path: Path) -> None:
    a = git.repository(tmp_path / "a")
    git.run(a, "remote", "add", "up", "https://h.example/x/y")
    assert repositories.primary_remote(found(a)) == "h.example/x/y"

    git.run(a, "remote", "add", "down", "https://h.example/z/y")
    assert repositories.primary_remote(found(a)) is None
