"""The open vault: the one composition root of settings, store, index, tokens and clock."""

from __future__ import annotations

import os
import secrets
import shutil
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from keepm import config
from keepm.config import Policy, Settings
from keepm.errors import ConfigurationError, IndexUnavailable
from keepm.index.database import Database
from keepm.model.approval import ApprovalRule, Channel, Minimum
from keepm.model.checksum import Checksum
from keepm.model.identity import parse_project_id
from keepm.model.memory import Scope, Visibility
from keepm.operations import placement, projects
from keepm.operations.placement import Placement
from keepm.operations.places import index_path as index_path
from keepm.operations.places import vault_id as vault_id
from keepm.operations.progress import Progress
from keepm.operations.projects import Identity
from keepm.operations.worktree import Relocations
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.transaction import Root
from keepm.tokens import DiagnosisTokens, PlanTokens, ReadTokens


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the time, in UTC."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for a change: the face, what the handshake told of the client, and the channel."""

    surface: str  # mcp | cli | web | import
    channel: Channel
    client: str = ""
    client_version: str = ""
    session: str = ""
    terminal: str = ""  # tty or none, of the owner's commands
    agreed: Checksum | None = None  # the digest of what the host's person said yes to


@dataclass(frozen=True, slots=True)
class Vault:
    """Everything a use case works with. Made by `open_vault`, closed by `close`."""

    settings: Settings
    policy: Policy
    identity: Identity
    visibility: Visibility
    root: Root
    database: Database
    tokens: ReadTokens
    plans: PlanTokens
    diagnoses: DiagnosisTokens
    approval: ApprovalRule
    placement: Placement
    clock: Clock = field(default_factory=SystemClock)
    progress: Progress = field(default_factory=Progress)
    relocations: Relocations = field(default_factory=Relocations)
    # Why nothing can be changed by this process; reading goes on.
    read_only: str | None = None
    # The index of this process only, where the data folder can't be written.
    temporary: Path | None = None

    def now(self) -> str:
        """Return the time as the vault writes it (RFC 3339, UTC, seconds)."""
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def reviews_edits(self) -> bool:
        """Tell whether hand edits wait for a person's look before they are read."""
        return self.settings.approval_external_edits == "review"

    def today(self) -> str:
        """Return the date in UTC."""
        return self.clock.now().strftime("%Y-%m-%d")

    def new_id(self) -> str:
        """Return a fresh UUID."""
        return str(uuid.uuid4())  # noqa: TID251 - the one place

    def new_token(self) -> str:
        """Return a secret that nobody can guess."""
        return _secret()

    def require_writable(self) -> None:
        """Let a change pass.

        Raises:
            ConfigurationError: this machine's data folder can't be written.
        """
        if self.read_only is not None:
            raise ConfigurationError(
                f"nothing can be changed: {self.read_only}",
                hint="Restore write access to that folder, or set XDG_DATA_HOME to another one.",
            )

    def scope(self, label: str) -> Scope:
        """Turn `global` or `project` into the scope it means for this server.

        Raises:
            ConfigurationError: a project scope where no project was set up.
        """
        if label == "global":
            return Scope()
        if self.visibility.project_id is None:
            raise ConfigurationError(
                "no project is set up for this folder, so there is no project memory here",
                hint="Run `keepm setup` in the project, or use scope=global.",
            )
        return Scope(self.visibility.project_id)

    def close(self) -> None:
        """Close the index; the notes need no closing."""
        self.progress.stop()
        self.database.close()
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)


def writer_id(settings: Settings) -> str:
    """Return this machine's id as a writer of ledgers, made on first use; it tells nothing else.

    Raises:
        ConfigurationError: it can't be read, or not be made.
    """
    path = settings.data_dir / "writer-id"
    if os.path.exists(path):
        return _read_writer_id(path)
    fresh = settings.data_dir / f".writer-id-{secrets.token_hex(4)}"
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh.write_text(f"{uuid.uuid4()}\n", "ascii")  # noqa: TID251
        try:
            # Whoever links first decides; another process's id must not be replaced.
            path.hardlink_to(fresh)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    except OSError as error:
        raise ConfigurationError(
            f"the data folder can't be written ({error.strerror or type(error).__name__})",
            hint="Restore write access to that folder, or set XDG_DATA_HOME to another one.",
        ) from error
    return _read_writer_id(path)


def _read_writer_id(path: Path) -> str:
    try:
        return str(uuid.UUID(path.read_text("ascii").strip()))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            "the file `writer-id` in the data folder can't be read as this machine's id",
            hint="Delete that file; a new id is made, with a ledger of its own.",
        ) from error


def open_vault(
    settings: Settings,
    *,
    everything: bool = False,
    project_id: str | None = None,
    clock: Clock | None = None,
    reads: bool = False,
) -> Vault:
    """Open the vault of these settings without walking it.

    `everything` gives the owner's view over all projects, `project_id` that of one whatever the
    folder; no MCP server asks for either. What only `reads` opens the index for writing when it
    has to catch up, and not before.

    Raises:
        InvalidIdentifier: `project_id` can't be a project's.
        ConfigurationError, IndexUnavailable: as their rooms say.
    """
    identity = projects.resolve(settings)
    if project_id is not None:
        chosen = parse_project_id(project_id)
        if chosen != identity.project_id:
            identity = _elsewhere(settings, chosen)
    where = placement.look(settings)
    writer, read_only = _writer(settings)
    database, temporary = _index(settings, where, reads=reads)
    return Vault(
        settings=settings,
        policy=config.load_policy(),
        identity=identity,
        visibility=Visibility(identity.project_id, everything=everything),
        root=Root(paths=VaultPaths(settings.root), disk=OSDisk(), writer_id=writer),
        database=database,
        tokens=ReadTokens(seconds=time.monotonic, secret=_secret),
        plans=PlanTokens(seconds=time.monotonic, secret=_secret),
        diagnoses=DiagnosisTokens(seconds=time.monotonic, secret=_secret),
        approval=approval_rule(settings),
        placement=where,
        clock=clock or SystemClock(),
        read_only=read_only,
        temporary=temporary,
    )


def _writer(settings: Settings) -> tuple[str, str | None]:
    """Return this machine's id as a writer, or one that must not write and why."""
    try:
        return writer_id(settings), None
    except ConfigurationError as error:
        return str(uuid.uuid4()), error.message  # noqa: TID251


def _index(settings: Settings, where: Placement, *, reads: bool) -> tuple[Database, Path | None]:
    """Open the index; one for this process alone where the data folder can't be written.

    Raises:
        IndexUnavailable: that can't be made either.
    """
    path = index_path(settings)
    temporary = None if _is_writable(path) else _temporary_folder()
    try:
        database = Database.open(
            path if temporary is None else temporary / path.name,
            vault_id=vault_id(settings),
            journal_mode=where.journal_mode,
            apart=reads,
        )
    except IndexUnavailable:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    return database, temporary


def _is_writable(path: Path) -> bool:
    """Tell whether the index can be kept at its place, as far as permissions say."""
    try:
        if path.exists() and not os.access(path, os.W_OK):
            return False
        folder = path.parent
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
    except OSError:
        return False  # we aren't let near it
    return os.access(folder, os.W_OK | os.X_OK)


def _temporary_folder() -> Path:
    import tempfile  # hardly ever needed

    try:
        return Path(tempfile.mkdtemp(prefix="keepm-index-"))
    except OSError as error:
        raise IndexUnavailable(
            "neither the data folder nor the folder for temporary files can be written",
            hint="Restore write access to one of them; the notes themselves are unaffected.",
        ) from error


def _elsewhere(settings: Settings, project_id: str) -> Identity:
    """Return the identity of a project other than the folder's, with its own work tree if known."""
    entries = (each for each in settings.projects if each.project_id == project_id)
    roots = [Path(root) for each in entries for root in each.roots]
    # Without a work tree here nothing is compared: the sources' state is unknown.
    top = next((root for root in roots if os.path.isdir(root)), settings.root / project_id)
    return Identity(project_id, top, top, "chosen with --project")


def approval_rule(settings: Settings) -> ApprovalRule:
    """Return the configured minimum of approval as a rule."""
    return ApprovalRule(
        Minimum(settings.approval_minimum),
        {kind: Minimum(value) for kind, value in settings.approval_by_kind.items()},
    )


def _secret() -> str:
    return secrets.token_urlsafe(18)
