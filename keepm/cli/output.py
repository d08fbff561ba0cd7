"""What commands print: data on stdout, words on stderr, JSON where a script wants it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from keepm.errors import InvalidIdentifier, KeepMError, NotFound, RejectedBefore

OK, FINDINGS, USAGE, INTERNAL = range(4)
"""The exit codes: fine, findings or failed parts, wrong usage or configuration, our fault."""

_CONTROLS = (code for code in (*range(32), *range(0x7F, 0xA0)) if code not in (9, 10))
# Line separators, what reorders the text around it, and the tags that nobody sees.
_REORDERING = (*range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080))
_ESCAPED = {
    **{code: f"\\x{code:02x}" for code in _CONTROLS},
    **{code: f"<U+{code:04X}>" for code in _REORDERING},
}

_FOR_PEOPLE: dict[type[KeepMError], str] = {
    NotFound: "Look it up with `keepm search`; it may have been renamed or deleted.",
    InvalidIdentifier: "Use an id, a name or an alias as `keepm search` shows it.",
}
"""Next steps that the errors tell agents by the names of tools, as commands."""


def emit(args: argparse.Namespace, *, text: str, data: Any) -> None:
    """Print a command's result: `data` as JSON with `--format json`, else `text`."""
    if getattr(args, "format", "text") == "json":
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
    elif text:  # of an empty list no empty line either, which would count as one
        sys.stdout.write(f"{shown(text)}\n")


def write(report: str) -> None:
    """Print a whole report as it is; nothing for an empty one."""
    if report:
        sys.stdout.write(f"{shown(report.rstrip())}\n")


def say(words: str) -> None:
    """Tell a person something beside the result."""
    sys.stderr.write(f"{shown(words)}\n")


def shown(text: str) -> str:
    """Return text with what a terminal obeys made visible: no note drives it or reorders lines."""
    return text.translate(_ESCAPED).encode("utf-8", "replace").decode("utf-8")


def failure(error: KeepMError, *, as_json: bool) -> int:
    """Report an error and return its exit code."""
    general = type(error).hint
    hint = error.next_step.replace(general, _FOR_PEOPLE.get(type(error), general))
    if as_json:
        data: dict[str, Any] = {
            "code": error.code,
            "message": error.message,
            "hint": hint,
            "details": error.details,
        }
        sys.stdout.write(json.dumps({"error": data}, ensure_ascii=False, indent=2) + "\n")
    say(f"keepm: {error.message} [{error.code}]")
    for key, value in error.details.items():
        if key == "candidates" and isinstance(value, list):
            for each in value:
                handle = each.values() if isinstance(each, dict) else [each]
                say(f"  - {'  '.join(map(str, handle))}")
    if isinstance(error, RejectedBefore):
        say(f"  {error.details['when']}  {error.details['why'] or 'no reason on file'}")
    say(f"  → {hint}")
    return USAGE


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send to stderr what is printed meanwhile, and what was printed before and still waits."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
        sys.stdout.flush()
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def utf8() -> None:
    """Write UTF-8 whatever the locale says; what can't be encoded is escaped, never fatal."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
