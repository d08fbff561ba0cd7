"""The server's quiet thread: it meets changes of files early, and keeps the time of deep passes.

Watching is for latency only. Events come late, twice, in any order or not at all, so one is never
more than a reason to look at the files; and who doesn't hear of a change by an event meets it at
the next answer. Where folders can't be watched, the thread looks every ten seconds instead.
"""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from keepm.errors import KeepMError
from keepm.index import writing
from keepm.model import layout
from keepm.operations import sync
from keepm.operations.vault import Vault
from keepm.store import reader

POLL_SECONDS = 10.0
"""How often the files are looked at where no events come."""
_REST = 10  # a look that took long is followed by so many times as long without one
_RETRY_SECONDS = 60.0  # after a deep pass that couldn't be made
_STEP_MS = 50
_DEBOUNCE_MS = 400

Watch = Callable[[tuple[Path, ...], threading.Event, float], Iterator[set[str]]]
"""Yields the paths of each burst of changes; empty sets at least every so many seconds."""


def start(vault: Vault, *, say: Callable[[str], None], watch: Watch | None = None) -> None:
    """Begin to keep the index near the files; `say` is told once what the owner should know."""
    keeper = threading.Thread(
        target=_keep, args=(vault, say, watch or _watch), name="keepm-keeper", daemon=True
    )
    vault.progress.keeper = keeper
    keeper.start()


def _keep(vault: Vault, say: Callable[[str], None], watch: Watch) -> None:
    progress = vault.progress
    progress.settled.wait()
    for warning in vault.placement.warnings:
        say(warning)
    reason = _unwatched(vault)
    while not progress.stopping.is_set():
        next_deep = _deep_when_due(vault)
        if reason is None:
            progress.watch = "events"
            reason = _follow(vault, watch, until=next_deep)
            if reason is None:
                continue
        said = f"polling: {reason}"
        if progress.watch != said:
            progress.watch = said
            say(f"the vault's folders can't be watched ({reason}); KeepM looks every 10 s")
        progress.stopping.wait(max(POLL_SECONDS, progress.took * _REST))
        sync.look_soon(vault)


def _unwatched(vault: Vault) -> str | None:
    """Say why events from the vault's folders can't be relied on, or nothing."""
    kind = vault.placement.vault
    return f"{kind.type} tells of no changes made elsewhere" if kind.network else None


def _deep_when_due(vault: Vault) -> float:
    """Make a deep pass if one is due; return in how many seconds to look again."""
    if sync.deep_due(vault):
        try:
            sync.reconcile(vault, deep=True)
        except KeepMError:
            return _RETRY_SECONDS  # status goes on saying that it is due
    return sync.deep_in(vault)


def _follow(vault: Vault, watch: Watch, *, until: float) -> str | None:
    """Look at the files whenever they change, until a deep pass is due; say why that fails."""
    stopping = vault.progress.stopping
    ends = time.monotonic() + until
    folders = tuple(
        place
        for folder in layout.SEARCHED_FOLDERS
        if (place := vault.root.paths.root / folder).is_dir()
    )
    if not folders:
        stopping.wait(POLL_SECONDS)
        return None
    try:
        for changed in watch(folders, stopping, min(until, _RETRY_SECONDS)):
            if changed and _tells_news(vault, changed):
                sync.look_soon(vault)
                stopping.wait(min(vault.progress.took * _REST, POLL_SECONDS))
            if time.monotonic() >= ends:
                return None
    except (OSError, RuntimeError) as error:  # of the watch; a look runs in a thread of its own
        return _why(error)
    stopping.wait(POLL_SECONDS)  # it ended by itself: not at once again
    return None


def _why(error: OSError | RuntimeError) -> str:
    text, number = str(error), getattr(error, "errno", None)
    if number == errno.ENOSPC or f"os error {errno.ENOSPC}" in text:
        return "the limit fs.inotify.max_user_watches is reached"
    if number == errno.EMFILE or f"os error {errno.EMFILE}" in text:
        return "the limit fs.inotify.max_user_instances is reached"
    return "the system refuses it"


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


def _watch(
    folders: tuple[Path, ...], stopping: threading.Event, seconds: float
) -> Iterator[set[str]]:
    import watchfiles  # behind the first look, so that no start waits for it

    changes = watchfiles.watch(
        *folders,
        watch_filter=lambda _, path: _concerns(path),
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        stop_event=stopping,
        rust_timeout=int(seconds * 1000) or 1,
        yield_on_timeout=True,
        raise_interrupt=False,
        force_polling=False,  # our own look at the files is cheaper than its
        ignore_permission_denied=True,
    )
    for found in changes:
        yield {path for _, path in found}


def _concerns(path: str) -> bool:
    """Tell whether a changed path may be a document or a folder of documents."""
    place = Path(path)
    if place.name.startswith("."):
        return place.suffix == ".icloud"
    return place.suffix.lower() == ".md" or not place.is_file()
