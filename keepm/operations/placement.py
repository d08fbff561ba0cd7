"""Where the vault and its index lie, and what that means for the one who wants to rely on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keepm.config import Settings
from keepm.errors import ConfigurationError
from keepm.model import layout
from keepm.model.filesystems import Filesystem
from keepm.store import mounts


@dataclass(frozen=True, slots=True)
class Placement:
    """What the two folders lie on, and how SQLite keeps its journal because of it."""

    vault: Filesystem
    index: Filesystem
    journal_mode: str
    warnings: tuple[str, ...]


def look(settings: Settings) -> Placement:
    """Say where vault and index lie.

    Raises:
        ConfigurationError: the index would lie in the vault or in a synced folder, where other
            machines are given halves of it.
    """
    vault, index = mounts.look(settings.root), mounts.look(settings.data_dir)
    if _resolved(settings.data_dir).is_relative_to(_resolved(settings.root) / layout.MEMORY):
        raise _misplaced("in the vault")
    if index.synced_by:
        raise _misplaced(f"in a folder that {index.synced_by} keeps in step")
    # WAL needs memory that all processes share, and a network gives none.
    mode = "delete" if index.network else settings.sqlite_journal_mode
    return Placement(vault, index, mode, tuple(_warnings(vault, index)))


def _warnings(vault: Filesystem, index: Filesystem) -> Iterator[str]:
    if vault.network:
        yield (
            f"the vault lies on {vault.type}, a network or shared file system: KeepM's lock holds "
            "on this machine only, so let one machine write at a time"
        )
    if vault.synced_by:
        yield (
            f"{vault.synced_by} keeps the vault in step with other machines: let one of them write "
            "at a time, and look at `keepm status` for conflict copies"
        )
    if index.network:
        yield (
            f"the index lies on {index.type}, a network or shared file system, and is slower "
            "there: set KEEPM_DATA_DIR to a folder of this machine's own disk"
        )


def _resolved(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _misplaced(where: str) -> ConfigurationError:
    return ConfigurationError(
        f"the data folder lies {where}, where the index can't be",
        hint="Set KEEPM_DATA_DIR to a folder of this machine's own.",
    )
