"""What a folder lies on, told from the system's table and the folder's own names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepm.model import filesystems

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:30 / /mnt/c rw,noatime - 9p drvfs rw,aname=drvfs
31 22 0:31 / /nfs rw - nfs4 server:/x rw
32 22 0:32 / /srv/share rw - cifs //srv/share rw
33 22 0:33 / /home/u/a\\040b rw - fuse.sshfs u@h:/ rw
34 31 0:34 / /nfs/local rw - tmpfs tmpfs rw
35 34 0:35 / /nfs/local rw - xfs /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/u/vault", "ext4"),
        ("/mnt/c/vault", "9p"),
        ("/mnt/cd/vault", "ext4"),
        ("/nfs", "nfs4"),
        ("/nfs/local/x", "xfs"),
        ("/home/u/a b/vault", "fuse.sshfs"),
    ],
)
def test_the_nearest_and_latest_mount_tells_the_type(path: str, kind: str) -> None:
    assert filesystems.type_of(MOUNTS, path) == kind


def test_a_table_nobody_understands_tells_nothing() -> None:
    assert filesystems.type_of("", "/x") == ""
    assert filesystems.type_of("garbage\n1 2\n - \n", "/x") == ""
    assert filesystems.judge("", ("/", "x"), ()).label == "unknown"


def test_every_place_of_the_case_is_told_apart() -> None:
    """Case 29: only the last one is a place for an index."""
    case = Path(__file__).parents[1] / "cases/29-index-place/input/mounts.json"
    found = [
        filesystems.judge(each["fs"], Path(each["path"]).parts, ())
        for each in json.loads(case.read_text("utf-8"))
    ]
    assert [(each.network, each.synced_by) for each in found] == [
        (False, "Dropbox"),
        (True, None),
        (True, None),
        (True, None),
        (False, "iCloud Drive"),
        (False, None),
    ]


@pytest.mark.parametrize(
    ("folder", "who"),
    [
        ("Dropbox (Personal)", "Dropbox"),
        ("OneDrive - Example Ltd", "OneDrive"),
        ("GoogleDrive-u@example.com", "Google Drive"),
        ("Nextcloud", "Nextcloud"),
        ("dropbox-notes-about", None),
        ("my onedrivers", None),
    ],
)
def test_a_synced_folder_is_told_by_its_name(folder: str, who: str | None) -> None:
    assert filesystems.judge("ext4", ("/", "home", "u", folder, "v"), ()).synced_by == who


def test_a_synced_folder_is_told_by_its_marker() -> None:
    found = filesystems.judge("ext4", ("/", "home", "u", "Sync"), (".stfolder",))
    assert found.label == "ext4 (Syncthing)"
