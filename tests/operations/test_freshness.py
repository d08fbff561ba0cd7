"""Notes' sources against the working tree: recorded when verified, compared when shown."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from keepm.model.memory import GLOBAL, Claim, Memory
from keepm.operations import anchors, context, memories, retrieval, worktree
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, WIDGETS, Machine, Opening, claim, edit, proof

TEXT = "".join(f"line {n}\n" for n in range(1, 41))


@pytest.fixture
def work(machine: Machine) -> Path:
    return machine.folder / "work/widgets"


def put(work: Path, path: str, text: str | bytes = TEXT) -> Path:
    place = work / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


def verified(*sources: str, **fields: object) -> Claim:
    return claim("ports", sources=sources, verified_at="2026-11-29", **fields)


def states(vault: Vault) -> str:
    """The state in a read, which must be that of hits, catalog and context too."""
    # The tree's list is trusted for two seconds, in which these tests change it.
    vault = replace(vault, relocations=worktree.Relocations())
    read = memories.read(vault, "ports", max_chars=100_000)
    shown = {
        str(read.source_state),
        retrieval.search(vault, Wanted("ports")).items[0].source_state,
        retrieval.catalog(vault).items[0].source_state,
        context.context(vault, query="ports").items[0].source_state,
        context.context(vault).items[0].source_state,
    }
    (state,) = shown
    assert state is not None
    return state


def digests(vault: Vault) -> Mapping[str, str]:
    content = memories.read(vault, "ports", max_chars=100_000).document.content
    assert isinstance(content, Memory)
    return dict(content.source_digests)


def test_the_digest_is_gits_blob_id(vault: Vault, work: Path) -> None:
    put(work, "a.py", b"hello\n")
    memories.create(vault, AGENT, verified("a.py"))
    assert digests(vault) == {"a.py": "ce013625030b"}  # git hash-object


def test_a_source_is_fresh_until_it_changes_and_again_when_it_is_put_back(
    vault: Vault, work: Path
) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py#function"))
    assert states(vault) == "fresh"
    put(work, "a.py", TEXT + "more\n")
    assert states(vault) == "changed"
    put(work, "a.py")
    assert states(vault) == "fresh"


def test_a_note_that_was_never_verified_is_unverified(vault: Vault, work: Path) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, claim("ports", sources=("a.py",)))
    assert (states(vault), digests(vault)) == ("unverified", {})


def test_only_saying_so_verifies(vault: Vault, work: Path) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py"))
    put(work, "a.py", "other")
    memories.update(vault, AGENT, "ports", edit(description="New."), proof(vault, "ports"))
    assert states(vault) == "changed"
    memories.update(vault, AGENT, "ports", edit(verified_at="2026-11-28"), proof(vault, "ports"))
    assert states(vault) == "fresh"


def test_a_read_writes_nothing(vault: Vault, work: Path, machine: Machine) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py#L1-3"))
    put(work, "b.py", put(work, "a.py").read_bytes())
    (work / "a.py").unlink()
    before = machine.files()
    assert states(vault) == "moved (to b.py#L1-3)"
    assert machine.files() == before
    assert sorted(p.name for p in work.iterdir()) == [".git", "b.py"]


# ---- moved -----------------------------------------------------------------------------------


def test_a_moved_source_is_found_by_its_bytes(vault: Vault, work: Path) -> None:
    put(work, "src/a.py")
    put(work, "src/other.py", "other")
    memories.create(vault, AGENT, verified("src/a.py"))
    (work / "src/a.py").rename(work / "renamed.py")
    assert states(vault) == "moved (to renamed.py)"


@pytest.mark.parametrize("asked", ["lib/renamed.py", "./lib/renamed.py", "lib\\renamed.py", "lib"])
def test_a_moved_file_leads_to_the_notes_on_its_former_place(
    vault: Vault, work: Path, asked: str
) -> None:
    put(work, "src/a.py")
    put(work, "lib/other.py", "other")
    memories.create(vault, AGENT, verified("src/a.py", "lib/gone.py"))
    memories.create(vault, AGENT, claim("folder", sources=("lib",), body="All of it.\n"))
    assert covering(vault, "lib/other.py") == {"folder": "unverified"}
    (work / "src/a.py").rename(work / "lib/renamed.py")

    found = covering(vault, asked)

    assert found["folder"] == "unverified"
    assert found["ports"] == "missing"  # the worst of both
    assert covering(vault, str(work / "lib/renamed.py")) == covering(vault, "lib/renamed.py")
    assert covering(vault, "lib/other.py") == {"folder": "unverified"}


def test_a_copy_or_another_file_is_no_former_place(vault: Vault, work: Path) -> None:
    put(work, "src/a.py")
    memories.create(vault, AGENT, verified("src/a.py"))
    put(work, "copy.py")
    assert covering(vault, "copy.py") == {}
    (work / "src/a.py").unlink()
    assert covering(vault, "copy.py") == {"ports": "moved (to copy.py)"}
    put(work, "second.py")
    assert covering(vault, "copy.py") == {}
    (work / "second.py").unlink()
    put(work, "copy.py", "changed since")
    assert covering(vault, "copy.py") == {}


def covering(vault: Vault, path: str) -> dict[str, str | None]:
    """The notes that a path leads to, with their states."""
    vault = replace(vault, relocations=worktree.Relocations())
    return {
        item.name: item.source_state for item in retrieval.catalog(vault, source_path=path).items
    }


@pytest.mark.parametrize(
    "present",
    [
        {},
        {"b.py": "changed on the way"},
        {"b.py": TEXT, "c.py": TEXT},
        {"b.txt": TEXT},
        {".hidden/b.py": TEXT, "node_modules/b.py": TEXT},
    ],
    ids=["gone", "changed", "twice", "another-ending", "not-searched"],
)
def test_what_does_not_stand_just_once_elsewhere_is_missing(
    vault: Vault, work: Path, present: dict[str, str]
) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py"))
    (work / "a.py").unlink()
    for path, text in present.items():
        put(work, path, text)
    assert states(vault) == "missing"


def test_an_empty_file_is_like_every_other_and_never_moved(vault: Vault, work: Path) -> None:
    put(work, "a.py", "")
    memories.create(vault, AGENT, verified("a.py"))
    (work / "a.py").rename(work / "b.py")
    assert states(vault) == "missing"


def test_a_link_out_of_the_tree_is_no_place_to_move_to(
    vault: Vault, work: Path, tmp_path: Path
) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py"))
    (work / "a.py").rename(tmp_path / "outside.py")
    (work / "b.py").symlink_to(tmp_path / "outside.py")
    (work / "away").symlink_to(tmp_path)
    assert states(vault) == "missing"
    put(work, "control.py")
    assert states(vault) == "moved (to control.py)"


def test_the_search_for_a_moved_file_is_bounded(
    vault: Vault, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py"))
    (work / "a.py").unlink()
    for n in range(4):
        put(work, f"sub/n{n}.py", f"{n}")
    put(work, "sub/a.py")
    put(work, "b.py", "b")
    monkeypatch.setattr(worktree, "_MOST_HASHED", 3)
    assert states(vault) == "moved (to sub/a.py)"  # of too many, those of its name
    monkeypatch.setattr(worktree, "_MOST_ENTRIES", 5)
    assert states(vault) == "missing"


def test_a_file_s_digest_is_not_taken_from_an_older_version(vault: Vault, work: Path) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py"))
    (work / "a.py").unlink()
    other = put(work, "b.py", TEXT.replace("line 1\n", "LINE 1\n"))
    found = vault.relocations.find(work, "a.py", digests(vault)["a.py"])
    assert found is None
    other.write_text(TEXT)
    os.utime(other, ns=(1, 1))
    assert states(vault) == "moved (to b.py)"


# ---- lines -----------------------------------------------------------------------------------


def test_a_change_beside_the_anchored_lines_leaves_them_fresh(vault: Vault, work: Path) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py#L10-12"))
    assert set(digests(vault)) == {"a.py", "a.py#L10-12"}
    put(work, "a.py", TEXT + "more\n")
    assert states(vault) == "fresh"
    put(work, "a.py", TEXT.replace("line 11\n", "LINE 11\n"))
    assert states(vault) == "changed"


def test_anchored_lines_that_stand_once_elsewhere_moved(vault: Vault, work: Path) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py#L10-12"))
    put(work, "a.py", "new\nnew\n" + TEXT)
    assert states(vault) == "moved (to a.py#L12-14)"
    put(work, "a.py", "new\nnew\n" + TEXT + TEXT)
    assert states(vault) == "changed"


def test_line_ends_are_not_part_of_the_lines(vault: Vault, work: Path) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py#L10"))
    put(work, "a.py", TEXT.replace("\n", "\r\n") + "more")
    assert states(vault) == "fresh"


def test_two_pointers_into_one_file_are_told_apart_and_the_worst_counts(
    vault: Vault, work: Path
) -> None:
    put(work, "a.py")
    put(work, "b.py")
    memories.create(vault, AGENT, verified("a.py#L10-12", "a.py#L20", "b.py"))
    put(work, "a.py", "new\n" + TEXT.replace("line 20\n", "LINE 20\n"))
    assert states(vault) == "changed"
    put(work, "a.py", "new\n" + TEXT)
    assert states(vault) == "moved (to a.py#L11-13)"
    (work / "b.py").unlink()
    assert states(vault) == "missing"


def test_lines_that_are_not_there_are_compared_as_the_whole_file(vault: Vault, work: Path) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py#L90-99"))
    assert set(digests(vault)) == {"a.py"}
    assert states(vault) == "fresh"
    put(work, "a.py", TEXT + "more\n")
    assert states(vault) == "changed"


@pytest.mark.parametrize(
    ("pointer", "key"),
    [
        ("a.py#L10-20", "a.py#L10-20"),
        ("./a.py#L10-L20", "a.py#L10-20"),
        ("a.py#L7", "a.py#L7"),
        ("a.py#L7-7", "a.py#L7"),
        ("a.py#L20-10", None),
        ("a.py#L0", None),
        ("a.py#Lx", None),
        ("a.py#service:db", None),
        ("a.py", None),
    ],
)
def test_only_lines_are_read_of_a_hint(pointer: str, key: str | None) -> None:
    found = anchors.parse(pointer)
    assert (found.key if found else None) == key


def test_blank_lines_are_never_moved() -> None:
    anchor = anchors.Anchor("a", 1, 2)
    blank = anchors.text_digest(anchor, b"\n\n")
    assert blank is not None
    assert anchors.find(anchor, b"x\n\n\nx\n", blank) is None


# ---- whose files -----------------------------------------------------------------------------


def test_sources_of_notes_of_no_or_another_project_are_unknown(
    vault: Vault, work: Path, machine: Machine, opened: Opening
) -> None:
    put(work, "a.py")
    memories.create(vault, AGENT, verified("a.py", scope=GLOBAL))
    assert states(vault) == "unknown"
    memories.create(vault, AGENT, claim("mine", sources=("a.py",), scope=WIDGETS))
    elsewhere = opened(machine.project("gadgets"))
    assert states(elsewhere) == "unknown"


def test_a_pointer_through_a_link_out_of_the_tree_is_unknown(
    vault: Vault, work: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.py").write_text("x")
    (work / "a.py").symlink_to(tmp_path / "outside.py")
    memories.create(vault, AGENT, verified("a.py"))
    assert (states(vault), digests(vault)) == ("unknown", {})


def test_git_is_never_called_nor_its_history_read(
    vault: Vault, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"x\n"
    name = hashlib.sha1(b"blob 2\0" + data, usedforsecurity=False).hexdigest()
    put(work, f".git/objects/{name[:2]}/{name[2:]}.py", data)
    put(work, "a.py", data)
    memories.create(vault, AGENT, verified("a.py"))
    (work / "a.py").unlink()
    monkeypatch.setenv("PATH", "")
    assert states(vault) == "missing"


def test_one_look_finds_and_hashes_a_file_once(work: Path, tmp_path: Path) -> None:
    """However many notes name it: in a large vault most sources are named by many."""
    file = put(work, "src/a.py")
    look = worktree.Look(work)
    before = look.at("src/a.py").digest
    assert before == worktree.digest(TEXT.encode())
    put(work, "src/a.py", "other\n")
    assert look.at("src/a.py").digest == before
    assert worktree.Look(work).at("src/a.py").digest == worktree.digest(b"other\n")

    file.unlink()
    (work / "away").symlink_to(tmp_path)
    again = worktree.Look(work)
    assert (again.at("src/a.py").is_there, again.at("src/a.py").digest) == (False, None)
    assert again.at("away/x").file is None
