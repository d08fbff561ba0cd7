"""What the tests of this room share."""

from __future__ import annotations

from pathlib import Path

_CASES = Path(__file__).parent.parent / "cases"


def case_bytes(name: str) -> bytes:
    """Return an input file of a case."""
    return (_CASES / name).read_bytes()
