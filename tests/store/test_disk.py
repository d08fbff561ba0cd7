"""What a disk promises, kept by the real one and the one in memory."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from keepm.store import syncing
from keepm.store.disk import Disk, OSDisk, failed
from tests.fakes.memory_disk import MemoryDisk


@pytest.fixture(params=["os", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Disk, Path]:
    disk: Disk = OSDisk() if request.param == "os" else MemoryDisk(tmp_path)
    return disk, tmp_path


Place = tuple[Disk, Path]


def test_a_created_file_is_read_back(place: Place) -> None:
    disk, folder = place
    disk.create(folder / "a", "字\r\n".encode(), mode=0o600)

    data, seen = disk.read(folder / "a", limit=5)

    assert data == "字\r\n".encode()
    assert (seen.st_size, stat.S_IMODE(seen.st_mode)) == (5, 0o600)


def test_create_never_overwrites(place: Place) -> None:
    disk, folder = place
    disk.create(folder / "a", b"first", mode=None)

    with pytest.raises(FileExistsError):
        disk.create(folder / "a", b"second", mode=None)

    assert disk.read(folder / "a", limit=9)[0] == b"first"


def test_rename_new_never_overwrites(place: Place) -> None:
    disk, folder = place
    disk.create(folder / "a", b"a", mode=None)
    disk.create(folder / "b", b"b", mode=None)

    with pytest.raises(FileExistsError):
        disk.rename_new(folder / "a", folder / "b")
    disk.rename_new(folder / "a", folder / "c")

    assert sorted(disk.names(folder)) == ["b", "c"]
    assert disk.read(folder / "b", limit=9)[0] == b"b"


def test_rename_over_takes_the_others_place(place: Place) -> None:
    disk, folder = place
    disk.create(folder / "a", b"new", mode=None)
    disk.create(folder / "b", b"old", mode=None)

    disk.rename_over(folder / "a", folder / "b")

    assert disk.names(folder) == ["b"]
    assert disk.read(folder / "b", limit=9)[0] == b"new"


def test_write_at_extends_and_overwrites_and_never_cuts(place: Place) -> None:
    disk, folder = place
    disk.write_at(folder / "log", b"one\ntwo\n", 0)
    disk.write_at(folder / "log", b"TWO\nthree\n", 4)
    disk.write_at(folder / "log", b"ONE", 0)

    assert disk.read(folder / "log", limit=99)[0] == b"ONE\nTWO\nthree\n"
    assert disk.read_at(folder / "log", 4, limit=3) == b"TWO"
    assert disk.read_at(folder / "log", 90, limit=3) == b""


def test_folders_are_made_with_those_above(place: Place) -> None:
    disk, folder = place
    disk.make_folders(folder / "a" / "b")
    disk.make_folders(folder / "a" / "b")
    disk.create(folder / "a" / "b" / "c", b"", mode=None)
    disk.sync_folder(folder / "a" / "b")

    assert [name for name, _ in disk.scan(folder / "a")] == ["b"]


def test_state_tells_what_is_there_without_raising(place: Place) -> None:
    disk, folder = place
    disk.create(folder / "a", b"1", mode=None)
    seen = disk.state(folder / "a")

    assert seen is not None
    assert stat.S_ISREG(seen.st_mode)
    assert disk.state(folder / "none") is None
    assert disk.state(folder / "a" / "below") is None


def test_a_name_that_nothing_can_have_is_of_nothing(tmp_path: Path) -> None:
    assert OSDisk().state(tmp_path / ("n" * 256)) is None


def test_a_replaced_file_has_another_state(place: Place) -> None:
    disk, folder = place
    disk.create(folder / "a", b"1", mode=None)
    disk.create(folder / "b", b"2", mode=None)
    before = disk.read(folder / "a", limit=9)[1]
    disk.rename_over(folder / "b", folder / "a")
    after = disk.read(folder / "a", limit=9)[1]

    assert before.st_ino != after.st_ino


@pytest.mark.parametrize("call", ["read", "unlink", "rename_over", "rename_new", "names"])
def test_what_is_missing_is_file_not_found(place: Place, call: str) -> None:
    disk, folder = place
    missing, other = folder / "none", folder / "x"
    with pytest.raises(FileNotFoundError):
        match call:
            case "read":
                disk.read(missing, limit=9)
            case "unlink":
                disk.unlink(missing)
            case "names":
                disk.names(missing)
            case "rename_over":
                disk.rename_over(missing, other)
            case _:
                disk.rename_new(missing, other)


def test_a_file_over_the_limit_is_refused_with_its_size(place: Place) -> None:
    disk, folder = place
    disk.create(folder / "a", b"12345", mode=None)

    with pytest.raises(OSError, match="5") as refused:
        disk.read(folder / "a", limit=4)

    assert refused.value.errno == errno.EFBIG


def test_a_folder_is_not_read_as_a_file(place: Place) -> None:
    disk, folder = place
    disk.make_folders(folder / "a")

    with pytest.raises(IsADirectoryError):
        disk.read(folder / "a", limit=9)


# ---- the real disk only ----------------------------------------------------------------------


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError) as refused:  # its number is looked at below
        OSDisk().read(tmp_path / "pipe", limit=9)

    assert refused.value.errno == errno.EINVAL


def test_a_symlink_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("secret")
    (tmp_path / "link").symlink_to("a")
    disk = OSDisk()

    with pytest.raises(OSError) as refused:  # its number is looked at below
        disk.read(tmp_path / "link", limit=9)
    assert refused.value.errno == errno.ELOOP

    with pytest.raises(OSError) as refused:  # its number is looked at below
        disk.write_at(tmp_path / "link", b"x", 0)
    assert refused.value.errno == errno.ELOOP
    assert (tmp_path / "a").read_text() == "secret"


def test_written_bytes_and_folders_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without fsync this fails, and a power cut would take what was acknowledged."""
    synced: list[int] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    disk = OSDisk()
    disk.make_folders(tmp_path / "a" / "b")
    disk.create(tmp_path / "a" / "file", b"1", mode=None)
    disk.write_at(tmp_path / "a" / "log", b"1", 0)
    disk.sync_folder(tmp_path / "a" / "b")

    wanted = [tmp_path, tmp_path / "a", tmp_path / "a" / "file", tmp_path / "a" / "log"]
    assert synced == [os.stat(p).st_ino for p in (*wanted, tmp_path / "a" / "b")]

    synced.clear()
    disk.create(tmp_path / "a" / "late", b"1", mode=None, sync=False)
    assert not synced
    disk.sync_all([tmp_path / "a" / "late", tmp_path / "a" / "b"])
    late = [tmp_path / "a" / "late", tmp_path / "a" / "b"]
    assert sorted(synced) == sorted(os.stat(p).st_ino for p in late)


@pytest.mark.parametrize("bad", [0, 1])
def test_one_that_can_not_be_synced_among_several_is_told(place: Place, bad: int) -> None:
    disk, folder = place
    disk.create(folder / "there", b"1", mode=None, sync=False)
    paths = [folder / "there", folder / "there"]
    paths[bad] = folder / "gone"

    with pytest.raises(FileNotFoundError):
        disk.sync_all(paths)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_more_files_are_synced_than_may_be_open_at_once(tmp_path: Path) -> None:
    """An undo of hundreds of notes was refused: each of their files was held open."""
    import resource

    disk = OSDisk()
    paths = [tmp_path / str(number) for number in range(300)]
    for path in paths:
        disk.create(path, b"1", mode=None, sync=False)
    called: list[str] = []
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = len(os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (held + 150, limits[1]))
    try:
        disk.sync_all(paths, lambda: called.append("meanwhile"), lambda: called.append("then"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert sorted(called) == ["meanwhile", "then"]
    assert len(os.listdir("/dev/fd")) == held


def test_a_folder_is_told_from_a_file_without_access_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder in the journal, say: no record, and nothing that stops every change."""

    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, "denied")

    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "open", denied)
    disk = OSDisk()

    with pytest.raises(IsADirectoryError):
        disk.read(tmp_path, limit=1)
    with pytest.raises(PermissionError):
        disk.read(tmp_path / "file", limit=1)
    disk.sync_all([tmp_path])  # there is no such thing there
    with pytest.raises(PermissionError):
        disk.sync_all([tmp_path / "file"])


def test_where_no_thread_can_be_had_everything_is_synced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    syncing._helpers.cache_clear()
    disk = OSDisk()
    disk.create(tmp_path / "a", b"1", mode=None, sync=False)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        disk.sync_all([tmp_path / "a", tmp_path])
        with pytest.raises(FileNotFoundError):
            disk.sync_all([tmp_path / "a", tmp_path / "gone"])
    syncing._helpers.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="no such call there")
@pytest.mark.parametrize("known", [True, False])
def test_a_drive_with_a_cache_of_its_own_is_asked_to_empty_it_where_the_system_can(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS, where `fsync` alone doesn't wait for the drive."""
    asked: list[object] = []
    synced: list[int] = []

    def control(descriptor: int, what: object) -> None:
        asked.append(what)
        if not known:
            raise OSError(errno.ENOTSUP, "not on this file system")

    monkeypatch.setattr(syncing, "_DRIVE_TOO", "F_FULLFSYNC")
    monkeypatch.setattr("fcntl.fcntl", control)
    monkeypatch.setattr(os, "fsync", synced.append)
    disk = OSDisk()
    disk.create(tmp_path / "a", b"1", mode=None)
    disk.write_at(tmp_path / "a", b"2", 1)
    disk.sync_all([tmp_path / "a", tmp_path])
    assert asked == ["F_FULLFSYNC"] * 4
    assert len(synced) == (0 if known else 4)


def test_a_file_that_could_not_be_synced_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="full"):
        OSDisk().create(tmp_path / "a", b"1", mode=None)

    assert os.listdir(tmp_path) == []


def test_without_hard_links_a_rename_still_never_overwrites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", link)
    disk = OSDisk()
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(FileExistsError):
        disk.rename_new(tmp_path / "a", tmp_path / "b")
    disk.rename_new(tmp_path / "a", tmp_path / "c")

    assert (tmp_path / "b").read_text() == "b"
    assert (tmp_path / "c").read_text() == "a"
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EXDEV]
)
def test_a_failure_names_its_reason_and_the_relative_path(number: int) -> None:
    refused = failed("Memory/x.md", OSError(number, "no", "/home/someone/vault/Memory/x.md"))

    assert refused.details["reason"] == errno.errorcode[number]
    assert refused.details["path"] == "Memory/x.md"
    assert refused.details["committed"] is False
    assert "/home" not in refused.message + refused.next_step
