"""Several processes on one vault: none lost, none torn, ledger whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from keepm.store import ledger, transaction
from keepm.store.changes import Create
from keepm.store.transaction import Root
from tests.store import support
from tests.store.support import NOTE

WRITER = """
import sys
from pathlib import Path
from tests.store import writing
writing.write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
"""


@pytest.mark.parametrize("count", [25, pytest.param(250, marks=pytest.mark.campaign)])
def test_eight_processes_lose_no_write(real: Root, count: int) -> None:
    """Without the lock or the comparison of checksums this fails."""
    support.apply(real, Create(NOTE, b""), "first")
    names = [f"p{number}" for number in range(8)]
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(real.paths.root), name, str(count)])
        for name in names
    ]
    assert [process.wait() for process in processes] == [0] * 8

    lines = support.notes(real)[NOTE].decode().splitlines()
    assert sorted(lines) == sorted(f"{name} {n}" for name in names for n in range(count))
    assert len(support.notes(real)) == 1 + 8 * len(range(0, count, 3))
    assert ledger.verify(real) == []
    assert ledger.head(real).sequence == 1 + 8 * count
    assert transaction.pending(real) == ()
