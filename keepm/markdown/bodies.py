"""A document's body between a file and the model.

In the model a body has LF, no blank lines around it and no newline at its end; its indentation
and everything within it stay. In a file it keeps the line endings and the space around it.
"""

from __future__ import annotations

import re

from keepm.markdown.patching import dominant_newline

_BREAK = re.compile(r"\r\n|\r")
_LEADING = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")


def trimmed(text: str) -> str:
    """Return a body as the model holds it."""
    if not text.strip():
        return ""
    text = _BREAK.sub("\n", text)
    text = text[_LEADING.match(text).end() :]  # type: ignore[union-attr]  # matches always
    end = text.find("\n", len(text.rstrip(" \t\n")))
    return text if end < 0 else text[:end]


def leading(text: str) -> str:
    """Return the blank lines above a body's text."""
    found = _LEADING.match(text)
    return found.group() if found else ""


def replaced(old: str, new: str, *, whole: str) -> str:
    """Return a file's body with new text, in the line endings of the `whole` file.

    The blank lines above stay; the text ends with one newline.
    """
    newline = dominant_newline(whole)
    above = leading(old)
    text = trimmed(new)
    if not text:
        return ""
    return f"{above or newline}{text.replace(chr(10), newline)}{newline}"
