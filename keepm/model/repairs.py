"""Which finding has one right repair, and what it is: keys of a front matter, never the body.

A repair writes down what every reader of the file goes by already (its folder, its file's name,
the id that its path gives) or what the ledger knows. Where two values are possible there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keepm.model.layout import Place, Shelf

MISSING_ID = "missing_id"
INVALID_ID = "invalid_id"
SCOPE_MISMATCH = "scope_mismatch"
MISSING_KEY = "missing_key"
MISSING_DATE = "missing_date"

REPAIRABLE = frozenset({MISSING_ID, INVALID_ID, SCOPE_MISMATCH, MISSING_KEY, MISSING_DATE})
"""The codes of findings that may have a repair."""

UNREPAIRABLE = frozenset({"second_front_matter_block"})
"""With one of these the file is changed by its owner only: whose block counts is a guess."""

Changes = Mapping[str, str | None]
"""Front matter keys with their new text; None takes a key out."""

_FIRST_STATUS = {
    Shelf.MEMORY: "active",
    Shelf.PROPOSAL: "pending",
    Shelf.HANDOFF: "active",
    Shelf.ARCHIVED_HANDOFF: "completed",
}
"""What a document without a status is read as; an archived proposal was promoted or rejected."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a document without a guess.

    `keys` are the front matter's keys that hold a text (absent and empty ones aren't in it);
    `derived_id` is the id that its path gives; `first_event` and `last_event` are the times
    (RFC 3339, UTC) of the ledger's events about it.
    """

    place: Place
    stem: str
    derived_id: str
    keys: Mapping[str, str]
    first_event: str | None = None
    last_event: str | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """What mends one finding, and why nothing else can be meant."""

    code: str
    changes: Changes
    because: str


def of(code: str, facts: Facts) -> Repair | None:
    """Return the repair of a finding, or nothing when only a person can mend it."""
    match code:
        case "missing_id" | "invalid_id":
            because = "every reader knows it by the id that its path gives"
            return Repair(code, {"id": facts.derived_id}, because)
        case "scope_mismatch":
            return _scope(facts)
        case "missing_key":
            changes = missing_keys(facts)
            because = "its place and its file's name say so"
            return Repair(code, changes, because) if changes else None
        case "missing_date":
            return _dates(facts)
    return None


def plan(codes: Iterable[str], facts: Facts) -> tuple[Repair, ...]:
    """Return the repairs of a document's findings, in a fixed order, each sort once.

    Nothing at all where one of the findings stands in the way of any change.
    """
    found = set(codes)
    if found & UNREPAIRABLE:
        return ()
    made = (of(code, facts) for code in sorted(found & REPAIRABLE))
    return tuple(each for each in made if each is not None)


def merged(made: Iterable[Repair]) -> Changes:
    """Return the keys that several repairs of one document change together."""
    return {key: value for each in made for key, value in each.changes.items()}


def missing_keys(facts: Facts) -> Changes:
    """Return the required keys that a document lacks and that have one possible value."""
    wanted: dict[str, str] = {"scope": facts.place.scope.label}
    if facts.place.scope.project_id is not None:
        wanted["project_id"] = facts.place.scope.project_id
    shelf = facts.place.shelf
    if shelf in (Shelf.HANDOFF, Shelf.ARCHIVED_HANDOFF):
        wanted |= {"type": "handoff", "title": facts.stem}
    else:
        wanted["name"] = facts.stem
    if shelf in _FIRST_STATUS:
        wanted["status"] = _FIRST_STATUS[shelf]
    return {key: value for key, value in wanted.items() if key not in facts.keys}


def missing_dates(facts: Facts) -> tuple[str, ...]:
    """Return which of its two dates a document lacks."""
    return tuple(key for key in ("created", "updated") if key not in facts.keys)


def _scope(facts: Facts) -> Repair:
    scope = facts.place.scope
    changes: dict[str, str | None] = {"scope": scope.label}
    if scope.project_id is not None:
        changes["project_id"] = scope.project_id
    elif "project_id" in facts.keys:
        changes["project_id"] = None
    return Repair(SCOPE_MISMATCH, changes, "the folder decides on the scope")


def _dates(facts: Facts) -> Repair | None:
    """Return the dates that the ledger knows, or the one that the other key says."""
    known = {
        "created": facts.first_event or facts.keys.get("updated"),
        "updated": facts.last_event or facts.keys.get("created"),
    }
    changes = {key: value for key in missing_dates(facts) if (value := known[key])}
    because = "the ledger has the event, or the other date is the only one there is"
    return Repair(MISSING_DATE, changes, because) if changes else None
