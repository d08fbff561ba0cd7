"""What lies in the trash, and what its names tell."""

from __future__ import annotations

import pytest

from keepm.store import trash
from keepm.store.transaction import Root
from keepm.store.trash import Trashed


def put(root: Root, path: str) -> None:
    place = root.paths.locate(path)
    root.disk.make_folders(place.parent)
    root.disk.create(place, b"text", mode=None)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "20261129T181500Z-t-1/projects/我的/sorted/x.md",
            ("2026-11-29T18:15:00Z", "Memory/projects/我的/sorted/x.md", "t-1"),
        ),
        (
            "20261129T181500Z-t1/Inbox/archive/global/p.md",
            ("2026-11-29T18:15:00Z", "Memory/Inbox/archive/global/p.md", "t1"),
        ),
        ("note-20260102T030405Z.md", ("2026-01-02T03:04:05Z", None, None)),
        ("20260102T030405123456Z-note.md", ("2026-01-02T03:04:05Z", None, None)),
        ("2026-01-02T03-04-05Z-note.md", ("2026-01-02T03:04:05Z", None, None)),
        ("note.md", (None, None, None)),
        ("note-20269902T030405Z.md", (None, None, None)),
        ("some folder/20260102T030405Z.md", (None, None, None)),
        ("20261129T181500Z-t1/elsewhere/x.md", (None, None, None)),
        ("20261129T181500Z-t1/x.md", (None, None, None)),
    ],
)
def test_a_name_tells_time_and_place_or_nothing(
    path: str, told: tuple[str | None, str | None, str | None], root: Root
) -> None:
    put(root, f"Memory/.trash/{path}")

    (entry,) = trash.entries(root)
    deleted_at, old_path, transaction_id = told
    assert entry == Trashed(f"Memory/.trash/{path}", 4, deleted_at, old_path, transaction_id)


def test_a_vault_without_trash_has_none(root: Root) -> None:
    assert list(trash.entries(root)) == []


def test_links_are_passed_over(real: Root) -> None:
    put(real, "Memory/.trash/20261129T181500Z-t1/global/x.md")
    base = real.paths.locate("Memory/.trash")
    (base / "link.md").symlink_to(base / "20261129T181500Z-t1/global/x.md")
    (base / "folder").symlink_to(real.paths.memory)

    assert len(list(trash.entries(real))) == 1
