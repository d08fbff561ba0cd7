"""What surrounds the vault on this machine: what it lies on, and which repositories it serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keepm.config import ProjectEntry
from keepm.model import identity, rules
from keepm.model.diagnosis import Finding
from keepm.model.filesystems import Filesystem
from keepm.model.scope import Scope
from keepm.operations import projects, repositories
from keepm.operations.vault import Vault


def findings(vault: Vault) -> Iterator[Finding]:
    """Yield what makes this place a bad one, odd settings, and projects that are mixed up."""
    yield from _place("vault", vault.placement.vault)
    yield from _place("index", vault.placement.index)
    for name in vault.settings.unknown:
        yield rules.finding("unknown_setting", subject=name)
    yield from _projects(vault)


def _place(what: str, filesystem: Filesystem) -> Iterator[Finding]:
    if filesystem.network:
        reason = f"the {what} lies on {filesystem.type}, a network or shared file system"
        yield rules.finding("network_filesystem", reason, subject=what)
    if filesystem.synced_by:
        reason = f"the {what} is kept in step with other machines by {filesystem.synced_by}"
        yield rules.finding("sync_folder", reason, subject=what)


def _projects(vault: Vault) -> Iterator[Finding]:
    entries = [e for e in vault.settings.projects if vault.visibility.sees(Scope(e.project_id))]
    for entry in entries:
        scope = Scope(entry.project_id)
        if _is_shared(entry):
            yield rules.finding("project_id_shared", subject=entry.project_id, scope=scope)
    if not vault.visibility.everything:
        return  # what else there is would name projects to those that don't have them
    by_key: dict[str, list[str]] = {}
    for entry in entries:
        by_key.setdefault(identity.file_key(entry.project_id), []).append(entry.project_id)
    for ids in by_key.values():
        for project_id in ids if len(ids) > 1 else ():
            others = ", ".join(each for each in ids if each != project_id)
            reason = f"it differs from {others} in upper and lower case only"
            scope = Scope(project_id)
            yield rules.finding("project_id_twin", reason, subject=project_id, scope=scope)
    for project_id in sorted(projects.in_vault(vault.root.paths.root)):
        if identity.file_key(project_id) not in by_key:
            yield rules.finding("project_not_set_up", subject=project_id, scope=Scope(project_id))


def _is_shared(entry: ProjectEntry) -> bool:
    """Tell whether two repositories on this machine have nothing in common but this id.

    A second clone and a work tree have the first commit in common, a fork the history.
    """
    found = [
        repository
        for root in entry.roots
        if (repository := repositories.locate(Path(root))) is not None and repository.git_dir
    ]
    commits = {
        repository.home: frozenset(repositories.first_commits(repository)) for repository in found
    }
    known = [each for each in commits.values() if each]
    return any(not (a & b) for number, a in enumerate(known) for b in known[number + 1 :])
