"""A file cut where its front matter ends, with its keys as they are written: for doctor's look."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from keepm.markdown import bodies, header
from keepm.markdown.tree import line_at

_EMPTY = frozenset({"", "~", "null", "Null", "NULL", "''", '""'})


def is_filled(rest: str) -> bool:
    """Tell whether something stands behind a key on its own line."""
    return rest not in _EMPTY and rest[0] != "#"


def _lines(head: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", head) if "\r" in head else head.split("\n")


@dataclass(frozen=True, slots=True)
class Outline:
    """The text between the fences, and what follows them. `body_at` counts in `text`.

    `entries` are the keys of the top level with their lines and what stands behind them there. A
    key written in quotes isn't met; nobody's text can be mistaken for one but a quoted text that
    goes on at the beginning of a line.
    """

    text: str
    head: str
    body: str
    body_at: int
    entries: Mapping[str, tuple[int, str]]

    @property
    def body_line(self) -> int:
        """The body's first line in the file, from 1."""
        return self._line(self.body_at)

    @property
    def text_line(self) -> int:
        """The line in which the body's text begins: what the model holds as its first."""
        return self._line(self.body_at + len(bodies.leading(self.body)))

    def _line(self, position: int) -> int:
        if "\r" in self.text:
            return line_at(self.text, position)
        return self.text.count("\n", 0, position) + 1


def of(data: bytes) -> Outline:
    """Cut a file that a codec has just read: what was read of it is still at hand.

    Raises:
        Broken: no codec can have read it.
    """
    known = header.read(data)
    head = known.text[known.start : known.end]
    return Outline(known.text, head, known.text[known.body :], known.body, _entries(head))


def _entries(head: str) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(_lines(head), start=2):
        key, colon, rest = line.partition(":")
        if colon and key.isidentifier() and key not in found:
            found[key] = (number, rest.strip())
    return found
