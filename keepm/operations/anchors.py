"""`#L10-20` behind a source's path: the lines of the file that a note rests on. Pure.

A line is what stands between line ends of any kind; the digest is that of the lines joined by
single line feeds, so that a change of line endings alone changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from keepm.model.memory import source_path
from keepm.operations.worktree import digest

_HINT = re.compile(r"L(\d{1,7})(?:-L?(\d{1,7}))?")
_MOST_HASHED = 32 * 1024 * 1024  # bytes, all stretches of that many lines together


@dataclass(frozen=True, slots=True)
class Anchor:
    """Lines of a file, counted from 1, both ends included."""

    path: str
    first: int
    last: int

    @property
    def key(self) -> str:
        """Return how the anchor is written in `source_digests` and shown."""
        lines = f"L{self.first}" if self.first == self.last else f"L{self.first}-{self.last}"
        return f"{self.path}#{lines}"

    def at(self, path: str) -> Anchor:
        """Return the same lines of another file."""
        return Anchor(path, self.first, self.last)


def parse(pointer: str) -> Anchor | None:
    """Return the lines that a pointer names; any other hint is for people."""
    _, _, hint = pointer.partition("#")
    found = _HINT.fullmatch(hint.strip())
    if not found:
        return None
    first = int(found[1])
    last = int(found[2] or first)
    return Anchor(source_path(pointer), first, last) if 1 <= first <= last else None


def text_digest(anchor: Anchor, data: bytes) -> str | None:
    """Return the digest of the anchored text; nothing where the file has no such lines."""
    lines = _lines(data)
    if anchor.last > len(lines):
        return None
    return digest(b"\n".join(lines[anchor.first - 1 : anchor.last]))


def find(anchor: Anchor, data: bytes, wanted: str) -> Anchor | None:
    """Return where in the file the anchored text stands now, if it stands there just once."""
    lines = _lines(data)
    count = anchor.last - anchor.first + 1
    if count > len(lines) or count * len(data) > _MOST_HASHED:
        return None
    text = b"\n".join(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found: int | None = None
    for first in range(len(lines) - count + 1):
        stretch = text[starts[first] : starts[first + count] - 1]
        if digest(stretch) == wanted and stretch.strip():
            if found is not None:
                return None
            found = first
    return None if found is None else Anchor(anchor.path, found + 1, found + count)


def _lines(data: bytes) -> list[bytes]:
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines
