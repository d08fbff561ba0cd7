"""The server as hosts start it: protocol only on stdout, whatever happens around it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keepm import __version__
from tests.operations.support import Machine
from tests.stories.server import HELLO, Server, serving

CASES = Path(__file__).parents[1] / "cases"
NOISE = Path(__file__).parent / "noise"
ENVIRONMENTS = [
    {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "always"},
    {"PYTHONIOENCODING": "gbk", "PYTHONUTF8": "0", "LOG_LEVEL": "DEBUG", "PYTHONDEVMODE": "1"},
]


def machine_at(folder: Path) -> tuple[Machine, Path]:
    machine = Machine(folder)
    return machine, machine.project("widgets")


@pytest.mark.parametrize("extra", ENVIRONMENTS, ids=["ascii", "gbk"])
def test_every_byte_of_two_hundred_calls_is_protocol(tmp_path: Path, extra: dict[str, str]) -> None:
    """Case 53: one stray byte ends the session in strict hosts."""
    assert json.loads((CASES / "53-stdout-pure/run.json").read_text())["calls"] == 200
    machine, project = machine_at(tmp_path)
    (project / ".env").write_text("FASTMCP_LOG_LEVEL=DEBUG\nFASTMCP_SHOW_SERVER_BANNER=true\n")
    with serving(machine, project, {**extra, "PYTHONPATH": str(NOISE)}) as server:
        server.initialize()
        server.done("create", name="端口", description="é🚀", kind="reference", body="café 部署 🚀")
        for number in range(49):
            assert server.call("status").code == "internal"
            assert server.done("search", query=f"部署 {number}")["total"] == 1
            assert server.done("read", identifier="端口")["memory"]["body"] == "café 部署 🚀"
            assert server.call("read", identifier="nothing").code == "not_found"
        assert server.call("search", query="x", limit=0).code == "invalid_input"
        assert server.call("forget").code == "not_found"
        assert server.done("catalog")["total"] == 1
        assert server.close() == 0
    assert len(server.lines) >= 201
    for line in server.lines:
        message = json.loads(line.decode("utf-8"))
        assert message["jsonrpc"] == "2.0"
    everything = b"".join(server.lines)
    for stray in (b"noise", b"a secret inside a fault", b"Traceback", str(tmp_path).encode()):
        assert stray not in everything


@pytest.mark.parametrize("name", ["PYTHONIOENCODING", "PYTHONUTF8"])
def test_bad_bytes_and_lone_surrogates_end_no_session(tmp_path: Path, name: str) -> None:
    """Case 20: every request is answered, and the end of input ends the process with 0.

    Any string is a legal query, so that id 2 is answered too: its bad bytes become U+FFFD.
    """
    wanted = json.loads((CASES / "20-stdio-bytes/env.json").read_text())
    extra = next(each for each in wanted if name in each)
    session = (CASES / "20-stdio-bytes/session.bin").read_bytes()
    machine, project = machine_at(tmp_path)
    with serving(machine, project, extra) as server:
        server.send(session.replace(b'"search"', b'"memory_search"'))
        answered: dict[int | None, dict[str, object]] = {}
        while not {1, 2, 3, 4} <= set(answered):
            message = server.message()
            if "method" not in message:
                answered[message.get("id")] = message
        server.send(
            b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"memory_create",'
            b'"arguments":{"name":"caf\xc3\xa9 \xe9\x83\xa8\xe7\xbd\xb2 \xf0\x9f\x9a\x80",'
            b'"description":"d","kind":"reference","body":"b"}}}\n'
        )
        made = server.answer_to(5)["structuredContent"]
        assert made["memory"]["name"] == "café 部署 🚀"
        assert server.close() == 0
    assert all("result" in answered[number] for number in (1, 2, 3, 4))
    for line in server.lines:
        json.loads(line)


@contextmanager
def beside_a_foreign_env_file(folder: Path) -> Iterator[tuple[Machine, Server]]:
    """Start a server in a project with settings of the SDK's in its `.env`."""
    machine, project = machine_at(folder)
    (project / ".env").write_text(
        "FASTMCP_MASK_ERROR_DETAILS=false\nFASTMCP_STRICT_INPUT_VALIDATION=true\n"
        "FASTMCP_HOME=/nowhere\nFASTMCP_SERVER_AUTH=not.a.module\nFASTMCP_LOG_LEVEL=nonsense\n"
    )
    with serving(machine, project) as server:
        yield machine, server


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Machine, Server]]:
    """A greeted server, shared by the module's tests in whatever order."""
    with beside_a_foreign_env_file(tmp_path_factory.mktemp("plain")) as (machine, server):
        server.initialize()
        yield machine, server


def test_the_server_starts_as_itself_beside_a_foreign_env_file(tmp_path: Path) -> None:
    """Fault 52. A `.env` that would stop the SDK is not read."""
    with beside_a_foreign_env_file(tmp_path) as (_, server):
        told = server.initialize()
        assert told["serverInfo"]["version"] == __version__
        assert told["serverInfo"]["name"] == "keepm"
        assert told["protocolVersion"] == HELLO["protocolVersion"]
        assert "untrusted" in told["instructions"]
        assert len(server.ask("tools/list", {})["tools"]) >= 20


def test_the_modern_era_needs_no_handshake(plain: tuple[Machine, Server]) -> None:
    _, server = plain
    server.send(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": "modern",
                "method": "server/discover",
                "params": {
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientInfo": HELLO["clientInfo"],
                        "io.modelcontextprotocol/clientCapabilities": {},
                    }
                },
            }
        ).encode()
        + b"\n"
    )
    message = server.message()
    assert message["id"] == "modern"


def test_a_caller_that_waits_for_the_lock_stops_no_search(plain: tuple[Machine, Server]) -> None:
    """Fault 46: one write that waited for the lock froze the whole server."""
    from keepm.store import lock
    from keepm.store.paths import VaultPaths

    machine, server = plain
    with lock.hold(VaultPaths(machine.root), surface="test", timeout=5, now="now"):
        create = {"name": "n", "description": "d", "kind": "reference", "body": "zebra"}
        request = {"name": "memory_create", "arguments": create}
        server.send(
            json.dumps(
                {"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": request}
            ).encode()
            + b"\n"
        )
        assert server.done("search", query="zebra")["total"] == 0
        assert server.done("catalog")["total"] == 0
        assert not any(b'"id":900' in line for line in server.lines)
    made = server.answer_to(900)
    assert not made.get("isError")
    assert server.done("search", query="zebra")["total"] == 1


def test_a_server_killed_in_a_write_loses_nothing(tmp_path: Path) -> None:
    """Invariant 4, on a real process: what was acknowledged is there, the rest is old or new."""
    machine, project = machine_at(tmp_path)
    acknowledged: set[str] = set()
    with serving(machine, project) as server:
        server.initialize()
        for number in range(5):
            name = f"note-{number}"
            server.done("create", name=name, description="d", kind="reference", body="b")
            acknowledged.add(name)
        for number in range(5, 25):
            call = {"name": f"note-{number}", "description": "d", "kind": "reference", "body": "b"}
            params = {"name": "memory_create", "arguments": call}
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            server.send(json.dumps(request).encode() + b"\n")
        server.message()
        server.process.kill()
        server.process.wait()
    for line in server.lines:
        message = json.loads(line)
        memory = message.get("result", {}).get("structuredContent", {}).get("memory")
        if memory:
            acknowledged.add(memory["name"])
    with serving(machine, project) as server:
        server.initialize()
        server.done("create", name="after", description="d", kind="reference", body="b")
        listed = server.done("catalog", limit=100, max_chars=100_000)
        names = {item["name"] for item in listed["items"]}
        assert acknowledged | {"after"} <= names
        for name in names:
            assert server.done("read", identifier=name)["memory"]["body"] == "b"
        status = server.done("status")
        assert status["health"]["state"] == "ok"
        assert status["ledger_head"]["sequence"] == len(names)
        assert server.close() == 0
    assert list((machine.root / "Memory/.keepm/journal").iterdir()) == []
    assert {path.rsplit("/", 1)[-1][:-3] for path in machine.files()} == names


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal for one process")
def test_ctrl_c_ends_a_server_whose_input_stays_open(tmp_path: Path) -> None:
    """Hosts that end a server so leave its input open, and so does a terminal."""
    machine, project = machine_at(tmp_path)
    with serving(machine, project) as server:
        server.initialize()
        server.done("status")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=60) == 0
    assert b"".join(server.errors) == b""


def test_an_ordinary_session_says_nothing_on_stderr(tmp_path: Path) -> None:
    """Fault 53: banner, update notice, and a boxed traceback for every refusal."""
    with beside_a_foreign_env_file(tmp_path) as (_, server):
        server.initialize()
        server.done("create", name="n", description="d", kind="reference", body="zebra")
        assert server.done("search", query="zebra")["total"] == 1
        assert server.call("read", identifier="nothing").code == "not_found"
        assert server.call("create", name="n").code == "invalid_input"
        assert server.call("forget").code == "not_found"
        assert server.close() == 0
    assert b"".join(server.errors) == b""
