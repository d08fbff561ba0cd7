"""A real `keepm serve` process, spoken to in raw JSON-RPC, line by line."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keepm.store import transaction
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from tests.mcp.client import Answer
from tests.operations.support import Machine

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "story", "version": "1"},
}
REPOSITORY = Path(__file__).parents[2]
_PATIENCE = 60.0  # only ends a test that hangs; nothing is asserted about time


class Server:
    """One process, and every line it ever wrote to stdout."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self.errors: list[bytes] = []
        self._waiting: queue.Queue[bytes | None] = queue.Queue()
        self._numbers = itertools.count(1)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._waiting.put(line)
        self._waiting.put(None)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method: str) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method}).encode() + b"\n")

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result."""
        number = next(self._numbers)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(request).encode() + b"\n")
        return self.answer_to(number)

    def answer_to(self, number: int) -> dict[str, Any]:
        while True:
            message = self.message()
            if message.get("id") == number and "method" not in message:
                assert "result" in message, message
                return dict(message["result"])

    def message(self) -> dict[str, Any]:
        """Return the next message; whatever is on stdout must be one."""
        line = self._waiting.get(timeout=_PATIENCE)
        assert line is not None, "the server ended"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def initialize(self) -> dict[str, Any]:
        told = self.ask("initialize", HELLO)
        self.notify("notifications/initialized")
        return told

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        """Call `memory_<tool>`."""
        result = self.ask("tools/call", {"name": f"memory_{tool}", "arguments": arguments})
        (content,) = result["content"]
        data = result.get("structuredContent", {})
        return Answer(data, content["text"], bool(result.get("isError")))

    def done(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool that must succeed."""
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer

    def close(self) -> int:
        """End the input; return the exit code when the process has ended by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=_PATIENCE)
        self._reader.join(timeout=_PATIENCE)
        self._listener.join(timeout=_PATIENCE)
        return code


def environment(machine: Machine, extra: Mapping[str, str]) -> dict[str, str]:
    """Return a bare environment: this machine's settings and nothing of the developer's."""
    home = machine.folder / "home"
    home.mkdir(exist_ok=True)
    paths = [str(REPOSITORY), *extra.get("PYTHONPATH", "").split(os.pathsep)]
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        **machine.environ,
        **extra,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


@contextmanager
def serving(
    machine: Machine, project_dir: Path, extra: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Start a server as a host does: in the project's folder, on pipes."""
    transaction.initialise(VaultPaths(machine.root), OSDisk())
    with subprocess.Popen(
        [sys.executable, "-m", "keepm", "serve", "--root", str(machine.root)],
        cwd=project_dir,
        env=environment(machine, extra or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield Server(process)
        finally:
            process.kill()
