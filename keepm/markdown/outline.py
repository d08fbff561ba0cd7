"""A file cut where its front matter ends, without reading the YAML: for looking at every file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from keepm.markdown import bodies, header
from keepm.markdown.header import BOM
from keepm.markdown.tree import line_at

_KEY = re.compile(r"^(\w+)[ \t]*:[ \t]*([^\r\n]*)", re.M)
_EMPTY = frozenset({"", "~", "null", "Null", "NULL", "''", '""'})


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
        return self._line(self.body_at)

    @property
    def text_line(self) -> int:
        """The line in which the body's text begins: what the model holds as its first."""
        return self._line(self.body_at + len(bodies.leading(self.body)))

    def keys(self) -> dict[str, int]:
        """Return the plain keys of the top level with their lines, without reading the YAML.

        A key written in quotes isn't met; nobody's text can be mistaken for one but a quoted
        text that goes on at the beginning of a line.
        """
        return {name: line for name, line, _ in self._entries()}

    def filled(self) -> frozenset[str]:
        """Return the plain keys that have something behind them on their own line."""
        return frozenset(name for name, _, rest in self._entries() if rest not in _EMPTY)

    def _entries(self) -> Iterator[tuple[str, int, str]]:
        line, counted = 2, 0
        for found in _KEY.finditer(self.head):
            line += self.head.count("\n", counted, found.start())
            counted = found.start()
            yield found[1], line, found[2].rstrip()

    def _line(self, position: int) -> int:
        if "\r" in self.text:
            return line_at(self.text, position)
        return self.text.count("\n", 0, position) + 1


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
