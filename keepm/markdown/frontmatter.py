"""Front matter: read without losing how it is written, changed line by line.

Values are texts as written (`1.10`, `0123`, `yes` and dates stay what they are), lists and maps
of these. A plain empty value, `null` or `~` is absent at the top level and text below it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from keepm.errors import MalformedDocument, Problem
from keepm.markdown import header, patching, scalars
from keepm.markdown.header import Header
from keepm.markdown.scalars import Value
from keepm.markdown.tree import Broken, Tree
from keepm.model.document import Finding

__all__ = ["Broken", "Parsed", "Tree", "Value", "examine", "parse", "patch", "render"]

SECOND_BLOCK = "second_front_matter_block"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file's metadata and its body.

    `lines` gives each key's line and `body_line` the body's first, from 1. The body is what
    follows the closing fence, with its newlines as they are.
    """

    fields: Mapping[str, Tree]
    lines: Mapping[str, int]
    body: str
    body_line: int
    has_header: bool
    findings: tuple[Finding, ...]


# A change reads its bytes back thrice: to see that they hold what was meant, to index them, and
# to answer.
@functools.lru_cache(maxsize=4)
def examine(data: bytes) -> Parsed:
    """Read a file's front matter.

    Raises:
        Broken: with every finding, for a codec that goes on with the raw text.
    """
    return _parsed(header.read(data))


def parse(data: bytes) -> Parsed:
    """Read a file's front matter.

    Raises:
        MalformedDocument: its structure can't be relied on; the details hold the first line.
    """
    try:
        return examine(data)
    except Broken as broken:
        raise malformed(broken.findings) from broken


def malformed(findings: tuple[Finding, ...]) -> MalformedDocument:
    """Return the error that names these findings."""
    problems = [
        Problem(
            "file",
            finding.message,
            "malformed_document",
            {"reason": finding.code, "line": finding.line or 1},
        )
        for finding in findings
    ]
    details = {"reason": findings[0].code, "line": findings[0].line}
    return MalformedDocument(
        "; ".join(f"line {f.line or 1}: {f.message}" for f in findings),
        problems=problems,
        details=details,
    )


def render(fields: Mapping[str, Value], body: str) -> bytes:
    """Write a new document with LF; the body follows an empty line and ends with one newline.

    Raises:
        MalformedDocument: this text could not be read back as it is given, for instance a body
            that begins like a second front matter.
    """
    head = "".join(scalars.entry(key, value) for key, value in fields.items())
    body = body.rstrip("\r\n")
    data = _encoded(f"---\n{head}---\n\n{body}\n" if body else f"---\n{head}---\n")
    after = parse(data)
    _require(after, {key: as_tree(value) for key, value in fields.items()}, after.body)
    return data


def patch(data: bytes, changes: Mapping[str, Value | None], *, body: str | None = None) -> bytes:
    """Change keys of a file's front matter (`None` removes one) and, if given, its body.

    Only the lines of keys whose values differ are touched; new keys come last. A file without
    front matter gets one.

    Raises:
        MalformedDocument: the file can't be read, is written in a form that lines can't change,
            or the result would not hold exactly the old fields with the changes.
    """
    try:
        before = header.read(data)
    except Broken as broken:
        raise malformed(broken.findings) from broken
    blocked = tuple(f for f in before.findings if f.code == SECOND_BLOCK)
    if blocked:
        raise malformed(blocked)
    wanted: dict[str, Tree] = dict(before.fields)
    differing: dict[str, Value | None] = {}
    for key, value in changes.items():
        if value is None:
            if key in wanted:
                differing[key] = None
                del wanted[key]
        elif wanted.get(key) != as_tree(value):
            differing[key] = value
            wanted[key] = as_tree(value)
    old_body = before.text[before.body :]
    new_body = old_body if body is None else body
    if not differing and new_body == old_body:
        return data
    result = _encoded(patching.rewritten(before, differing, new_body))
    if before.bom:
        result = header.BOM + result
    _require(parse(result), wanted, new_body if before.present or not differing else None)
    return result


def as_tree(value: Value) -> Tree:
    """Return a value as reading it back gives it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return list(value)
    return dict(value) if isinstance(value, dict) else value


def _parsed(source: Header) -> Parsed:
    return Parsed(
        fields=source.fields,
        lines={key: entry.line for key, entry in source.entries.items()},
        body=source.text[source.body :],
        body_line=source.line_at(source.body),
        has_header=source.present,
        findings=source.findings,
    )


def _require(after: Parsed, fields: Mapping[str, Tree], body: str | None) -> None:
    """Refuse a result that says anything else than was meant; nothing was written yet."""
    blocked = tuple(f for f in after.findings if f.code == SECOND_BLOCK)
    if blocked:
        raise malformed(blocked)
    if after.fields != fields or (body is not None and after.body != body):
        raise MalformedDocument(
            "the change can't be written into this front matter without changing more than that",
            details={"reason": "not_patchable", "line": 1},
        )


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedDocument(
            "holds a lone surrogate, which is no character",
            details={"reason": "not_utf8", "line": text.count("\n", 0, error.start) + 1},
        ) from error
