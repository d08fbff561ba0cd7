"""Which parts of a Markdown text are code, and which are read for markup: CommonMark's blocks.

Stricter than `model/links`, where a link too many or too few is no harm: here a text that is
taken for code, and isn't, would hide what it holds. So containers (quotes, list items) are
followed as the specification says, and HTML blocks, in which a fence is no fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_BLANKS = re.compile(r"[ \t]*")
_MARKER = re.compile(r"(?:[-*+]|(?P<number>\d{1,9})[.)])(?=[ \t\r\n]|\Z)")
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})[\r\n]*\Z")
_FENCE = re.compile(r"(?P<run>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})")
_HEADING = re.compile(r"#{1,6}(?=[ \t\r\n]|\Z)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*[\r\n]*\Z")
_ELEMENTS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|"
    "head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|"
    "p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE = r"\s++[A-Za-z_:][\w.:\-]*+(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^'\n]*+'|\"[^\"\n]*+\"))?"
# How each sort of HTML block begins, and how it ends; None is a blank line.
_HTML: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (
        re.compile(r"<(?:pre|script|style|textarea)(?=[\s>]|\Z)", re.IGNORECASE),
        re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_ELEMENTS})(?=\s|/?>|\Z)", re.IGNORECASE), None),
)
_LONE_TAG = re.compile(
    rf"(?:<[A-Za-z][A-Za-z0-9\-]*+(?:{_ATTRIBUTE})*+\s*+/?>|</[A-Za-z][A-Za-z0-9\-]*+\s*+>)\s*\Z"
)


class Sort(StrEnum):
    TEXT = "text"  # a paragraph or heading: code spans count
    HTML = "html"  # an HTML block: everything is markup


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stretch of text that is read for markup. `text` is as long as the stretch; the signs of
    quotes and lists in it are blank."""

    sort: Sort
    start: int
    text: str


@dataclass(slots=True)
class _Cursor:
    """A place in a line; `column` counts what containers took, with tabs as four."""

    line: str
    place: int = 0  # of the next character that isn't blank
    at: int = 0  # its column
    column: int = 0

    def __post_init__(self) -> None:
        self._skip(0, 0)

    @property
    def indent(self) -> int:
        return self.at - self.column

    @property
    def rest(self) -> str:
        return self.line[self.place :]

    @property
    def is_blank(self) -> bool:
        return not self.rest.strip()

    def take(self, columns: int) -> None:
        """Let a container have so many columns of indentation."""
        self.column += columns

    def take_signs(self, count: int) -> None:
        """Step over a container's sign."""
        self.column = self.at + count
        self._skip(self.place + count, self.column)

    def _skip(self, place: int, column: int) -> None:
        found = _BLANKS.match(self.line, place)
        for character in found.group() if found else "":
            column += 4 - column % 4 if character == "\t" else 1
        self.place = found.end() if found else place
        self.at = column


@dataclass(slots=True)
class _Reading:
    """What is open while the lines go by. A container is a list item's width, or 0 for a quote."""

    containers: list[int] = field(default_factory=list)
    sort: Sort | None = None
    end: re.Pattern[str] | None = None  # of the HTML block that is open
    fence: str = ""
    start: int = 0
    parts: list[str] = field(default_factory=list)

    def close(self) -> Iterator[Leaf]:
        if self.sort is not None and self.parts:
            yield Leaf(self.sort, self.start, "".join(self.parts))
        self.sort, self.end, self.fence, self.parts = None, None, "", []

    def begin(self, sort: Sort, start: int) -> None:
        self.sort, self.start, self.parts = sort, start, []

    def add(self, cursor: _Cursor) -> None:
        self.parts.append(" " * cursor.place + cursor.rest)

    @property
    def in_paragraph(self) -> bool:
        return self.sort is Sort.TEXT


def leaves(text: str) -> Iterator[Leaf]:
    """Yield what is not code, in the order of the text."""
    reading = _Reading()
    start = 0
    for found in _LINE.finditer(text):
        yield from _read(reading, _Cursor(found.group()), start)
        start = found.end()
    yield from reading.close()


def _read(reading: _Reading, cursor: _Cursor, start: int) -> Iterator[Leaf]:
    matched = _match(reading.containers, cursor)
    if matched < len(reading.containers):
        if reading.in_paragraph and not cursor.is_blank and not _interrupts(cursor):
            reading.add(cursor)  # a lazy line: the paragraph goes on without its signs
            return
        yield from reading.close()
        del reading.containers[matched:]
    elif reading.fence:
        run = _FENCE.match(cursor.rest)
        closes = run and cursor.indent < 4 and run["run"].startswith(reading.fence)
        if closes and run and not cursor.rest[run.end() :].strip():
            yield from reading.close()
        return
    elif reading.sort is Sort.HTML:
        yield from _go_on(reading, cursor)
        return
    yield from _open_containers(reading, cursor)
    yield from _open_leaf(reading, cursor, start)


def _match(containers: list[int], cursor: _Cursor) -> int:
    """Return how many of the open containers the line belongs to."""
    for number, width in enumerate(containers):
        if width == 0:
            if cursor.indent > 3 or not cursor.rest.startswith(">"):
                return number
            _take_quote(cursor)
        elif cursor.is_blank:
            continue
        elif cursor.indent >= width:
            cursor.take(width)
        else:
            return number
    return len(containers)


def _take_quote(cursor: _Cursor) -> None:
    cursor.take_signs(1)
    if cursor.indent:
        cursor.take(1)


def _interrupts(cursor: _Cursor) -> bool:
    """Tell whether a line begins something new where a paragraph could go on."""
    if cursor.indent > 3:
        return False
    rest = cursor.rest
    return bool(
        rest.startswith(">")
        or _MARKER.match(rest)
        or _RULE.match(rest)
        or _FENCE.match(rest)
        or _HEADING.match(rest)
        or any(begin.match(rest) for begin, _ in _HTML)
    )


def _open_containers(reading: _Reading, cursor: _Cursor) -> Iterator[Leaf]:
    while cursor.indent < 4 and not cursor.is_blank:
        if cursor.rest.startswith(">"):
            yield from reading.close()
            _take_quote(cursor)
            reading.containers.append(0)
            continue
        marker = _MARKER.match(cursor.rest)
        if not marker or _RULE.match(cursor.rest):
            return
        if reading.in_paragraph and (
            not cursor.rest[marker.end() :].strip() or marker["number"] not in (None, "1")
        ):
            return  # only a list that begins with 1 and holds something cuts a paragraph
        yield from reading.close()
        before, size = cursor.indent, marker.end()
        cursor.take_signs(size)
        blanks = cursor.indent if 1 <= cursor.indent <= 4 and not cursor.is_blank else 1
        cursor.take(min(blanks, cursor.indent))
        reading.containers.append(before + size + blanks)


def _open_leaf(reading: _Reading, cursor: _Cursor, start: int) -> Iterator[Leaf]:
    rest = cursor.rest
    if cursor.is_blank:
        yield from reading.close()
    elif cursor.indent > 3:
        if reading.in_paragraph:
            reading.add(cursor)  # else indented code
    elif fence := _FENCE.match(rest):
        yield from reading.close()
        reading.fence = fence["run"]
    elif (html := _html(rest, in_paragraph=reading.in_paragraph)) is not None:
        yield from reading.close()
        reading.begin(Sort.HTML, start)
        reading.end = html[0]
        yield from _go_on(reading, cursor)
    elif _HEADING.match(rest):
        yield from reading.close()
        reading.begin(Sort.TEXT, start)
        reading.add(cursor)
        yield from reading.close()
    elif (reading.in_paragraph and _UNDERLINE.match(rest)) or _RULE.match(rest):
        yield from reading.close()
    else:
        if not reading.in_paragraph:
            reading.begin(Sort.TEXT, start)
        reading.add(cursor)


def _html(rest: str, *, in_paragraph: bool) -> tuple[re.Pattern[str] | None] | None:
    """Return how an HTML block that begins here ends (None: a blank line), or None for none."""
    if not rest.startswith("<"):
        return None
    for begin, end in _HTML:
        if begin.match(rest):
            return (end,)
    return (None,) if not in_paragraph and _LONE_TAG.match(rest) else None


def _go_on(reading: _Reading, cursor: _Cursor) -> Iterator[Leaf]:
    """Add a line to the HTML block that is open, and close it where it ends."""
    if reading.end is None and cursor.is_blank:
        yield from reading.close()
        return
    reading.add(cursor)
    if reading.end is not None and reading.end.search(cursor.rest):
        yield from reading.close()
