"""Running commands in this process on a machine of the tests, with no terminal."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from keepm.cli import main
from keepm.config import shells
from tests.operations.support import Machine

MARKS = tuple(name for names in shells.shell_marks().values() for name in names)
"""The variables by which an agent's shell is known."""


class CommandLine:
    """`keepm …` on one machine, from the folder of its project `widgets`."""

    def __init__(
        self,
        machine: Machine,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.machine = machine
        self.said = ""
        self._patch = monkeypatch
        self._capsys = capsys
        for name, value in machine.environ.items():
            monkeypatch.setenv(name, value)
        for name in ("KEEPM_ROOT", "KEEPM_PROJECT_DIR", "CLAUDE_PROJECT_DIR", *MARKS):
            monkeypatch.delenv(name, raising=False)
        self.typing(None)

    def typing(self, text: str | None) -> None:
        """Let a person at a terminal type this; without, there is no terminal."""
        stream = io.StringIO(text or "")
        if text is not None:
            stream.isatty = lambda: True  # type: ignore[method-assign]  # a terminal's one mark
        self._patch.setattr("sys.stdin", stream)

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command; return its exit code and what stood on stdout. `said` is stderr."""
        self._capsys.readouterr()
        places = ("--root", str(self.machine.root))
        project = ("--project-dir", str(self.machine.folder / "work/widgets"))
        code = main.run([*words, *places, *project])
        written = self._capsys.readouterr()
        self.said = written.err
        return code, written.out

    def json(self, *words: str, code: int = 0) -> Any:
        """Run a command with `--format json`."""
        ended, out = self.run(*words, "--format", "json")
        assert ended == code, (out, self.said)
        return json.loads(out)
