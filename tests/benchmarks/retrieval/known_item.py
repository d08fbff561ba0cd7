"""Known-item search: a few words remembered of one note find it in a large vault."""

from __future__ import annotations

import random
import re
from contextlib import closing
from pathlib import Path

from keepm.index.search import Query, search
from keepm.markdown import documents
from keepm.model.memory import Language, Memory, Status, Visibility
from keepm.operations import sync
from keepm.operations.vault import open_vault
from tests.benchmarks import vaults
from tests.benchmarks.retrieval.cards import Question
from tests.benchmarks.retrieval.measures import Answer, Score, score

MUST = 0.97
_QUESTIONS = 500
_WORDS = 6
_STRETCH = 4


def measure(home: Path, *, notes: int, seed: int = 1) -> Score:
    """Generate a vault and look for notes of it, among those of all projects.

    What is remembered are six different words of description and body, of a Chinese note
    stretches of four characters, as they come: common ones too.
    """
    place = vaults.generate(home, notes=notes)
    rng = random.Random(seed)
    known = [
        document.content
        for path in sorted(place.root.rglob("*.md"))
        if isinstance(
            (
                document := documents.read(
                    path.relative_to(place.root).as_posix(), path.read_bytes()
                )
            ).content,
            Memory,
        )
        and document.content.status is Status.ACTIVE
    ]
    sample = rng.sample(known, min(_QUESTIONS, len(known)))
    questions = [Question(_remembered(note, rng), (note.id,), "known item") for note in sample]
    with closing(open_vault(place.settings())) as vault:
        sync.reconcile(vault)
        answers = []
        for question in questions:
            query = Query(question.text, Visibility(everything=True))
            found = search(vault.database, query)
            answers.append(Answer(tuple(hit.note.id for hit in found.hits), found.weak_match))
    return score(questions, answers)


def _remembered(note: Memory, rng: random.Random) -> str:
    text = f"{note.claim.description}\n{note.claim.body}"
    if note.claim.language is Language.ZH:
        runs = [run for run in re.findall(r"[\u4e00-\u9fff]+", text) if len(run) >= _STRETCH]
        starts = [(run, n) for run in runs for n in range(len(run) - _STRETCH + 1)]
        chosen = rng.sample(starts, min(_WORDS, len(starts)))
        return " ".join(run[n : n + _STRETCH] for run, n in chosen)
    words = sorted({word for word in re.findall(r"[\w/]+", text) if len(word) > 1})
    return " ".join(rng.sample(words, min(_WORDS, len(words))))
