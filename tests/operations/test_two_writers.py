"""Two servers with data folders of their own on one vault: no write is lost."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from keepm.errors import ChecksumMismatch
from keepm.operations import memories
from keepm.operations.vault import Vault
from keepm.store import ledger
from keepm.tokens import WriteProof
from tests.operations.support import AGENT, Machine, claim, edit

ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Beside(Machine):
    """Another machine's settings and data on the vault of the first."""

    vault_root: Path = Path()

    @property
    def root(self) -> Path:
        return self.vault_root


def together(first: Vault, second: Vault) -> list[Exception]:
    """Let both vaults write at once, each into notes of its own and into one they share."""
    failures: list[Exception] = []

    def write(vault: Vault, who: str) -> None:
        try:
            for number in range(ROUNDS):
                memories.create(vault, AGENT, claim(f"{who}-{number}"))
                append(vault, f"{who}-{number}")
        except Exception as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(first, "first")),
        threading.Thread(target=write, args=(second, "second")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def append(vault: Vault, line: str) -> None:
    """Add a line to the shared note: read, write, and again when another was faster."""
    while True:
        reading = memories.read(vault, "shared", max_chars=10_000)
        assert reading.token is not None
        proof = WriteProof(reading.token, reading.document.checksum)
        try:
            memories.update(
                vault, AGENT, "shared", edit(body=f"{reading.part.text}\n- {line}"), proof
            )
        except ChecksumMismatch:
            continue
        return


def test_two_servers_on_one_vault_lose_nothing(machine: Machine, tmp_path: Path) -> None:
    """Fault 4: with two data folders 22 of 30 updates were lost, for the lock lay in HOME."""
    first = machine.open(machine.folder / "work/widgets")
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = Beside(other_folder, vault_root=machine.root)
    second = other.open(other.project("widgets"))
    memories.create(first, AGENT, claim("shared", body="Lines:"))

    assert together(first, second) == []
    wanted = {f"{who}-{number}" for who in ("first", "second") for number in range(ROUNDS)}
    for vault in (first, second):
        lines = memories.read(vault, "shared", max_chars=10_000).part.text.split("\n- ")
        assert set(lines) == {"Lines:", *wanted}
        assert len(lines) == 1 + 2 * ROUNDS
        for name in wanted:
            assert memories.read(vault, name, max_chars=99).part.complete
    assert ledger.verify(first.root) == []
    assert len(list(ledger.read_all(first.root))) == 1 + 4 * ROUNDS
    assert len(list((machine.root / "Memory/.keepm/ledger").glob("*.jsonl"))) == 2
    first.close()
    second.close()
