"""Whether notes still stand: their sources against the work tree, their last verification."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from keepm.model import rules, verification
from keepm.model.diagnosis import Finding
from keepm.model.memory import Memory, Status, source_path
from keepm.model.verification import Verification
from keepm.operations import freshness, recognition
from keepm.operations.diagnosis.survey import Seen
from keepm.operations.freshness import SourceState
from keepm.operations.vault import Vault
from keepm.operations.worktree import Look, Relocations

_CODES = {
    SourceState.MISSING: "source_pointer_missing",
    SourceState.CHANGED: "source_pointer_changed",
    SourceState.MOVED: "source_pointer_moved",
}
_VERIFICATION = {
    Verification.MISSING: ("verification_missing", "created", "never verified in over {} days"),
    Verification.OVERDUE: ("verification_overdue", "verified_at", "verified over {} days ago"),
}


def findings(vault: Vault, seen: Sequence[Seen]) -> Iterator[Finding]:
    """Yield what active notes rest on that isn't there any more, or wasn't looked at for long."""
    trees = WorkTrees(vault)
    looks: dict[str, Look | None] = {}
    skipped: Counter[str] = Counter()
    for each in seen:
        note = each.content
        if not isinstance(note, Memory) or note.status is not Status.ACTIVE:
            continue
        yield from _verification(vault, each, note)
        project = each.scope.project_id
        if note.claim.sources and project is not None:
            if project not in looks:
                beside = trees.beside(project)
                looks[project] = None if beside is None else Look(beside.identity.top)
            if (look := looks[project]) is None:
                skipped[project] += 1
            else:
                yield from _sources(look, vault.relocations, each, note)
    for project, number in skipped.items():
        reason = f"{number} note{'s' if number > 1 else ''} with sources and no work tree here"
        scope = next(each.scope for each in seen if each.scope.project_id == project)
        yield rules.finding(
            "source_pointer_check_skipped", reason, subject=project, scope=scope, detail=project
        )


class WorkTrees:
    """The vault as a server beside each project's work tree on this machine would see it."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._known: dict[str, Vault | None] = {}

    def beside(self, project_id: str) -> Vault | None:
        """Return the vault with the work tree of a project, if a folder here still is that one."""
        if project_id not in self._known:
            self._known[project_id] = self._found(project_id)
        return self._known[project_id]

    def _found(self, project_id: str) -> Vault | None:
        vault = self._vault
        if vault.identity.project_id == project_id and os.path.isdir(vault.identity.top):
            return vault
        for entry in vault.settings.projects:
            for root in entry.roots if entry.project_id == project_id else ():
                found = recognition.resolve(replace(vault.settings, project_dir=Path(root)))
                if found.project_id == project_id and os.path.isdir(found.top):
                    return replace(vault, identity=found)
        return None


def _sources(look: Look, relocations: Relocations, each: Seen, note: Memory) -> Iterator[Finding]:
    digests = dict(note.source_digests)
    for number, source in enumerate(note.claim.sources):
        if not source_path(source):
            continue
        found = freshness.of(source, digests, look, relocations)
        if found.state in _CODES:
            yield rules.finding(
                _CODES[found.state],
                f"sources[{number}]: {found}",
                path=each.path,
                line=each.lines.get("sources"),
                subject=each.subject,
                scope=each.scope,
                detail=source,
                checksum=each.checksum,
            )


def _verification(vault: Vault, each: Seen, note: Memory) -> Iterator[Finding]:
    found = verification.state(
        vault.policy,
        note.claim.kind,
        note.status,
        verified_at=note.claim.verified_at,
        created=note.created,
        today=vault.today(),
        days=vault.settings.verification_review_days,
    )
    if found in _VERIFICATION:
        code, key, says = _VERIFICATION[found]
        yield rules.finding(
            code,
            says.format(vault.settings.verification_review_days),
            path=each.path,
            line=each.lines.get(key),
            subject=each.subject,
            scope=each.scope,
            checksum=each.checksum,
        )
