"""One writer at a time, a bounded wait, and a holder that can be named."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from keepm.errors import RootLocked, RootUnavailable
from keepm.store import lock
from keepm.store.transaction import Root
from tests.store.support import AT

HOLDER = """
import sys
from pathlib import Path
from keepm.store import lock
from keepm.store.paths import VaultPaths
with lock.hold(VaultPaths(Path(sys.argv[1])), surface="cli", timeout=5, now="2026-01-01T00:00:00Z"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["flock", "filelock"])
def hold(
    request: pytest.FixtureRequest, real: Root, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AbstractContextManager[None]]:
    if request.param == "filelock":  # what platforms without fcntl use
        monkeypatch.setattr(lock, "_flock", lock._filelock)
    return lambda timeout=5.0, surface="mcp": lock.hold(
        real.paths, surface=surface, timeout=timeout, now=AT
    )


Hold = Callable[..., AbstractContextManager[None]]


def test_a_second_writer_waits_in_vain_and_is_told_who_holds(hold: Hold) -> None:
    with hold(surface="web"), pytest.raises(RootLocked) as refused, hold(timeout=0.05):
        pass

    assert refused.value.details == {"pid": os.getpid(), "surface": "web", "since": AT}


def test_the_lock_is_free_after_its_holder(hold: Hold) -> None:
    with hold():
        pass
    with pytest.raises(ZeroDivisionError), hold():
        _ = 1 // 0
    with hold(timeout=0.0):
        pass


def test_threads_of_one_process_exclude_each_other(hold: Hold) -> None:
    """Without the lock this fails: two would be inside at once."""
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(20):
            with hold():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (max(most), len(most)) == (1, 80)


def test_a_waiter_gets_the_lock_when_it_is_released(hold: Hold) -> None:
    order: list[str] = []
    with ExitStack() as first:
        first.enter_context(hold())

        def wait() -> None:
            with hold():
                order.append("second")

        thread = threading.Thread(target=wait)
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_waiter_that_gave_up_does_not_take_the_lock_later(real: Root) -> None:
    with lock.hold(real.paths, surface="a", timeout=1, now=AT):
        for _ in range(3):
            with pytest.raises(RootLocked), lock.hold(real.paths, surface="b", timeout=0, now=AT):
                pass
    helpers = [t for t in threading.enumerate() if t.name == "keepm-lock"]
    for helper in helpers:
        helper.join(5)
    assert not any(helper.is_alive() for helper in helpers)
    with lock.hold(real.paths, surface="c", timeout=0, now=AT):
        pass


def test_another_process_is_named_and_its_death_frees_the_lock(real: Root) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(real.paths.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with (
            pytest.raises(RootLocked) as refused,
            lock.hold(real.paths, surface="mcp", timeout=0.05, now=AT),
        ):
            pass
        process.kill()
    assert refused.value.details["pid"] == process.pid
    assert refused.value.details["surface"] == "cli"
    with lock.hold(real.paths, surface="mcp", timeout=5, now=AT):
        pass


def test_a_lock_file_that_was_removed_meanwhile_locks_nobody_out(real: Root) -> None:
    with lock.hold(real.paths, surface="a", timeout=1, now=AT):
        (real.paths.records / "lock").unlink()
    with lock.hold(real.paths, surface="b", timeout=0, now=AT):
        pass


def test_without_a_vault_nothing_is_made(tmp_path: Path, real: Root) -> None:
    missing = type(real.paths)(tmp_path / "unmounted")
    with pytest.raises(RootUnavailable), lock.hold(missing, surface="a", timeout=0, now=AT):
        pass
    assert not (tmp_path / "unmounted").exists()


def test_a_symlink_in_the_locks_place_is_refused(real: Root, tmp_path: Path) -> None:
    (real.paths.records / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RootUnavailable), lock.hold(real.paths, surface="a", timeout=0, now=AT):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_the_record_of_the_holder_has_one_width_and_no_host_or_user(real: Root) -> None:
    for surface in ("a-rather-long-surface-of-ours", "x"):
        with lock.hold(real.paths, surface=surface, timeout=1, now=AT):
            data = (real.paths.records / "lock").read_bytes()
            assert lock.holder(real.paths) == {"pid": os.getpid(), "surface": surface, "since": AT}
            assert len(data) == 160
