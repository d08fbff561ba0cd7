"""The managed block of a Markdown file: between two markers, near the top, one in a file.

Hosts cut long instruction files at the end, so the block stands behind the first heading.
Block comments cost the model nothing: hosts strip them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from keepm.agents.textfile import Refused

BEGIN = "<!-- keepm:begin -->"
END = "<!-- keepm:end -->"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int  # behind the line's ending
    text: str  # without the ending
    fenced: bool


def add(text: str, body: str, *, newline: str) -> str:
    """Return the text with the block in it, replacing the one it has.

    Raises:
        Refused: the markers don't form exactly one block.
    """
    block = newline.join([BEGIN, *body.strip("\n").split("\n"), END])
    present = _span(text)
    if present is not None:
        return text[: present[0]] + block + text[present[1] :]
    at = _place(text)
    if at < len(text):
        changed = text[:at] + block + newline * 2 + text[at:]
    elif text and not text.endswith("\n"):
        changed = text + newline + block
    else:
        changed = text + block + newline
    if _span(changed) is None:
        raise Refused("its beginning is inside a code block that isn't closed", text=text, at=0)
    return changed


def take_out(text: str) -> str:
    """Return the text without the block and the empty line that came with it.

    Raises:
        Refused: the markers don't form exactly one block.
    """
    present = _span(text)
    if present is None:
        return text
    before, after = text[: present[0]], text[present[1] :]
    if not after:
        return before[:-2] if before.endswith("\r\n") else before[:-1]
    return before + re.sub(r"\A(?:\r?\n){1,2}", "", after)


def has(text: str, line: str) -> bool:
    """Tell whether a line of the text, outside code, is exactly this one."""
    return any(each.text.strip() == line and not each.fenced for each in _lines(text))


def _span(text: str) -> tuple[int, int] | None:
    """Return where the block begins and ends, its last line ending not counted."""
    begin: int | None = None
    found: tuple[int, int] | None = None
    for line in _lines(text):
        mark = line.text.strip()
        if line.fenced or mark not in (BEGIN, END):
            continue
        if mark == BEGIN:
            if begin is not None or found is not None:
                raise Refused("a second keepm block begins here", text=text, at=line.start)
            begin = line.start
        elif begin is None:
            raise Refused("a keepm block ends here that never began", text=text, at=line.start)
        else:
            found, begin = (begin, line.start + len(line.text)), None
    if begin is not None:
        raise Refused("the keepm block that begins here has no end", text=text, at=begin)
    return found


def _place(text: str) -> int:
    """Return where a new block goes: behind front matter, first heading and the space below."""
    lines = list(_lines(text))
    index = 0
    if lines and lines[0].text.rstrip() == "---":
        closing = (i for i, each in enumerate(lines[1:], 1) if each.text.rstrip() == "---")
        index = next(closing, -1) + 1
    at = lines[index - 1].end if index else 0
    while index < len(lines) and not lines[index].text.strip():
        index += 1
    if index < len(lines) and re.match(r"#{1,6}\s", lines[index].text):
        index += 1
        at = lines[index - 1].end
        while index < len(lines) and not lines[index].text.strip():
            at = lines[index].end
            index += 1
    return at


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    fence = ""
    at = 0
    for raw in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
        line = raw.rstrip("\r\n")
        match = _FENCE.match(line)
        fenced = bool(fence)
        if match and not fence:
            fence, fenced = match.group(1), True
        elif match and match.group(1).startswith(fence) and not line[match.end() :].strip():
            fence = ""
        found.append(_Line(at, at + len(raw), line, fenced))
        at += len(raw)
    return found
