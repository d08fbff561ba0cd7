"""A place in a text that may not be stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hit:
    """Which rule, and where its text begins; `figure` says more where that gives nothing away."""

    rule: str
    start: int
    figure: str = ""
