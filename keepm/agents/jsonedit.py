"""Changes of a JSON text that leave every other character as it was.

Each function takes a text and returns the changed one; nodes are looked up afresh, because a
change moves all offsets behind it.
"""

from __future__ import annotations

import json
import re

from keepm.agents.jsontext import Node, Value, find, parse
from keepm.agents.textfile import Refused

Step = str | int


def put(text: str, path: tuple[str, ...], value: Value, *, newline: str) -> str:
    """Set the member at `path`, making the objects on the way to it.

    Raises:
        Refused: the document or something on the way is not an object.
    """
    if not text.strip():
        text = "{}" + newline
    for depth in range(len(path)):
        parent = _object(text, path[:depth])
        if parent.member(path[depth]) is None:
            nested = value
            for key in reversed(path[depth + 1 :]):
                nested = {key: nested}
            return _insert(text, parent, nested, newline=newline, key=path[depth])
    element = _object(text, path[:-1]).member(path[-1])
    assert element is not None
    return replace(text, element.node, value, newline=newline)


def replace(text: str, node: Node, value: Value, *, newline: str) -> str:
    """Write another value in a node's place."""
    if node.value == value:
        return text
    written = _write(text, value, indent=_indent_of(text, node.start), newline=newline, like=node)
    return text[: node.start] + written + text[node.end :]


def append(text: str, path: tuple[str, ...], value: Value, *, newline: str) -> str:
    """Add an item to the end of the array at `path`, making the array where it is missing.

    Raises:
        Refused: there is something else at `path`.
    """
    if not text.strip() or find_node(text, path) is None:
        return put(text, path, [value], newline=newline)
    node = find_node(text, path)
    assert node is not None
    if not node.is_array:
        raise Refused(f"'{path[-1]}' must be a list", text=text, at=node.start)
    return _insert(text, node, value, newline=newline)


def find_node(text: str, path: tuple[Step, ...]) -> Node | None:
    """Return the node at a path of keys and positions, or nothing."""
    node = parse(text)
    for step in path:
        if isinstance(step, int):
            if not node.is_array or step >= len(node.elements):
                return None
            node = node.elements[step].node
        else:
            element = node.member(step)
            if element is None:
                return None
            node = element.node
    return node


def remove(text: str, path: tuple[Step, ...]) -> str:
    """Take out the member or item at `path`, with the comma and the line that belong to it."""
    parent = find_node(text, path[:-1])
    if parent is None:
        return text
    step = path[-1]
    index = next((i for i, e in enumerate(parent.elements) if step in (i, e.key)), None)
    if index is None:
        return text
    element = parent.elements[index]
    start, end = element.start, element.end
    if index < len(parent.commas):
        end = parent.commas[index] + 1
    before = len(text[:start].rstrip(" \t"))
    if before and text[before - 1] == "\n":
        start = before - (2 if text[before - 2 : before] == "\r\n" else 1)
    else:
        start = before if index else start
        while index == 0 and end < parent.end - 1 and text[end] in " \t":
            end += 1
    changed = text[:start] + text[end:]
    if index == len(parent.elements) - 1 and 0 < index <= len(parent.commas) == index:
        comma = parent.commas[index - 1]
        changed = changed[:comma] + changed[comma + 1 :]
    left = find_node(changed, path[:-1])
    assert left is not None
    if not left.elements and not changed[left.start + 1 : left.end - 1].strip():
        changed = changed[: left.start + 1] + changed[left.end - 1 :]
    return changed


def is_hollow(value: Value) -> bool:
    """Tell whether a value holds nothing but empty objects and lists."""
    if isinstance(value, dict):
        return all(is_hollow(each) for each in value.values())
    return isinstance(value, list) and all(is_hollow(each) for each in value)


def _object(text: str, path: tuple[str, ...]) -> Node:
    node = find(text, *path)
    if node is None or not node.is_object:
        what = f"'{path[-1]}' must be an object" if path else "the file must hold an object"
        raise Refused(what, text=text, at=node.start if node else 0)
    return node


def _insert(text: str, node: Node, value: Value, *, newline: str, key: str | None = None) -> str:
    """Put a new element behind the last one of `node`."""
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    body = text[node.start : node.end]
    own = _indent_of(text, node.start)
    if "\n" not in body and node.elements:
        written = name + json.dumps(value, ensure_ascii=False)
        last = node.elements[-1].end
        trailing = len(node.commas) == len(node.elements)
        at = node.commas[-1] + 1 if trailing else last
        return text[:at] + (" " if trailing else ", ") + written + text[at:]
    inner = own + _unit(text)
    if node.elements and "\n" in text[node.start : node.elements[0].start]:
        inner = _indent_of(text, node.elements[0].start)
    written = name + _write(text, value, indent=inner, newline=newline)
    if not node.elements:
        gap = body[1:-1].rstrip()  # comments in an empty object stay where they are
        inside = gap + newline + inner + written + newline + own
        return text[: node.start + 1] + inside + text[node.end - 1 :]
    last = node.elements[-1].end
    trailing = len(node.commas) == len(node.elements)
    after = node.commas[-1] + 1 if trailing else last
    # A comment on the last element's line belongs to that element: go behind it.
    comment = re.compile(r"(?:[ \t]*(?:/\*[^\n]*?\*/|//[^\n\r]*))*").match(text, after)
    at = comment.end() if comment else after
    tail = "" if "\n" in text[at : node.end] else newline + own
    added = newline + inner + written + ("," if trailing else "")
    text = text[:at] + added + tail + text[at:]
    return text if trailing else text[:last] + "," + text[last:]


def _write(text: str, value: Value, *, indent: str, newline: str, like: Node | None = None) -> str:
    if like is not None and "\n" not in text[like.start : like.end] and like.elements:
        return json.dumps(value, ensure_ascii=False)
    unit = _unit(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + indent).join(lines)


def _indent_of(text: str, at: int) -> str:
    """Return the white space that the line of an offset starts with."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return what one level of this document is indented by."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match.group(1) if match else "  "
