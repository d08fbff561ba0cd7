"""A pull request's question: which notes document what it touches, and do they still stand?"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from keepm import config
from keepm.errors import ConfigurationError, InvalidInput, Problem
from keepm.index import catalog
from keepm.index.rows import NoteRow
from keepm.markdown import frontmatter
from keepm.model import diagnosis, identity, rules
from keepm.model.diagnosis import Finding
from keepm.model.memory import source_path
from keepm.operations import freshness
from keepm.operations.diagnosis import Diagnosis
from keepm.operations.freshness import SourceState
from keepm.operations.vault import Vault
from keepm.store import reader

_GIT_SECONDS = 60.0
_SHOWN = 3
_BY_AGENT = (
    "Check the note against the change and let an agent set verified_at: memory_update records "
    "which version was checked."
)


def examine(vault: Vault, revision: str) -> Diagnosis:
    """Find the active notes of the project whose sources changed since a revision.

    A note still stands when its recorded digest is that of the file as it is now. A note without
    a digest, or on a folder, stands when it is part of the same change and has `verified_at`.

    Raises:
        ConfigurationError: no project here, no work tree, no git, or no such revision.
        InvalidInput: the revision can't be one.
    """
    project = vault.visibility.project_id
    if project is None or not os.path.isdir(vault.identity.top):
        raise ConfigurationError(
            "no project is set up for this folder, so there is nothing to compare a change with",
            hint="Run `keepm setup` here, or name the project with --project.",
        )
    changed = changed_files(vault.identity.top, revision)
    found = list(_findings(vault, changed))
    return Diagnosis(diagnosis.ordered(found), files=len(changed), project=project)


def changed_files(top: Path, revision: str) -> tuple[str, ...]:
    """Return the files that differ from where a revision and this work tree parted.

    Raises:
        ConfigurationError, InvalidInput: as `examine`.
    """
    if not revision.strip() or revision.startswith("-") or "\0" in revision:
        message = "must be a branch, a tag or a commit"
        raise InvalidInput(
            f"--changed-since {message}", problems=[Problem("changed_since", message)]
        )
    program = shutil.which("git")
    if program is None:
        raise ConfigurationError("git isn't installed", hint="Install git.")
    line = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--merge-base", revision)
    try:
        done = subprocess.run(  # noqa: S603 - an absolute program, no shell, and no option by choice
            [program, "-c", "core.fsmonitor=false", *line, "--"],
            cwd=top,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**config.environment(), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _incomparable(revision) from error
    if done.returncode:
        raise _incomparable(revision)
    return tuple(name for name in done.stdout.decode("utf-8", "replace").split("\0") if name)


def prefix(vault: Vault) -> str | None:
    """Return the vault's folder as seen from the work tree's top, or nothing when it is outside."""
    try:
        root, top = map(os.path.realpath, (vault.root.paths.root, vault.identity.top))
        inside = Path(root).relative_to(top)
    except (OSError, ValueError):
        return None
    return "" if inside == Path() else inside.as_posix()


def _findings(vault: Vault, changed: Collection[str]) -> Iterator[Finding]:
    before = prefix(vault)
    touched = {identity.file_key(path) for path in changed}
    notes: dict[str, NoteRow] = {}
    for path in changed:
        rows, _ = catalog.catalog(vault.database, vault.visibility, source_path=path)
        notes.update({row.path: row for row in rows if row.scope.project_id is not None})
    for row in notes.values():
        documented = sorted(_documented(row, changed))
        own = None if before is None else f"{before}/{row.path}" if before else row.path
        # A person who edits the note in the same change has looked at it.
        vouched = own is not None and identity.file_key(own) in touched and bool(row.verified_at)
        late = [
            path
            for pointer, path in documented
            if not _stands(vault, row, pointer, is_vouched=vouched)
        ]
        if late:
            unique = list(dict.fromkeys(late))
            more = f" and {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
            yield rules.finding(
                "documented_file_changed",
                f"it documents {', '.join(unique[:_SHOWN])}{more}, changed here",
                path=row.path,
                line=_line(vault, row.path),
                subject=row.id,
                scope=row.scope,
                # A hand edit records no digest, and one of a note elsewhere is seen by nobody.
                fix=_BY_AGENT if own is None or row.source_digests else "",
                checksum=row.checksum,
            )


def _documented(row: NoteRow, changed: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield a note's pointers with the changed files they cover."""
    for pointer in row.sources:
        key = identity.file_key(source_path(pointer).rstrip("/"))
        for path in changed:
            its = identity.file_key(path)
            if key and (its == key or its.startswith(f"{key}/") or key == "."):
                yield pointer, path


def _stands(vault: Vault, row: NoteRow, pointer: str, *, is_vouched: bool) -> bool:
    found = freshness.state(vault, row.scope, (pointer,), dict(row.source_digests))
    if found is None or found.state is SourceState.FRESH:
        return True
    return is_vouched and found.state in (SourceState.UNVERIFIED, SourceState.UNKNOWN)


def _line(vault: Vault, path: str) -> int | None:
    data = reader.read(vault.root, path, limit=vault.policy.document_bytes)
    return frontmatter.parse(data).lines.get("sources")


def _incomparable(revision: str) -> ConfigurationError:
    return ConfigurationError(
        f"git can't compare this work tree with '{revision}'",
        hint="Fetch it with its history (in CI: fetch-depth: 0), and run in the work tree.",
    )
