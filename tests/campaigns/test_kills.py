"""SIGKILL at random moments: none of what was acknowledged is lost, nothing is half done."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from keepm.model.document import AnyDocument
from keepm.model.memory import Memory
from tests.benchmarks.inside import unlike
from tests.campaigns import plain_jsonl, vaults
from tests.campaigns.vaults import SEED
from tests.operations.support import Machine
from tests.stories.server import REPOSITORY, serving

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")


@pytest.mark.parametrize(
    ("writes", "kills"), [(24, 2), pytest.param(500, 40, marks=pytest.mark.campaign)]
)
def test_a_server_killed_again_and_again_keeps_what_it_acknowledged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], writes: int, kills: int
) -> None:
    machine = vaults.machine_at(tmp_path)
    chance = random.Random(SEED)
    kept: dict[str, str] = {}
    killed = 0
    while len(kept) < writes:
        with serving(machine, machine.folder / "work/widgets") as server:
            server.initialize()
            share = chance.randint(1, 2 * writes // kills)
            if killed < kills:
                # From the moment of some request on, within the time of a few writes.
                delay = chance.uniform(0.0, 0.02 * share)
                threading.Timer(delay, server.process.kill).start()
                killed += 1
            try:
                while len(kept) < writes:
                    name = unlike(killed, len(kept))
                    made = server.done(
                        "create", name=name, description="d", kind="reference", body=f"text {name}"
                    )
                    kept[made["memory"]["id"]] = f"text {name}"
            except (AssertionError, OSError):
                server.process.wait(timeout=60)
                assert server.process.returncode == -signal.SIGKILL
    found = vaults.settled(machine)
    lost = [i for i, body in kept.items() if i not in found or _body(found[i]) != body]
    tell(capsys, f"server: {len(kept)} acknowledged writes, {killed} kills, {len(lost)} lost")
    assert lost == []


@pytest.mark.parametrize("wanted", [2, pytest.param(200, marks=pytest.mark.campaign)])
def test_kills_in_changes_of_several_files_leave_nothing_half_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wanted: int
) -> None:
    """`wanted` are the kills that left a change of two or three files begun."""
    machine = vaults.machine_at(tmp_path)
    chance = random.Random(SEED)
    acks: list[dict[str, str]] = []
    caught = [0, 0, 0, 0]
    kills = 0
    while caught[2] + caught[3] < wanted:
        acks += killed_writer(machine, f"p{kills}", delay=chance.uniform(0.02, 0.3))
        caught[vaults.in_flight(machine)] += 1
        kills += 1
        if kills % 25 == 0:
            vaults.settled(machine)
    found = vaults.settled(machine)
    lost = vaults.check_acknowledged(found, acks)
    tell(
        capsys,
        f"groups: {len(acks)} acknowledged changes of two and three files, {kills} kills, which "
        f"left begun {caught[2]} changes of two files, {caught[3]} of three, {caught[1]} of one; "
        f"{lost} lost",
    )
    assert lost == 0


def _body(document: AnyDocument) -> str:
    assert isinstance(document.content, Memory)
    return document.content.claim.body


def killed_writer(machine: Machine, name: str, *, delay: float) -> list[dict[str, str]]:
    """Start a writer, kill it some time after it is ready, return what it acknowledged."""
    with vaults.writer(machine, "groups", name, 10_000) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        timer = threading.Timer(delay, process.kill)
        timer.start()
        output = process.stdout.read()
        timer.join()
    assert process.returncode == -signal.SIGKILL
    return vaults.acknowledged(output)


@pytest.mark.campaign
def test_the_plain_way_under_the_same_kills(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the table in docs/reliability.md; how much it loses is chance and nothing we assert."""
    place = tmp_path / "memory.jsonl"
    chance = random.Random(SEED)
    acks: list[str] = []
    for number in range(200):
        line = (sys.executable, "-m", "tests.campaigns.plain_jsonl", str(place), f"p{number}")
        with subprocess.Popen((*line, "10000"), cwd=REPOSITORY, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            timer = threading.Timer(chance.uniform(0.0, 0.1), process.kill)
            timer.start()
            acks += (first + process.stdout.read()).decode().split("\n")[:-1]
            timer.join()
    kept = plain_jsonl.load(place)
    lost = sum(name not in kept for name in acks)
    tell(capsys, f"plain JSONL: {len(acks)} acknowledged writes, 200 kills, {lost} lost")
    assert len(acks) > 200


def tell(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Show a result of a campaign, for the table in docs/reliability.md."""
    with capsys.disabled():
        print(f"\n  {line}")
