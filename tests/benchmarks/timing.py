"""Measuring: durations in seconds, ours and the raw operation's turn about.

Starts and passes are told by their best run, which other work on the machine disturbs least;
answers and writes by their middle and their 95th percentile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Durations:
    """How long each run took, shortest first."""

    seconds: tuple[float, ...]

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Durations:
        return cls(tuple(sorted(seconds)))

    @property
    def best(self) -> float:
        return self.seconds[0]

    @property
    def mean(self) -> float:
        return sum(self.seconds) / len(self.seconds)

    def percentile(self, share: float) -> float:
        """Return the duration that this share of the runs doesn't exceed."""
        return self.seconds[min(len(self.seconds) - 1, int(share * len(self.seconds)))]


def seconds_of(action: Callable[[], object]) -> float:
    """Return how long one run takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def in_turn(*actions: Callable[[], object], times: int) -> tuple[Durations, ...]:
    """Measure several actions turn about, so that a disturbance meets all of them."""
    found: list[list[float]] = [[] for _ in actions]
    for _ in range(times):
        for measured, action in zip(found, actions, strict=True):
            measured.append(seconds_of(action))
    return tuple(Durations.of(each) for each in found)
