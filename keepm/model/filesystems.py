"""What a folder lies on, as far as it matters: a network, a shared or a synced folder.

The vault's lock coordinates the processes of one machine. Over a network it may hold nothing, a
sync program copies files while they change, and neither tells of changes made elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|afs|ceph|glusterfs|lustre|gpfs|davfs\d?|ncpfs"
    r"|virtiofs|vboxsf|vmhgfs|prl_fs|drvfs|fuse(?:\.(?!lxcfs|snapfuse).+)?"
    # macOS; then Windows, where programs of this sort (WinFsp, Dokan) choose a name themselves
    r"|afpfs|webdav|ftp|macfuse|osxfuse|fusefs\w*|applevirtiofs|prlfs"
    r"|fuse-.+|dokan.*|vboxsharedfolderfs|prlsf"
)
"""Types that lie on another machine, or are served by a program that may fetch from one."""

_SYNCED = (
    ("Dropbox", re.compile(r"dropbox(?: \(.*\))?")),
    ("OneDrive", re.compile(r"onedrive(?: ?- ?.*)?")),
    ("Google Drive", re.compile(r"google ?drive|googledrive-.*")),
    ("iCloud Drive", re.compile(r"mobile documents|icloud ?drive|com~apple~clouddocs")),
    ("Nextcloud", re.compile(r"nextcloud")),
    ("ownCloud", re.compile(r"owncloud")),
    ("pCloud", re.compile(r"pcloud ?drive")),
    ("a cloud provider", re.compile(r"cloudstorage")),
)
MARKERS = {
    ".stfolder": "Syncthing",
    ".dropbox": "Dropbox",
    ".dropbox.cache": "Dropbox",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
    ".tmp.drivedownload": "Google Drive",
    ".tmp.driveupload": "Google Drive",
}
"""Names that sync programs leave in the folder that they keep, and which program does."""


@dataclass(frozen=True, slots=True)
class Filesystem:
    """The type of a folder's file system (`unknown` where the system doesn't tell).

    `synced_by` names the program that keeps the folder equal with other machines.
    """

    type: str
    network: bool = False
    synced_by: str | None = None

    @property
    def label(self) -> str:
        """The type, and what is notable about it."""
        notes = ["network"] * self.network + [self.synced_by or ""]
        told = ", ".join(note for note in notes if note)
        return f"{self.type} ({told})" if told else self.type


class Volume(NamedTuple):
    """The type of a file system (empty: not told), and whether the system calls it remote."""

    type: str
    remote: bool = False


def judge(volume: Volume, folders: Sequence[str], markers: Collection[str]) -> Filesystem:
    """Say what a folder lies on.

    `folders` are the names on the way to it, itself last; `markers` the names of `MARKERS` that
    lie in one of them.
    """
    synced = next((MARKERS[name] for name in sorted(markers) if name in MARKERS), None)
    for name in folders:
        plain = name.casefold()
        synced = synced or next((who for who, rule in _SYNCED if rule.fullmatch(plain)), None)
    network = volume.remote or _NETWORK.fullmatch(volume.type.lower()) is not None
    return Filesystem(volume.type or "unknown", network, synced)


def on_linux(mountinfo: str, path: str) -> Volume:
    """Return what an absolute path lies on, by `/proc/self/mountinfo`."""
    mounts = []
    for line in mountinfo.splitlines():
        before, apart, behind = line.partition(" - ")
        fields = before.split(" ")
        if apart and len(fields) >= 5:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
            mounts.append((point, Volume(behind.split(" ", 1)[0])))
    return _nearest(mounts, path)


_MOUNT = re.compile(r".*? on (?P<point>/.*) \((?P<type>[^(),]+)(?P<options>(?:, [^(),]+)*)\)")


def on_macos(table: str, path: str) -> Volume:
    """Return what an absolute path lies on, by what the command `mount` prints.

    What isn't marked as local is remote, whatever its type. Names are compared as most disks
    there do: without case, and accents in either form.
    """
    mounts = []
    for line in table.splitlines():
        if found := _MOUNT.fullmatch(line):
            local = "local" in found["options"].split(", ")
            mounts.append((_folded(found["point"]), Volume(found["type"], not local)))
    return _nearest(mounts, _folded(path))


_DRIVE_REMOTE = 4
_UNC = re.compile(r"[\\/]{2}(?:\?[\\/]unc[\\/])?(?P<server>[^\\/?.][^\\/]*)[\\/].*", re.I | re.S)


def on_windows(path: str, drive: int, name: str) -> Volume:
    """Return what an absolute path lies on.

    `drive` is what GetDriveTypeW says of its volume (0: unknown), `name` what
    GetVolumeInformationW calls the file system (may be empty).
    """
    if share := _UNC.fullmatch(path):
        server = share["server"].casefold()
        if server in ("wsl$", "wsl.localhost"):
            return Volume("9p", remote=True)
        return Volume("webdav" if "@" in server else "smb", remote=True)
    if drive == _DRIVE_REMOTE:
        return Volume("network drive", remote=True)
    return Volume(name.lower())


def _nearest(mounts: Iterable[tuple[str, Volume]], path: str) -> Volume:
    best, volume = -1, Volume("")
    for point, there in mounts:
        inside = point == "/" or path == point or path.startswith(f"{point}/")
        # Of two mounts on one point the later one is seen.
        if inside and len(point) >= best:
            best, volume = len(point), there
    return volume


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
