"""What sync programs and editors leave beside a note: their copies, placeholders, temporary files.

A copy is told by its name and proved by its id: `Report (1).md` with an id of its own is a note
like any other, with the id of `Report.md` it is a second version that somebody has to merge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from keepm.model import identity, layout

# Which programs name copies so. Each takes off just the mark, what stands before it is the base.
_MARKS = tuple(
    re.compile(rf"(?P<base>.+?){mark}")
    for mark in (
        r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?",  # Syncthing
        # Dropbox, Nextcloud, Obsidian Sync; with the words of their other languages
        r" ?\([^()]*(?i:conflict|conflit|conflicto|konflikt|conflitto)[^()]*\)",
        r" ?[(（][^()（）]*(?:冲突|衝突|競合)[^()（）]*[)）]",
        r"[_-]conflict-\d{8}-\d{6}",  # ownCloud
        r"-[A-Z0-9]*[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*",  # OneDrive: the machine's name
        r" ?\(\d{1,3}\)",  # Google Drive, browsers, Windows
        r" \d{1,3}",  # iCloud, Finder
        r"(?: -)? (?i:copy|kopie|copie|copia)(?: \(?\d{1,3}\)?)?",  # Finder, Windows
        r"(?: -)? ?(?:副本|拷贝|複製)(?: ?\(?\d{1,3}\)?)?",
    )
)
# What all of them end in; most names of notes need no closer look.
_ENDS = re.compile(
    r"(?:[A-Z][0-9A-Z-]*|[)）本贝製]|(?i:copy|kopie|copie|copia)|[ (本贝製]\d{0,2}[0-9]"
    r"|conflict-\d{8}-\d{5}[0-9](?:-[0-9A-Z]{7})?)$"
)
_PLACEHOLDER = re.compile(r"\.(?P<name>.+)\.icloud")
_TEMPORARY = ("~$", ".~", "~syncthing~")  # Office and its like, Syncthing on Windows


def base(path: str) -> str | None:
    """Return the stem of the note that a file's name says it is a copy of, or nothing."""
    stem = layout.stem(path)
    if _ENDS.search(stem) is None:
        return None
    bases = (found["base"] for mark in _MARKS if (found := mark.fullmatch(stem)))
    return min(bases, key=len, default=None)


def among(paths: Iterable[str]) -> frozenset[str]:
    """Return which of the files with one id are copies; the others are the note, or notes.

    A copy needs an original: a file that isn't named as a copy, or that has just the name which
    this one says it is a copy of. Where there is none, nobody can tell which is the note.
    """
    bases = {path: base(path) for path in paths}
    stems = {identity.file_key(layout.stem(path)) for path in bases}
    plain = any(each is None for each in bases.values())
    return frozenset(
        path
        for path, named in bases.items()
        if named is not None and (plain or identity.file_key(named) in stems)
    )


def evicted(name: str) -> str | None:
    """Return the name of the file that a placeholder stands for: its bytes are in the cloud."""
    found = _PLACEHOLDER.fullmatch(name)
    return found["name"] if found else None


def is_temporary(name: str) -> bool:
    """Tell whether an editor or a sync program removes this file again by itself."""
    return name.startswith(_TEMPORARY)
