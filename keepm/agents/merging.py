"""What setup puts into a file, and how it takes it out again.

A merge adds our part and nothing else; taking out leaves what everyone else wrote. `original`
is the text from before setup (empty when there was no file): what it held in our place comes
back, and what setup made around our part goes. It is `None` where no record is left; then a file
without our part stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from keepm.agents import blocks, jsonedit, jsontext
from keepm.agents.textfile import TextFile

SERVER = "keepm"
"""The name our server is registered by."""


@dataclass(frozen=True, slots=True)
class Program:
    """The command that starts this KeepM, absolute, with what must come before a verb."""

    command: str
    arguments: tuple[str, ...] = ()

    def line(self, *arguments: str) -> tuple[str, ...]:
        """Return the whole argument vector of a call."""
        return (self.command, *self.arguments, *arguments)


class Merge(Protocol):
    """Our part of one file."""

    def add(self, file: TextFile) -> str:
        """Return the text with our part in it; the same text when it is there already.

        Raises:
            Refused: the file can't be changed safely.
        """

    def take_out(self, file: TextFile, original: str | None) -> str:
        """Return the text without our part; empty when nothing else was in it.

        Raises:
            Refused: the file can't be changed safely.
        """


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """The managed block of an instruction file."""

    body: str

    def add(self, file: TextFile) -> str:
        return blocks.add(file.text, self.body, newline=file.newline)

    def take_out(self, file: TextFile, original: str | None) -> str:
        return blocks.take_out(file.text)


@dataclass(frozen=True, slots=True)
class WholeText:
    """A file that is ours alone; what someone else put in its place is left."""

    body: str

    def add(self, file: TextFile) -> str:
        return self.body

    def take_out(self, file: TextFile, original: str | None) -> str:
        return "" if file.text == self.body else file.text


@dataclass(frozen=True, slots=True)
class JsonServer:
    """Our entry under `mcpServers`: an absolute command, no variables, no environment."""

    program: Program
    arguments: tuple[str, ...]

    def add(self, file: TextFile) -> str:
        command, *rest = self.program.line(*self.arguments)
        entry: dict[str, jsontext.Value] = {"type": "stdio", "command": command, "args": [*rest]}
        if file.text.strip():
            present = jsonedit.find_node(file.text, ("mcpServers", SERVER))
            if present is not None and _covers(present.value, entry):
                return file.text
        return jsonedit.put(file.text, ("mcpServers", SERVER), entry, newline=file.newline)

    def take_out(self, file: TextFile, original: str | None) -> str:
        if not file.text.strip():
            return file.text
        if original is None and jsonedit.find_node(file.text, ("mcpServers", SERVER)) is None:
            return file.text
        text = jsonedit.remove(file.text, ("mcpServers", SERVER))
        before = earlier(original, "mcpServers", SERVER)
        if before is not None:
            text = jsonedit.put(text, ("mcpServers", SERVER), before.value, newline=file.newline)
        return tidied(text, original, [("mcpServers",)])


def earlier(original: str | None, *path: str) -> jsontext.Node | None:
    """Return what the original file held at a path."""
    if original is None or not original.strip():
        return None
    return jsonedit.find_node(original, path)


def tidied(text: str, original: str | None, containers: list[tuple[str, ...]]) -> str:
    """Remove containers that stand empty and weren't there before, innermost first.

    Where nothing but white space then differs from the original, it is the original; where
    nothing is left and nothing was there, the text is empty.
    """
    for path in containers:
        node = jsonedit.find_node(text, path)
        if node is not None and not node.elements and earlier(original, *path) is None:
            text = jsonedit.remove(text, path)
    if original is not None and jsontext.same_but_for_space(text, original):
        return original
    bare = not (original or "").strip() and jsontext.same_but_for_space(text, "{}")
    return (original or "") if bare else text


def _covers(present: jsontext.Value, entry: Mapping[str, jsontext.Value]) -> bool:
    """Tell whether an entry starts what ours starts; further keys (a timeout) are the user's."""
    return (
        isinstance(present, dict)
        and all(present.get(key) == value for key, value in entry.items())
        and not {"env", "url", "headers"} & present.keys()
    )
