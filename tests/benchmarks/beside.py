"""Answers beside the work that a server does meanwhile: a pass over all checksums."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from keepm.operations import retrieval, sync
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault, open_vault
from tests.benchmarks.inside import queries
from tests.benchmarks.table import Row, milliseconds
from tests.benchmarks.timing import Durations, seconds_of
from tests.benchmarks.vaults import Place

_LEAST = 300  # searches that tell a 95th percentile
_MOST = 4000
_BETWEEN_SECONDS = 0.003  # in which the pass goes on; agents pause for longer
_SLOWER = 2


def beside(place: Place) -> Iterator[Row]:
    """Measure searches with and without a deep pass in the same process."""
    with closing(open_vault(place.settings())) as vault:
        sync.reconcile(vault)
        asked = itertools.cycle([each for every in queries(vault).values() for each in every])

        def search() -> None:
            retrieval.search(vault, Wanted(next(asked)))

        for _ in range(60):
            search()  # each query once, so that neither side has the first look at a note
        alone = _times(search, until=lambda: True)
        deep = _keeper(vault)
        deep.start()
        busy = _times(search, until=lambda: not deep.is_alive(), least=1)
    late, quiet = busy.percentile(0.95), alone.percentile(0.95)
    yield Row(
        "search beside a deep pass: p50 / p95",
        place.notes,
        f"{milliseconds(busy.percentile(0.5))} / {milliseconds(late)}",
        f"{milliseconds(alone.percentile(0.5))} / {milliseconds(quiet)} without it",
        late / quiet,
        f"≤ {_SLOWER} ×",
        late <= _SLOWER * quiet,
    )


def _keeper(vault: Vault) -> threading.Thread:
    """Return the thread that compares all checksums in a server, where others go first."""
    thread = threading.Thread(target=lambda: sync.reconcile(vault, deep=True))
    vault.progress.keeper = thread
    return thread


def _times(
    action: Callable[[], None], *, until: Callable[[], bool], least: int = _LEAST
) -> Durations:
    found: list[float] = []
    while len(found) < _MOST and (len(found) < least or not until()):
        found.append(seconds_of(action))
        time.sleep(_BETWEEN_SECONDS)
    return Durations.of(found)
