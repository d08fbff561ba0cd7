"""What is compared: KeepM's two ways to find a note, and what one would use without it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from keepm.model.memory import Claim
from keepm.operations import context, retrieval
from keepm.operations.retrieval import Wanted
from tests.benchmarks.retrieval.cards import Corpus
from tests.benchmarks.retrieval.measures import DEPTH, Answer, System
from tests.benchmarks.retrieval.shelves import Shelves

_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]+|[\u3040-\u30ff\u3400-\u9fff]+")


def ours(shelves: Shelves) -> dict[str, System]:
    """Return `memory_search` and `memory_context` with their defaults."""

    def search(text: str) -> Answer:
        found = retrieval.search(shelves.vault, Wanted(text, limit=DEPTH))
        return Answer(tuple(shelves.name(item.id) for item in found.items), bool(found.weak_match))

    def in_context(text: str) -> Answer:
        found = context.context(shelves.vault, query=text)
        return Answer(tuple(shelves.name(item.id) for item in found.items), bool(found.weak_match))

    return {"search": search, "context": in_context}


def baselines(corpus: Corpus) -> dict[str, System]:
    """Return plain systems over the same cards; they see only what may be found.

    They never say that an answer is weak: whatever they find counts as an answer.
    """
    texts = {name: _text(claim) for name, claim in corpus.cards.items()}
    return {
        "FTS5 unicode61": _full_text("unicode61", texts),
        "FTS5 trigram": _full_text("trigram", texts),
        "substring scan": _scan(texts),
    }


def _full_text(tokenizer: str, texts: Mapping[str, str]) -> System:
    """Any of the query's words, ranked by FTS5's own BM25."""
    table = sqlite3.connect(":memory:")
    table.execute(f"CREATE VIRTUAL TABLE t USING fts5(name UNINDEXED, text, tokenize={tokenizer})")
    table.executemany("INSERT INTO t VALUES (?, ?)", texts.items())

    def find(text: str) -> Answer:
        phrases = _trigrams(text) if tokenizer == "trigram" else _WORD.findall(text)
        if not phrases:
            return Answer(())
        match = " OR ".join(f'"{phrase}"' for phrase in dict.fromkeys(phrases))
        rows = table.execute(
            "SELECT name FROM t WHERE t MATCH ? ORDER BY rank, rowid LIMIT ?", (match, DEPTH)
        )
        return Answer(tuple(name for (name,) in rows))

    return find


def _trigrams(text: str) -> list[str]:
    """Return the words of a query that a trigram index can look for, Chinese ones in threes."""
    phrases: list[str] = []
    for piece in _PIECE.findall(text):
        if piece.isascii():
            phrases += [piece] if len(piece) > 2 else []
        else:
            phrases += [piece[n : n + 3] for n in range(len(piece) - 2)]
    return phrases


def _scan(texts: Mapping[str, str]) -> System:
    """The cards that hold most of the query's words, as parted by blanks."""
    folded = {name: text.casefold() for name, text in texts.items()}

    def find(text: str) -> Answer:
        words = set(text.casefold().split())
        held = {name: sum(word in text for word in words) for name, text in folded.items()}
        ranked = sorted((name for name in held if held[name]), key=lambda name: -held[name])
        return Answer(tuple(ranked[:DEPTH]))

    return find


def _text(claim: Claim) -> str:
    parts = (claim.name, *claim.aliases, *claim.tags, claim.description, *claim.sources, claim.body)
    return "\n".join(parts)
