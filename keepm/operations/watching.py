"""Events of the vault's folders: which folders, by whom, and what it means when that fails.

Linux has a limit of watches for each user. Where it is reached, or where a folder denies access, as
many folders are watched as can be, each for itself, the project's own first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from keepm.errors import KeepMError
from keepm.model import layout
from keepm.operations.vault import Vault
from keepm.store import reader

Events = Generator[set[str], None, None]
"""The paths of each burst of changes; empty sets at least every so many seconds."""
_STEP_MS = 50
_DEBOUNCE_MS = 400
_PROBE_SECONDS = 0.001
_RELEASE_SECONDS = 0.1  # until the system has back what a watch took that was given up


@dataclass(frozen=True, slots=True)
class Watched:
    """Folders to watch; `deep`: with all that lies in them. `total` is how many there are."""

    folders: tuple[Path, ...]
    deep: bool = True
    total: int = 0


Watch = Callable[[Watched, threading.Event, float], Events]
"""Begins to watch when it is first asked for events, and ends when it is closed."""


def whole(vault: Vault) -> Watched:
    """Return the folders that hold documents, each with all that lies in it."""
    places = (vault.root.paths.root / folder for folder in layout.SEARCHED_FOLDERS)
    return Watched(tuple(place for place in places if os.path.isdir(place)))


def part(vault: Vault, watch: Watch, stopping: threading.Event) -> Watched:
    """Return as many single folders as the system lets be watched; perhaps none."""
    try:
        folders = _wanted(vault)
    except KeepMError:
        return Watched((), deep=False)
    few, many = 0, len(folders)
    while few < many and not stopping.is_set():
        middle = (few + many + 1) // 2
        if _is_possible(Watched(folders[:middle], deep=False), watch, stopping):
            few = middle
        else:
            many = middle - 1
    stopping.wait(_RELEASE_SECONDS)
    return Watched(folders[:few], deep=False, total=len(folders))


def is_partial(error: Exception) -> bool:
    """Tell whether the system refuses some folders only, so that others can be watched."""
    return _is_limit(error) or isinstance(error, PermissionError)


def reason(error: Exception) -> str:
    """Say why folders can't be watched."""
    text, number = str(error), getattr(error, "errno", None)
    if _is_limit(error):
        return "the limit fs.inotify.max_user_watches is reached"
    if isinstance(error, PermissionError):
        return "a folder denies access"
    if number == errno.EMFILE or f"os error {errno.EMFILE}" in text:
        return "the limit fs.inotify.max_user_instances is reached"
    return "the system refuses it"


def events(watched: Watched, stopping: threading.Event, seconds: float) -> Events:
    """Yield what `watchfiles` tells of."""
    import watchfiles  # behind the first look, so that no start waits for it

    changes = watchfiles.watch(
        *watched.folders,
        watch_filter=lambda _, path: concerns(path),
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        stop_event=stopping,
        rust_timeout=int(seconds * 1000) or 1,
        yield_on_timeout=True,
        raise_interrupt=False,
        force_polling=False,  # our own look at the files is cheaper than its
        recursive=watched.deep,
        ignore_permission_denied=False,  # it would ignore the limit too, and all that it leaves out
    )
    for found in changes:
        yield {path for _, path in found}


def concerns(path: str) -> bool:
    """Tell whether a changed path may be a document or a folder of documents."""
    place = Path(path)
    if place.name.startswith("."):
        return place.suffix == ".icloud"
    return place.suffix.lower() == ".md" or not os.path.isfile(place)


def _is_limit(error: Exception) -> bool:
    """Tell whether the limit of watches is reached. The system's error reads as a full disk."""
    text, number = str(error), getattr(error, "errno", None)
    limit = "file watch limit" in text or f"os error {errno.ENOSPC}" in text
    return limit or number == errno.ENOSPC


def _wanted(vault: Vault) -> tuple[Path, ...]:
    """Return every folder of documents: the project's, global memory's, others', denied ones."""
    top, own = vault.root.paths.root, vault.visibility.project_id

    def rank(folder: str) -> tuple[bool, int, str]:
        place = layout.place(f"{folder}/x.md")
        of = 2 if place is None else {own: 0, None: 1}.get(place.scope.project_id, 2)
        return not os.access(top / folder, os.R_OK), of, folder

    return tuple(top / folder for folder in sorted(reader.folders(vault.root), key=rank))


def _is_possible(watched: Watched, watch: Watch, stopping: threading.Event) -> bool:
    stopping.wait(_RELEASE_SECONDS)
    with contextlib.closing(watch(watched, stopping, _PROBE_SECONDS)) as told:
        try:
            next(told, None)
        except (OSError, RuntimeError):
            return False
    return True
