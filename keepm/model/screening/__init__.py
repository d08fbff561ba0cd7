"""What may never be stored, whatever field it stands in.

So far: control characters (C0 but tab, line feed and carriage return; DEL; C1), NUL among them,
and lone surrogates. A refusal names field, line and column, never the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepm.errors import Problem

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_BREAK = re.compile(r"[\r\n\u2028\u2029]")


def text(field: str, value: str, *, one_line: bool = False) -> Iterator[Problem]:
    """Check one field; `one_line` refuses line breaks too."""
    found = _CONTROL.search(value)
    if found:
        yield _refused(field, value, found.start(), f"the character {_name(found.group())}")
    elif one_line and (found := _LINE_BREAK.search(value)):
        yield _refused(field, value, found.start(), "a line break")


def _refused(field: str, value: str, position: int, what: str) -> Problem:
    before = value[:position]
    line = before.count("\n") + 1
    column = position - (before.rfind("\n") + 1) + 1
    return Problem(
        field,
        f"holds {what} at line {line}, column {column}, which may not be stored",
        code="content_refused",
        details={"line": line, "column": column},
    )


def _name(character: str) -> str:
    return "NUL" if character == "\x00" else f"U+{ord(character):04X}"
