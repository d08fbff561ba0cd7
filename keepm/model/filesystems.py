"""What a folder lies on, as far as it matters: a network, a shared or a synced folder.

The vault's lock coordinates the processes of one machine. Over a network it may hold nothing, a
sync program copies files while they change, and neither tells of changes made elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|afs|ceph|glusterfs|lustre|gpfs|davfs\d?|ncpfs"
    r"|virtiofs|vboxsf|vmhgfs|prl_fs|drvfs|fuse(?:\.(?!lxcfs|snapfuse).+)?"
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


def judge(kind: str, folders: Sequence[str], markers: Collection[str]) -> Filesystem:
    """Say what a folder lies on.

    `folders` are the names on the way to it, itself last; `markers` the names of `MARKERS` that
    lie in one of them.
    """
    synced = next((MARKERS[name] for name in sorted(markers) if name in MARKERS), None)
    for name in folders:
        plain = name.casefold()
        synced = synced or next((who for who, rule in _SYNCED if rule.fullmatch(plain)), None)
    network = _NETWORK.fullmatch(kind) is not None
    return Filesystem(kind or "unknown", network, synced)


def type_of(mountinfo: str, path: str) -> str:
    """Return the type of the file system that an absolute path lies on, by Linux' mountinfo."""
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        before, apart, behind = line.partition(" - ")
        fields = before.split(" ")
        if not apart or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        inside = point == "/" or path == point or path.startswith(f"{point}/")
        # Of two mounts on one point the later one is seen.
        if inside and len(point) >= best:
            best, kind = len(point), behind.split(" ", 1)[0]
    return kind
