"""Where each kind of document lives below the root, as pure path arithmetic.

Paths are relative to the root, with forward slashes. The folder decides a note's scope; a front
matter that says otherwise is a finding.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from keepm.model import identity
from keepm.model.scope import GLOBAL, Scope

MEMORY = "Memory"
RECORDS = f"{MEMORY}/.keepm"
TRASH = f"{MEMORY}/.trash"
INBOX = f"{MEMORY}/Inbox"
HANDOFFS = f"{MEMORY}/.handoffs"


class Shelf(StrEnum):
    """What kind of document a place holds, and in which state."""

    MEMORY = "memory"
    PROPOSAL = "proposal"
    ARCHIVED_PROPOSAL = "archived-proposal"
    HANDOFF = "handoff"
    ARCHIVED_HANDOFF = "archived-handoff"


@dataclass(frozen=True, slots=True)
class Place:
    """The shelf and the scope of a path."""

    shelf: Shelf
    scope: Scope


_SHELVES: tuple[tuple[str, Shelf], ...] = (
    (f"{INBOX}/pending/", Shelf.PROPOSAL),
    (f"{INBOX}/archive/", Shelf.ARCHIVED_PROPOSAL),
    (f"{HANDOFFS}/pending/", Shelf.HANDOFF),
    (f"{HANDOFFS}/archive/", Shelf.ARCHIVED_HANDOFF),
    (f"{MEMORY}/", Shelf.MEMORY),
)

SEARCHED_FOLDERS: tuple[str, ...] = (
    f"{MEMORY}/global",
    f"{MEMORY}/projects",
    f"{INBOX}/pending",
    f"{INBOX}/archive",
    f"{HANDOFFS}/pending",
    f"{HANDOFFS}/archive",
)
"""The folders that hold documents; nothing else below the root is walked."""


def place(path: str) -> Place | None:
    """Return what a path holds, or nothing when no document belongs there."""
    if not path.lower().endswith(".md"):
        return None
    for prefix, shelf in _SHELVES:
        if path.startswith(prefix):
            parts = path[len(prefix) :].split("/")
            if any(part.startswith(".") for part in parts):
                return None
            if parts[0] == "global" and len(parts) >= 2:
                return Place(shelf, GLOBAL)
            if parts[0] == "projects" and len(parts) >= 3:
                # Some file systems part letters from their accents; an id has one spelling.
                return Place(shelf, Scope(unicodedata.normalize("NFC", parts[1])))
            return None
    return None


def scope_of(path: str) -> Scope | None:
    """Return the scope in which a file or folder lies, if its place has one."""
    for each in (path, f"{path}/x.md"):
        if found := place(each):
            return found.scope
    return None


def is_shelf(path: str) -> bool:
    """Tell whether documents of every scope lie below a path, so that it concerns everybody."""
    return path in SEARCHED_FOLDERS and scope_of(path) is None


def folder(shelf: Shelf, scope: Scope) -> str:
    """Return the folder in which new documents of this shelf and scope are made."""
    base = next(prefix for prefix, name in _SHELVES if name is shelf)
    inner = "global" if scope.project_id is None else f"projects/{scope.project_id}"
    return f"{base}{inner}"


def memory_path(scope: Scope, name: str, *, attempt: int = 1) -> str:
    """Return the path for a slot's note; a later attempt when the file name is taken."""
    suffix = "" if attempt == 1 else f"-{attempt}"
    return f"{folder(Shelf.MEMORY, scope)}/{identity.file_stem(name)}{suffix}.md"


def inbox_path(shelf: Shelf, scope: Scope, title: str, document_id: str) -> str:
    """Return the path for a proposal or handoff: its title for people, its id to be unique."""
    stem = identity.file_stem(title)
    return f"{folder(shelf, scope)}/{stem}-{document_id[:8]}.md"


def trash_path(path: str, *, stamp: str, transaction_id: str) -> str:
    """Return where a soft-deleted file goes: the time, the transaction, then its old path.

    `stamp` is the time in UTC as `20261129T181500Z`.
    """
    return f"{TRASH}/{stamp}-{transaction_id}/{path.removeprefix(f'{MEMORY}/')}"


def stem(path: str) -> str:
    """Return a path's file name without `.md`."""
    name = path.rsplit("/", 1)[-1]
    return name[:-3] if name.lower().endswith(".md") else name
