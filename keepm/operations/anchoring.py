"""The last known end of each ledger, kept on this machine outside the vault.

Only so can a ledger be found to lack its end. An anchor moves on only while the chain still holds
the event it names; else it stays until the owner accepts the shorter ledger.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from keepm.operations.vault import Vault
from keepm.store import ledger
from keepm.store.event import Head
from keepm.store.transaction import Appended

_FORMAT = 1


def anchors(vault: Vault) -> dict[str, Head]:
    """Return the last known end of each writer's ledger; nothing where none is kept."""
    try:
        record = json.loads(_path(vault).read_bytes())
        if record["format"] != _FORMAT:
            return {}
        return {str(writer): Head(**head) for writer, head in record["heads"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def advance(vault: Vault, appended: Appended | None = None) -> None:
    """Move this machine's own anchor on to where its ledger ends now.

    `appended` is what was appended just now: an anchor at the end before it needs no look at the
    ledger. The caller holds the vault's lock: else two processes could set it back.
    """
    writer = vault.root.writer_id
    if appended is not None and appended.after.size_bytes:
        kept = anchors(vault)
        if kept.get(writer) == appended.before:
            set_anchors(vault, {**kept, writer: appended.after})
            return
    _advance(vault, {writer: ledger.head(vault.root)})


def advance_others(vault: Vault) -> None:
    """Move the other machines' anchors on to where their ledgers end now."""
    heads = ledger.heads(vault.root)
    heads.pop(vault.root.writer_id, None)
    if heads:
        _advance(vault, heads)


def _advance(vault: Vault, heads: Mapping[str, Head]) -> None:
    kept = anchors(vault)
    moved = dict(kept)
    for writer, head in heads.items():
        if head.sequence == 0:
            continue
        known = kept.get(writer)
        if known is None or ledger.anchored(vault.root, writer, known):
            moved[writer] = head
    if moved != kept:
        set_anchors(vault, moved)


def set_anchors(vault: Vault, heads: Mapping[str, Head]) -> None:
    """Keep these ends as the last known ones, as far as the data folder can be written."""
    path = _path(vault)
    record = {
        "format": _FORMAT,
        "heads": {
            writer: {"sequence": each.sequence, "hash": each.hash, "size_bytes": each.size_bytes}
            for writer, each in sorted(heads.items())
        },
    }
    # In place, in one write, unsynced: a rename over the old file would make ext4 flush the new
    # one, at every commit. An older anchor raises no false alarm, nor does one that can't be read.
    data = json.dumps(record).encode()
    with contextlib.suppress(OSError):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, data.ljust(os.fstat(descriptor).st_size))
        finally:
            os.close(descriptor)


def lost(vault: Vault) -> list[str]:
    """Return the writers whose ledger no longer holds its anchor: cut at the end, or rewritten."""
    return [
        writer
        for writer, head in anchors(vault).items()
        if not ledger.anchored(vault.root, writer, head)
    ]


def _path(vault: Vault) -> Path:
    return vault.settings.data_dir / "anchors" / f"{vault.database.vault_id}.json"
