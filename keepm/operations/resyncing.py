"""Bringing the index up to the files because somebody asks for it: quickly, or all anew."""

from __future__ import annotations

from dataclasses import dataclass

from keepm.index import handmade, writing
from keepm.operations import recording, sync
from keepm.operations.passes import Pass
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault


@dataclass(frozen=True, slots=True)
class Synced:
    """What the look at the files found, and what the index is worth now."""

    found: Pass
    state: IndexState
    rebuilt: bool = False


def quick(vault: Vault) -> Synced:
    """Look at the files now, and put on record what people changed.

    Raises:
        RootUnavailable: the vault can't be seen; nothing is taken for deleted.
        IndexUnavailable: the index can't be written.
    """
    sync.recover(vault)
    found = sync.reconcile(vault)
    _record(vault)
    return Synced(found, found.state)


def files(vault: Vault) -> int:
    """Return how many files the index knows: as many as a rebuild reads."""
    return len(writing.files(vault.database))


def full(vault: Vault) -> Synced:
    """Build the index anew from the files and the ledgers. What is missing counts as deleted.

    Raises:
        RootUnavailable, IndexUnavailable: as `quick`.
    """
    sync.recover(vault)
    found = sync.rebuild(vault)
    _record(vault)
    return Synced(found, found.state, rebuilt=True)


def _record(vault: Vault) -> None:
    """Put hand edits on record as long as that gets on: a held lock leaves them for later."""
    left = -1
    while recording.record(vault):
        waiting = len(handmade.pending(vault.database))
        if waiting == left:
            return
        left = waiting
