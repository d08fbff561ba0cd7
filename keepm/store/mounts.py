"""What a folder of this machine lies on; looks, and changes nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from keepm.model import filesystems
from keepm.model.filesystems import MARKERS, Filesystem, Volume

_MOUNTINFO = Path("/proc/self/mountinfo")
_MOUNT_SECONDS = 5.0


def look(folder: Path, *, mountinfo: str | None = None) -> Filesystem:
    """Say what a folder lies on, whether or not it is there yet.

    `mountinfo` stands in for Linux' table of mounts.
    """
    place = Path(os.path.realpath(folder))
    text = str(place)
    volume = _volume(text) if mountinfo is None else filesystems.on_linux(mountinfo, text)
    markers = {
        name for each in (place, *place.parents) for name in MARKERS if _is_there(each / name)
    }
    return filesystems.judge(volume, place.parts, markers)


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True


if sys.platform == "win32":

    def _volume(path: str) -> Volume:
        import ctypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        point = ctypes.create_unicode_buffer(32_768)
        name = ctypes.create_unicode_buffer(64)
        drive = 0
        # Of a share nothing is asked: whoever serves it may be out of reach.
        told = filesystems.on_windows(path, drive, "")
        if told.remote or not kernel.GetVolumePathNameW(path, point, len(point)):
            return told
        drive = kernel.GetDriveTypeW(point)
        told = filesystems.on_windows(path, drive, "")
        if not told.remote:
            kernel.GetVolumeInformationW(point, None, 0, None, None, None, name, len(name))
        return filesystems.on_windows(path, drive, name.value)

elif sys.platform == "darwin":

    def _volume(path: str) -> Volume:
        import subprocess

        try:
            # It asks the kernel for what it knows, not the servers, which may be out of reach.
            done = subprocess.run(
                ["/sbin/mount"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_MOUNT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return Volume("")
        return filesystems.on_macos(done.stdout.decode("utf-8", "surrogateescape"), path)

else:

    def _volume(path: str) -> Volume:
        try:
            table = _MOUNTINFO.read_text("utf-8", "surrogateescape")
        except OSError:
            return Volume("")
        return filesystems.on_linux(table, path)
