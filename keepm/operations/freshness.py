"""Whether what a note was verified against still stands in the working tree.

A read never refreshes anything: digests are recorded when a note is said to be verified, and
compared with the files' bytes when it is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from keepm.index import catalog
from keepm.model.memory import Scope, source_path
from keepm.operations import anchors, worktree
from keepm.operations.anchors import Anchor
from keepm.operations.vault import Vault
from keepm.operations.worktree import Look, Relocations


class SourceState(StrEnum):
    FRESH = "fresh"
    CHANGED = "changed"
    MOVED = "moved"  # the same bytes stand once elsewhere
    MISSING = "missing"
    UNVERIFIED = "unverified"  # no digest was recorded
    UNKNOWN = "unknown"  # another project's sources, or unreadable


_WORST_FIRST = (
    SourceState.MISSING,
    SourceState.CHANGED,
    SourceState.MOVED,
    SourceState.UNKNOWN,
    SourceState.UNVERIFIED,
    SourceState.FRESH,
)


@dataclass(frozen=True, slots=True)
class Freshness:
    """The state of a source, or the worst among a note's; `to` is where it stands now."""

    state: SourceState
    to: str = ""

    def __str__(self) -> str:
        """Return it as answers show it: `fresh`, `moved (to src/new.py)`."""
        return f"{self.state} (to {self.to})" if self.to else str(self.state)


def record(vault: Vault, scope: Scope, sources: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the digests of a note's sources as they are now, by path and by anchor."""
    top = _top(vault, scope)
    if top is None:
        return ()
    found: dict[str, str] = {}
    for pointer in sources:
        path = source_path(pointer)
        file = worktree.inside(top, path)
        data = None if file is None else worktree.read(file)
        if data is None:
            continue
        found[path] = worktree.digest(data)
        anchor = anchors.parse(pointer)
        if anchor is not None and (text := anchors.text_digest(anchor, data)) is not None:
            found[anchor.key] = text
    return tuple(sorted(found.items()))


def look(vault: Vault) -> Look | None:
    """Begin a look at this server's working tree, for all notes of one answer."""
    top = vault.identity.top
    return Look(top) if os.path.isdir(top) else None


def state(
    vault: Vault,
    scope: Scope,
    sources: Iterable[str],
    digests: Mapping[str, str],
    *,
    seen: Look | None = None,
) -> Freshness | None:
    """Return the worst state among a note's sources; nothing for a note without sources.

    `seen` is the look of the answer that the note is shown in.
    """
    pointers = [pointer for pointer in dict.fromkeys(sources) if source_path(pointer)]
    if not pointers:
        return None
    if scope.project_id is None or scope.project_id != vault.identity.project_id:
        return Freshness(SourceState.UNKNOWN)
    seen = seen or look(vault)
    if seen is None:
        return Freshness(SourceState.UNKNOWN)
    states = [of(pointer, digests, seen, vault.relocations) for pointer in pointers]
    return min(states, key=lambda each: _WORST_FIRST.index(each.state))


def of(pointer: str, digests: Mapping[str, str], seen: Look, relocations: Relocations) -> Freshness:
    """Return the state of one source, which names a path of the tree that is looked at."""
    path, anchor = source_path(pointer), anchors.parse(pointer)
    whole = digests.get(path)
    source = seen.at(path)
    if source.file is None or source.is_there is None:
        return Freshness(SourceState.UNKNOWN)
    if not source.is_there:
        moved = None if whole is None else relocations.find(seen.top, path, whole)
        if moved is None:
            return Freshness(SourceState.MISSING)
        return Freshness(SourceState.MOVED, anchor.at(moved).key if anchor else moved)
    if whole is None:
        return Freshness(SourceState.UNVERIFIED)
    now = source.digest
    if now is None:
        return Freshness(SourceState.UNKNOWN)
    if now == whole:
        return Freshness(SourceState.FRESH)
    text = digests.get(anchor.key) if anchor else None
    if anchor is None or text is None:
        return Freshness(SourceState.CHANGED)
    return _of_text(anchor, text, source.file)


def former_paths(vault: Vault, path: str) -> list[str]:
    """Return where a file of the project stood when notes were verified against it, if it moved.

    There a note's source is missing now, and would be said to have moved to this file.
    """
    project_id = vault.visibility.project_id
    top = None if project_id is None else _top(vault, Scope(project_id))
    if project_id is None or top is None:
        return []
    seen = Look(top)
    here = seen.at(source_path(path.replace("\\", "/")))
    if here.file is None or not here.is_there or (digest := here.digest) is None:
        return []
    now = here.file.relative_to(os.path.realpath(top)).as_posix()
    return [
        old
        for old in catalog.paths_with(vault.database, digest, project_id)
        if seen.at(old).is_there is False and vault.relocations.find(top, old, digest) == now
    ]


def _of_text(anchor: Anchor, text: str, file: Path) -> Freshness:
    """Return the state of an anchored text in a file that changed; `text` is its digest."""
    data = worktree.read(file)
    if data is None:
        return Freshness(SourceState.UNKNOWN)
    if anchors.text_digest(anchor, data) == text:
        return Freshness(SourceState.FRESH)  # what changed elsewhere in the file is not its matter
    now = anchors.find(anchor, data, text)
    return Freshness(SourceState.CHANGED) if now is None else Freshness(SourceState.MOVED, now.key)


def _top(vault: Vault, scope: Scope) -> Path | None:
    """Return the working tree that a note's sources are relative to, if it is this server's."""
    if scope.project_id is None or scope.project_id != vault.identity.project_id:
        return None
    top = vault.identity.top
    return top if os.path.isdir(top) else None
