"""The index's share of a change, written while the disk is waited for.

A change waits for the disk before its commit point. In that time the index takes up what the
change will have done, in a transaction that stays open. If the change comes to stand just so, that
transaction is committed; else it is undone, and the index takes up what there is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress

from keepm.errors import KeepMError
from keepm.index import writing
from keepm.index.writing import Batch, FileRow
from keepm.model import copies, layout
from keepm.model.checksum import Checksum
from keepm.operations import entering, news, passes
from keepm.operations.entering import Source
from keepm.operations.vault import Vault
from keepm.store import reader
from keepm.store.changes import Change, Create, Replace
from keepm.store.transaction import Commit, Staged


class _Undone(Exception):
    """Ends a transaction of the index without letting it count."""


class Ahead:
    """What the index has taken up of a change that doesn't count yet. A context manager."""

    def __init__(self, vault: Vault, changes: Iterable[Change]) -> None:
        self._vault = vault
        self._changes = tuple(changes)
        self._transaction = ExitStack()
        self._staged: Staged | None = None

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *error: object) -> None:
        self._undo()

    def write(self, staged: Staged) -> None:
        """Take up a change as it is expected to stand, as far as that can be told now."""
        with suppress(KeepMError):
            batch = self._batch(staged)
            if batch is not None:
                self._transaction.enter_context(writing.applied(self._vault.database, batch))
                self._staged = staged

    def keep(self, placed: Commit) -> bool:
        """Let what was taken up count; tell whether it is what the change has done.

        Raises:
            IndexUnavailable: the index can't be written.
        """
        if not self._is_true_of(placed):
            self._undo()
            return False
        self._staged = None
        self._transaction.close()
        passes.settle_copies(self._vault)
        return True

    def _batch(self, staged: Staged) -> Batch | None:
        """Return what the index is to take up; nothing where only a look at the files can tell."""
        commit = staged.expected
        told = news.of(self._vault, commit.event, commit.appended)
        if told is None:
            return None
        now = time.time_ns()
        sources: list[Source] = []
        for change in self._changes:
            if not isinstance(change, Create | Replace) or not self._is_plain(change):
                return None
            path, size, mtime_ns, _ = staged.states[change.path]  # synced, so it was there
            digest = Checksum.of(change.data).hex
            file = FileRow(path, size, mtime_ns, digest, now, None)
            sources.append(Source(change.data, file))
        return Batch(
            entries=entering.parse(sources),
            versions=told.versions,
            rulings=told.rulings,
            anew=told.anew,
            meta=told.marks or {},
        )

    def _is_plain(self, change: Create | Replace) -> bool:
        return (
            layout.place(change.path) is not None
            and copies.base(change.path) is None
            and len(change.data) <= self._vault.policy.document_bytes
        )

    def _is_true_of(self, placed: Commit) -> bool:
        if self._staged is None or placed != self._staged.expected:
            return False
        with suppress(KeepMError):
            return all(
                (there := reader.state(self._vault.root, path)) is not None
                # But for the inode: where links are unknown, a rename may change it.
                and there[:3] == staged[:3]
                for path, staged in self._staged.states.items()
            )
        return False

    def _undo(self) -> None:
        self._staged = None
        with suppress(_Undone, KeepMError), self._transaction:
            raise _Undone
