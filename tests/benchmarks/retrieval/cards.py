"""The cards and questions of the corpora.

A corpus is `corpora/<language>.md`, cards parted by `# <name>` lines with their fields below,
and `corpora/<language>.tsv`: type, question and gold cards (parted by ` | `), parted by tabs.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from keepm.model.memory import GLOBAL, Claim, Kind, Language, Scope

NO_ANSWER = "no-answer"
TYPES = ("question", "paraphrase", "keyword", "identifier", "path", "two-step", NO_ANSWER)
"""What is asked: as people ask, in some of the card's words; in other words than the card's; by
its words alone; by an identifier in it; by a file; for something that only two cards together
tell; for something that no card tells."""

HALVES = ("tune", "held-out")
"""Ranking may be changed after looking at the first half's failures, never at the second's."""

LANGUAGES = tuple(Language)

_CORPORA = Path(__file__).parent / "corpora"
_PERSONAL = (Kind.PREFERENCE, Kind.FEEDBACK)
_CARD = re.compile(r"^# (?=.+\nkind: )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the names of the cards that together answer it (none: nothing does)."""

    text: str
    gold: tuple[str, ...]
    type: str

    @property
    def half(self) -> str:
        """The half it belongs to, by the hash of its text."""
        return HALVES[hashlib.sha256(self.text.encode()).digest()[0] % 2]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Cards under the names that questions know them by."""

    name: str
    cards: dict[str, Claim]
    questions: tuple[Question, ...]


def load(language: Language) -> Corpus:
    """Read one of the project's own corpora; what one person prefers is global."""
    text = (_CORPORA / f"{language}.md").read_text("utf-8")
    claims = [_claim(part, language) for part in _CARD.split(text) if part.strip()]
    lines = (_CORPORA / f"{language}.tsv").read_text("utf-8").splitlines()
    questions = (line.split("\t") for line in lines)
    return Corpus(
        language,
        {claim.name: claim for claim in claims},
        tuple(Question(text, _listed(gold, " | "), sort) for sort, text, gold in questions),
    )


def _claim(part: str, language: Language) -> Claim:
    head, _, body = part.partition("\n\n")
    name, *lines = head.splitlines()
    fields = dict(line.split(": ", 1) for line in lines)
    kind = Kind(fields["kind"])
    return Claim(
        name=name,
        description=fields["description"],
        kind=kind,
        body=body.strip() + "\n",
        scope=GLOBAL if kind in _PERSONAL else Scope("harbor"),
        language=language,
        tags=_listed(fields.get("tags", ""), ", "),
        aliases=_listed(fields.get("aliases", ""), ", "),
        sources=_listed(fields.get("sources", ""), ", "),
    )


def _listed(text: str, mark: str) -> tuple[str, ...]:
    return tuple(text.split(mark)) if text else ()
