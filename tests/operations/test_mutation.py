"""The path of every change: what it finds before it begins."""

from __future__ import annotations

import shutil

import pytest

from keepm.operations import memories
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, Machine, claim


@pytest.mark.parametrize("missing", ["journal", "objects", "ledger", ""])
def test_a_vault_that_came_without_our_empty_folders_takes_changes(
    vault: Vault, machine: Machine, missing: str
) -> None:
    """Git keeps no empty folders, and some sync programs no folders with a dot."""
    memories.create(vault, AGENT, claim("before"))
    shutil.rmtree(machine.root / "Memory/.keepm" / missing)
    written = memories.create(vault, AGENT, claim("after"))

    read = memories.read(vault, "after", max_chars=100)
    assert read.document.checksum == written.document.checksum
    assert read.approved_via == "relayed"
