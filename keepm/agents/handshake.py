"""Speaking to a registered server as a host does: started afresh, over its own pipes.

Standard library only. A candidate is believed by what it answers, never by its name: a `keepm`
on this machine may be another program or KeepM 3.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from keepm import __version__

PROTOCOL = "2025-06-18"
SECONDS = 60.0
"""The whole conversation; a first start may still have to compile its modules."""
LEAST_VERSION = 4

_KEPT = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ",
    "SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP",
    "PROGRAMDATA",
)  # fmt: skip
FORWARDED = ("KEEPM_CONFIG", "KEEPM_DATA_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""Variables that decide where KeepM's settings and index are."""


class HandshakeFailed(Exception):
    """The program doesn't start, doesn't speak MCP, or isn't this KeepM."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a server answered."""

    name: str
    version: str
    tools: tuple[str, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)


def host_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that even a strict host hands to a server."""
    return {name: environ[name] for name in (*_KEPT, *FORWARDED) if name in environ}


def greet(line: tuple[str, ...], environ: Mapping[str, str], *, seconds: float = SECONDS) -> Spoken:
    """Start a candidate on a throw-away vault and ask who it is.

    Raises:
        HandshakeFailed: it isn't KeepM 4 or later.
    """
    with tempfile.TemporaryDirectory(prefix="keepm-setup-") as scratch:
        apart = dict(environ) | {
            "KEEPM_CONFIG": f"{scratch}/config.toml",
            "KEEPM_DATA_DIR": f"{scratch}/data",
        }
        return converse(
            (*line, "serve", "--root", f"{scratch}/vault"),
            apart,
            cwd=Path(scratch),
            seconds=seconds,
            ask_status=False,
        )


def converse(
    line: tuple[str, ...],
    environ: Mapping[str, str],
    *,
    cwd: Path,
    seconds: float = SECONDS,
    ask_status: bool = True,
) -> Spoken:
    """Start a server, greet it, list its tools and call `memory_status`.

    Raises:
        HandshakeFailed: anything of that didn't work; the message says what.
    """
    with started(line, environ, cwd=cwd, seconds=seconds) as link:
        return _interview(link, ask_status=ask_status)


@contextlib.contextmanager
def started(
    line: tuple[str, ...], environ: Mapping[str, str], *, cwd: Path, seconds: float = SECONDS
) -> Iterator[Link]:
    """Start a server and yield the way to speak to it; it ends with the block.

    Raises:
        HandshakeFailed: it can't be started, or what the block asked didn't work.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - the very command that is registered
                line,
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except OSError as error:
            raise HandshakeFailed(f"it can't be started: {error.strerror}") from error
        assert process.stdin is not None and process.stdout is not None
        link = Link(process.stdin, process.stdout, time.monotonic() + seconds)
        try:
            yield link
        except HandshakeFailed as error:
            raise HandshakeFailed(f"{error}{_last_words(errors)}") from error
        finally:
            link.close()
            _end(process)


def _interview(link: Link, *, ask_status: bool) -> Spoken:
    name, version = link.greet("keepm-setup")
    number = re.match(r"(\d+)\.", version)
    if name.lower() != "keepm" or not number or int(number.group(1)) < LEAST_VERSION:
        raise HandshakeFailed(f"it calls itself {name} {version}, not KeepM {LEAST_VERSION}")
    if not ask_status:
        return Spoken(name, version)
    listed = link.ask("tools/list", {}).get("tools", [])
    tools = tuple(str(each.get("name")) for each in listed if isinstance(each, dict))
    if "memory_status" not in tools:
        raise HandshakeFailed("it offers no memory_status")
    answer = link.call("memory_status")
    status = answer.get("structuredContent")
    if answer.get("isError") or not isinstance(status, dict):
        raise HandshakeFailed(f"memory_status failed: {_text(answer)}")
    return Spoken(name, version, tools, status)


class Link:
    """One conversation: requests out, answers in, all before one deadline."""

    def __init__(self, out: IO[bytes], into: IO[bytes], deadline: float) -> None:
        self._out, self._deadline, self._last = out, deadline, 0
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(into,), daemon=True)
        self._reader.start()

    def greet(self, client: str) -> tuple[str, str]:
        """Shake hands as a client of that name; return the server's name and version."""
        hello = self.ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": client, "version": __version__},
            },
        )
        info = hello.get("serverInfo")
        self.tell("notifications/initialized")
        return (
            (str(info.get("name")), str(info.get("version")))
            if isinstance(info, dict)
            else ("", "")
        )

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its whole result, an error result too."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        while True:
            message = self._next(method)
            if "method" in message and "id" in message:
                # A ping or a request we don't serve; leaving it unanswered could stall a server.
                reply: dict[str, Any] = {"error": {"code": -32601, "message": "not served"}}
                self._send({"id": message["id"], **reply})
            elif message.get("id") == self._last:
                if "error" in message:
                    raise HandshakeFailed(f"it refuses {method}")
                result = message.get("result")
                return result if isinstance(result, dict) else {}

    def tell(self, method: str) -> None:
        self._send({"method": method})

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._out.close()

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        try:
            self._out.write(line.encode() + b"\n")
            self._out.flush()
        except OSError as error:
            raise HandshakeFailed("it ended before it answered") from error

    def _next(self, method: str) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            raise HandshakeFailed(f"it didn't answer {method} in time") from None
        if not line:
            raise HandshakeFailed("it ended before it answered")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise HandshakeFailed("it writes something that isn't MCP to its output")
        return message

    def _read(self, into: IO[bytes]) -> None:
        with into:
            for line in into:
                self._lines.put(line)
        self._lines.put(b"")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a server end by itself at the end of its input, and make it when it doesn't."""
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_words(errors: IO[bytes]) -> str:
    """Return the last line the server wrote to its error output, where it wrote one."""
    errors.seek(0)
    lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return f" (its last words: {lines[-1].strip()[:200]})" if lines else ""


def _text(answer: Mapping[str, Any]) -> str:
    content = answer.get("content")
    first = content[0] if isinstance(content, list) and content else {}
    return str(first.get("text", ""))[:200] if isinstance(first, dict) else ""
