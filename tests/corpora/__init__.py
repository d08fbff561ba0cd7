"""Texts written for KeepM, on which screening is tried: one case a line.

`⏎` stands for a line break, `\\u…`, `\\U…` and `\\x…` for characters that nobody would see in the
file. No file holds a key or token of a real shape: those are put together in `tokens`.
"""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = Path(__file__).parent
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\\x([0-9a-f]{2})")


def lines(name: str) -> list[str]:
    """Return the cases of one file, such as `clean/en`."""
    text = (_FOLDER / f"{name}.txt").read_text("utf-8")
    return [line.replace("⏎", "\n") for line in text.splitlines() if line]


def escaped(name: str) -> list[str]:
    """Return the cases of one file, with the characters for their escapes."""
    return [
        _ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), line)
        for line in lines(name)
    ]


def names(folder: str) -> list[str]:
    """Return the files of one corpus, as `lines` takes them."""
    return sorted(f"{folder}/{path.stem}" for path in (_FOLDER / folder).glob("*.txt"))
