"""A file, cut into its front matter and its body.

Refuses what is no text, both halves of an unfinished merge, and a front matter without an end.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from keepm.markdown import tree
from keepm.markdown.tree import Broken, Entry, Tree, line_at
from keepm.model.document import Finding, Severity, Standing

BOM = b"\xef\xbb\xbf"
_OPENING = re.compile(r"---[ \t]*(?:\r\n|\r|\n|\Z)")
_CLOSING = re.compile(r"(?<=[\r\n])---[ \t]*(?:\r\n|\r|\n|\Z)")
_BREAK = re.compile(r"\r\n|\r|\n")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CONFLICT_START = re.compile(r"<{7}(?: |$)")
_CONFLICT_END = re.compile(r">{7}(?: |$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# The breaks are atomic: a CRLF read as two breaks as well would let the matching explode.
_SECOND_BLOCK = re.compile(
    r"(?:[ \t]*(?>\r\n|\r|\n))*+"
    r"(?P<fence>---)[ \t]*(?>\r\n|\r|\n)"
    r"[^\s:#\-][^:\r\n]*:(?:[ \t][^\r\n]*)?(?>\r\n|\r|\n)"
    r"(?:(?:[^\s:#\-][^:\r\n]*:(?:[ \t][^\r\n]*)?|[ \t]+[^\r\n]*|-[ \t][^\r\n]*|#[^\r\n]*|)"
    r"(?>\r\n|\r|\n))*?"
    r"---[ \t]*(?:\r\n|\r|\n|\Z)"
)


@dataclass(frozen=True, slots=True)
class Header:
    """A file's text and, within it, its front matter.

    `text` is the whole file without its BOM; the front matter between the fences is
    `text[start:end]`, the body `text[body:]`. Without front matter all three are 0.
    """

    text: str
    bom: bool
    start: int
    end: int
    body: int
    entries: Mapping[str, Entry]
    fields: Mapping[str, Tree]
    block: bool  # the top level is in block style, so that it can be patched by lines
    findings: tuple[Finding, ...]

    @property
    def present(self) -> bool:
        """Tell whether there is front matter."""
        return self.body > 0

    def line_at(self, position: int) -> int:
        """Return the line of a position in `text`, from 1."""
        return line_at(self.text, position)


# A change reads its document for the text, to patch it, and to see that it can be read back.
@functools.lru_cache(maxsize=4)
def read(data: bytes) -> Header:
    """Cut a file and read its front matter.

    Raises:
        Broken: with every finding that makes it unreliable.
    """
    text = _decoded(data)
    _refuse_conflicts(text)
    bom = data.startswith(BOM)
    place = fences(text)
    if place is None:
        return Header(text, bom, 0, 0, 0, {}, {}, block=True, findings=_body_findings(text, 0))
    start, end, body = place
    source = text[start:end]
    if found := _CONTROL.search(source):
        message = "the front matter holds a control character: remove it"
        line = line_at(text, start + found.start())
        raise Broken(Finding("control_character", message, line, Severity.ERROR))
    top = tree.read(source)
    return Header(
        text,
        bom,
        start,
        end,
        body,
        top.entries,
        top.fields,
        block=top.block,
        findings=(*top.findings, *_body_findings(text, body)),
    )


def fences(text: str) -> tuple[int, int, int] | None:
    """Return where a text's front matter begins and ends and its body begins, if it has one.

    Raises:
        Broken: it has a beginning and no end.
    """
    opening = _OPENING.match(text)
    if not opening:
        return None
    closing = _CLOSING.search(text, opening.end())
    if closing:
        return opening.end(), closing.start(), closing.end()
    raise Broken(
        Finding(
            "unclosed_front_matter",
            "the first line opens a front matter that no line '---' closes: "
            "close it, or put an empty line before a horizontal rule",
            1,
            Severity.ERROR,
        )
    )


def _decoded(data: bytes) -> str:
    if b"\x00" in data:
        line = _BREAK.sub("\n", data[: data.index(b"\x00")].decode("latin-1")).count("\n") + 1
        raise Broken(
            Finding(
                "nul_byte",
                "holds a NUL byte (binary or UTF-16 data): save it as UTF-8 text",
                line,
                Severity.ERROR,
            ),
            standing=Standing.WITHHELD,
        )
    try:
        return data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        before = _BREAK.sub("\n", data[: error.start].decode("latin-1"))
        raise Broken(
            Finding(
                "not_utf8",
                "holds bytes that are not UTF-8: save it as UTF-8 text",
                before.count("\n") + 1,
                Severity.ERROR,
            )
        ) from error


def _refuse_conflicts(text: str) -> None:
    """Refuse both halves of an unfinished merge; its signs inside a code fence are text."""
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return
    fence, opened, findings = "", 0, []
    for number, line in enumerate(_BREAK.split(text), start=1):
        if found := _FENCE.match(line):
            if not fence:
                fence = found.group(1)
            elif found.group(1).startswith(fence) and not line.strip(" `~\t"):
                fence = ""
        elif fence:
            continue
        elif _CONFLICT_START.match(line):
            opened = number
        elif opened and _CONFLICT_END.match(line):
            message = f"an unfinished merge, lines {opened} to {number}: keep one of the two sides"
            findings.append(Finding("merge_markers", message, opened, Severity.ERROR))
            opened = 0
    if findings:
        raise Broken(*findings, standing=Standing.WITHHELD)


def _body_findings(text: str, start: int) -> tuple[Finding, ...]:
    findings = []
    if start and (found := _SECOND_BLOCK.match(text, start)):
        findings.append(
            Finding(
                "second_front_matter_block",
                "a second '---' block follows the front matter: merge the two by hand, "
                "until then the note can't be changed here",
                line_at(text, found.start("fence")),
            )
        )
    if found := _CONTROL.search(text, start):
        findings.append(
            Finding(
                "control_character",
                "holds a control character: remove it",
                line_at(text, found.start()),
            )
        )
    return tuple(findings)
