"""A corpus as a vault: its cards as notes on disk, and beside them what must never be found.

Most cards have a twin with the same name and words that is archived, superseded, pending,
another project's, a handoff, withheld or deleted. All twins are there in the same vault.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from keepm import config
from keepm.markdown import handoffs, memories, proposals
from keepm.model import layout
from keepm.model.handoff import Handoff
from keepm.model.layout import Shelf
from keepm.model.memory import Claim, Memory, Scope, Status
from keepm.model.proposal import Proposal
from keepm.operations import sync
from keepm.operations.vault import Vault, open_vault
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.transaction import initialise
from tests.benchmarks.retrieval.cards import Corpus

PROJECT = Scope("harbor")
FOREIGN = Scope("elsewhere")
NEGATIVES = (
    *("archived", "superseded", "pending", "other-project", "handoff", "withheld", "deleted"),
    "",  # no twin
)

_DAY = "2026-01-01T00:00:00Z"
_STATUS = b"status: active\n"  # a key that stands twice makes a note withheld


@dataclass(frozen=True, slots=True)
class Shelves:
    """An open vault with a corpus in it; `names` are the cards' names by their ids."""

    vault: Vault
    names: Mapping[str, str]

    def name(self, identity: str) -> str:
        """Return a card's name; of a note that must not be found, `negative` and its sort."""
        return self.names[identity]


@contextmanager
def filled(home: Path, corpus: Corpus, *, negatives: bool) -> Iterator[Shelves]:
    """Write a corpus into a new vault below a folder and lend it, open and indexed."""
    project_dir = home / "work"
    (project_dir / ".git").mkdir(parents=True)
    root = home / "vault"
    (home / "config.toml").write_text(
        f'[projects.{PROJECT.key}]\nroots = ["{project_dir.as_posix()}"]\n', "utf-8"
    )
    settings = config.load(
        {"root": str(root), "project_dir": str(project_dir)},
        {"KEEPM_CONFIG": str(home / "config.toml"), "KEEPM_DATA_DIR": str(home / "data")},
        home,
    )
    initialise(VaultPaths(root), OSDisk())
    names: dict[str, str] = {}
    for number, (name, claim) in enumerate(corpus.cards.items()):
        identity = _id(name)
        names[identity] = name
        path = f"{layout.folder(Shelf.MEMORY, claim.scope)}/{number:06}.md"
        _put(root, path, memories.render(_memory(identity, claim)))
        sort = NEGATIVES[number % len(NEGATIVES)] if negatives else ""
        if sort:
            twin = _id(f"{sort} {name}")
            names[twin] = f"negative {sort}"
            _put(root, *_negative(sort, twin, claim))
    vault = open_vault(settings)
    try:
        sync.reconcile(vault)
        yield Shelves(vault, names)
    finally:
        vault.close()


def _negative(sort: str, identity: str, claim: Claim) -> tuple[str, bytes]:
    match sort:
        case "archived" | "superseded":
            note = replace(_memory(identity, claim), status=Status(sort))
            return _beside(PROJECT, identity), memories.render(note)
        case "other-project":
            note = _memory(identity, replace(claim, scope=FOREIGN))
            return _beside(FOREIGN, identity), memories.render(note)
        case "pending":
            proposal = Proposal(identity, claim, "It came up.", created=_DAY, updated=_DAY)
            path = layout.inbox_path(Shelf.PROPOSAL, claim.scope, claim.name, identity)
            return path, proposals.render(proposal)
        case "handoff":
            text = re.sub(r"^#+ ", "", claim.body, flags=re.MULTILINE)
            handoff = Handoff(
                id=identity,
                project_id=PROJECT.key,
                title=claim.name,
                goal=claim.description,
                current_state=text[:1500],
                created=_DAY,
                updated=_DAY,
            )
            path = layout.inbox_path(Shelf.HANDOFF, PROJECT, claim.name, identity)
            return path, handoffs.render(handoff)
        case "withheld":
            data = memories.render(_memory(identity, claim))
            return _beside(PROJECT, identity), data.replace(_STATUS, _STATUS * 2, 1)
        case _:
            path = layout.trash_path(
                _beside(PROJECT, identity), stamp="20260101T000000Z", transaction_id=_id(identity)
            )
            return path, memories.render(_memory(identity, claim))


def _memory(identity: str, claim: Claim) -> Memory:
    return Memory(id=identity, claim=claim, created=_DAY, updated=_DAY)


def _beside(scope: Scope, identity: str) -> str:
    return f"{layout.folder(Shelf.MEMORY, scope)}/twins/{identity}.md"


def _id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _put(root: Path, path: str, data: bytes) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
