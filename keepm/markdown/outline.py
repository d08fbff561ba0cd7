"""A file cut where its front matter ends, without reading the YAML: for looking at every file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from keepm.markdown import header
from keepm.markdown.header import BOM
from keepm.markdown.tree import line_at

_KEY = re.compile(
    r"^(\w+)[ \t]*:[ \t]*+(?=\S)(?!['\"]{2}[ \t]*$|(?:~|null|Null|NULL)[ \t]*$|#)", re.M
)


@dataclass(frozen=True, slots=True)
class Outline:
    """The text between the fences, and what follows them. `body_at` counts in `text`."""

    text: str
    head: str
    body: str
    body_at: int

    @property
    def body_line(self) -> int:
        """The body's first line in the file, from 1."""
        return line_at(self.text, self.body_at)

    def keys(self) -> frozenset[str]:
        """Return the plain keys that have something behind them on their own line.

        A key whose value stands below it is not among them: where that matters the front matter
        is to be read.
        """
        return frozenset(_KEY.findall(self.head))


def of(data: bytes) -> Outline:
    """Cut a file that a codec has read.

    Raises:
        Broken, UnicodeDecodeError: no codec can have read it.
    """
    text = data.removeprefix(BOM).decode("utf-8")
    place = header.fences(text)
    if place is None:
        return Outline(text, "", text, 0)
    start, end, body = place
    return Outline(text, text[start:end], text[body:], body)
