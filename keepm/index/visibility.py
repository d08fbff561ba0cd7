"""The scope predicate in SQL: the one place where a query learns what may be seen.

Every query in this room that returns documents uses it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from keepm.index.connection import kept
from keepm.model.scope import Visibility

Parameters = list[str | int]

NOT_SHADOWED = (
    "NOT (n.scope = '' AND n.status = 'active' AND EXISTS"
    # Left to itself the planner walks through the whole project for each global note.
    " (SELECT 1 FROM all_notes AS p INDEXED BY notes_by_slot"
    " WHERE p.slot = n.slot AND p.scope = ? AND p.status = 'active' AND p.standing = 'sound'"
    " AND p.withheld_by = ''))"
)
"""The condition that no active note of the project (the parameter) holds a global note's slot."""


def shadowed(connection: sqlite3.Connection, project_id: str) -> str:
    """Return the numbers of the global notes that `NOT_SHADOWED` leaves out, as a JSON list.

    For conditions on many notes: `n.number NOT IN (SELECT value FROM json_each(?))`.
    """
    return kept(connection, ("shadowed", project_id), lambda: _shadowed(connection, project_id))


def _shadowed(connection: sqlite3.Connection, project_id: str) -> str:
    found = connection.execute(
        "SELECT n.number FROM all_notes AS p INDEXED BY notes_by_scope"
        " CROSS JOIN all_notes AS n INDEXED BY notes_by_slot ON n.slot = p.slot"
        " WHERE n.scope = '' AND n.status = 'active' AND p.scope = ? AND p.status = 'active'"
        " AND p.standing = 'sound' AND p.withheld_by = ''",
        (project_id,),
    )
    return json.dumps([number for (number,) in found])


def visible(column: str, visibility: Visibility) -> tuple[str, Parameters]:
    """Return the condition that `Visibility.sees` states, for a column that holds scope keys."""
    if visibility.everything:
        return "1", []
    if visibility.project_id is None:
        return f"{column} = ''", []
    return f"{column} IN ('', ?)", [visibility.project_id]


def scopes(connection: sqlite3.Connection, visibility: Visibility) -> list[str]:
    """Return the keys of the scopes that `Visibility.sees`, for a table that is sorted by them."""
    if not visibility.everything:
        return ["", *([visibility.project_id] if visibility.project_id is not None else ())]
    return kept(connection, "scopes", lambda: _all_scopes(connection))


def _all_scopes(connection: sqlite3.Connection) -> list[str]:
    # From one to the next: a look at each scope, not at each note.
    found = connection.execute(
        "WITH RECURSIVE each_one (scope) AS (SELECT min(scope) FROM all_notes UNION ALL"
        " SELECT (SELECT min(scope) FROM all_notes WHERE scope > each_one.scope) FROM each_one"
        " WHERE each_one.scope IS NOT NULL)"
        " SELECT scope FROM each_one WHERE scope IS NOT NULL"
    )
    return [scope for (scope,) in found]


def one_of(column: str, values: Sequence[str]) -> tuple[str, Parameters]:
    """Return the condition that a column holds one of the values (never true without any)."""
    marks = ", ".join("?" * len(values))
    return f"{column} IN ({marks})", list(values)
