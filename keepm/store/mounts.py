"""What a folder of this machine lies on; looks, and changes nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

from keepm.model import filesystems
from keepm.model.filesystems import MARKERS, Filesystem

_MOUNTINFO = Path("/proc/self/mountinfo")


def look(folder: Path, *, mountinfo: str | None = None) -> Filesystem:
    """Say what a folder lies on, whether or not it is there yet.

    Where the system has no table of mounts (macOS, Windows), only network paths and the folders
    of sync programs are told.
    """
    place = folder
    with contextlib.suppress(OSError, RuntimeError):  # a loop of links
        place = folder.resolve()
    text = str(place)
    if text.startswith("\\\\"):
        return filesystems.judge("smb", place.parts, ())
    kind = filesystems.type_of(_mounts() if mountinfo is None else mountinfo, text)
    markers = {
        name for each in (place, *place.parents) for name in MARKERS if _is_there(each / name)
    }
    return filesystems.judge(kind, place.parts, markers)


def _mounts() -> str:
    try:
        return _MOUNTINFO.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True
