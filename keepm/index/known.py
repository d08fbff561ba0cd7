"""Which words are known, and how rare they are: by the notes alone that an answer may show.

`frequencies` counts a scope's notes whatever their status. What only an archived, overtaken,
shadowed or withheld one says makes no word known: else such a note would keep an answer from
completing a word, from another way of writing it, and from help with its spelling. Nor does it
make a word common: earlier versions of a note hold much the same words as the one that counts.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from keepm.index import frequencies, postings, rows, stretches
from keepm.index.connection import kept
from keepm.index.frequencies import Extent
from keepm.index.rows import Parameters
from keepm.index.stretches import Ranges
from keepm.model.document import Standing
from keepm.model.memory import Status, Visibility

_MOST_LISTED = 64  # terms of a query, the rarest: of no query more are looked for
_MOST_HOLDERS = 100  # that are told apart one by one


def known(
    connection: sqlite3.Connection,
    visibility: Visibility,
    statuses: Sequence[Status] = (Status.ACTIVE,),
) -> Known:
    """Return what is known where notes of these statuses may be shown."""
    ranges = stretches.ranges(connection, visibility)
    condition, values = in_sight(connection, visibility, statuses)
    sight = (visibility, tuple(statuses))
    return Known(
        connection,
        visibility,
        ranges,
        hidden=kept(
            connection, ("hidden", *sight), lambda: unfit(connection, ranges, condition, values)
        ),
        shown=kept(connection, ("shown", *sight), lambda: _count(connection, condition, values)),
    )


def in_sight(
    connection: sqlite3.Connection,
    visibility: Visibility,
    statuses: Sequence[Status],
    *,
    shadowed: bool = False,
) -> tuple[str, Parameters]:
    """Return what every note (of `n`) fulfils that may be shown, whatever else is asked for.

    Global notes whose slot the project holds may not, unless `shadowed` ones are wanted too.
    """
    seen, values = rows.visible("n.scope", visibility)
    standing, more = rows.one_of("n.status", statuses)
    condition = f"{seen} AND {standing} AND n.standing <> ? AND n.withheld_by = ''"
    values = [*values, *more, str(Standing.WITHHELD)]
    if not shadowed and visibility.project_id is not None:
        condition += " AND n.number NOT IN (SELECT value FROM json_each(?))"
        values.append(rows.shadowed(connection, visibility.project_id))
    return condition, values


def unfit(
    connection: sqlite3.Connection, ranges: Ranges, condition: str, values: Parameters
) -> frozenset[int]:
    """Return which notes of the ranges don't fulfil a condition on `n`."""
    return frozenset(
        number
        for near in ([()] if ranges is None else ranges)
        for (number,) in connection.execute(
            "SELECT n.number FROM all_notes AS n INDEXED BY notes_in_sight"  # noqa: S608
            f" WHERE {'n.number BETWEEN ? AND ?' if near else '1'}"
            # A note without a kind isn't of that kind.
            f" AND ({condition}) IS NOT TRUE",
            [*near, *values],
        )
    )


def _count(connection: sqlite3.Connection, condition: str, values: Parameters) -> int:
    (count,) = connection.execute(
        f"SELECT count(*) FROM all_notes AS n WHERE {condition}",  # noqa: S608
        values,
    ).fetchone()
    return int(count)


@dataclass(frozen=True, slots=True)
class Known:
    """The words of the notes in sight, without what the `hidden` ones among them say.

    `shown` is how many notes are left.
    """

    connection: sqlite3.Connection
    visibility: Visibility
    ranges: Ranges
    hidden: frozenset[int]
    shown: int

    @property
    def extent(self) -> Extent:
        """How many notes may be shown; their tokens on average are those of all in sight."""
        return frequencies.extent(self.connection, self.visibility)._replace(notes=self.shown)

    def of(self, terms: Iterable[str], *, most: int | None = _MOST_LISTED) -> dict[str, int]:
        """Return in how many notes that may be shown each of these terms stands.

        Those that aren't known are left out. Of a common one, and of others than so many of the
        rarest, it is an estimate, where some notes are hidden: to tell them apart takes longer
        than it is worth.
        """
        counts = frequencies.of(self.connection, terms, self.visibility)
        if not self.hidden or not counts:
            return counts
        rarest = set(sorted(counts, key=lambda term: (counts[term], term))[:most])
        found: dict[str, int] = {}
        for term, count in counts.items():
            if term in rarest and count <= _MOST_HOLDERS:
                held = postings.numbers(self.connection, postings.either([term]), self.ranges)
                left = len(held - self.hidden)
            elif count > len(self.hidden) or self._is_shown(term):
                left = math.ceil(count * self._part())
            else:
                left = 0
            if left:
                found[term] = left
        return found

    def _part(self) -> float:
        whole = frequencies.extent(self.connection, self.visibility).notes
        return min(1.0, self.shown / whole) if whole else 1.0

    def _is_shown(self, term: str) -> bool:
        told: dict[str, bool] = kept(self.connection, ("held", self.visibility, self.hidden), dict)
        if term not in told:
            told[term] = any(number not in self.hidden for number in self._holding(term))
        return told[term]

    def _holding(self, term: str) -> Iterator[int]:
        for near in [()] if self.ranges is None else self.ranges:
            for (number,) in self.connection.execute(
                _HOLDING_NEAR if near else _HOLDING, (f'"{term}"', *near)
            ):
                yield number


_HOLDING = "SELECT rowid FROM terms WHERE terms MATCH ?"
_HOLDING_NEAR = f"{_HOLDING} AND rowid BETWEEN ? AND ?"
