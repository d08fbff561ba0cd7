"""The server's quiet thread: it meets changes of files early, and keeps the time of deep passes.

Watching is for latency only. Events come late, twice, in any order or not at all, so one is never
more than a reason to look at the files; and who doesn't hear of a change by an event meets it at
the next answer. Where folders can't be watched, or not all of them, the thread looks every ten
seconds.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable

from keepm.errors import KeepMError
from keepm.index import writing
from keepm.model import layout
from keepm.operations import sync, watching
from keepm.operations.vault import Vault
from keepm.operations.watching import Watch, Watched
from keepm.store import reader

POLL_SECONDS = 10.0
"""How often the files are looked at where no events come."""
_REST = 10  # a look that took long is followed by so many times as long without one
_RETRY_SECONDS = 60.0  # after a deep pass that couldn't be made


def start(vault: Vault, *, say: Callable[[str], None], watch: Watch | None = None) -> None:
    """Begin to keep the index near the files; `say` is told once what the owner should know."""
    keeper = threading.Thread(
        target=_keep, args=(vault, say, watch or watching.events), name="keepm-keeper", daemon=True
    )
    vault.progress.keeper = keeper
    keeper.start()


def _keep(vault: Vault, say: Callable[[str], None], watch: Watch) -> None:
    progress = vault.progress
    progress.settled.wait()
    for warning in vault.placement.warnings:
        say(warning)
    reason, some = _unwatched(vault), None
    while not progress.stopping.is_set():
        next_deep = _deep_when_due(vault)
        if reason is None or some:
            if some is None:
                progress.watch = "events"
            error = _follow(vault, watch, some, until=next_deep)
            if error is None:
                continue
            reason = watching.reason(error)
            some = _what_is_left(vault, watch, error) if some is None else None
            if some:
                count = f"{len(some.folders)}/{some.total}"
                progress.watch = f"partial {count}: {reason}"
                say(
                    f"{count} of the vault's folders can be watched ({reason}); "
                    f"KeepM looks at all of them every {POLL_SECONDS:.0f} s"
                )
                continue
        said = f"polling: {reason}"
        if progress.watch != said:
            progress.watch = said
            say(
                f"the vault's folders can't be watched ({reason}); "
                f"KeepM looks every {POLL_SECONDS:.0f} s"
            )
        progress.stopping.wait(max(POLL_SECONDS, progress.took * _REST))
        sync.look_soon(vault)


def _unwatched(vault: Vault) -> str | None:
    """Say why events from the vault's folders can't be relied on, or nothing."""
    kind = vault.placement.vault
    return f"{kind.type} tells of no changes made elsewhere" if kind.network else None


def _deep_when_due(vault: Vault) -> float:
    """Make a deep pass if one is due; return in how many seconds to look again."""
    try:
        if sync.deep_due(vault):
            sync.reconcile(vault, deep=True)
        return sync.deep_in(vault)
    except KeepMError:
        # Status goes on saying that it is due; an index that is gone comes with the next answer.
        return _RETRY_SECONDS


def _what_is_left(vault: Vault, watch: Watch, error: Exception) -> Watched | None:
    """Return the folders that can be watched although not all can, or nothing."""
    if not watching.is_partial(error):
        return None
    found = watching.part(vault, watch, vault.progress.stopping)
    return found if found.folders else None


def _follow(
    vault: Vault, watch: Watch, some: Watched | None, *, until: float
) -> OSError | RuntimeError | None:
    """Look at the files whenever they change, until a deep pass is due; return why that fails.

    Where only `some` folders are watched, all files are looked at every ten seconds besides.
    """
    stopping = vault.progress.stopping
    ends = time.monotonic() + until
    watched = some or watching.whole(vault)
    if not watched.folders:
        stopping.wait(POLL_SECONDS)
        return None
    patience = min(until, POLL_SECONDS if some else _RETRY_SECONDS)
    looked = time.monotonic()
    try:
        with contextlib.closing(watch(watched, stopping, patience)) as events:
            for changed in events:
                is_due = some is not None and time.monotonic() - looked >= POLL_SECONDS
                if is_due or (changed and _tells_news(vault, changed)):
                    sync.look_soon(vault)
                    stopping.wait(min(vault.progress.took * _REST, POLL_SECONDS))
                    looked = time.monotonic()
                if time.monotonic() >= ends:
                    return None
    except FileNotFoundError:
        pass  # a folder went meanwhile
    except (OSError, RuntimeError) as error:  # of the watch; a look runs in a thread of its own
        return error
    stopping.wait(POLL_SECONDS)  # it ended by itself: not at once again
    return None


def _tells_news(vault: Vault, changed: Iterable[str]) -> bool:
    """Tell whether some change isn't one that the index has taken up already, such as our own."""
    prefix = len(str(vault.root.paths.root)) + 1
    files = []
    for each in changed:
        path = each[prefix:].replace("\\", "/")
        if layout.place(path) is None:
            return True  # a folder, or something that only a walk can judge
        files.append(path)
    with contextlib.suppress(KeepMError):
        known = writing.file_rows(vault.database, files)
        for path in files:
            state, row = reader.state(vault.root, path), known.get(path)
            if (state is None) != (row is None):
                return True
            if state and row and (state.size, state.mtime_ns) != (row.size, row.mtime_ns):
                return True
        return False
    return True
