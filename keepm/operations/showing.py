"""A planned change as the owner sees it before it is carried out, and what tells plans apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from keepm.errors import KeepMError
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.operations import history
from keepm.operations.vault import Vault
from keepm.store import history as objects
from keepm.store import reader
from keepm.store.changes import Change, Create, Delete, Move, Replace


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What becomes of one file; `to` where it goes elsewhere, the trash included."""

    path: str
    to: str | None
    becomes: str  # made again | another version | to the trash | back | gone for good
    diff: str = ""


def shown(vault: Vault, change: Change) -> PlannedChange:
    """Return a change in words, with the difference between the texts."""
    match change:
        case Create(path, data):
            return PlannedChange(path, None, "made again", history.diff("", _text(data), path))
        case Replace(path, data, _):
            return PlannedChange(path, None, "another version", _diff(vault, path, data))
        case Move(path, to, data, expect):
            diff = "" if Checksum.of(data) == expect else _diff(vault, path, data)
            if to.startswith(f"{layout.TRASH}/"):
                return PlannedChange(path, to, "to the trash", diff)
            return PlannedChange(path, to, "another version" if diff else "back", diff)
        case Delete(path, _):
            return PlannedChange(path, None, "gone for good")


def digest_of(changes: Iterable[Change]) -> str:
    """Return what two makings of one plan share: all but the time and id of the attempt."""
    lines = []
    for change in changes:
        path = change.path
        to = change.to if isinstance(change, Move) else ""
        if to.startswith(f"{layout.TRASH}/"):
            to = layout.TRASH
        if isinstance(change, Create) and path.startswith(f"{layout.TRASH}/"):
            path = layout.TRASH
        expect = "" if isinstance(change, Create) else change.expect.hex
        after = "" if isinstance(change, Delete) else Checksum.of(change.data).hex
        lines.append(f"{type(change).__name__} {path} {to} {expect} {after}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _diff(vault: Vault, path: str, data: bytes) -> str:
    try:
        before = _text(reader.read(vault.root, path, limit=objects.LARGEST))
    except KeepMError:
        before = ""
    return history.diff(before, _text(data), path)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
