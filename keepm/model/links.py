"""Wiki links in a note's text, and what they say about the note they point to.

Text in code (fenced, indented, inline), in HTML comments or `%%` comments and behind a
backslash is no link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LINK = re.compile(r"(?P<embed>!?)\[\[(?P<inner>[^\[\]\r\n]+)\]\]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE = re.compile(
    r"(?P<lead>[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<run>`{3,}|~{3,})"
)
_CODE = ("```", "~~~", "    ", "\t")  # a fence, or what may indent a line by four columns
_HIDDEN = ("\\", "`", "<!--", "%%")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_RELATION = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?"
    r"(?P<word>[^\s:\[\]()`|!]+)::(?=\s)"
)
# A field within a line, in brackets of either sort (Dataview's).
_INLINE = re.compile(
    r"[\[(](?P<word>[^\s:\[\]()`|!]+)::(?=\s)(?:\[\[[^\[\]\r\n]+\]\]|[^\[\]()\r\n])*[\])]"
)
_HIDING = re.compile(r"\\[\\`\[!<%]|(?P<ticks>`+)|(?P<html><!--)|(?P<percent>%%)")
_TICKS = re.compile("`+")
_BLANK_LINE = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?=[\r\n])")
# What Obsidian embeds or opens beside notes, and what people keep there.
_ATTACHMENTS = frozenset({
    "avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp", "pdf", "canvas", "base",
    "excalidraw", "csv", "json", "txt", "zip", "flac", "m4a", "mkv", "mov", "mp3", "mp4", "oga",
    "ogg", "ogv", "opus", "wav", "webm",
})  # fmt: skip
_IMAGE_SIZE = re.compile(r"\d+(?:x\d+)?")


@dataclass(frozen=True, slots=True)
class WikiLink:
    """One `[[target#heading|alias]]` or `[[target#^block]]`.

    `target` is empty for a link inside the note itself. `line` counts from 1 in the text that
    was parsed (0 for front matter); `start` and `end` are positions in that text.
    """

    target: str
    alias: str | None
    heading: str | None
    block: str | None
    embed: bool
    relation: str | None
    line: int
    start: int
    end: int


def parse(body: str) -> list[WikiLink]:
    """Return the links of a body in their order.

    A line `word:: [[x]]`, in a list item or not, makes `word` (case folded) the relation of
    its links; so does a field `[word:: [[x]]]` of those in its brackets.
    """
    if "[[" not in body:
        return []
    visible = _without_code_and_comments(body)
    links: list[WikiLink] = []
    for number, line_start, line in _linking_lines(visible):
        relation, said_at = _relation(line)
        inline = _inline_relations(line) if "::" in line else []
        for found in _LINK.finditer(line):
            if _escaped(line, found.start()):
                continue
            link = _link(
                found,
                offset=line_start,
                line=number,
                relation=next(
                    (word for start, end, word in inline if start < found.start() < end),
                    relation if found.start() >= said_at else None,
                ),
            )
            if link:
                links.append(link)
    return links


def from_values(key: str, values: Sequence[str]) -> list[WikiLink]:
    """Return the links in the values of a front matter key; the key is their relation."""
    return [
        link
        for value in values
        for found in _LINK.finditer(value)
        if (link := _link(found, offset=0, line=0, relation=key.casefold()))
    ]


def is_attachment(target: str) -> bool:
    """Tell whether a link's target is a picture or another file that is no note."""
    return target.rpartition(".")[2].strip().lower() in _ATTACHMENTS and "." in target


def _link(found: re.Match[str], *, offset: int, line: int, relation: str | None) -> WikiLink | None:
    # Inside a table a pipe is written `\|`; it parts target and alias all the same.
    place, _, alias = found["inner"].replace("\\|", "|").partition("|")
    target, _, part = place.partition("#")
    target, part, alias = target.strip(), part.strip(), alias.strip()
    if not target and not part:
        return None
    embed = found["embed"] == "!"
    if embed and _IMAGE_SIZE.fullmatch(alias):
        alias = ""
    is_block = part.startswith("^")
    return WikiLink(
        target=target,
        alias=alias or None,
        heading=part if part and not is_block else None,
        block=part[1:].strip() or None if is_block else None,
        embed=embed,
        relation=relation,
        line=line,
        start=offset + found.start(),
        end=offset + found.end(),
    )


def _relation(line: str) -> tuple[str | None, int]:
    found = _RELATION.match(line)
    word = _word(found["word"]) if found else None
    return (word, found.end()) if found and word else (None, 0)


def _inline_relations(line: str) -> list[tuple[int, int, str]]:
    """Return the fields in brackets: where each begins and ends, and its word."""
    return [
        (found.start(), found.end(), word)
        for found in _INLINE.finditer(line)
        if (word := _word(found["word"]))
    ]


def _word(text: str) -> str | None:
    word = text.strip("*_")
    return word.casefold() if word[:1].isalpha() else None


def _escaped(line: str, position: int) -> bool:
    backslashes = len(line[:position]) - len(line[:position].rstrip("\\"))
    return backslashes % 2 == 1


def _linking_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each line that may hold a link, with its number and the place where it begins."""
    start = 0
    if "\r" in text:
        for number, line in enumerate(_lines(text), start=1):
            if "[[" in line:
                yield number, start, line
            start += len(line)
        return
    number = 1
    while (at := text.find("[[", start)) >= 0:
        first = text.rfind("\n", start, at) + 1 or start
        number += text.count("\n", start, first)
        start = text.find("\n", at) + 1 or len(text)
        yield number, first, text[first:start]
        number += 1


def _lines(text: str) -> Iterator[str]:
    for found in _LINE.finditer(text):
        if found.group():
            yield found.group()


def _without_code_and_comments(body: str) -> str:
    """Return the body with blanks for what is code or comment; positions stay."""
    text = "".join(_without_code_lines(body)) if _may_hold(body, _CODE) else body
    return _blank_spans(text) if _may_hold(text, _HIDDEN) else text


def _may_hold(text: str, signs: Sequence[str]) -> bool:
    """Tell whether a closer look is due: most notes have none of these signs."""
    return any(sign in text for sign in signs)


def _without_code_lines(body: str) -> Iterator[str]:
    """Yield the lines with those of fenced and indented code blanked."""
    fence = ""
    after_blank, in_code, item_indent = True, False, -1
    for line in _lines(body):
        opening = _FENCE.match(line)
        if fence:
            if opening and opening["run"].startswith(fence) and not line[opening.end() :].strip():
                fence = ""
            yield _blanked(line)
            continue
        text = line.strip()
        width = _indent(line)
        if text:
            # In a list, code is indented four columns beyond the item's own text.
            code_from = 4 if item_indent < 0 else item_indent + 4
            in_code = width >= code_from and (after_blank or in_code)
            if item_indent >= 0 and after_blank and width == 0 and not _ITEM.match(line):
                item_indent = -1
        if text and in_code:
            yield _blanked(line)
        elif opening and not ("`" in opening["run"] and "`" in line[opening.end() :]):
            fence = opening["run"]
            yield _blanked(line)
        else:
            item = _ITEM.match(line)
            if item:
                item_indent = _indent(line[: item.end()] + "x", marker=True)
            yield line
        after_blank = not text


def _indent(line: str, *, marker: bool = False) -> int:
    """Return the column of a line's text, or of the text behind its list marker."""
    width = 0
    for character in line[:-1] if marker else line:
        if character == "\t":
            width += 4 - width % 4
        elif marker or character == " ":
            width += 1
        else:
            break
    return width


def _blank_spans(text: str) -> str:
    """Blank inline code, HTML comments and `%%` comments."""
    parts: list[str] = []
    done = position = paragraph_end = 0
    while found := _HIDING.search(text, position):
        position = found.end()
        if found["ticks"]:
            if paragraph_end < position:
                blank = _BLANK_LINE.search(text, position)
                paragraph_end = blank.start() if blank else len(text)
            end = _closing_ticks(text, position, paragraph_end, ticks=found["ticks"])
        elif found["html"]:
            end = text.find("-->", position)
            end = len(text) if end < 0 else end + 3
        elif found["percent"]:
            # A lone pair of per cent signs is text.
            end = text.find("%%", position) + 2
            end = end if end >= 2 else -1
        else:
            continue
        if end >= 0:
            parts += text[done : found.start()], _blanked(text[found.start() : end])
            done = position = end
    return "".join(parts) + text[done:]


def _closing_ticks(text: str, position: int, limit: int, *, ticks: str) -> int:
    """Return the end of the code span opened by `ticks`, or -1: it ends within its paragraph."""
    for run in _TICKS.finditer(text, position, limit):
        if len(run.group()) == len(ticks):
            return run.end()
    return -1


def _blanked(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
