"""What a system's marks on an entry say: that it leads elsewhere, or that its bytes lie elsewhere.

Linux marks nothing. macOS has a flag for files whose bytes are in the cloud. Windows has reparse
points: symlinks and junctions lead elsewhere, but files of OneDrive and its like are such points
too, whether their bytes are here or not, and so is every folder in them.
"""

from __future__ import annotations

import os
import stat
from enum import StrEnum

MARKED = hasattr(os.stat_result, "st_flags") or hasattr(os.stat_result, "st_file_attributes")
"""Whether this system has marks at all; where it has none, no look may cost more for them."""

_DATALESS = 0x4000_0000  # macOS, st_flags: SF_DATALESS
_RECALLED = 0x0000_1000 | 0x0004_0000 | 0x0040_0000  # offline, recall on open, on data access
_NAMES_ANOTHER = 0x2000_0000  # of a tag: what is here stands for something elsewhere
_CLOUD = 0x9000_001A  # the cloud files API; a provider's own number stands in four of its bits
_CLOUD_PROVIDER = 0x0000_F000
_SERVED = frozenset({
    0x8000_0007,  # single instance storage
    0x8000_0013,  # deduplicated volumes
    0x8000_0015,  # OneDrive before the cloud files API
    0x8000_0017,  # compressed by the system
    0x8000_001E,  # Azure File Sync
    0x8000_0021,  # OneDrive
    0x9000_001C,  # projected file systems
    0xC000_0004,  # hierarchical storage
})  # fmt: skip
"""Tags of files and folders that are read like any other, by the help of a driver."""


class Sort(StrEnum):
    """What the marks say of an entry."""

    HERE = "here"
    LINK = "link"  # it leads elsewhere: a symlink, a junction
    EVICTED = "evicted"  # its bytes are elsewhere: opening it would fetch them
    STRANGE = "strange"  # a reparse point of an unknown kind, or a socket


def sort(*, attributes: int = 0, tag: int = 0, flags: int = 0) -> Sort:
    """Judge marks: Windows' `st_file_attributes` and `st_reparse_tag`, macOS' `st_flags`.

    A reparse point without a tag is one that Python has followed to the file itself, and it
    follows none that stands for another name.
    """
    if tag & _NAMES_ANOTHER:
        return Sort.LINK
    if flags & _DATALESS or attributes & _RECALLED:
        return Sort.EVICTED
    if tag and tag not in _SERVED and tag & ~_CLOUD_PROVIDER != _CLOUD:
        return Sort.STRANGE
    return Sort.HERE


def of(seen: os.stat_result) -> Sort:
    """Judge what `lstat` or a listing of a folder says."""
    return sort(
        attributes=getattr(seen, "st_file_attributes", 0),
        tag=getattr(seen, "st_reparse_tag", 0),
        flags=getattr(seen, "st_flags", 0),
    )


def kind(seen: os.stat_result) -> int:
    """Return an entry's kind as `stat.S_IFMT` gives it; that of a junction is a symlink's.

    0 for what is neither file nor folder nor symlink but looks like one of them.
    """
    told = of(seen) if MARKED else Sort.HERE
    if told is Sort.LINK:
        return stat.S_IFLNK
    if told is Sort.STRANGE:
        return 0
    return stat.S_IFMT(seen.st_mode)


def is_evicted(seen: os.stat_result) -> bool:
    """Tell whether this is a regular file whose bytes are elsewhere."""
    return MARKED and of(seen) is Sort.EVICTED and stat.S_ISREG(seen.st_mode)
