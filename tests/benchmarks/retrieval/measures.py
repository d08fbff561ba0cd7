"""What a system's answers are worth, against the judgments. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.benchmarks.retrieval.cards import Question

DEPTH = 10
"""How many hits are asked for, and looked at for the mean reciprocal rank."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The names found, best first; `weak` when the system itself says it is hardly an answer."""

    names: tuple[str, ...]
    weak: bool = False


System = Callable[[str], Answer]


@dataclass(frozen=True, slots=True)
class Score:
    """How a system did on a set of questions; shares from 0 to 1.

    `at_1`: the first hit is gold. `at_5`: all gold is among the first five (for more than five
    gold cards: the first five are gold). `mrr`: the mean of 1/rank of the first gold hit.
    `doubted`: the questions with an answer whose answer was called weak.
    `false`: the questions without one that were answered all the same.
    """

    asked: int
    at_1: float
    at_5: float
    mrr: float
    doubted: float
    unanswerable: int
    false: float


def score(questions: Sequence[Question], answers: Sequence[Answer]) -> Score:
    """Compare the answers with the judgments; one answer for each question."""
    pairs = list(zip(questions, answers, strict=True))
    real = [(q, a) for q, a in pairs if q.gold]
    none = [a for q, a in pairs if not q.gold]
    return Score(
        asked=len(real),
        at_1=_mean([a.names[:1] != () and a.names[0] in q.gold for q, a in real]),
        at_5=_mean([_all_found(q.gold, a.names[:5]) for q, a in real]),
        mrr=_mean([_reciprocal(q.gold, a.names[:DEPTH]) for q, a in real]),
        doubted=_mean([a.weak for _, a in real]),
        unanswerable=len(none),
        false=_mean([bool(a.names) and not a.weak for a in none]),
    )


def _all_found(gold: tuple[str, ...], first: tuple[str, ...]) -> bool:
    return len(set(gold) & set(first)) >= min(len(gold), 5)


def _reciprocal(gold: tuple[str, ...], names: tuple[str, ...]) -> float:
    return next((1 / rank for rank, name in enumerate(names, 1) if name in gold), 0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
