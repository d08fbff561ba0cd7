"""The ids of projects: proposed by setup, bound and unbound by the owner.

Which project a folder is stands in `recognition`: what a repository says of itself only makes
the proposal that setup puts to the owner.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Collection, Iterator, MutableSequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from keepm.config import ProjectEntry, Settings
from keepm.errors import ConfigurationError, InvalidIdentifier, KeepMError
from keepm.model import identity, layout
from keepm.operations import repositories, settings_file
from keepm.operations.recognition import Identity as Identity
from keepm.operations.recognition import ids
from keepm.operations.recognition import resolve as resolve
from keepm.operations.repositories import Repository
from keepm.store import marks
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths

DECLARATION = ".keepm.toml"
"""The file in which a repository may propose its id."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """The id that setup offers for a folder."""

    project_id: str
    source: str  # entry | .keepm.toml | remote | folder
    known: bool  # the vault or this machine has this id already, perhaps for another repository
    note: str = ""  # what was left out, for the owner


# ---- what setup offers -----------------------------------------------------------------------


def propose(settings: Settings, *, vault_projects: Collection[str]) -> Proposed:
    """Return the id to offer for the settings' folder.

    The declaration comes before the remote's name, this before the folder's. A name that another
    repository has on this machine is told apart by the remote's owner. `known` says that the id
    is in use, and that the owner has to say whether this is the same project.

    Raises:
        ConfigurationError: the folder is not there.
    """
    found = resolve(settings)
    if found.project_id is not None:
        return Proposed(found.project_id, "entry", known=False)
    repository = _located(settings)
    taken = {identity.file_key(each) for each in (*vault_projects, *ids(settings.projects))}
    declared, note = _declared(repository.top)
    if declared is not None:
        return Proposed(declared, DECLARATION, known=identity.file_key(declared) in taken)
    remote = repositories.primary_remote(repository)
    if remote is None:
        chosen, source = identity.propose_project_id(repository.home.name), "folder"
    else:
        chosen, source = _from_remote(settings, repository, remote), "remote"
    return Proposed(chosen, source, known=identity.file_key(chosen) in taken, note=note)


def _from_remote(settings: Settings, repository: Repository, remote: str) -> str:
    *before, name = remote.removeprefix("file:").split("/")
    plain = identity.propose_project_id(name)
    key = identity.file_key(plain)
    others = [e for e in settings.projects if identity.file_key(e.project_id) == key]
    # The same history or address under this id is rather this very project: then the owner is
    # asked, instead of starting a second memory.
    elsewhere = others and not any(
        remote in e.remotes or repositories.holds_any(repository, e.first_commits) for e in others
    )
    # A local path has no owner; its folders may name the machine's user.
    if elsewhere and len(before) > 1 and not remote.startswith("file:"):
        return identity.propose_project_id(f"{name}-{before[-1]}")
    return plain


def _declared(top: Path) -> tuple[str | None, str]:
    """Return the id a repository asks for, or why its declaration is not used."""
    import tomllib

    if not os.path.lexists(top / DECLARATION):
        return None, ""
    text = repositories.read_small(top / DECLARATION)
    if text is None:
        return None, f"{DECLARATION} can't be read and is left out"
    try:
        value = tomllib.loads(text).get("project")
        if not isinstance(value, str):
            return None, f'{DECLARATION} has no project = "…" and is left out'
        return identity.parse_project_id(value), ""
    except tomllib.TOMLDecodeError as error:
        return None, f"{DECLARATION} is not valid TOML and is left out: {error}"
    except InvalidIdentifier as error:
        return None, f"{DECLARATION} is left out: {error.message}"


def in_vault(root: Path) -> frozenset[str]:
    """Return the ids that the vault has folders for; none when it can't be read."""
    paths, disk = VaultPaths(root), OSDisk()
    found: set[str] = set()
    for folder in _project_folders():
        try:
            for name, state in disk.scan(paths.locate(folder)):
                if marks.kind(state) == stat.S_IFDIR and not name.startswith("."):
                    found.add(unicodedata.normalize("NFC", name))
        except (OSError, KeepMError):
            continue
    return frozenset(found)


def _project_folders() -> Iterator[str]:
    for folder in layout.SEARCHED_FOLDERS:
        if folder.endswith("/projects"):
            yield folder
        elif not folder.endswith("/global"):
            yield f"{folder}/projects"


# ---- setting up --------------------------------------------------------------------------------


def bind(settings: Settings, project_id: str) -> ProjectEntry:
    """Record in the settings file that this folder's repository has an id; return the entry.

    The folder leaves any other entry: it belongs to one project. An id that is there already is
    extended by this repository, which is for the owner to want.

    Raises:
        InvalidIdentifier: it can't be a project id.
        ConfigurationError: the folder is not there or can't be a project, another id differs from
            this one in case only, or the settings file can't be changed.
    """
    chosen = identity.parse_project_id(project_id)
    repository = _located(settings)
    root = str(repository.home)
    if repository.home == Path(repository.home.anchor):
        raise ConfigurationError(
            "the root of the file system can't be a project", hint="Go to the project's folder."
        )
    remote = repositories.primary_remote(repository)
    seen = ProjectEntry(
        chosen,
        roots=(root,),
        remotes=(remote,) if remote else (),
        first_commits=repositories.first_commits(repository),
    )
    merged = seen

    def change(document: settings_file.Table) -> None:
        nonlocal merged
        projects = settings_file.subtable(document, "projects")
        for key in list(projects):
            if _spelled(key) != chosen:
                _refuse_twin(key, chosen)
                _leave(projects, key, repository)
        key = next((key for key in projects if _spelled(key) == chosen), chosen)
        merged = _extend(settings_file.subtable(projects, key), seen)

    settings_file.edit(settings.config_file, change)
    return merged


def unbind(settings: Settings, project_id: str | None = None) -> bool:
    """Take this folder out of its project's entry (or only out of that id's); tell if it was there.

    An entry without folders goes. Notes are not touched.

    Raises:
        ConfigurationError: the settings file can't be changed.
    """
    gone = Repository(settings.project_dir, settings.project_dir, None, under_git=False)
    repository = repositories.locate(settings.project_dir) or gone
    left = False

    def change(document: settings_file.Table) -> None:
        nonlocal left
        projects = settings_file.subtable(document, "projects")
        for key in list(projects):
            if project_id is None or _spelled(key) == _spelled(project_id):
                left = _leave(projects, key, repository) or left
        if not projects:
            del document["projects"]

    settings_file.edit(settings.config_file, change)
    return left


def _located(settings: Settings) -> Repository:
    repository = repositories.locate(settings.project_dir)
    if repository is None:
        raise ConfigurationError(
            "the project folder is not there", hint="Give one that is: --project-dir FOLDER"
        )
    return repository


def _refuse_twin(key: str, chosen: str) -> None:
    if identity.file_key(key) == identity.file_key(chosen):
        raise ConfigurationError(
            f"the project '{key}' differs from '{chosen}' in upper and lower case only",
            hint=f"Use '{key}', or an id of its own.",
        )


def _spelled(key: str) -> str:
    return unicodedata.normalize("NFC", key.strip())


def _leave(projects: settings_file.Table, key: str, repository: Repository) -> bool:
    """Take a repository's folder out of an entry; tell whether it was in it."""
    entry = settings_file.subtable(projects, key)
    roots = entry.get("roots", [])
    if str(repository.home) not in roots:
        return False
    roots.remove(str(repository.home))
    commits = tuple(str(commit) for commit in entry.get("first_commits", ()))
    # Another history means that the entry's own repository was renamed: it is still known by it.
    if not roots and (not commits or _has_moved_out(commits, repository)):
        del projects[key]
    return True


def _has_moved_out(commits: tuple[str, ...], repository: Repository) -> bool:
    return repository.git_dir is None or repositories.holds_any(repository, commits)


def _extend(table: settings_file.Table, seen: ProjectEntry) -> ProjectEntry:
    def joined(key: str, new: tuple[str, ...]) -> tuple[str, ...]:
        if key not in table:
            table[key] = []
        values: MutableSequence[Any] = table[key]
        for value in new:
            if value not in values:
                values.append(value)
        return tuple(str(value) for value in values)

    return replace(
        seen,
        roots=joined("roots", seen.roots),
        remotes=joined("remotes", seen.remotes),
        first_commits=joined("first_commits", seen.first_commits),
    )
