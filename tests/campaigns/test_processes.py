"""Many processes on one vault: none lost, none torn, ledger whole; memory and handles flat."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from keepm.store import ledger
from tests.benchmarks.inside import unlike
from tests.campaigns import plain_jsonl, vaults
from tests.campaigns.test_kills import tell
from tests.stories.server import REPOSITORY, Server, serving


@pytest.mark.parametrize(
    ("processes", "count"), [(4, 10), pytest.param(8, 250, marks=pytest.mark.campaign)]
)
def test_processes_that_create_update_and_promote_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], processes: int, count: int
) -> None:
    machine = vaults.machine_at(tmp_path)
    began = time.monotonic()
    running = [vaults.writer(machine, "mixed", f"p{n}", count) for n in range(processes)]
    outputs = [process.communicate()[0] for process in running]
    took = time.monotonic() - began
    assert [process.returncode for process in running] == [0] * processes
    acks = [ack for output in outputs for ack in vaults.acknowledged(output)]
    assert len(acks) == processes * count
    found = vaults.settled(machine)
    lost = vaults.check_acknowledged(found, acks)
    vault = machine.open()
    events = list(ledger.read_all(vault.root))
    vault.close()
    tell(
        capsys,
        f"KeepM: {processes} processes × {count} changes: {len(acks)} acknowledged, {lost} lost, "
        f"{len(events)} events, {took:.0f} s",
    )
    assert lost == 0
    assert len(events) == len(acks)


@pytest.mark.campaign
def test_the_plain_way_with_as_many_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the table in docs/reliability.md; how much it loses is chance and nothing we assert."""
    place = tmp_path / "memory.jsonl"
    line = (sys.executable, "-m", "tests.campaigns.plain_jsonl", str(place))
    running = [
        subprocess.Popen((*line, f"p{n}", "250"), cwd=REPOSITORY, stdout=subprocess.PIPE)
        for n in range(8)
    ]
    acks = [name for each in running for name in each.communicate()[0].decode().split()]
    lost = sum(name not in plain_jsonl.load(place) for name in acks)
    tell(capsys, f"plain JSONL: 8 processes × 250 writes: {len(acks)} acknowledged, {lost} lost")
    assert len(acks) == 2000


@pytest.mark.campaign
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_idle_and_active_servers_keep_memory_and_handles_flat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twelve servers on one vault for a minute, half of them at work."""
    machine = vaults.machine_at(tmp_path)
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(machine, machine.folder / "work/widgets"))
            for _ in range(12)
        ]
        for server in servers:
            server.initialize()
            server.done("status")
        calls = [0] * 6
        _work_for(servers[:6], calls, seconds=15)  # warm: caches filled, threads started
        early = [_measures(server) for server in servers]
        _work_for(servers[:6], calls, seconds=60)
        late = [_measures(server) for server in servers]
        grown = [after[0] - before[0] for before, after in zip(early, late, strict=True)]
        handles = [after[1] - before[1] for before, after in zip(early, late, strict=True)]
        tell(
            capsys,
            f"12 servers, {sum(calls)} calls: memory {_span(m for m, _ in late)} MB, grown by "
            f"{_span(grown[:6])} MB (active) and {_span(grown[6:])} MB (idle) in the last minute; "
            f"handles {_span(h for _, h in late)}, grown by {_span(handles)}",
        )
        assert max(handles) <= 2
        assert max(grown) <= 12
    vaults.settled(machine)


def _work_for(servers: list[Server], calls: list[int], *, seconds: float) -> None:
    until = time.monotonic() + seconds
    failures: list[BaseException] = []

    def work(position: int, server: Server) -> None:
        try:
            while time.monotonic() < until:
                name = unlike("server", position)
                if server.call("read", identifier=name).is_error:
                    server.done(
                        "create", name=name, description="d", kind="reference", body=f"x {name}"
                    )
                read = server.done("read", identifier=name)
                server.done(
                    "update",
                    identifier=name,
                    expected_checksum=read["checksum"],
                    update_token=read["update_token"],
                    body=f"text {calls[position]}",
                )
                server.done("search", query="text")
                server.done("context")
                calls[position] += 5
        except BaseException as error:
            failures.append(error)
            raise

    threads = [
        threading.Thread(target=work, args=(position, server))
        for position, server in enumerate(servers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _measures(server: Server) -> tuple[int, int]:
    """Return a process's resident memory in MB and its open handles."""
    place = Path(f"/proc/{server.process.pid}")
    (line,) = (
        line for line in (place / "status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(line.split()[1]) // 1024, len(list((place / "fd").iterdir()))


def _span(values: object) -> str:
    """Show the least and the most."""
    listed = sorted(values)  # type: ignore[call-overload]  # numbers
    return f"{listed[0]}–{listed[-1]}" if listed[0] != listed[-1] else f"{listed[0]}"
