"""What a system's marks say: which entries are files here, which lead elsewhere, which are away."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepm.errors import InvalidIdentifier, NotFound, RootUnavailable
from keepm.store import marks, reader, trash
from keepm.store.marks import Sort
from keepm.store.reader import FileState, Skipped
from keepm.store.root import Root, initialise
from tests.fakes import marks as fake

NORMAL, ARCHIVE, DIRECTORY, REPARSE = 0x80, 0x20, 0x10, 0x400
SPARSE, OFFLINE, PINNED, UNPINNED = 0x200, 0x1000, 0x80000, 0x100000
RECALL_ON_OPEN, RECALL_ON_DATA_ACCESS = 0x40000, 0x400000
SYMLINK, MOUNT_POINT, LX_SYMLINK = 0xA000_000C, 0xA000_0003, 0xA000_001D
CLOUD, CLOUD_6, CLOUD_F, ONEDRIVE = 0x9000_001A, 0x9000_601A, 0x9000_F01A, 0x8000_0021
DEDUP, AF_UNIX, APPEXECLINK = 0x8000_0013, 0x8000_0023, 0x8000_001B
JUNCTION = {"st_file_attributes": DIRECTORY | REPARSE, "st_reparse_tag": MOUNT_POINT}
HYDRATED = {"st_file_attributes": ARCHIVE | REPARSE, "st_reparse_tag": CLOUD_6}
AWAY = {
    "st_file_attributes": ARCHIVE | REPARSE | OFFLINE | RECALL_ON_DATA_ACCESS,
    "st_reparse_tag": CLOUD_6,
}
CLOUD_FOLDER = {"st_file_attributes": DIRECTORY | REPARSE, "st_reparse_tag": CLOUD_6}
SOCKET = {"st_file_attributes": ARCHIVE | REPARSE, "st_reparse_tag": AF_UNIX}


@pytest.mark.parametrize(
    ("attributes", "tag", "expected"),
    [
        (NORMAL, 0, Sort.HERE),
        (ARCHIVE, 0, Sort.HERE),
        (DIRECTORY, 0, Sort.HERE),
        (ARCHIVE | REPARSE, CLOUD, Sort.HERE),
        (ARCHIVE | REPARSE | PINNED, CLOUD_6, Sort.HERE),
        (ARCHIVE | REPARSE | UNPINNED | SPARSE, CLOUD_F, Sort.HERE),
        (ARCHIVE | REPARSE, ONEDRIVE, Sort.HERE),
        (DIRECTORY | REPARSE, CLOUD_6, Sort.HERE),
        (ARCHIVE | REPARSE, DEDUP, Sort.HERE),
        (ARCHIVE | REPARSE, 0, Sort.HERE),  # lstat followed it to the file itself
        (ARCHIVE | REPARSE | OFFLINE, CLOUD, Sort.EVICTED),
        (ARCHIVE | REPARSE | RECALL_ON_DATA_ACCESS, CLOUD_6, Sort.EVICTED),
        (ARCHIVE | REPARSE | RECALL_ON_OPEN, CLOUD_6, Sort.EVICTED),
        (ARCHIVE | RECALL_ON_DATA_ACCESS, 0, Sort.EVICTED),  # the reparse point is disguised
        (ARCHIVE | OFFLINE, 0, Sort.EVICTED),
        (ARCHIVE | REPARSE, SYMLINK, Sort.LINK),
        (DIRECTORY | REPARSE, SYMLINK, Sort.LINK),
        (DIRECTORY | REPARSE, MOUNT_POINT, Sort.LINK),
        (ARCHIVE | REPARSE, LX_SYMLINK, Sort.LINK),
        (ARCHIVE | REPARSE | RECALL_ON_DATA_ACCESS, SYMLINK, Sort.LINK),
        (DIRECTORY | REPARSE, 0xA000_7777, Sort.LINK),  # unknown, but it names another
        (ARCHIVE | REPARSE, AF_UNIX, Sort.STRANGE),
        (ARCHIVE | REPARSE, APPEXECLINK, Sort.STRANGE),
        (ARCHIVE | REPARSE, 0x8000_7777, Sort.STRANGE),
        (ARCHIVE | REPARSE, 0x9000_001B, Sort.STRANGE),
    ],
)
def test_windows_marks_are_told_apart(attributes: int, tag: int, expected: Sort) -> None:
    assert marks.sort(attributes=attributes, tag=tag) is expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(0, Sort.HERE), (0x20, Sort.HERE), (0x4000_0000, Sort.EVICTED), (0x4000_0040, Sort.EVICTED)],
)
def test_macos_marks_are_told_apart(flags: int, expected: Sort) -> None:
    assert marks.sort(flags=flags) is expected


@pytest.fixture
def onedrive(real: Root, monkeypatch: pytest.MonkeyPatch) -> tuple[Root, fake.MarkedDisk]:
    """A vault within OneDrive: every folder is a reparse point, and so is every file."""
    base = real.paths.memory / "global"
    for name in ("here.md", "away.md", "socket.md"):
        (base / name).write_text(name)
    for folder in ("sorted", "elsewhere"):
        (base / folder).mkdir()
        (base / folder / "inner.md").write_text("inner")
    told = {
        **dict.fromkeys(("Memory", "global", "sorted"), CLOUD_FOLDER),
        **dict.fromkeys(("here.md", "inner.md"), HYDRATED),
        "away.md": AWAY,
        "socket.md": SOCKET,
        "elsewhere": JUNCTION,
    }
    disk = fake.install(monkeypatch, told)
    return Root(real.paths, disk, real.writer_id), disk


def test_files_of_onedrive_are_served_and_what_is_away_or_leads_away_is_not(
    onedrive: tuple[Root, fake.MarkedDisk],
) -> None:
    root, disk = onedrive
    found = list(reader.walk(root, expect_memory=True))

    assert sorted(each.path for each in found if isinstance(each, FileState)) == [
        "Memory/global/here.md",
        "Memory/global/sorted/inner.md",
    ]
    assert {each.path: each.reason for each in found if isinstance(each, Skipped)} == {
        "Memory/global/away.md": "evicted",
        "Memory/global/elsewhere": "symlink",
        "Memory/global/socket.md": "not_a_file",
    }
    assert reader.read(root, "Memory/global/sorted/inner.md", limit=9) == b"inner"
    assert disk.opened == ["inner.md"]


def test_a_placeholder_is_never_opened_and_its_name_is_taken(
    onedrive: tuple[Root, fake.MarkedDisk],
) -> None:
    root, disk = onedrive
    away = "Memory/global/away.md"
    with pytest.raises(NotFound) as caught:
        reader.read(root, away, limit=9)
    assert "download" in caught.value.next_step
    assert disk.opened == []
    assert reader.state(root, away) is None
    assert reader.is_evicted(root, away)
    assert reader.is_taken(root, away)

    disk.told["away.md"] = HYDRATED
    assert reader.read(root, away, limit=9) == b"away.md"
    assert not reader.is_evicted(root, away)


@pytest.mark.parametrize("path", ["elsewhere/inner.md", "elsewhere/new.md", "socket.md"])
def test_no_path_leads_through_a_junction_or_into_what_nobody_knows(
    onedrive: tuple[Root, fake.MarkedDisk], path: str
) -> None:
    root, _ = onedrive
    with pytest.raises(InvalidIdentifier):
        root.paths.locate(f"Memory/global/{path}")
    assert reader.state(root, f"Memory/global/{path}") is None


def test_a_junction_in_the_trash_is_left_alone(real: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    thrown = real.paths.memory / ".trash" / "20261129T181500Z-t1" / "global"
    thrown.mkdir(parents=True)
    (thrown / "a.md").write_text("a")
    (thrown / "junction").mkdir()
    (thrown / "junction" / "b.md").write_text("b")
    root = Root(real.paths, fake.install(monkeypatch, {"junction": JUNCTION}), real.writer_id)

    assert [each.old_path for each in trash.entries(root)] == ["Memory/global/a.md"]


def test_a_memory_folder_that_is_a_junction_is_no_vault(
    real: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Root(real.paths, fake.install(monkeypatch, {"Memory": JUNCTION}), real.writer_id)
    with pytest.raises(RootUnavailable):
        reader.walk(root, expect_memory=True)
    with pytest.raises(RootUnavailable):
        initialise(root.paths, root.disk)


def test_a_system_without_marks_is_asked_for_none(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("x")
    assert marks.of((tmp_path / "note.md").lstat()) is Sort.HERE
