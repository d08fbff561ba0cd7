"""What is a document, what is skipped and why, and one file's exact bytes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepm.errors import InvalidIdentifier, LimitExceeded, NotFound, RootUnavailable, StorageFailed
from keepm.store import reader
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.reader import FileState, Skipped
from keepm.store.transaction import Root
from tests.fakes.faulty_disk import Fault, FaultyDisk
from tests.store.support import NOTE


def walked(root: Root) -> tuple[list[str], dict[str, str]]:
    found = list(reader.walk(root, expect_memory=True))
    files = sorted(each.path for each in found if isinstance(each, FileState))
    return files, {each.path: each.reason for each in found if isinstance(each, Skipped)}


def test_a_cycle_a_pipe_and_their_like_are_skipped_with_reasons(real: Root) -> None:
    """Case 26, laid out as its setup.sh does, in a folder of notes."""
    base = real.paths.memory / "global"
    (base / "a").mkdir()
    (base / ".venv" / "lib").mkdir(parents=True)
    (base / "a" / "loop").symlink_to("..")
    (base / ".venv" / "lib64").symlink_to("lib")
    (base / "a" / "b.md").symlink_to("../b.md")
    (base / "b.md").write_text("# B\n")
    os.mkfifo(base / "pipe.md")
    (base / "dangling.md").symlink_to("missing")
    (base / "dir.md").mkdir()

    files, skipped = walked(real)

    assert files == ["Memory/global/b.md"]
    assert skipped == {
        "Memory/global/a/loop": "symlink",
        "Memory/global/a/b.md": "symlink",
        "Memory/global/pipe.md": "not_a_file",
        "Memory/global/dangling.md": "symlink",
        "Memory/global/dir.md": "folder",
    }


def test_a_stamp_known_before_says_nothing_of_what_lies_there_now(real: Root) -> None:
    base = real.paths.memory / "global"
    (base / "a.md").write_text("# A\n")
    (base / "b.md").symlink_to("a.md")
    (base / "c.md").mkdir()
    seen = {name: (base / f"{name}.md").lstat() for name in "abc"}
    known = {
        (f"Memory/global/{name}.md", each.st_size, each.st_mtime_ns) for name, each in seen.items()
    }

    found = list(reader.stretches(real, expect_memory=True, known=known))
    file = ("Memory/global/a.md", seen["a"].st_size, seen["a"].st_mtime_ns)
    assert [each for part in found for each in part.known] == [file]
    assert [each for part in found for each in part.files] == []
    assert {(each.path, each.reason) for part in found for each in part.skipped} == {
        ("Memory/global/b.md", "symlink"),
        ("Memory/global/c.md", "folder"),
    }


def test_a_known_file_is_not_hidden_by_a_placeholder_beside_it(real: Root) -> None:
    base = real.paths.memory / "global"
    for number in range(200):  # several stretches
        (base / f"n{number}.md").write_text("x")
        (base / f".n{number}.md.icloud").write_text("x")
    files = {
        (each.path, each.size, each.mtime_ns)
        for each in reader.walk(real, expect_memory=True)
        if isinstance(each, FileState)
    }
    assert len(files) == 200
    for known in (files, set(list(files)[:77])):
        found = list(reader.stretches(real, expect_memory=True, known=known))
        assert {each for part in found for each in part.known} == known
        assert {each[:3] for part in found for each in part.files} == files - known
        assert [each for part in found for each in part.skipped] == []


def test_a_folder_that_gives_way_to_a_symlink_is_not_followed(real: Root, tmp_path: Path) -> None:
    """Between the look at it and the listing of what is in it."""
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "secret.md").write_text("x")
    inner = real.paths.memory / "global" / "inner"
    inner.mkdir()

    class Swapping(OSDisk):
        def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
            if folder == inner and not inner.is_symlink():
                inner.rmdir()
                inner.symlink_to(tmp_path / "away")
            return super().scan(folder)

    swapping = Root(real.paths, Swapping(), "writer-1")
    assert list(reader.walk(swapping, expect_memory=True)) == []


def test_documents_are_found_in_every_place_and_spelling(real: Root) -> None:
    wanted = [
        "Memory/.handoffs/pending/projects/w/h.md",
        "Memory/Inbox/archive/global/p.md",
        "Memory/Inbox/pending/projects/我/p.md",
        "Memory/global/sub/deep/字 x.MD",
        "Memory/projects/w/n.Md",
    ]
    others = [
        "Note.md",
        "Memory/README.md",
        "Memory/.trash/t/global/x.md",
        "Memory/.keepm/x.md",
        "Memory/global/.hidden.md",
        "Memory/global/.obsidian/x.md",
        "Memory/global/.git/x.md",
        "Memory/global/node_modules/x.md",
        "Memory/global/x.md~",
        "Memory/global/#x.md#",
        "Memory/global/.x.md.swp",
        "Memory/global/.keepm-t1-0.tmp",
        "Memory/global/x.txt",
    ]
    for path in (*wanted, *others):
        place = real.paths.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x")

    assert walked(real) == (wanted, {})


def test_names_that_no_path_can_say_are_skipped(real: Root) -> None:
    base = os.fsencode(real.paths.memory / "global")
    for name in (b"caf\xe9.md", b"a:b.md", b"con.md", b"a\nb.md"):
        with open(os.path.join(base, name), "wb"):
            pass
    files, skipped = walked(real)

    assert files == []
    assert set(skipped.values()) == {"name"}
    assert len(skipped) == 4
    assert all(path.encode("utf-8") for path in skipped)


def test_whatever_is_walked_can_be_read(real: Root) -> None:
    for name in ("为什么?.md", "C++ & C#.md", "%2e.md", "a b.MD", "x" * 250 + ".md"):
        (real.paths.memory / "global" / name).write_text(name)
    found = list(reader.walk(real, expect_memory=True))

    assert len(found) == 5
    for each in found:
        assert isinstance(each, FileState)
        data, state = reader.read_with_state(real, each.path, limit=999)
        assert state == each
        assert data.decode() == each.path.rsplit("/", 1)[1]


def test_what_lies_deeper_than_a_path_may_say_is_skipped(real: Root) -> None:
    deepest = "Memory/global" + "/d" * 59
    for folder in (deepest, f"{deepest}/d"):
        (real.paths.root / folder).mkdir(parents=True)
        (real.paths.root / folder / "x.md").write_text("x")
    long = "Memory/global" + f"/{'l' * 250}" * 12
    place = real.paths.root
    for part in long.split("/"):  # longer than the system takes in one call
        place.joinpath(part).mkdir(exist_ok=True)
        if len(os.fspath(place / part)) < 3400:
            place = place / part

    files, skipped = walked(real)

    assert files == [f"{deepest}/x.md"]
    assert reader.read(real, files[0], limit=9) == b"x"
    assert set(skipped.values()) == {"name"}
    assert f"{deepest}/d" in skipped or f"{deepest}/d/x.md" in skipped


def test_a_missing_vault_is_not_an_empty_one(real: Root, tmp_path: Path) -> None:
    gone = Root(VaultPaths(tmp_path / "unmounted"), real.disk, real.writer_id)

    with pytest.raises(RootUnavailable):
        reader.walk(gone, expect_memory=True)
    assert list(reader.walk(gone, expect_memory=False)) == []


def test_a_searched_folder_that_leads_away_is_not_walked(real: Root, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "secret.md").write_text("x")
    (real.paths.memory / "global").rmdir()
    (real.paths.memory / "global").symlink_to(tmp_path / "away")

    assert walked(real) == ([], {"Memory/global": "symlink"})


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_folder_that_cannot_be_listed_is_not_taken_for_empty(real: Root, number: int) -> None:
    class Unlistable(FaultyDisk):
        def scan(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
            if folder.name == "global":
                raise OSError(number, "no")
            return super().scan(folder)

    broken = Root(real.paths, Unlistable(real.disk, fail_at=0, fault=Fault.EIO), "writer-1")
    if number == errno.EIO:
        with pytest.raises(StorageFailed):
            list(reader.walk(broken, expect_memory=True))
    else:
        assert walked(broken)[1]["Memory/global"] == "unreadable"


def test_a_folder_above_a_shelf_may_deny_access_without_ending_the_walk(real: Root) -> None:
    class Closed(FaultyDisk):
        def state(self, path: Path) -> os.stat_result | None:
            if path.parent.name == "Inbox":
                raise PermissionError(errno.EACCES, "no")
            return super().state(path)

    broken = Root(real.paths, Closed(real.disk, fail_at=0, fault=Fault.EIO), "writer-1")
    seen, skipped = walked(broken)

    assert skipped["Memory/Inbox/pending"] == "unreadable"
    assert seen == walked(real)[0]


def test_reading_says_what_is_wrong(real: Root) -> None:
    base = real.paths.memory / "global"
    (base / "note.md").write_bytes(b"12345")
    (base / "folder.md").mkdir()
    (base / "link.md").symlink_to("note.md")
    os.mkfifo(base / "pipe.md")

    assert reader.read(real, NOTE, limit=5) == b"12345"
    with pytest.raises(LimitExceeded) as over:
        reader.read(real, NOTE, limit=4)
    assert (over.value.details["limit"], over.value.details["actual"]) == (4, 5)
    with pytest.raises(NotFound):
        reader.read(real, "Memory/global/none.md", limit=5)
    with pytest.raises(InvalidIdentifier):
        reader.read(real, "Memory/global/link.md", limit=5)
    for name in ("folder.md", "pipe.md"):
        with pytest.raises(StorageFailed):
            reader.read(real, f"Memory/global/{name}", limit=5)


@pytest.mark.parametrize("call", [1, 2])
def test_a_name_that_cannot_be_looked_up_is_neither_free_nor_taken(real: Root, call: int) -> None:
    assert not reader.is_taken(real, NOTE)
    broken = Root(real.paths, FaultyDisk(real.disk, fail_at=call, fault=Fault.EIO), "writer-1")
    with pytest.raises(StorageFailed):
        reader.is_taken(broken, NOTE)
