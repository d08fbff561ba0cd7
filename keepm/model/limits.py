"""Sizes and counts: at a limit passes, one over is refused with both figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepm.errors import Problem


def characters(field: str, text: str, limit: int) -> Iterator[Problem]:
    """Check a text's length in characters."""
    if len(text) > limit:
        yield _over(field, "characters", limit, len(text))


def size(field: str, text: str, limit: int) -> Iterator[Problem]:
    """Check a text's size in UTF-8 bytes."""
    actual = len(text.encode("utf-8", "surrogatepass"))
    if actual > limit:
        yield _over(field, "bytes", limit, actual)


def items(field: str, values: Sequence[str], *, count: int, each: int) -> Iterator[Problem]:
    """Check a list's length and each item's length in characters."""
    if len(values) > count:
        yield _over(field, "items", count, len(values))
    for number, value in enumerate(values):
        yield from characters(f"{field}[{number}]", value, each)


def _over(field: str, unit: str, limit: int, actual: int) -> Problem:
    return Problem(
        field,
        f"{actual} {unit}, the limit is {limit}",
        code="limit_exceeded",
        details={"limit": limit, "actual": actual, "unit": unit},
    )
