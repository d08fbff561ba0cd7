"""A note's versions: which there were, who put each in place, and what each said."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from keepm.errors import AmbiguousIdentifier, InvalidIdentifier, KeepMError, NotFound
from keepm.index import versions
from keepm.index import withheld as index_withheld
from keepm.index.versions import VersionRow
from keepm.markdown import documents
from keepm.model import layout, visible
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument
from keepm.model.scope import Scope
from keepm.operations import identifying, reading, restoring, withheld
from keepm.operations.vault import Vault
from keepm.store import history as objects

_SHORTEST = 8
FIRST_SEEN = "first-seen"
"""Stands for the operation of a version that was there before any event told of it."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a note, and the event that put it in place."""

    digest: str
    operation: str
    time: str | None = None
    channel: str | None = None
    client: str = ""
    transaction_id: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """A note with its versions that may be seen, newest first; the first is the present one."""

    document: AnyDocument
    versions: tuple[Version, ...]
    deleted_at: str | None = None  # of a note that lies in the trash


@dataclass(frozen=True, slots=True)
class OldVersion:
    """One version of a note, read from what was kept."""

    document: AnyDocument
    version: Version
    current: bool


def history(vault: Vault, identifier: str, *, with_deleted: bool = False) -> History:
    """List a note's versions, newest first; `with_deleted`, the trash is looked through too.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier.
    """
    try:
        return _history(vault, reading.current(vault, identifier, identifying.note_path))
    except NotFound:
        if not with_deleted:
            raise
        trashed = restoring.deleted(vault, identifier)
        if trashed is not None and _hidden(vault, trashed[0], [trashed[0].checksum.hex]):
            raise
        if trashed is None and withheld.count(vault):
            raise
    if trashed is None:
        raise NotFound(f"no note, deleted or not, answers to '{visible.shown(identifier)}'")
    document, entry = trashed
    return replace(_history(vault, document), deleted_at=entry.deleted_at or "?")


def _history(vault: Vault, document: AnyDocument) -> History:
    present = document.checksum.hex
    rows = versions.ancestry(vault.database, present)
    found = [_version(row) for row in rows]
    if not rows:
        found.append(Version(present, FIRST_SEEN))
        rows = _before_unrecorded(vault, document)
        found += [_version(row) for row in rows]
    oldest = rows[-1].old if rows else None
    if oldest is not None:
        found.append(Version(oldest, FIRST_SEEN))
    hidden = _hidden(vault, document, [each.digest for each in found])
    seen = [
        v
        for v in found
        if v.digest == present
        or (v.digest not in hidden and _is_visible(vault, document, v.digest))
    ]
    return History(document, tuple(seen))


def _hidden(vault: Vault, document: AnyDocument, digests: Collection[str]) -> frozenset[str]:
    """Return which versions a quarantine or a waiting review keeps out of sight."""
    place = layout.place(document.path)
    assert place is not None
    return index_withheld.hidden(vault.database, digests, place.scope)


def version(
    vault: Vault, identifier: str, digest: str, *, with_deleted: bool = False
) -> OldVersion:
    """Read one version of a note by its digest or the beginning of it.

    Raises:
        NotFound: the note has no such version that may be seen, or it is no longer kept.
        AmbiguousIdentifier: several versions begin so.
        InvalidIdentifier: it is too short or no digest.
        StorageFailed: what was kept is damaged.
    """
    wanted = digest.strip().lower()
    if len(wanted) < _SHORTEST or not set(wanted) <= set("0123456789abcdef"):
        raise InvalidIdentifier(
            f"a version is at least {_SHORTEST} hex digits of its digest",
            hint="List the versions with history=true and take one from there.",
        )
    known = history(vault, identifier, with_deleted=with_deleted)
    chosen = choose(known.versions, wanted)
    document = known.document
    if chosen.digest == document.checksum.hex:
        return OldVersion(document, chosen, current=True)
    data = objects.get(vault.root, Checksum(chosen.digest))
    return OldVersion(documents.read(document.path, data), chosen, current=False)


def choose(known: Iterable[Version], beginning: str) -> Version:
    """Return the one version whose digest begins so.

    Raises:
        NotFound, AmbiguousIdentifier.
    """
    fitting = {each.digest: each for each in known if each.digest.startswith(beginning)}
    if not fitting:
        raise NotFound(
            "this note has no such version",
            hint="List the versions with history=true and take one from there.",
        )
    if len(fitting) > 1:
        raise AmbiguousIdentifier(
            f"{len(fitting)} versions begin so", hint="Give more digits of the digest."
        )
    return next(iter(fitting.values()))


def diffs(vault: Vault, known: History) -> Iterator[tuple[Version, str]]:
    """Yield each version with what it changed of the one before, as a unified diff."""
    texts = [_text(vault, known, each) for each in known.versions]
    for place, each in enumerate(known.versions):
        older = texts[place + 1] if place + 1 < len(texts) else ""
        yield each, diff(older, texts[place], known.document.path)


def diff(old: str | None, new: str | None, path: str) -> str:
    """Return the unified diff from one text to another; what isn't kept is said so."""
    if old is None or new is None:
        return "(no longer kept)"
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    return "\n".join(lines)


def _text(vault: Vault, known: History, each: Version) -> str | None:
    if each.digest == known.document.checksum.hex:
        return known.document.data.decode("utf-8-sig", "replace")
    try:
        return objects.get(vault.root, Checksum(each.digest)).decode("utf-8-sig", "replace")
    except KeepMError:
        return None


def _version(row: VersionRow) -> Version:
    assert row.new is not None
    return Version(row.new, row.operation, row.time, row.channel, row.client, row.transaction_id)


def _before_unrecorded(vault: Vault, document: AnyDocument) -> list[VersionRow]:
    """Return what is on record of a note whose present version isn't yet."""
    last = versions.latest_of(vault.database, document.content.id)
    here = versions.standing(vault.database, last.new) if last and last.new else None
    return versions.ancestry(vault.database, here) if here else []


def _is_visible(vault: Vault, document: AnyDocument, digest: str) -> bool:
    """Tell whether a version may be seen: by the scope it was in, not the note's present one."""
    scopes = versions.scopes(vault.database, digest)
    if scopes:
        return any(vault.visibility.sees(Scope.from_key(key)) for key in scopes)
    if vault.visibility.everything:
        return True
    try:
        data = objects.get(vault.root, Checksum(digest))
    except KeepMError:
        return False
    # Before the ledger began, only the version itself can say that it was elsewhere.
    own = layout.memory_path(Scope(vault.visibility.project_id), "version")
    return any(_claims(path, data) for path in (document.path, own))


def _claims(path: str, data: bytes) -> bool:
    """Tell whether a version can have been in the scope of this path, by its own words."""
    found = documents.read(path, data).findings
    return all(finding.code != "scope_mismatch" for finding in found)
