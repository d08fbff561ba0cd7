"""Runs of base64, base32 or hexadecimal digits that are too long for anybody to read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepm.model.screening.hit import Hit

_PIECE = 32  # a wrapped run has lines of at least this
_DIGITS = r"[A-Za-z0-9+/_\-]"
# A run may be wrapped into lines, quoted or indented.
_RUN = re.compile(
    rf"{_DIGITS}{{{_PIECE},}}={{0,2}}(?:[ \t]*\r?\n[ \t>]*{_DIGITS}{{{_PIECE},}}={{0,2}})*"
    rf"(?:[ \t]*\r?\n[ \t>]*{_DIGITS}{{8,}}={{0,2}}(?![^\s]))?"
)
_FIRST_PIECE = re.compile(rf"{_DIGITS}{{{_PIECE},}}")
_PART = re.compile(r"[^\s>]+")
_HEX = re.compile(r"[0-9a-fA-F]+")
_DIGESTS = frozenset({32, 40, 56, 64, 96, 128})


def hits(text: str, most: int, runs: str) -> Iterator[Hit]:
    """Yield each encoded run of more than `most` characters; `runs` are the text's long runs."""
    if len(text) <= most or _FIRST_PIECE.search(runs) is None:
        return
    for found in _RUN.finditer(text):
        if found.end() - found.start() <= most:
            continue
        parts = _PART.findall(found.group())
        size = sum(map(len, parts))
        if size > most and _is_encoded(parts):
            yield Hit("encoded_run", found.start(), f"{size} characters")


def _is_encoded(parts: list[str]) -> bool:
    run = "".join(parts).rstrip("=")
    different = len(set(run))
    if _HEX.fullmatch(run):
        # A list of digests, one a line, is something that people check.
        is_list = len(parts) > 1 and all(len(part) in _DIGESTS for part in parts)
        return different >= 8 and not is_list
    has_digit = any(character.isdigit() for character in run)
    if run.upper() == run:
        return different >= 16 and has_digit
    has_upper = any(character.isupper() for character in run)
    has_lower = any(character.islower() for character in run)
    return different >= 20 and has_digit and (has_upper and has_lower)
