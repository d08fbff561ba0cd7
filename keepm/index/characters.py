"""Notes that share single characters with a Chinese question whose words hardly any note holds.

Chinese makes many words of few characters, and words for one thing share some of them (`退款`,
`退钱`). Where pairs of characters find an answer they find it better and sooner; where they find
next to nothing, the characters alone still lead to half of such notes. Looked for without an
index of their own, so only where not too many notes are in sight.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from typing import Final

from keepm.index import rows, stopwords
from keepm.index.analysis import normalised

MOST_NOTES: Final = 2000
"""Of more notes in sight too many share a few characters, and looking at all takes too long."""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_FEWEST = 5  # different characters: shorter queries are looked up, they don't describe
_MOST = 24
_LEAST_SHARED = 2  # a note with fewer shares them by chance
_K1, _B = 1.2, 0.75  # as FTS5 has them, so that both scores can be added


def asked(text: str) -> str:
    """Return the different characters of a question that may tell its topic; empty when it
    isn't Chinese, or too short to be one."""
    found: dict[str, None] = {}
    for run in _HAN.findall(normalised(text)):
        found.update(dict.fromkeys(stopwords.CHINESE.sub("", run)))
    return "".join(found)[:_MOST] if len(found) >= _FEWEST else ""


def scores(
    connection: sqlite3.Connection,
    characters: str,
    condition: str,
    values: rows.Parameters,
    *,
    limit: int,
) -> dict[int, float]:
    """Return the notes (of `notes AS n`) that share most with a question, best first, with their
    BM25 scores by its characters; at most `limit`."""
    found = connection.execute(
        "SELECT n.number, n.name, n.aliases, n.tags, n.description, b.body"  # noqa: S608
        " FROM notes AS n CROSS JOIN bodies AS b USING (number)"
        f" WHERE n.language IS NOT 'en' AND {condition}",
        values,
    )
    counts: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for number, *heading, body in found:
        text = "".join((*heading, *heading, body))  # what stands in a heading counts twice
        counts[number] = list(map(text.count, characters))
        sizes[number] = len(text)
    notes, length = len(counts), sum(sizes.values())
    holding = [sum(map(bool, column)) for column in zip(*counts.values(), strict=True)]
    rarity = [max(math.log((notes - held + 0.5) / (held + 0.5)), 0.0) for held in holding]
    result: dict[int, float] = {}
    for number, row in counts.items():
        if len(row) - row.count(0) >= _LEAST_SHARED:
            damping = _K1 * (1 - _B + _B * sizes[number] * notes / length)
            result[number] = sum(
                rare * count * (_K1 + 1) / (count + damping)
                for rare, count in zip(rarity, row, strict=True)
                if count
            )
    return _best(connection, result, limit)


def _best(connection: sqlite3.Connection, result: dict[int, float], limit: int) -> dict[int, float]:
    """Return the best of scored notes, equal ones in the order in which a search has them."""
    least = sorted(result.values(), reverse=True)[:limit][-1:]
    chosen = [number for number, score in result.items() if score and score >= least[0]]
    ordered = connection.execute(
        "SELECT number FROM notes AS n WHERE number IN (SELECT value FROM json_each(?))"
        " ORDER BY n.scope = '', n.name, n.path",
        (json.dumps(chosen),),
    )
    best = sorted((number for (number,) in ordered), key=lambda number: -result[number])
    return {number: result[number] for number in best[:limit]}
