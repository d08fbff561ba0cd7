"""What is gone from a vault all at once isn't taken for deleted until that is certain.

An unmounted disk, a sync program that begins anew and a slip of the hand look alike: many notes
are missing. The index keeps them, no event calls them deleted, and answers say so, until a deep
pass that comes later finds the same or the owner lets the index follow the files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from keepm.errors import RootUnavailable
from keepm.index.writing import FileRow
from keepm.operations.places import vault_id
from keepm.operations.vault import Vault
from keepm.store.root import is_bare

SINCE = "held_since"
_LEAST = 10
_SHARE = 5  # one in so many
_CERTAIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Missing:
    """Files that the index knows and a walk didn't meet: those let go, and those held back."""

    gone: tuple[str, ...]
    held: tuple[str, ...] = ()


def refuse_another(vault: Vault) -> None:
    """Refuse to take another folder for the one that this process opened.

    The root may be a symlink, or lie behind one, and be led elsewhere while a server runs: the
    index would mix two vaults, and the ledger of one would tell of the other's notes.

    Raises:
        RootUnavailable: the root's path leads to another folder by now.
    """
    if vault_id(vault.settings) != vault.database.vault_id:
        raise RootUnavailable(
            "the root's path leads to another folder than when this process opened it",
            hint="Lead it back, or start the session anew; nothing was treated as deleted.",
        )


def refuse_empty(vault: Vault, known: Mapping[str, FileRow], present: int) -> None:
    """Refuse to take an empty folder for a vault whose notes were all deleted.

    `present` is how many files are there, `known` what the index knew of those that are not. A
    person who deletes every note leaves KeepM's own records; an unmounted disk leaves nothing.

    Raises:
        RootUnavailable: there is nothing where there were notes.
    """
    if not present and known and is_bare(vault.root):
        raise RootUnavailable(
            "the vault's Memory folder is empty",
            hint="Check that the right folder is mounted; nothing was treated as deleted.",
        )


def judge(
    vault: Vault,
    missing: Sequence[FileRow],
    arrived: Collection[str],
    *,
    of: int,
    deep: bool,
    certain: bool,
) -> Missing:
    """Part what is missing into what is gone and what is held back.

    `arrived` are the checksums met at other paths: what moved is no loss; `of` is how many
    documents the index knew. A deep pass that comes a while after the first look which missed
    them agrees with it; `certain` needs no such look.
    """
    lost = [row.path for row in missing if row.reason is None and row.checksum not in arrived]
    few = len(lost) < _LEAST or len(lost) * _SHARE <= of
    if certain or few or (deep and _is_old(vault)):
        return Missing(tuple(row.path for row in missing))
    held = frozenset(lost)
    return Missing(tuple(row.path for row in missing if row.path not in held), tuple(lost))


def _is_old(vault: Vault) -> bool:
    since = vault.database.get_meta(SINCE)
    if not since:
        return False
    passed = vault.clock.now() - datetime.fromisoformat(since)
    return abs(passed.total_seconds()) >= _CERTAIN_SECONDS  # a clock may be set back
