"""Whether what a note was verified against still stands in the working tree.

The digest is git's blob id of the file's bytes (SHA-1 over `blob <size>\\0<bytes>`, first twelve
hex digits), computed here: git is never called, its history never walked, and a read never
refreshes anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from keepm.model.memory import Scope, source_path
from keepm.operations.vault import Vault

_LARGEST = 16 * 1024 * 1024  # a larger source is not hashed on a read


class SourceState(StrEnum):
    FRESH = "fresh"
    CHANGED = "changed"
    MISSING = "missing"
    UNVERIFIED = "unverified"  # no digest was recorded
    UNKNOWN = "unknown"  # another project's sources, or unreadable


_WORST_FIRST = (
    SourceState.MISSING,
    SourceState.CHANGED,
    SourceState.UNKNOWN,
    SourceState.UNVERIFIED,
    SourceState.FRESH,
)


def record(vault: Vault, scope: Scope, sources: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the digests of a note's sources as they are now, by path."""
    top = _top(vault, scope)
    if top is None:
        return ()
    found: dict[str, str] = {}
    for pointer in sources:
        path = source_path(pointer)
        digest = _digest(top, path)
        if digest is not None:
            found[path] = digest
    return tuple(sorted(found.items()))


def state(
    vault: Vault, scope: Scope, sources: Iterable[str], digests: Mapping[str, str]
) -> SourceState | None:
    """Return the worst state among a note's sources; nothing for a note without sources."""
    paths = {source_path(pointer) for pointer in sources}
    if not paths:
        return None
    top = _top(vault, scope)
    if top is None:
        return SourceState.UNKNOWN
    states = {_one(top, path, digests.get(path)) for path in paths}
    return next(each for each in _WORST_FIRST if each in states)


def _one(top: Path, path: str, recorded: str | None) -> SourceState:
    inside = _inside(top, path)
    if inside is None:
        return SourceState.UNKNOWN
    try:
        if not inside.exists():
            return SourceState.MISSING
    except OSError:
        return SourceState.UNKNOWN
    if recorded is None:
        return SourceState.UNVERIFIED
    digest = _digest(top, path)
    if digest is None:
        return SourceState.UNKNOWN
    return SourceState.FRESH if digest == recorded else SourceState.CHANGED


def _top(vault: Vault, scope: Scope) -> Path | None:
    """Return the working tree that a note's sources are relative to, if it is this server's."""
    if scope.project_id is None or scope.project_id != vault.identity.project_id:
        return None
    top = vault.identity.top
    return top if top.is_dir() else None


def _inside(top: Path, path: str) -> Path | None:
    """Return the file a pointer names, unless a link leads out of the working tree."""
    try:
        base = top.resolve()
        target = (base / path).resolve()
        return target if target.is_relative_to(base) else None
    except (OSError, ValueError):
        return None


def _digest(top: Path, path: str) -> str | None:
    inside = _inside(top, path)
    try:
        if inside is None or not inside.is_file() or inside.stat().st_size > _LARGEST:
            return None
        data = inside.read_bytes()
    except OSError:
        return None
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()[:12]
