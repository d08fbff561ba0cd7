"""Changes front matter in place: the lines of the keys that change, and no others.

Works on character positions that the parser reports, never on guesses about where a value ends.
Full-line comments stay, also those inside a value that is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from keepm.errors import MalformedDocument
from keepm.markdown import scalars
from keepm.markdown.header import Header
from keepm.markdown.scalars import Value
from keepm.markdown.tree import Entry, Tree, is_null, wiki_link

_BREAK = re.compile(r"\r\n|\r|\n")
_COLON = re.compile(r"[ \t]*:")
_BLOCK_INDICATOR = re.compile(r"[|>](?:[+-]?([1-9])?[+-]?)")


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


def dominant_newline(text: str) -> str:
    """Return the line ending most of a text's lines have; LF when it has none."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda ending: counts[ending])


def rewritten(header: Header, changes: Mapping[str, Value | None], body: str) -> str:
    """Return the file's text (without BOM) with these keys changed and this body.

    Raises:
        MalformedDocument: the front matter is in a form that can't be changed by lines.
    """
    newline = dominant_newline(header.text)
    if not header.present:
        if not changes:
            return body
        head = "".join(
            scalars.entry(key, value, newline=newline)
            for key, value in changes.items()
            if value is not None
        )
        return f"---{newline}{head}---{newline}{newline}{body}"
    source = header.text[header.start : header.end]
    if changes:
        source = _Rewriting(header, source, newline).apply(changes)
    return header.text[: header.start] + source + header.text[header.end : header.body] + body


class _Rewriting:
    """One front matter's text with the edits made to it so far."""

    def __init__(self, header: Header, source: str, newline: str) -> None:
        self.source = source
        self.newline = newline
        self.entries = header.entries
        self.edits: list[_Edit] = []
        if not header.block:
            raise _unpatchable("the front matter is one flow map {…}", 2)
        indents = {self._indent(entry) for entry in header.entries.values()}
        self.indent = indents.pop() if indents else ""

    def apply(self, changes: Mapping[str, Value | None]) -> str:
        added = []
        for key, value in changes.items():
            entry = self.entries.get(key)
            if entry is None:
                if value is not None:
                    added.append(
                        scalars.entry(key, value, indent=self.indent, newline=self.newline)
                    )
            elif value is None:
                self._remove(entry)
            else:
                self._replace(entry, value)
        text = self.source
        for edit in sorted(self.edits, key=lambda e: (e.start, e.end), reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text + "".join(added)

    # ---- one key -------------------------------------------------------------------------

    def _indent(self, entry: Entry) -> str:
        start = entry.key.start_mark.index
        before = self.source[self._line_start(start) : start]
        if before.strip(" ") or not _COLON.match(self.source, entry.key.end_mark.index):
            raise _unpatchable("a key is not written as 'key: value' on its own line", entry.line)
        return before

    def _remove(self, entry: Entry) -> None:
        start = self._line_start(entry.key.start_mark.index)
        end = self._line_end(self._end(entry.value))
        self.edits.append(_Edit(start, end, self._comments(entry.value, start, end)))

    def _replace(self, entry: Entry, value: Value) -> None:
        node = entry.value
        if node.id == "scalar":
            self._replace_scalar(entry, value)
        elif node.flow_style:
            text = self._flow(node, value) if isinstance(value, list) else scalars.value(value)
            self._span(node, text)
        elif not self._replace_lines(node, value):
            self._insert_after_colon(entry, scalars.value(value))
            colon = self._line_end(entry.key.end_mark.index)
            end = self._line_end(self._end(node))
            if colon < end:
                self.edits.append(_Edit(colon, end, self._comments(node, colon, end)))

    def _replace_scalar(self, entry: Entry, value: Value) -> None:
        node = entry.value
        start = node.start_mark.index
        if is_null(node) and not node.value:
            self._insert_after_colon(entry, scalars.value(value))
        elif node.style in ("|", ">"):
            indicator = _BLOCK_INDICATOR.match(self.source, start)
            assert indicator
            self.edits.append(_Edit(start, indicator.end(), scalars.value(value)))
            first = self._line_end(start)
            self.edits.append(_Edit(first, max(first, self._line_end(self._end(node))), ""))
        else:
            quote = node.style or ""
            self.edits.append(_Edit(start, node.end_mark.index, scalars.value(value, quote=quote)))

    def _insert_after_colon(self, entry: Entry, text: str) -> None:
        colon = _COLON.match(self.source, entry.key.end_mark.index)
        assert colon
        self.edits.append(_Edit(colon.end(), colon.end(), f" {text}"))

    def _span(self, node: Any, text: str) -> None:
        """Replace a flow value; comments on lines of their own in it come to stand below it."""
        start, end = node.start_mark.index, node.end_mark.index
        self.edits.append(_Edit(start, end, text))
        below = self._line_end(end)
        comments = self._comments(node, self._line_end(start), self._line_start(end))
        if comments:
            self.edits.append(_Edit(below, below, comments))

    def _flow(self, node: Any, values: list[str]) -> str:
        """Write a flow list, items that stay as they were written."""
        written = {
            item.value if item.id == "scalar" else wiki_link(item, self.source): self.source[
                item.start_mark.index : item.end_mark.index
            ]
            for item in (node.value if node.id == "sequence" else ())
        }
        return scalars.flow(
            text
            if (text := written.get(value)) and not _BREAK.search(text)
            else scalars.scalar(value, in_flow=True)
            for value in values
        )

    # ---- block lists and maps, an item a line ----------------------------------------------

    def _replace_lines(self, node: Any, value: Value) -> bool:
        """Change a block list or map item by item; tell whether that was possible."""
        new: list[tuple[Tree, str]]
        if node.id == "sequence" and isinstance(value, list) and value:
            children = [(item, item) for item in node.value]
            old: list[Tree] = [
                item.value if item.id == "scalar" else wiki_link(item, self.source)
                for item in node.value
            ]
            new = [(item, f"- {scalars.scalar(item)}") for item in value]
            lead = re.compile(r"([ \t]*)-[ \t]*")
        elif node.id == "mapping" and isinstance(value, dict) and value:
            children = list(node.value)
            old = [f"{k.value}\0{v.value if v.id == 'scalar' else ''}" for k, v in node.value]
            new = [
                (f"{key}\0{text}", f"{scalars.scalar(key)}: {scalars.scalar(text)}")
                for key, text in value.items()
            ]
            lead = re.compile(r"([ \t]*)")
        else:
            return False
        starts = [first.start_mark.index for first, _ in children]
        leads = [lead.fullmatch(self.source, self._line_start(at), at) for at in starts]
        if any(found is None for found in leads):
            return False
        indent = next(found.group(1) for found in leads if found)
        bounds = [
            (self._line_start(at), self._line_end(self._end(last)))
            for at, (_, last) in zip(starts, children, strict=True)
        ]
        matcher = SequenceMatcher(None, old, [key for key, _ in new], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag == "equal":
                continue
            for (start, end), (_, last) in zip(bounds[i1:i2], children[i1:i2], strict=True):
                self.edits.append(_Edit(start, end, self._comments(last, start, end)))
            at = bounds[i1][0] if i1 < len(bounds) else bounds[-1][1]
            text = "".join(f"{indent}{line}{self.newline}" for _, line in new[j1:j2])
            if text:
                self.edits.append(_Edit(at, at, text))
        return True

    # ---- places ----------------------------------------------------------------------------

    def _end(self, node: Any) -> int:
        """Return where a value's text ends, without the blank and comment lines after it."""
        if node.id == "scalar":
            if node.style in ("|", ">"):
                return self._block_scalar_end(node)
            return int(node.end_mark.index)
        if node.flow_style or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        return self._end(last if node.id == "sequence" else last[1])

    def _block_scalar_end(self, node: Any) -> int:
        """Return the end of a `|` or `>` text: its lines are indented as its first one."""
        start: int = node.start_mark.index
        end = start
        indicator = _BLOCK_INDICATOR.match(self.source, start)
        width = 1 if indicator and indicator.group(1) else None
        at = self._line_end(start)
        while at < min(len(self.source), node.end_mark.index):
            following = self._line_end(at)
            line = self.source[at:following]
            if line.strip():
                here = len(line) - len(line.lstrip(" "))
                if width is None:
                    width = here
                elif here < width:
                    break
                end = at + len(line.rstrip("\r\n"))
            at = following
        return end

    def _comments(self, node: Any, start: int, end: int) -> str:
        """Return the full-line comments in a stretch of lines, at the keys' indent.

        Deeper, a comment could become the text of a block scalar above it.
        """
        texts = [(scalar.start_mark.index, scalar.end_mark.index) for scalar in _scalars(node)]
        kept = []
        at = start
        while at < end:
            following = self._line_end(at)
            line = self.source[at:following]
            if line.lstrip().startswith("#") and not any(a < at < b for a, b in texts):
                kept.append(self.indent + line.lstrip(" \t"))
            at = following
        return "".join(kept)

    def _line_start(self, position: int) -> int:
        before = max(self.source.rfind("\n", 0, position), self.source.rfind("\r", 0, position))
        return before + 1

    def _line_end(self, position: int) -> int:
        found = _BREAK.search(self.source, position)
        return found.end() if found else len(self.source)


def _scalars(node: Any) -> Iterator[Any]:
    if node.id == "scalar":
        yield node
    elif node.id == "sequence":
        for item in node.value:
            yield from _scalars(item)
    else:
        for key, value in node.value:
            yield from _scalars(key)
            yield from _scalars(value)


def _unpatchable(message: str, line: int) -> MalformedDocument:
    return MalformedDocument(
        f"line {line}: {message}, which can't be changed in place",
        details={"reason": "not_patchable", "line": line},
    )
