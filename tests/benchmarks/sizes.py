"""How large answers are: what an agent pays for each call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from keepm.operations import answers, context, rendering, retrieval
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.benchmarks.table import Row

MOST_CHARACTERS = 6000  # of `memory_context` by default, all told
_LETTERS_A_TOKEN = 4  # of text in ASCII; other characters are a token each, about


def rows(vault: Vault, notes: int, queries: Mapping[str, list[str]]) -> Iterator[Row]:
    """Yield for each call of retrieval how large its answer is by default, usual and largest.

    Of the two halves, JSON and text, the larger one: hosts show the model either.
    """
    asked = [query for each in queries.values() for query in each]
    calls: dict[str, Callable[[str], Any]] = {
        "memory_context with a query": lambda query: context.context(vault, query=query),
        "memory_context, briefing": lambda _: context.context(vault),
        "memory_search": lambda query: retrieval.search(vault, Wanted(query)),
        "memory_catalog": lambda _: retrieval.catalog(vault),
    }
    for name, call in calls.items():
        yield _row(name, notes, map(call, asked), bounded=name.startswith("memory_context"))


def tokens(text: str) -> int:
    """Return about how many tokens a text costs a model."""
    ascii_only = sum(map(str.isascii, text))
    return ascii_only // _LETTERS_A_TOKEN + len(text) - ascii_only


def _row(name: str, notes: int, told: Iterable[Any], *, bounded: bool) -> Row:
    halves = [max(_halves(answers.plain(each)), key=len) for each in told]
    usual, largest = sorted(halves, key=len)[len(halves) // 2], max(halves, key=len)
    return Row(
        f"size of an answer, {name}: usual / largest",
        notes,
        f"{len(usual):,} / {len(largest):,} characters",
        f"{len(usual.encode()):,} / {len(largest.encode()):,} bytes,"
        f" about {tokens(usual):,} / {max(map(tokens, halves)):,} tokens",
        None,
        f"≤ {MOST_CHARACTERS:,} characters" if bounded else "",
        len(largest) <= MOST_CHARACTERS if bounded else None,
    )


def _halves(data: Any) -> tuple[str, str]:
    structured = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return structured, rendering.text(data)
