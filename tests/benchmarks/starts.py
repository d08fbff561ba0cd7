"""Real processes: how soon a server answers, what it weighs, and what the short calls cost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepm import config
from tests.benchmarks import raw
from tests.benchmarks.table import Row, milliseconds, ratio
from tests.benchmarks.timing import Durations, in_turn
from tests.benchmarks.vaults import Place

_SERVERS = 4
_SHORT_CALLS = 8
_ALLOWED_SECONDS = 0.1
_ALLOWED_MIB = 40.0
_PROTOCOL = "2025-06-18"


@dataclass(slots=True)
class Server:
    """A server process that has answered `initialize`."""

    process: subprocess.Popen[bytes]
    answered: float  # seconds from the start of the process
    _last: int = field(default=1)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured answer."""
        self._last += 1
        params = {"name": tool, "arguments": arguments}
        reply = _ask(self.process, self._last, "tools/call", params)
        answer: dict[str, Any] = reply["result"]["structuredContent"]
        return answer

    def resident_mib(self) -> float | None:
        """Return how much memory the process holds, where the system tells."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return None
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024


def short_calls(place: Place) -> Iterator[Row]:
    """Measure what hosts call at every session and turn, against a bare Python."""
    env = _environment(place)
    hello = {"session_id": "s", "cwd": str(place.project_dir), "source": "startup"}
    begin = json.dumps({**hello, "hook_event_name": "SessionStart"}).encode()
    end = json.dumps({**hello, "hook_event_name": "Stop"}).encode()

    def run(*line: str, given: bytes = b"") -> None:
        done = subprocess.run(
            line, input=given, env=env, cwd=place.project_dir, capture_output=True, check=True
        )
        if done.stderr:
            raise RuntimeError(done.stderr.decode())

    calls = (
        lambda: run(sys.executable, "-c", "pass"),
        lambda: run(*_keepm(), "--version"),
        lambda: run(*_keepm(), "hook", "stop", given=end),
        lambda: run(*_keepm(), "hook", "session-start", "--root", str(place.root), given=begin),
    )
    in_turn(*calls, times=1)  # their modules are compiled now
    bare, version, stop, start = in_turn(*calls, times=_SHORT_CALLS)
    for what, ours, most in (
        ("keepm --version", version, 3),
        ("Stop hook", stop, 3),
        ("SessionStart hook", start, 6),
    ):
        yield ratio(
            what, place.notes, ours=ours.best, raw=bare.best, raw_name="bare Python", most=most
        )


def servers(place: Place) -> Iterator[Row]:
    """Measure start and memory of real servers against bare FastMCP; the index is left warm."""
    bare: list[float] = []
    cold: list[float] = []
    warm: list[float] = []
    bare_mib = ours_mib = None
    for line in ((sys.executable, "-c", raw.BARE_SERVER), _serve(place)):
        with _started(line, place):
            pass  # its modules are compiled now
    for number in range(_SERVERS):
        with _started((sys.executable, "-c", raw.BARE_SERVER), place) as server:
            bare.append(server.answered)
            bare_mib = server.resident_mib()
        if number < (1 if place.is_large else _SERVERS // 2):
            shutil.rmtree(place.home / "data" / "indexes", ignore_errors=True)
            with _started(_serve(place), place) as server:
                cold.append(server.answered)
                _wait_for_index(server)
        with _started(_serve(place), place) as server:
            warm.append(server.answered)
            _wait_for_index(server)
            server.call("memory_search", query="database timeout")
            ours_mib = server.resident_mib()
    for what, measured in (("warm", warm), ("cold", cold)):
        yield _start_row(place, what, ours=Durations.of(measured), bare=Durations.of(bare))
    if bare_mib is not None and ours_mib is not None:
        more = ours_mib - bare_mib
        yield Row(
            "server's memory, index ready",
            place.notes,
            f"{ours_mib:.0f} MiB",
            f"{bare_mib:.0f} MiB bare FastMCP",
            ours_mib / bare_mib,
            "" if place.is_large else f"≤ raw + {_ALLOWED_MIB:.0f} MiB",
            None if place.is_large else more <= _ALLOWED_MIB,
        )


def _start_row(place: Place, what: str, *, ours: Durations, bare: Durations) -> Row:
    return Row(
        f"start → initialize answered, {what} index",
        place.notes,
        milliseconds(ours.best),
        f"{milliseconds(bare.best)} bare FastMCP",
        ours.best / bare.best,
        "≤ raw + 100 ms",
        ours.best <= bare.best + _ALLOWED_SECONDS,
    )


def _wait_for_index(server: Server, *, seconds: float = 900.0) -> None:
    until = time.monotonic() + seconds
    while server.call("memory_catalog", limit=1)["index_state"] != "current":
        if time.monotonic() > until:
            raise RuntimeError("the index isn't ready after a quarter of an hour")
        time.sleep(0.1)


@contextmanager
def _started(line: Sequence[str], place: Place) -> Iterator[Server]:
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            line,
            cwd=place.project_dir,
            env=_environment(place),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            client = {"name": "benchmark", "version": "1"}
            params = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
            _ask(process, 1, "initialize", params)
            server = Server(process, time.perf_counter() - began)
            _send(process, {"method": "notifications/initialized"})
            yield server
        finally:
            process.communicate(timeout=30)  # closes its input, at whose end it ends


def _ask(
    process: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    _send(process, {"id": number, "method": method, "params": params})
    assert process.stdout is not None
    for line in process.stdout:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == number:
            return message
    raise RuntimeError(f"the server ended before it answered {method}")


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def _keepm() -> tuple[str, ...]:
    """Return the program that setup would register, beside the running Python."""
    script = Path(sys.executable).with_name("keepm")
    return (str(script),) if script.exists() else (sys.executable, "-m", "keepm")


def _serve(place: Place) -> tuple[str, ...]:
    return (*_keepm(), "serve", "--root", str(place.root))


def _environment(place: Place) -> dict[str, str]:
    config.isolate_sdk()  # the bare server too reads no `.env` and looks for no update
    variables = {**os.environ, **place.environ, "PYTHONUTF8": "1"}
    # A user's Python compiles its modules once, not at every start.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables
