"""The table: a line for each sort of question, a column for each system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.retrieval.cards import HALVES, NO_ANSWER, TYPES, Corpus, Question
from tests.benchmarks.retrieval.measures import Answer, Score, System, score

LEGEND = (
    "Cells: the first hit is right / all that is needed is among the first five / mean reciprocal"
    " rank, in per cent. Anywhere: both cards are in the answer at all. No-answer: questions that"
    " were answered all the same. Called weak: of the answers whose first hit is right / wrong,"
    " those that KeepM itself marks as weak."
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    questions: str
    asked: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """All answers of all systems to the questions of one corpus, in their order."""

    corpus: Corpus
    answers: Mapping[str, Sequence[Answer]]

    @property
    def leaked(self) -> int:
        """How many hits, of any system, were notes that must not be found."""
        return sum(
            name.startswith("negative ")
            for answers in self.answers.values()
            for answer in answers
            for name in answer.names
        )


def run(corpus: Corpus, systems: Mapping[str, System]) -> Run:
    """Ask every system every question."""
    asked = [question.text for question in corpus.questions]
    return Run(corpus, {name: [ask(text) for text in asked] for name, ask in systems.items()})


def lines(found: Run, *, halves: bool) -> Iterator[Line]:
    """Yield the lines of one corpus, its halves apart where ranking was worked on with it."""
    for half in HALVES if halves else ("",):
        label = f"{found.corpus.name} {half}".strip()
        chosen = [n for n, q in enumerate(found.corpus.questions) if half in ("", q.half)]
        for sort in _sorts(found.corpus.questions):
            numbers = [n for n in chosen if found.corpus.questions[n].type == sort]
            show = _false if sort == NO_ANSWER else _recall
            yield _line(f"{label}: {sort}", found, numbers, show)
            if sort == "two-step":
                yield _line(f"{label}: two-step, anywhere", found, numbers, _anywhere)
        answerable = [n for n in chosen if found.corpus.questions[n].gold]
        yield _line(f"{label}: all with an answer", found, answerable, _recall)
        yield _line(f"{label}: called weak", found, answerable, _doubted)


def known_item(result: Score, systems: int, *, notes: int, must: float) -> Line:
    """Return the line of known-item search."""
    verdict = "ok" if result.at_5 >= must else "UNDER"
    cells = (f"{_recall(result)} (at 5 ≥ {must:.0%}: {verdict})", *[""] * (systems - 1))
    return Line(f"known item, {notes:,} notes", result.asked, cells)


def plain(heads: Sequence[str], rows: Iterable[Line]) -> str:
    """Render the table for a terminal."""
    table = _table(heads, rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in table)


def markdown(heads: Sequence[str], rows: Iterable[Line]) -> str:
    """Render the table for a document."""
    head, *rest = _table(heads, rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rest])


def _table(heads: Sequence[str], rows: Iterable[Line]) -> list[list[str]]:
    return [["questions", "asked", *heads], *([r.questions, str(r.asked), *r.cells] for r in rows)]


def _sorts(questions: Sequence[Question]) -> list[str]:
    present = {question.type for question in questions}
    return [*(t for t in TYPES if t in present), *sorted(present - set(TYPES))]


def _line(label: str, found: Run, numbers: Sequence[int], show: Callable[[Score], str]) -> Line:
    questions = [found.corpus.questions[n] for n in numbers]
    cells = (
        show(score(questions, [answers[n] for n in numbers])) if numbers else ""
        for answers in found.answers.values()
    )
    return Line(label, len(numbers), tuple(cells))


def _recall(result: Score) -> str:
    return " / ".join(_percent(v) for v in (result.at_1, result.at_5, result.mrr))


def _anywhere(result: Score) -> str:
    return _percent(result.anywhere)


def _doubted(result: Score) -> str:
    return f"{_percent(result.doubted_right)} of right / {_percent(result.doubted_wrong)} of wrong"


def _false(result: Score) -> str:
    return f"{_percent(result.false)} false"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
