"""Eight processes that write to one vault at once: nothing lost, nothing torn, the ledger whole."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

from keepm.markdown import documents
from keepm.operations import memories, sync
from keepm.operations.vault import open_vault
from keepm.store import ledger
from tests.benchmarks import inside, raw
from tests.benchmarks.table import Row, milliseconds
from tests.benchmarks.timing import Durations, in_turn, seconds_of
from tests.benchmarks.vaults import Place

PROCESSES = 8
WRITES = 250

_together: Barrier


def writers(place: Place, *, processes: int = PROCESSES, writes: int = WRITES) -> Iterator[Row]:
    """Let the processes write, then look at what is there."""
    spawn = multiprocessing.get_context("spawn")
    measured: list[float] = []
    acknowledged: dict[str, str] = {}
    with ProcessPoolExecutor(
        processes, spawn, initializer=_begin, initargs=(spawn.Barrier(processes),)
    ) as pool:
        work = [pool.submit(_write, place, number, writes) for number in range(processes)]
        for each in work:
            seconds, written = each.result()
            measured += seconds
            acknowledged |= written
    yield _speed(place, Durations.of(measured), processes=processes)
    yield _soundness(place, acknowledged, expected=processes * writes)


def _begin(together: Barrier) -> None:
    global _together
    _together = together


def _write(place: Place, number: int, writes: int) -> tuple[list[float], dict[str, str]]:
    """Create notes; return how long each took, and the checksum that was acknowledged by path."""
    seconds: list[float] = []
    written: dict[str, str] = {}
    with closing(open_vault(place.settings())) as vault:
        sync.reconcile(vault)

        def create(name: str) -> None:
            claim = inside.written_claim(name, place)
            document = memories.create(vault, inside.CALLER, claim).document
            written[document.path] = document.checksum.hex

        _together.wait()
        for turn in range(writes):
            name = inside.unlike("writer", number, turn)
            seconds.append(seconds_of(lambda name=name: create(name)))  # type: ignore[misc]
    return seconds, written


def _speed(place: Place, measured: Durations, *, processes: int) -> Row:
    folder = place.home / "bare"
    folder.mkdir(exist_ok=True)
    fresh = iter(range(1_000_000, 2_000_000))
    (bare,) = in_turn(lambda: raw.durable_write(folder, next(fresh), b"x" * 700), times=50)
    middle = measured.percentile(0.5)
    return Row(
        f"{processes} processes × {len(measured.seconds) // processes} creates: p50 / p95",
        place.notes,
        f"{milliseconds(middle)} / {milliseconds(measured.percentile(0.95))}",
        f"{milliseconds(bare.percentile(0.5))} bare durable write",
        middle / bare.percentile(0.5),
    )


def _soundness(place: Place, acknowledged: dict[str, str], *, expected: int) -> Row:
    lost = expected - len(acknowledged)
    torn = 0
    for path, checksum in acknowledged.items():
        file = Path(place.root / path)
        if not file.exists():
            lost += 1
        elif documents.read(path, file.read_bytes()).checksum.hex != checksum:
            torn += 1
    with closing(open_vault(place.settings())) as vault:
        problems = len(ledger.verify(vault.root))
        events = sum(1 for event in ledger.read_all(vault.root) if event.operation == "create")
    found = f"{lost} lost, {torn} torn, {problems} ledger problems, {events:,} events"
    kept = (lost, torn, problems) == (0, 0, 0) and events >= expected
    return Row("what they left", place.notes, found, must="none lost or torn", kept=kept)
