"""What a folder lies on, told from the system's table and the folder's own names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepm.model import filesystems
from keepm.model.filesystems import Volume

EXT4 = Volume("ext4")
MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:30 / /mnt/c rw,noatime - 9p drvfs rw,aname=drvfs
31 22 0:31 / /nfs rw - nfs4 server:/x rw
32 22 0:32 / /srv/share rw - cifs //srv/share rw
33 22 0:33 / /home/u/a\\040b rw - fuse.sshfs u@h:/ rw
34 31 0:34 / /nfs/local rw - tmpfs tmpfs rw
35 34 0:35 / /nfs/local rw - xfs /dev/sdb rw
"""

MOUNTS_OF_MACOS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse, protect, root data)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//u@nas._smb._tcp.local/notes on /Volumes/notes (smbfs, nodev, nosuid, mounted by u)
//u@nas/a%20b on /Volumes/a on b (old) (smbfs, nodev, nosuid, mounted by u)
nas:/export on /Volumes/Caf\u00e9 (nfs, nodev, nosuid, mounted by u)
u@h:/home/u on /Users/u/remote (macfuse, local, nodev, nosuid, synchronous, mounted by u)
https://dav.example.com/ on /Volumes/dav (webdav, nodev, noexec, nosuid, mounted by u)
//u@nas/time on /Volumes/time (afpfs, nodev, nosuid, mounted by u)
/dev/disk4s1 on /Volumes/STICK (exfat, local, nodev, nosuid, noowners)
server:/new on /Volumes/new (newfs, nodev, nosuid, mounted by u)
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/Users/u/vault", "apfs", False),
        ("/Volumes/STICK/vault", "exfat", False),
        ("/Volumes/notes/vault", "smbfs", True),
        ("/volumes/NOTES/vault", "smbfs", True),
        ("/Volumes/notes-2/vault", "apfs", False),
        ("/Volumes/a on b (old)/vault", "smbfs", True),
        ("/Volumes/Cafe\u0301/vault", "nfs", True),
        ("/Users/u/remote/vault", "macfuse", True),
        ("/Volumes/dav", "webdav", True),
        ("/Volumes/time/x", "afpfs", True),
        ("/Volumes/new/x", "newfs", True),
        ("/System/Volumes/Data/home/u/vault", "autofs", True),
    ],
)
def test_a_network_of_macos_is_told_by_its_table_of_mounts(
    path: str, kind: str, network: bool
) -> None:
    """Also one whose type nobody has heard of, for it isn't local."""
    found = filesystems.judge(filesystems.on_macos(MOUNTS_OF_MACOS, path), Path(path).parts, ())
    assert (found.type, found.network, found.synced_by) == (kind, network, None)


@pytest.mark.parametrize(
    ("path", "drive", "name", "kind", "network"),
    [
        ("C:\\Users\\u\\vault", 3, "NTFS", "ntfs", False),
        ("E:\\vault", 2, "exFAT", "exfat", False),
        ("\\\\?\\C:\\Users\\u\\vault", 3, "NTFS", "ntfs", False),
        ("\\\\?\\Volume{1b3b}\\vault", 3, "ReFS", "refs", False),
        ("C:\\vault", 0, "", "unknown", False),
        ("Z:\\vault", 4, "NTFS", "network drive", True),
        ("\\\\nas\\share\\vault", 0, "", "smb", True),
        ("//nas/share/vault", 0, "", "smb", True),
        ("\\\\?\\UNC\\nas\\share\\vault", 0, "", "smb", True),
        ("\\\\10.0.0.2\\share\\vault", 0, "", "smb", True),
        ("\\\\wsl$\\Debian\\home\\u", 0, "", "9p", True),
        ("\\\\wsl.localhost\\Debian\\home\\u", 0, "", "9p", True),
        ("\\\\dav.example.com@SSL\\DavWWWRoot\\x", 0, "", "webdav", True),
        ("X:\\vault", 3, "FUSE-sshfs", "fuse-sshfs", True),
        ("X:\\vault", 3, "DOKAN", "dokan", True),
        ("X:\\vault", 3, "VBoxSharedFolderFS", "vboxsharedfolderfs", True),
    ],
)
def test_a_network_of_windows_is_told_by_its_path_or_its_drive(
    path: str, drive: int, name: str, kind: str, network: bool
) -> None:
    found = filesystems.judge(filesystems.on_windows(path, drive, name), ("x",), ())
    assert (found.type, found.network) == (kind, network)


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
    assert filesystems.on_linux(MOUNTS, path) == Volume(kind)


def test_a_table_nobody_understands_tells_nothing() -> None:
    for table in ("", "garbage\n1 2\n - \n on  (\n"):
        assert filesystems.on_linux(table, "/x") == Volume("")
        assert filesystems.on_macos(table, "/x") == Volume("")
    assert filesystems.on_windows("C:\\x", 0, "") == Volume("")
    assert filesystems.judge(Volume(""), ("/", "x"), ()).label == "unknown"


def test_every_place_of_the_case_is_told_apart() -> None:
    """Case 29: only the last one is a place for an index."""
    case = Path(__file__).parents[1] / "cases/29-index-place/input/mounts.json"
    found = [
        filesystems.judge(Volume(each["fs"]), Path(each["path"]).parts, ())
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
    assert filesystems.judge(EXT4, ("/", "home", "u", folder, "v"), ()).synced_by == who


def test_a_synced_folder_is_told_by_its_marker() -> None:
    found = filesystems.judge(EXT4, ("/", "home", "u", "Sync"), (".stfolder",))
    assert found.label == "ext4 (Syncthing)"
