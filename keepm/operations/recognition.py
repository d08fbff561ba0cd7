"""Which project a folder is: decided by this machine's settings file, and by nothing else.

An id belongs to the repositories it was set up for here. What a repository contains can't grant
one: its `.keepm.toml`, remote and name only make the proposal that setup puts to the owner.

Two things recognise a repository that was set up:

- its folder, as long as the same history lies in it (a first commit that was recorded is among
  its objects). Another repository cloned into the place of a renamed one is not let in;
- its remote **and** a first commit together, so that a second clone or a renamed folder keeps
  its memory. A repository without any remote is recognised by its first commit alone once the
  folder it was set up in is gone.

What remains: whoever can write a `.git` folder here (by an unpacked archive, not by a clone,
whose remote is where it came from) can forge remote and first commit of a repository they know.
Such a folder can also make git itself run programs, so it is not one to start an agent in. A
shallow clone has no first commit and is recognised by its folder only. A folder without git is
recognised by its place, with all below it that is no repository of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from keepm.config import ProjectEntry, Settings
from keepm.errors import InvalidIdentifier
from keepm.model import identity
from keepm.operations import repositories
from keepm.operations.repositories import Repository


@dataclass(frozen=True, slots=True)
class Identity:
    """What project a process works in. Without an id it sees global memory only."""

    project_id: str | None
    project_dir: Path
    top: Path  # the work tree that sources are compared with
    reason: str  # why this id, or why none; no path in it


def resolve(settings: Settings) -> Identity:
    """Return the project of the settings' folder; never raises, and in doubt gives no id."""
    directory = settings.project_dir
    repository = repositories.locate(directory)
    if repository is None:
        return Identity(None, directory, directory, "the project folder is not there")
    entries = [entry for entry in settings.projects if _is_valid(entry.project_id)]
    project_id, reason = _recognise(entries, repository)
    return Identity(project_id, directory, repository.top, reason)


def _recognise(entries: Sequence[ProjectEntry], repository: Repository) -> tuple[str | None, str]:
    reason = "this folder is not set up on this machine"
    here = _of_folder(entries, repository)
    if here and not (same := [entry for entry in here if _is_same_history(entry, repository)]):
        reason = "another repository was set up in this folder"
    elif here:
        if len(ids(same)) == 1:
            return same[0].project_id, "this folder was set up"
        return None, "several projects are set up for this folder"
    alike = _of_fingerprint(entries, repository)
    if len(ids(alike)) == 1:
        return alike[0].project_id, "remote and first commit are those of a repository set up here"
    return None, "several projects have this remote and first commit" if alike else reason


def ids(entries: Iterable[ProjectEntry]) -> set[str]:
    return {entry.project_id for entry in entries}


def _is_valid(project_id: str) -> bool:
    try:
        return identity.parse_project_id(project_id) == project_id
    except InvalidIdentifier:
        return False


def _of_folder(entries: Sequence[ProjectEntry], repository: Repository) -> list[ProjectEntry]:
    """Return the entries of the nearest folder that was set up."""
    folders = [repository.top, repository.home]
    if not repository.under_git:
        folders += repository.top.parents
    for folder in folders:
        if found := [entry for entry in entries if str(folder) in entry.roots]:
            return found
    # Nothing has the very spelling: an entry written by hand may go through a symlink, or differ
    # in case where the file system doesn't. Only now is anything outside the project looked at.
    places = [(_place(root), entry) for entry in entries for root in entry.roots]
    for folder in folders if places else ():
        here = _place(folder)
        if found := [entry for place, entry in places if here is not None and place == here]:
            return found
    return []


def _place(folder: str | Path) -> tuple[int, int] | None:
    try:
        seen = Path(folder).stat()
    except (OSError, ValueError):
        return None
    return seen.st_dev, seen.st_ino


def _is_same_history(entry: ProjectEntry, repository: Repository) -> bool:
    if not entry.first_commits or repositories.holds_any(repository, entry.first_commits):
        return True
    return (
        repositories.is_shallow(repository)
        and repositories.primary_remote(repository) in entry.remotes
    )


def _of_fingerprint(entries: Sequence[ProjectEntry], repository: Repository) -> list[ProjectEntry]:
    held = [e for e in entries if repositories.holds_any(repository, e.first_commits)]
    if not held:
        return []  # no need to ask git for the remote
    remote = repositories.primary_remote(repository)
    if remote is None:
        return [e for e in held if not e.remotes and not any(map(os.path.lexists, e.roots))]
    return [entry for entry in held if remote in entry.remotes]
