"""Vaults of any size, the same for the same seed: notes, proposals and handoffs as people have
them, in both languages, with links, tags, sources and kept contracts.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from keepm import config
from keepm.config import Settings
from keepm.markdown import handoffs, memories, proposals
from keepm.model import layout
from keepm.model.approval import Channel
from keepm.model.handoff import Handoff
from keepm.model.layout import Shelf
from keepm.model.memory import GLOBAL, Claim, Kind, Language, Memory, Scope, Status
from keepm.model.proposal import Proposal
from keepm.operations.vault import writer_id
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.transaction import initialise
from tests.benchmarks.words import Words

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_STAMP = int(_EPOCH.timestamp() * 1e9)
"""Every file's time: long ago, since a fresh one has to be hashed again by the next pass."""

_NOTES_A_PROJECT = 500
_GLOBAL_SHARE = 0.15
_ZH_SHARE = 0.3
_PENDING_SHARE = 0.01
_KINDS = {
    Kind.DECISION: 22, Kind.CONSTRAINT: 14, Kind.FIX: 20, Kind.WORKFLOW: 12, Kind.REFERENCE: 10,
    Kind.PREFERENCE: 8, Kind.CAPABILITY: 6, Kind.OVERVIEW: 5, Kind.FEEDBACK: 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A generated vault with everything of one machine beside it."""

    home: Path
    notes: int
    projects: tuple[str, ...]

    @property
    def is_large(self) -> bool:
        """Tell whether filling an index takes minutes, so that it is measured once."""
        return self.notes > 20_000

    @property
    def root(self) -> Path:
        return self.home / "vault"

    @property
    def project_dir(self) -> Path:
        """The folder of the first project, in which servers and operations run."""
        return self.folder_of(self.projects[0])

    def folder_of(self, project: str) -> Path:
        """The folder of a project."""
        return self.home / "repositories" / project

    @property
    def environ(self) -> dict[str, str]:
        """The variables that keep settings and index in this place."""
        return {
            "KEEPM_CONFIG": str(self.home / "config.toml"),
            "KEEPM_DATA_DIR": str(self.home / "data"),
        }

    def settings(self) -> Settings:
        """Resolve the settings as a server started in the project's folder does."""
        flags: Mapping[str, str] = {"root": str(self.root), "project_dir": str(self.project_dir)}
        return config.load(flags, self.environ, self.home)


def generate(home: Path, *, notes: int, seed: int = 0) -> Place:
    """Make a vault with so many formal notes, and with it about a tenth as many other files."""
    rng = random.Random(seed)
    count = max(1, notes // _NOTES_A_PROJECT)
    place = Place(home, notes, tuple(f"project-{n:02}" for n in range(1, count + 1)))
    for project in place.projects:
        source = place.folder_of(project) / "src" / "main.py"
        source.parent.mkdir(parents=True)
        source.write_text("print('main')\n", "utf-8")
        (place.folder_of(project) / ".git").mkdir()
    (home / "config.toml").write_text(
        "".join(
            f'[projects.{name}]\nroots = ["{place.folder_of(name).as_posix()}"]\n'
            for name in place.projects
        ),
        "utf-8",
    )
    initialise(VaultPaths(place.root), OSDisk())
    writer_id(place.settings())
    _Author(place, rng).write()
    return place


class _Author:
    """Writes the files of one vault, remembering the slots that later notes may link to."""

    def __init__(self, place: Place, rng: random.Random) -> None:
        self._place, self._rng, self._words = place, rng, Words.of(rng)
        self._slots: list[str] = []
        self._folders: set[str] = set()

    def write(self) -> None:
        for number in range(self._place.notes):
            note = self._memory(number)
            path = layout.memory_path(note.claim.scope, note.claim.name)
            self._put(path, memories.render(note))
        for number in range(max(1, int(self._place.notes * _PENDING_SHARE))):
            self._propose(number)
        for project in self._place.projects:
            self._hand_off(project)

    def _memory(self, number: int) -> Memory:
        rng = self._rng
        claim = self._claim(number)
        made = _moment(rng)
        self._slots.append(claim.name)
        return Memory(
            id=self._id(),
            claim=claim,
            status=Status.ARCHIVED if rng.random() < 0.05 else Status.ACTIVE,
            created=made,
            updated=made,
            approved_via=rng.choice((Channel.RELAYED, Channel.HOST, Channel.OWNER_CLI)),
        )

    def _claim(self, number: int) -> Claim:
        rng = self._rng
        chinese = rng.random() < _ZH_SHARE
        kind = rng.choices(tuple(_KINDS), weights=tuple(_KINDS.values()))[0]
        words = self._words.chinese(rng, 3) if chinese else self._words.english(rng, 3)
        name = ("" if chinese else "-").join(word.rsplit("/", 1)[-1] for word in words)
        sources = rng.randint(0, 2) + (1 if kind is Kind.FIX else 0)
        scope = GLOBAL if rng.random() < _GLOBAL_SHARE else Scope(rng.choice(self._place.projects))
        return Claim(
            name=f"{name}-{number}",
            description=self._sentence(rng.randint(6, 16), chinese=chinese),
            kind=kind,
            body=self._body(kind, chinese=chinese),
            scope=scope,
            language=Language.ZH if chinese else Language.EN,
            tags=tuple(dict.fromkeys(self._words.english(rng, rng.randint(0, 4)))),
            pinned=rng.random() < 0.002,
            aliases=(f"alias-{number}",) if rng.random() < 0.15 else (),
            sources=tuple(f"src/part{rng.randrange(40)}.py#f{n}" for n in range(sources)),
            verified_at=_moment(rng)[:10] if sources else None,
        )

    def _body(self, kind: Kind, *, chinese: bool) -> str:
        """Return a body that keeps its kind's contract; most are short, a few are long."""
        rng = self._rng
        paragraphs = min(24, max(1, round(rng.lognormvariate(1.0, 0.8))))
        text = [self._paragraph(chinese=chinese) for _ in range(paragraphs)]
        half = (paragraphs + 1) // 2
        parameters = "\n".join(
            f"- {word}: {rng.randint(1, 9999)}" for word in self._words.english(rng, 3)
        )
        if kind in (Kind.DECISION, Kind.CONSTRAINT, Kind.FIX):
            text.insert(0, "## Decision and constraints")
            text.insert(half + 1, f"## Reproducible parameters\n\n{parameters}")
        if kind is Kind.FEEDBACK:
            text.insert(0, f"Why: {self._sentence(8, chinese=chinese)}")
        if kind in (Kind.PREFERENCE, Kind.WORKFLOW, Kind.FEEDBACK):
            text.insert(0, f"How to apply: {self._sentence(10, chinese=chinese)}")
        if self._slots and rng.random() < 0.4:
            links = [f"[[{rng.choice(self._slots)}]]" for _ in range(rng.randint(1, 3))]
            text.append(f"- depends on: {', '.join(links)}")
        return "\n\n".join(text) + "\n"

    def _paragraph(self, *, chinese: bool) -> str:
        sentences = self._rng.randint(1, 4)
        joint = "" if chinese else " "
        return joint.join(
            self._sentence(self._rng.randint(6, 20), chinese=chinese) for _ in range(sentences)
        )

    def _sentence(self, length: int, *, chinese: bool) -> str:
        if chinese:
            return "".join(self._words.chinese(self._rng, length)) + "。"
        return " ".join(self._words.english(self._rng, length)).capitalize() + "."

    def _propose(self, number: int) -> None:
        claim = self._claim(self._place.notes + number)
        made = _moment(self._rng)
        proposal = Proposal(
            id=self._id(),
            claim=claim,
            reason=self._sentence(8, chinese=claim.language is Language.ZH),
            created=made,
            updated=made,
            source_client="bench",
        )
        path = layout.inbox_path(Shelf.PROPOSAL, claim.scope, claim.name, proposal.id)
        self._put(path, proposals.render(proposal))

    def _hand_off(self, project: str) -> None:
        made = _moment(self._rng)
        handoff = Handoff(
            id=self._id(),
            project_id=project,
            title=f"Unfinished work on {project}",
            goal=self._sentence(12, chinese=False),
            current_state=self._paragraph(chinese=False),
            next_steps=tuple(self._sentence(8, chinese=False) for _ in range(3)),
            created=made,
            updated=made,
            source_client="bench",
        )
        path = layout.inbox_path(Shelf.HANDOFF, Scope(project), handoff.title, handoff.id)
        self._put(path, handoffs.render(handoff))

    def _id(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _put(self, path: str, data: bytes) -> None:
        folder = path.rsplit("/", 1)[0]
        if folder not in self._folders:
            (self._place.root / folder).mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)
        target = self._place.root / path
        target.write_bytes(data)
        os.utime(target, ns=(_STAMP, _STAMP))


def _moment(rng: random.Random) -> str:
    return (_EPOCH - timedelta(minutes=rng.randrange(500_000))).strftime("%Y-%m-%dT%H:%M:%SZ")
