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


def test_what_lies_too_deep_is_passed_over(real: Root) -> None:
    put(real, "Memory/.trash/20261129T181500Z-t1/global/x.md")
    deep = real.paths.memory / ".trash/20261129T181500Z-t2" / "/".join(["d"] * 70)
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("x")

    assert len(list(trash.entries(real))) == 1
    trash.tidy(real)
    assert (deep / "x.md").exists()


def test_only_empty_folders_of_finished_changes_are_tidied_away(root: Root) -> None:
    put(root, "Memory/.trash/20261129T181500Z-t1/global/x.md")
    put(root, "Memory/.trash/20261129T181500Z-t2/theirs.txt")
    put(root, "Memory/.keepm/journal/t5.json")  # whoever wrote that, it isn't finished
    for batch in ("Z-t1/projects", "Z-t2/global", "Z-t3/global", "Z-t4", "Z-t5/global", "-t6"):
        root.disk.make_folders(root.paths.locate(f"Memory/.trash/20261129T181500{batch}"))
    root.disk.make_folders(root.paths.locate("Memory/.trash/somebody's/folder"))

    trash.tidy(root)

    base = root.paths.locate("Memory/.trash")
    assert sorted(root.disk.names(base)) == [
        "20261129T181500-t6",
        "20261129T181500Z-t1",
        "20261129T181500Z-t2",
        "20261129T181500Z-t5",
        "somebody's",
    ]
    assert root.disk.names(base / "20261129T181500Z-t1") == ["global"]
    assert root.disk.names(base / "20261129T181500Z-t2") == ["theirs.txt"]
    assert root.disk.names(base / "20261129T181500Z-t5") == ["global"]
    assert root.disk.names(base / "somebody's") == ["folder"]


def test_a_folder_that_leads_elsewhere_is_not_tidied(real: Root) -> None:
    away = real.paths.root / "away"
    (away / "empty").mkdir(parents=True)
    real.paths.locate("Memory/.trash").mkdir()
    real.paths.locate("Memory/.trash/20261129T181500Z-t1").symlink_to(away)

    trash.tidy(real)

    assert (away / "empty").is_dir()
    assert (real.paths.memory / ".trash/20261129T181500Z-t1").is_symlink()


def test_no_trash_needs_no_tidying(root: Root) -> None:
    trash.tidy(root)
