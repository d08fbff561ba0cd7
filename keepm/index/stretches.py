"""Where a scope's notes lie: their numbers are neighbours, so that a number tells much already.

A common word stands in notes of all projects. Which of them can't be in sight is told by their
numbers, without a look at their rows, and what is in sight lies together on few pages. It only
spares work: what may be seen is still `visibility`'s to say.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from keepm.index import visibility as sight
from keepm.index.connection import kept
from keepm.model.memory import Visibility

STRETCH = 1 << 16
"""How many numbers a scope gets at once; one with more notes gets another stretch elsewhere."""


def next_number(connection: sqlite3.Connection, scope: str) -> int:
    """Return the number for a new note of a scope (its key)."""
    own, highest = connection.execute(
        "SELECT (SELECT max(number) FROM all_notes INDEXED BY notes_of_scope WHERE scope = ?),"
        " (SELECT max(number) FROM all_notes)",
        (scope,),
    ).fetchone()
    if own is not None and (own + 1) % STRETCH:
        return int(own) + 1
    return 0 if highest is None else (int(highest) // STRETCH + 1) * STRETCH


Ranges = Sequence[tuple[int, int]] | None
"""Numbers from and to, in their order, none of them twice; nothing where all are meant."""


def ranges(connection: sqlite3.Connection, visibility: Visibility) -> Ranges:
    """Return the numbers among which every note in sight lies, and few others."""
    if visibility.everything:
        return None
    return kept(connection, ("ranges", visibility), lambda: _ranges(connection, visibility))


def _ranges(connection: sqlite3.Connection, visibility: Visibility) -> list[tuple[int, int]]:
    scopes = {"", visibility.project_id or ""}
    found: list[tuple[int, int]] = []
    for low, high in sorted(each for scope in scopes if (each := _bounds(connection, scope))):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def within(
    connection: sqlite3.Connection, column: str, visibility: Visibility
) -> tuple[str, sight.Parameters]:
    """Return a condition on a note's number that holds for every note in sight, and few others.

    For what is found by rare words: the full text itself takes one pair of bounds, so that what
    lies between the ranges is walked through.
    """
    bounds = ranges(connection, visibility)
    if bounds is None:
        return "1", []
    if not bounds:
        return "0", []
    # The signs keep the planner from asking the full text once for each of the ranges.
    apart = " OR ".join([f"+{column} BETWEEN ? AND ?"] * len(bounds))
    whole = bounds[0][0], bounds[-1][1]
    values = [number for each in (whole, *bounds) for number in each]
    return f"{column} BETWEEN ? AND ? AND ({apart})", [*values]


def within_scope(
    connection: sqlite3.Connection, column: str, scope: str
) -> tuple[str, sight.Parameters]:
    """Return such a condition for the notes of one scope (its key)."""
    bounds = kept(connection, ("bounds", scope), lambda: _bounds(connection, scope))
    return f"{column} BETWEEN ? AND ?", [*(bounds or (1, 0))]


def _bounds(connection: sqlite3.Connection, scope: str) -> tuple[int, int] | None:
    """Return the lowest and highest number of a scope's notes, if it has any."""
    low, high = connection.execute(
        "SELECT (SELECT min(number) FROM all_notes INDEXED BY notes_of_scope WHERE scope = ?1),"
        " (SELECT max(number) FROM all_notes INDEXED BY notes_of_scope WHERE scope = ?1)",
        (scope,),
    ).fetchone()
    return None if low is None else (low, high)
