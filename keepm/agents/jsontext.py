"""JSON as its author wrote it: parsed into nodes that know where they stand in the text.

Comments and trailing commas, as several hosts allow them, are understood and kept. Anything
else that isn't JSON, and a key that comes twice, is refused with line and column: a file that
two programs may read differently is not ours to change.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from keepm.agents.textfile import Refused

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_DEEPEST = 100

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]


@dataclass(frozen=True, slots=True)
class Element:
    """A member of an object, or an item of an array (then without a key)."""

    start: int  # of the key, or of the value where there is no key
    node: Node
    key: str | None = None

    @property
    def end(self) -> int:
        return self.node.end


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place: `text[start:end]`."""

    start: int
    end: int
    value: Value
    elements: tuple[Element, ...] = ()
    commas: tuple[int, ...] = ()  # where each comma inside stands

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, list)

    def member(self, key: str) -> Element | None:
        """Return the member of this name."""
        return next((each for each in self.elements if each.key == key), None)


def parse(text: str) -> Node:
    """Parse a whole document.

    Raises:
        Refused: it isn't JSON (comments and trailing commas allowed), or has a key twice.
    """
    node, at = _value(text, _skip(text, 0), 0)
    at = _skip(text, at)
    if at != len(text):
        raise Refused("unexpected text after the end of the JSON value", text=text, at=at)
    return node


def find(text: str, *keys: str) -> Node | None:
    """Return the value under a path of keys, or nothing when a part of it is missing."""
    node = parse(text)
    for key in keys:
        element = node.member(key)
        if element is None:
            return None
        node = element.node
    return node


def same_but_for_space(one: str, other: str) -> bool:
    """Tell whether two texts differ in nothing but white space between their parts."""
    return _compact(one) == _compact(other)


def _compact(text: str) -> str:
    parts = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[^\s"/]+|/', text, re.DOTALL)
    return "\x00".join(part.strip() for part in parts)


def _skip(text: str, at: int) -> int:
    match = _GAP.match(text, at)
    end = match.end() if match else at
    if text.startswith("/*", end):
        raise Refused("a comment is not closed", text=text, at=end)
    return end


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > _DEEPEST:
        raise Refused(f"it is nested deeper than {_DEEPEST} levels", text=text, at=at)
    if text.startswith(("{", "["), at):
        return _container(text, at, depth)
    match = _STRING.match(text, at) or _PLAIN.match(text, at)
    if match is None:
        what = "the text ends too early" if at >= len(text) else "a JSON value is expected here"
        raise Refused(what, text=text, at=at)
    return Node(at, match.end(), json.loads(match.group())), match.end()


def _container(text: str, start: int, depth: int) -> tuple[Node, int]:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    members: dict[str, Value] = {}
    elements: list[Element] = []
    commas: list[int] = []
    at = _skip(text, start + 1)
    while not text.startswith(closing, at):
        if len(elements) > len(commas):
            raise Refused(f"a comma or '{closing}' is expected here", text=text, at=at)
        element, at = _member(text, at, depth) if is_object else _item(text, at, depth)
        if element.key is not None:
            if element.key in members:
                raise Refused(f"the key '{element.key}' comes twice", text=text, at=element.start)
            members[element.key] = element.node.value
        elements.append(element)
        at = _skip(text, at)
        if text.startswith(",", at):
            commas.append(at)
            at = _skip(text, at + 1)
    value: Value = members if is_object else [each.node.value for each in elements]
    return Node(start, at + 1, value, tuple(elements), tuple(commas)), at + 1


def _item(text: str, at: int, depth: int) -> tuple[Element, int]:
    node, end = _value(text, at, depth + 1)
    return Element(at, node), end


def _member(text: str, at: int, depth: int) -> tuple[Element, int]:
    match = _STRING.match(text, at)
    if match is None:
        what = "the text ends too early" if at >= len(text) else "a key in quotes is expected here"
        raise Refused(what, text=text, at=at)
    colon = _skip(text, match.end())
    if not text.startswith(":", colon):
        raise Refused("a colon is expected here", text=text, at=colon)
    node, end = _value(text, _skip(text, colon + 1), depth + 1)
    return Element(at, node, str(json.loads(match.group()))), end
