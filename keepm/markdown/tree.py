"""The tree of texts that YAML makes of a front matter, each with its place.

The only import of YAML. Scalars are never resolved: a date, a `yes` or a `1.10` is the text
that was written. What a reader could understand in two ways (duplicate keys, anchors, tags) is
refused as a whole, so that nothing is rewritten by a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from keepm.model.document import Finding, Severity, Standing

Tree = str | None | list["Tree"] | dict[str, "Tree"]

_MOST_NESTING = 16
_MOST_FINDINGS = 20  # of one kind; counting lines for more would take long
_BREAK = re.compile(r"\r\n|\r|\n")


class _Texts:
    """Leaves every scalar a text: tags are not resolved."""

    def descend_resolver(self, *_: object) -> None:
        """Nothing to resolve below."""

    def ascend_resolver(self) -> None:
        """Nothing was resolved."""

    def resolve(self, *_: object) -> str:
        """Give every node the same empty tag; an explicit tag shows by not being empty."""
        return ""


try:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class _Composer(_Texts, CParser):
        pass

except ImportError:  # PyYAML without libyaml: slower, the same answers
    from yaml.composer import Composer
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class _Composer(_Texts, Reader, Scanner, Parser, Composer):  # type: ignore[no-redef]
        def __init__(self, stream: str) -> None:
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)


class Broken(Exception):
    """A file whose structure can't be relied on, with everything that was found wrong."""

    def __init__(self, *findings: Finding, standing: Standing = Standing.DAMAGED) -> None:
        super().__init__(findings[0].message)
        self.findings = findings
        self.standing = standing


@dataclass(frozen=True, slots=True)
class Entry:
    """One top-level key with its value's node; positions count in the header's text."""

    key: Any  # a yaml.ScalarNode
    value: Any  # a yaml.Node
    line: int  # of the file, from 1


@dataclass(frozen=True, slots=True)
class Top:
    """A front matter's top level."""

    entries: dict[str, Entry]
    fields: dict[str, Tree]
    block: bool  # in block style, so that it can be changed by lines
    findings: tuple[Finding, ...]


def read(source: str) -> Top:
    """Read the text between the fences; it begins in the file's second line.

    Raises:
        Broken: with every finding that makes it unreliable.
    """
    node = _composed(source)
    entries, fields, findings = _top(node, source)
    block = node is None or not node.flow_style
    return Top(entries, fields, block=block, findings=tuple(findings))


def _composed(source: str) -> Any:
    """Return the top mapping's node, or None for an empty front matter."""
    try:
        if "&" in source or "*" in source or "!" in source:
            _refuse_indirections(source)
        node: Any = _Composer(source).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _invalid(source, mark.index if mark else 0) from error
    except yaml.reader.ReaderError as error:
        # The C reader counts bytes, the other characters; the line is near in both.
        prefix = source.encode()[: int(error.position)].decode("utf-8", "ignore")
        raise _invalid(source, len(prefix)) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _invalid(source, 0) from error
    if node is None or (node.id == "scalar" and not node.value and not node.style):
        return None
    if node.id != "mapping":
        message = "the front matter must be lines of the form 'key: value'"
        raise Broken(Finding("front_matter_not_a_map", message, 2, Severity.ERROR))
    return node


def _invalid(source: str, position: int) -> Broken:
    return Broken(
        Finding(
            "invalid_yaml",
            "the front matter is not valid YAML here: put quotes around a value with ': ', "
            "' #' or a leading sign",
            line_at(source, position) + 1,
            Severity.ERROR,
        )
    )


def _refuse_indirections(source: str) -> None:
    """Refuse anchors, aliases and tags; called only when one of their signs occurs."""
    parser = _Composer(source)
    while event := parser.get_event():
        assert event.start_mark is not None
        position = event.start_mark.index
        if getattr(event, "anchor", None):
            raise _refused(source, position, "yaml_anchor", "anchors and aliases (& and *)")
        if getattr(event, "tag", None):
            raise _refused(source, position, "yaml_tag", "tags (!)")


def _refused(source: str, position: int, code: str, what: str) -> Broken:
    message = f"{what} are not supported in front matter: write the value out or quote it"
    return Broken(Finding(code, message, line_at(source, position) + 1, Severity.ERROR))


def _top(node: Any, source: str) -> tuple[dict[str, Entry], dict[str, Tree], list[Finding]]:
    entries: dict[str, Entry] = {}
    fields: dict[str, Tree] = {}
    findings: list[Finding] = []
    if node is None:
        return entries, fields, findings
    _refuse_duplicates(node, source)
    line, counted = 2, 0
    for key, value in node.value:
        # Counting on from the last key keeps this linear.
        line += len(_BREAK.findall(source, counted, key.start_mark.index))
        counted = key.start_mark.index
        entries[key.value] = Entry(key, value, line)
        if is_null(value):
            fields[key.value] = None
            rest = re.compile(r"[^\r\n]*").match(source, value.end_mark.index)
            if not value.value and rest and re.match(r"\s*#\S", rest.group()):
                message = "the value begins with '#' and is a comment to YAML: quote it"
                findings.append(Finding("empty_value", f"{_name(key)}: {message}", line))
        else:
            fields[key.value] = _tree(value, source, 1)
    return entries, fields, findings


def is_null(node: Any) -> bool:
    """Tell whether a node is empty, `null` or `~` without quotes."""
    return (
        node.id == "scalar" and not node.style and node.value in ("", "~", "null", "Null", "NULL")
    )


def _tree(node: Any, source: str, depth: int) -> Tree:
    if node.id == "scalar":
        return str(node.value)
    if depth > _MOST_NESTING:
        raise _refused(source, node.start_mark.index, "nesting_too_deep", "deeply nested values")
    if node.id == "sequence":
        if link := wiki_link(node, source):
            return link
        return [_tree(item, source, depth + 1) for item in node.value]
    _refuse_duplicates(node, source)
    return {key.value: _tree(value, source, depth + 1) for key, value in node.value}


def wiki_link(node: Any, source: str) -> str | None:
    """Return the text of `[[Other note]]` written without quotes: to YAML a list in a list."""
    if not (node.flow_style and len(node.value) == 1):
        return None
    inner = node.value[0]
    if inner.id != "sequence" or any(item.id == "sequence" for item in inner.value):
        return None
    text = source[node.start_mark.index : node.end_mark.index]
    if text.startswith("[[") and text.endswith("]]") and inner.value:
        return " ".join(text.split())
    return None


def _refuse_duplicates(node: Any, source: str) -> None:
    first: dict[str, int] = {}
    findings = []
    for key, _ in node.value:
        position = key.start_mark.index
        if key.id != "scalar":
            raise _refused(source, position, "key_not_text", "keys that are lists or maps")
        if key.value in first:
            lines = line_at(source, first[key.value]) + 1, line_at(source, position) + 1
            message = f"the key {_name(key)} stands in lines {lines[0]} and {lines[1]}: keep one"
            findings.append(Finding("duplicate_key", message, lines[1], Severity.ERROR))
            if len(findings) == _MOST_FINDINGS:
                break
        else:
            first[key.value] = position
    if findings:
        raise Broken(*findings, standing=Standing.WITHHELD)


def _name(key: Any) -> str:
    return repr(str(key.value)[:40])


def line_at(text: str, position: int) -> int:
    """Return the 1-based line of a position; a CRLF is one break."""
    return sum(1 for _ in _breaks(text, position)) + 1


def _breaks(text: str, position: int) -> Iterator[re.Match[str]]:
    return _BREAK.finditer(text, 0, position)
