"""Objects, journal records and change sets: what is kept, and what is refused."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from keepm.errors import InvalidInput, NotFound, StorageFailed
from keepm.model.checksum import Checksum
from keepm.store import history, journal
from keepm.store.changes import Change, ChangeSet, Create
from keepm.store.event import FIRST, Digests, Head, LedgerEvent
from keepm.store.journal import FileIntent, Intent
from keepm.store.transaction import Root
from tests.store import support
from tests.store.support import AT, NOTE, OTHER


def test_an_object_is_kept_by_its_content(root: Root) -> None:
    checksum = history.put(root, b"text")
    before = support.everything(root)

    assert history.put(root, b"text") == checksum
    assert history.get(root, checksum) == b"text"
    assert support.everything(root) == before
    assert f"Memory/.keepm/objects/{checksum.hex[:2]}/{checksum.hex}" in before


def test_an_unknown_version_is_not_found(root: Root) -> None:
    with pytest.raises(NotFound):
        history.get(root, Checksum.of(b"never"))


def test_a_damaged_object_is_not_handed_out_and_is_mended_by_the_next_put(root: Root) -> None:
    checksum = history.put(root, b"text")
    place = root.paths.records / "objects" / checksum.hex[:2] / checksum.hex
    root.disk.unlink(place)
    root.disk.create(place, b"cut", mode=None)

    with pytest.raises(StorageFailed):
        history.get(root, checksum)
    history.put(root, b"text")
    assert history.get(root, checksum) == b"text"


def intent(root: Root) -> Intent:
    files = (FileIntent(NOTE, OTHER, "0" * 64, "1" * 64), FileIntent(NOTE, None, None, "2" * 64))
    event = LedgerEvent.following(
        Head(0, FIRST, 0),
        support.draft(),
        transaction_id="t1",
        at=AT,
        changes=(Digests("0" * 64, "1" * 64),),
    )
    return Intent("t1", root.writer_id, files, event)


def test_a_record_is_read_back_whole(root: Root) -> None:
    assert Intent.decode(intent(root).encode()) == intent(root)


def test_no_cut_or_changed_record_is_read(root: Root) -> None:
    data = intent(root).encode()
    for end in range(len(data) - 2):
        with pytest.raises(ValueError, match=r".*"):
            Intent.decode(data[:end])
    for position in range(0, len(data) - 1, 7):
        changed = data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
        with pytest.raises(ValueError, match=r".*"):
            Intent.decode(changed)


def test_a_draft_does_not_count_and_is_cleared_with_what_was_staged(root: Root) -> None:
    record = intent(root)
    journal.draft(root, record)
    root.disk.create(record.staged(root, 0), b"staged", mode=None)
    listing = journal.read(root)
    assert (listing.intents, len(listing.temporary)) == ((), 1)

    journal.clear(root, listing.temporary)

    assert support.everything(root) == {}


def test_another_machines_unfinished_files_are_left(root: Root) -> None:
    other = Root(root.paths, root.disk, "writer-2")
    journal.draft(other, intent(other))

    assert journal.read(root).temporary == ()


def test_two_changes_of_one_file_are_refused() -> None:
    pairs: list[tuple[Change, Change]] = [
        (Create(NOTE, b""), Create(NOTE, b"")),
        (Create(NOTE, b""), Create(NOTE.replace("note", "NOTE"), b"")),
        (Create(NOTE, b""), support.move(OTHER, NOTE, b"")),
        (support.move(NOTE, OTHER, b""), support.replace(NOTE, b"", b"")),
    ]
    for first, second in pairs:
        with pytest.raises(InvalidInput):
            ChangeSet((first, second))
    with pytest.raises(InvalidInput):
        ChangeSet(())


def test_the_touched_paths_are_named_in_order() -> None:
    changes = ChangeSet((Create(NOTE, b""), support.move(OTHER, "Memory/global/x.md", b"")))

    assert changes.touched == (NOTE, OTHER, "Memory/global/x.md")


@pytest.mark.parametrize("writer", ["", "../x", "a/b", "a b", "-a", "x" * 81, "ä"])
def test_a_writers_id_is_a_plain_name(root: Root, writer: str) -> None:
    with pytest.raises(InvalidInput):
        Root(root.paths, root.disk, writer)


def test_an_object_that_a_power_cut_left_in_pieces_is_made_whole_by_the_next_put() -> None:
    for left in (b"", b"te", b"\0\0\0\0", b"text and more"):
        root, memory = support.memory_root()
        checksum = Checksum.of(b"text")
        place = root.paths.locate(f"Memory/.keepm/objects/{checksum.hex[:2]}/{checksum.hex}")
        root.disk.make_folders(place.parent)
        memory.put(place, left)

        history.put(root, b"text")
        memory.lose_power()
        assert history.get(root, checksum) == b"text"


def test_an_object_whose_sync_fails_is_not_left_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed sync the kernel may take the pages for clean: a later sync proves nothing."""
    root = support.os_root(tmp_path)
    whole = history.put(root, b"kept before")

    def fsync(descriptor: int) -> None:
        raise OSError(errno.EIO, "the disk")

    monkeypatch.setattr(os, "fsync", fsync)
    for data in (b"text", b"kept before"):
        with pytest.raises(StorageFailed):
            history.put(root, data)
    with pytest.raises(StorageFailed):
        support.apply(root, Create(NOTE, b"text"))
    assert [each.digest for each in history.objects(root)] == [whole.hex]
    assert support.notes(root) == {}


@pytest.mark.parametrize("meanwhile", ["nothing", "made by another", "removed"])
def test_an_object_survives_a_power_cut_whoever_made_its_folder(meanwhile: str) -> None:
    """What was synced once isn't again; a folder that came since, or came back, is."""
    root, disk = support.memory_root()
    texts: dict[str, list[bytes]] = {}
    for number in range(2000):
        data = str(number).encode()
        texts.setdefault(Checksum.of(data).hex[:2], []).append(data)
    (_, first), (name, some) = list(texts.items())[:2]
    folder = root.paths.locate(f"{history.FOLDER}/{name}")
    history.put(root, first.pop())
    if meanwhile == "made by another":
        disk.make_folders(folder, sync=False)
    else:
        history.put(root, some[0])
    if meanwhile == "removed":
        disk.unlink(folder / Checksum.of(some[0]).hex)
        disk.remove_folder(folder)
        disk.sync_folder(folder.parent)

    history.put(root, some[1])
    disk.lose_power()
    assert history.get(root, Checksum.of(some[1])) == some[1]
