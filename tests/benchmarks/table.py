"""The table of results: what was measured, the raw operation beside it, and what must hold."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keepm import __version__

_HEADS = ("what", "notes", "KeepM", "raw operation", "ratio", "must", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `kept` is None where product.md sets no bound."""

    what: str
    notes: int | None
    ours: str
    raw: str = ""
    ratio: float | None = None
    must: str = ""
    kept: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        verdict = {None: "", True: "ok", False: "OVER"}[self.kept]
        return (
            self.what,
            "" if self.notes is None else f"{self.notes:,}",
            self.ours,
            self.raw,
            "" if self.ratio is None else f"{self.ratio:.2f}",
            self.must,
            verdict,
        )


def ratio(
    what: str,
    notes: int | None,
    *,
    ours: float,
    raw: float,
    raw_name: str,
    most: float | None = None,
) -> Row:
    """Compare two durations in seconds; `most` is the ratio that must not be exceeded."""
    return Row(
        what,
        notes,
        milliseconds(ours),
        f"{milliseconds(raw)} {raw_name}",
        ours / raw,
        "" if most is None else f"≤ {most:g} ×",
        None if most is None else ours <= most * raw,
    )


def milliseconds(seconds: float) -> str:
    """Return a duration as people compare it."""
    value = seconds * 1000
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"


def plain(rows: Sequence[Row]) -> str:
    """Render the table for a terminal."""
    lines = [_HEADS, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return _joined(lines, lambda cells: "  ".join(map(str.ljust, cells, widths)).rstrip())


def markdown(rows: Sequence[Row]) -> str:
    """Render the table for a document."""
    lines = [_HEADS, ("---",) * len(_HEADS), *(row.cells for row in rows)]
    return _joined(lines, lambda cells: f"| {' | '.join(cells)} |")


def _joined(lines: Sequence[tuple[str, ...]], line: Callable[[tuple[str, ...]], str]) -> str:
    return "".join(f"{line(cells)}\n" for cells in lines)


def circumstances() -> str:
    """Name what the figures depend on, in one sentence."""
    return (
        f"KeepM {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version},"
        f" {platform.system()}, {os.cpu_count()} cores."
    )
