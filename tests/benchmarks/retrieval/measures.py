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
    gold cards: the first five are gold). `anywhere`: all gold is in the answer, whatever its
    length. `mrr`: the mean of 1/rank of the first gold hit.
    `doubted_right` and `doubted_wrong`: among the questions with an answer whose first hit is
    gold, or isn't, those whose answer was called weak.
    `false`: the questions without one that were answered all the same.
    """

    asked: int
    at_1: float
    at_5: float
    anywhere: float
    mrr: float
    doubted_right: float
    doubted_wrong: float
    unanswerable: int
    false: float


def score(questions: Sequence[Question], answers: Sequence[Answer]) -> Score:
    """Compare the answers with the judgments; one answer for each question."""
    pairs = list(zip(questions, answers, strict=True))
    real = [(q, a) for q, a in pairs if q.gold]
    none = [a for q, a in pairs if not q.gold]
    right = [a for q, a in real if _first_is_gold(q, a)]
    wrong = [a for q, a in real if a.names and not _first_is_gold(q, a)]
    return Score(
        asked=len(real),
        at_1=len(right) / len(real) if real else 0.0,
        at_5=_mean([_all_found(q.gold, a.names[:5]) for q, a in real]),
        anywhere=_mean([set(q.gold) <= set(a.names) for q, a in real]),
        mrr=_mean([_reciprocal(q.gold, a.names[:DEPTH]) for q, a in real]),
        doubted_right=_mean([a.weak for a in right]),
        doubted_wrong=_mean([a.weak for a in wrong]),
        unanswerable=len(none),
        false=_mean([bool(a.names) and not a.weak for a in none]),
    )


def _first_is_gold(question: Question, answer: Answer) -> bool:
    return answer.names[:1] != () and answer.names[0] in question.gold


def _all_found(gold: tuple[str, ...], first: tuple[str, ...]) -> bool:
    return len(set(gold) & set(first)) >= min(len(gold), 5)


def _reciprocal(gold: tuple[str, ...], names: tuple[str, ...]) -> float:
    return next((1 / rank for rank, name in enumerate(names, 1) if name in gold), 0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
