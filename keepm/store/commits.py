"""What a change set comes to: a commit that stands, or before that the one that is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keepm.model.checksum import Checksum
from keepm.store.event import Head, LedgerEvent
from keepm.store.reader import FileState


@dataclass(frozen=True, slots=True)
class Appended:
    """How this writer's ledger ended before and after an event was appended."""

    before: Head
    after: Head


@dataclass(frozen=True, slots=True)
class Commit:
    """A change that stands: its event, and for each path its new checksum, None where it left."""

    event: LedgerEvent
    written: Mapping[str, Checksum | None]
    appended: Appended


@dataclass(frozen=True, slots=True)
class Staged:
    """A change before its commit point: how it will stand unless something comes in between, and
    the state of each new file, by the path to which it goes."""

    expected: Commit
    states: Mapping[str, FileState]
