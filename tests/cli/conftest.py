"""A command line on a machine whose vault is open beside it."""

from __future__ import annotations

import pytest

from tests.cli.support import CommandLine
from tests.operations.support import Machine


@pytest.fixture
def keepm(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    return CommandLine(machine, monkeypatch, capsys)
