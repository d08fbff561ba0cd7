"""What the tests of operations and faces share: a machine with a vault, projects and a clock."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import tomlkit

from keepm import config
from keepm.config import Settings
from keepm.model.approval import Channel
from keepm.model.handoff import HandoffEdit
from keepm.model.memory import Claim, ClaimEdit, Kind, Scope
from keepm.operations import memories, sync
from keepm.operations.memories import MemoryEdit, MemoryWritten
from keepm.operations.vault import Caller, Vault, open_vault
from keepm.store import ledger, transaction
from keepm.store.disk import OSDisk
from keepm.store.event import LedgerEvent
from keepm.store.paths import VaultPaths
from keepm.tokens import WriteProof

AGENT = Caller(surface="mcp", channel=Channel.RELAYED, client="tester", client_version="1")
OWNER = Caller(surface="cli", channel=Channel.OWNER_CLI, terminal="tty")
CONTRACT = "## Decision and constraints\n\nUse it.\n\n## Reproducible parameters\n\n- port 9721\n"
WIDGETS = Scope("widgets")
HANDOFF = HandoffEdit(
    title="Move to pnpm",
    goal="One package manager.",
    current_state="Half of the packages are moved.",
    completed=("the root",),
    unresolved=("who owns the cache?",),
    next_steps=("move web", "move api"),
    verification=("run the tests",),
)
Opening = Callable[[Path | None], Vault]
"""Opens the machine's vault from a project's folder, or from one that isn't set up."""
HAND_MADE = (
    "\ufeff---\r\n"
    "id: 6f0c0a4e-51a5-4a7e-9a57-3d1f5a3c0001\r\n"
    "# why: asked twice\r\n"
    "name:   'build-command'   # the slot\r\n"
    "rating: {stars: 5}\r\n"
    "description: How to build\r\n"
    "tags: [ci,  docker]\r\n"
    "kind: reference\r\n"
    "状态: 人写的\r\n"
    "---\r\n"
    "\r\n"
    "    indented first line\r\n"
    "--- not a rule\r\n"
)
"""A note as a person may have it: BOM, CRLF, comments, unknown keys, odd quoting."""


class FixedClock:
    """A clock that stands still until it is set forward."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 29, 18, 15, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def forward(self, *, seconds: float = 0, days: float = 0) -> None:
        self.time += timedelta(seconds=seconds, days=days)


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine: a vault's folder, settings, and the projects it knows."""

    folder: Path
    clock: FixedClock = field(default_factory=FixedClock)

    @property
    def root(self) -> Path:
        return self.folder / "vault"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "KEEPM_CONFIG": str(self.folder / "config.toml"),
            "KEEPM_DATA_DIR": str(self.folder / "data"),
        }

    def project(self, project_id: str) -> Path:
        """Make a project's folder and let this machine know it."""
        place = self.folder / "work" / project_id
        (place / ".git").mkdir(parents=True)
        self.configure({"projects": {project_id: {"roots": [str(place)]}}})
        return place

    def configure(self, settings: Mapping[str, object]) -> None:
        """Add settings to the user's file."""
        path = self.folder / "config.toml"
        known = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
        for key, value in settings.items():
            if isinstance(value, Mapping):
                known[key] = {**known.get(key, {}), **value}
            else:
                known[key] = value
        path.write_bytes(tomlkit.dumps(known).encode())

    def settings(self, project_dir: Path | None = None) -> Settings:
        unknown = self.folder / "elsewhere"
        unknown.mkdir(exist_ok=True)
        flags = {"root": str(self.root), "project_dir": str(project_dir or unknown)}
        return config.load(flags, self.environ, self.folder)

    def open(self, project_dir: Path | None = None) -> Vault:
        """Open the vault from a project's folder, or from one that isn't set up."""
        transaction.initialise(VaultPaths(self.root), OSDisk())
        return open_vault(self.settings(project_dir), clock=self.clock)

    def beside(self) -> Machine:
        """Return another machine on the very same folder, which knows the same project."""
        other = Machine(self.folder / "other")
        other.folder.mkdir()
        other.root.symlink_to(self.root)
        other.project("widgets")
        return other

    def put(self, path: str, text: str | bytes) -> Path:
        """Write a file of the vault by hand."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def files(self) -> dict[str, bytes]:
        """Return the vault's files by path, KeepM's own records apart."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and not path.is_symlink() and ".keepm" not in path.parts
        }

    def index_files(self) -> list[Path]:
        return list((self.folder / "data/indexes").glob("*.sqlite3*"))


def claim(slot: str = "build-command", /, **fields: object) -> Claim:
    """Make a claim that meets every rule, with the given fields."""
    values: dict[str, object] = {
        "name": slot,
        "description": f"What {slot} is",
        "kind": Kind.REFERENCE,
        "body": f"The text of {slot}.\n",
        "scope": WIDGETS,
        **fields,
    }
    return Claim(**values)  # type: ignore[arg-type]  # the tests give fields by name


def written_proof(written: MemoryWritten) -> WriteProof:
    return WriteProof(written.token, written.document.checksum)


def proof(vault: Vault, identifier: str) -> WriteProof:
    """Read a note completely for a change."""
    reading = memories.read(vault, identifier, max_chars=100_000)
    assert reading.token is not None
    return WriteProof(reading.token, reading.document.checksum)


def edit(**fields: object) -> MemoryEdit:
    return MemoryEdit(ClaimEdit(**fields))  # type: ignore[arg-type]  # the tests give fields by name


def events(vault: Vault) -> list[LedgerEvent]:
    """Return the vault's ledger, which must be sound."""
    assert ledger.verify(vault.root) == []
    return list(ledger.read_all(vault.root))


def look(vault: Vault) -> None:
    """Let the index see what was written by hand just now."""
    sync.reconcile(vault)
