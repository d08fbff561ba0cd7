"""The index takes a change up while the disk is waited for, and keeps it only if it is true."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path

import pytest

from keepm.errors import StorageFailed
from keepm.index import writing
from keepm.model.memory import ClaimEdit
from keepm.operations import memories, passes, retrieval
from keepm.operations.memories import MemoryEdit
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.store.disk import OSDisk
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, claim
from tests.operations.world import contents

OTHER = b"---\nname: first\n---\n\nOverhauled by an editor.\n"


def on(vault: Vault, disk: OSDisk) -> Vault:
    return dataclasses.replace(vault, root=dataclasses.replace(vault.root, disk=disk))


def found(vault: Vault, text: str) -> int:
    return retrieval.search(vault, Wanted(text)).total


def test_a_change_is_taken_up_without_a_second_look(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written before the commit point is what a look at the files finds."""
    with monkeypatch.context() as patched:
        patched.delattr(passes, "take_up")
        made = memories.create(vault, AGENT, claim("first"))
        proof = WriteProof(made.token, made.document.checksum)
        edit = MemoryEdit(ClaimEdit(description="Something else."))
        made = memories.update(vault, AGENT, "first", edit, proof)
    grown = contents(vault.database.path)
    assert made.index_current
    assert found(vault, "something") == 1

    assert passes.reconcile(vault, deep=True).removed == 0
    passes.refresh_paths(vault, writing.files(vault.database))
    assert contents(vault.database.path) == grown


def test_what_an_editor_put_in_its_place_at_once_is_what_counts(vault: Vault) -> None:
    class Overtaken(OSDisk):
        def rename_new(self, source: Path, target: Path) -> None:
            super().rename_new(source, target)
            target.write_bytes(OTHER)

    memories.create(on(vault, Overtaken()), AGENT, claim("first"))

    (row,) = writing.files(vault.database).values()
    assert row.size == len(OTHER)
    assert found(vault, "overhauled") == 1


def test_a_change_that_came_to_nothing_leaves_nothing(vault: Vault) -> None:
    before = contents(vault.database.path)

    class Full(OSDisk):
        def rename_over(self, source: Path, target: Path) -> None:
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(StorageFailed):
        memories.create(on(vault, Full()), AGENT, claim("first"))
    assert contents(vault.database.path) == before

    memories.create(vault, AGENT, claim("first"))
    assert len(writing.files(vault.database)) == 1


def test_an_index_that_cannot_be_written_holds_no_change_up(vault: Vault) -> None:
    passes.reconcile(vault)
    vault.database.read_only = True
    made = memories.create(vault, AGENT, claim("first"))
    assert not made.index_current
    vault.database.read_only = False

    assert found(vault, "first") == 1
