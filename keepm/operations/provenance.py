"""By which channel the bytes of a note became memory: the ledger's word, not the note's."""

from __future__ import annotations

from keepm.index import versions
from keepm.model import memory
from keepm.model.approval import Channel
from keepm.model.document import Document, Finding, Severity
from keepm.model.memory import Memory
from keepm.operations.vault import Vault

UNREADABLE = "unreadable"
"""What stands for the channel of a note whose metadata can't be read."""


_CHANNELS = frozenset(Channel)


def channel(vault: Vault, document: Document[Memory]) -> Channel:
    """Return the channel of the ledger event that wrote exactly these bytes.

    Without one the file was edited or made by hand (`owner-edit`), or is a KeepM 3 note, which
    has a plain date and no channel of its own (`import`).
    """
    return judged(document.content, versions.channel_of(vault.database, document.checksum.hex))


def judged(note: Memory, recorded: str | None) -> Channel:
    """Return the channel of a note whose bytes the ledgers know by `recorded`, or don't know."""
    if recorded is not None:
        # What no KeepM writes was written into the ledger by somebody.
        return Channel(recorded) if recorded in _CHANNELS else Channel.OWNER_EDIT
    if note.approved_via is None and memory.is_date(note.created):
        return Channel.IMPORT
    return Channel.OWNER_EDIT


def findings(note: Memory, channel: Channel) -> tuple[Finding, ...]:
    """Return the finding of a note that claims another channel than the ledger knows."""
    if note.approved_via in (None, channel):
        return ()
    return (
        Finding(
            "approval_mismatch",
            f"says approved_via '{note.approved_via}', but these bytes came by '{channel}'",
            severity=Severity.INFO,
        ),
    )
