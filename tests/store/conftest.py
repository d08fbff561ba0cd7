"""Both disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepm.store.transaction import Root
from tests.store import support


@pytest.fixture(params=["os", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    """An empty vault, once on the real disk and once in memory."""
    if request.param == "os":
        return support.os_root(tmp_path / "vault")
    return support.memory_root()[0]


@pytest.fixture
def real(tmp_path: Path) -> Root:
    """An empty vault on the real disk."""
    return support.os_root(tmp_path / "vault")
