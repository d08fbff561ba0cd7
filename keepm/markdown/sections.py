"""The headed sections of a handoff's body: `## Heading`, then a text or a list.

A person's text may hold headings and fences of its own. Outside a closed code fence, a line of
it that would begin a section or a fence is written with a backslash in front, which Markdown
shows as the bare line; reading takes the backslash off again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keepm.markdown.bodies import trimmed

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_HEADING = re.compile(r"##[ \t]+(.*?)[ \t]*#*[ \t]*$")
_TO_ESCAPE = re.compile(r"\\*(?:#{1,2}(?=[ \t]|$)|`{3}|~{3})")
_ESCAPED = re.compile(r"\\+(?:#{1,2}(?=[ \t]|$)|`{3}|~{3})")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$")


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a body with its exact text; `key` is empty above the first heading."""

    key: str
    raw: str
    line: int

    @property
    def content(self) -> str:
        """The text below the heading, with LF."""
        text = self.raw.replace("\r\n", "\n").replace("\r", "\n")
        return text.partition("\n")[2] if self.key else text


def split(body: str) -> list[Section]:
    """Part a body at its second-level headings outside code; nothing is lost or changed."""
    raw_lines = [found.group() for found in _LINE.finditer(body) if found.group()]
    lines = [line.rstrip("\r\n") for line in raw_lines]
    sections: list[Section] = []
    key, begin = "", 0
    for number, in_code in enumerate(_in_code(lines)):
        found = None if in_code else _HEADING.match(lines[number])
        if found:
            sections.append(Section(key, "".join(raw_lines[begin:number]), begin + 1))
            key, begin = _key(found.group(1)), number
    sections.append(Section(key, "".join(raw_lines[begin:]), begin + 1))
    return sections


def text(section: Section) -> str:
    """Return a section's text."""
    lines = trimmed(section.content).split("\n")
    return "\n".join(
        line[1:] if not in_code and _ESCAPED.match(line) else line
        for line, in_code in zip(lines, _in_code(lines), strict=True)
    )


def items(section: Section) -> tuple[str, ...]:
    """Return a section's list; a paragraph between the items counts as an item."""
    found: list[list[str]] = []
    after_blank = True
    for line in section.content.split("\n"):
        item = _ITEM.match(line)
        if item:
            found.append([item.group(1) or ""])
        elif line.startswith("  ") and found:
            found[-1].append(line[2:])
        elif not line.strip():
            if found:
                found[-1].append("")
        elif found and not after_blank:
            found[-1].append(line.strip())
        else:
            found.append([line.strip()])
        after_blank = not line.strip()
    texts = ("\n".join(lines).strip() for lines in found)
    return tuple(one for one in texts if one)


def written_text(title: str, content: str) -> str:
    """Write a section that holds a text."""
    lines = trimmed(content).split("\n")
    escaped = (
        f"\\{line}" if not in_code and _TO_ESCAPE.match(line) else line
        for line, in_code in zip(lines, _in_code(lines), strict=True)
    )
    return f"## {title}\n\n" + "\n".join(escaped) + "\n"


def written_items(title: str, contents: Sequence[str]) -> str:
    """Write a section that holds a list, further lines of an item indented by two."""
    lines = [
        line
        for content in contents
        for line in _item_lines(content.replace("\r\n", "\n").replace("\r", "\n").strip())
    ]
    return f"## {title}\n\n" + "\n".join(lines) + "\n"


def _item_lines(content: str) -> Iterator[str]:
    first, *others = content.split("\n")
    yield f"- {first}"
    for line in others:
        yield f"  {line}" if line else ""


def _key(heading: str) -> str:
    return heading.strip().rstrip(":：").strip().casefold()


def _in_code(lines: Sequence[str]) -> list[bool]:
    """Tell of each line whether it belongs to a closed fence; an unclosed one is plain text."""
    marks = [False] * len(lines)
    unclosed: set[str] = set()
    number = 0
    while number < len(lines):
        found = _FENCE.match(lines[number])
        end = -1
        # What nothing below closed once, nothing closes further down.
        if found and found.group(1) not in unclosed:
            end = _closing(lines, number + 1, found.group(1))
            if end < 0:
                unclosed.add(found.group(1))
        if end >= 0:
            marks[number : end + 1] = [True] * (end + 1 - number)
            number = end
        number += 1
    return marks


def _closing(lines: Sequence[str], begin: int, fence: str) -> int:
    for number in range(begin, len(lines)):
        found = _FENCE.match(lines[number])
        if found and found.group(1).startswith(fence) and not lines[number].strip(" \t`~"):
            return number
    return -1
