"""What must hold of a vault after any call over MCP, watched from files and ledger alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from keepm.config import load_policy
from keepm.markdown import documents
from keepm.model import layout
from keepm.model.approval import Channel, Minimum
from keepm.model.document import AnyDocument
from keepm.model.layout import Shelf
from keepm.model.memory import Memory
from keepm.model.proposal import Proposal
from keepm.operations.vault import Vault
from keepm.store import ledger
from keepm.store.event import LedgerEvent
from tests.corpora import tokens
from tests.operations.support import Machine

MINIMUM = Minimum.RELAYED
BY_KIND = {"decision": Minimum.HOST, "workflow": Minimum.HOST, "constraint": Minimum.OWNER}
PLANTED = "q7Zx9canary"
"""Stands in every secret and hidden text that is offered."""
BAD = (
    f"db_password = '{PLANTED}!42x'",
    f"API_TOKEN: {PLANTED}8Fk2",
    f"postgres://app:{PLANTED}@db.corp.net/app",
    f"密码是 {PLANTED}#88",
    f"seen \u202e{PLANTED}\u202c",
    f"tag\U000e0041\U000e0042 {PLANTED}",
    f"<!-- {PLANTED} -->",
    f'<span style="display:none">{PLANTED}</span>',
    f"bell \x07 {PLANTED}",
    f"{tokens.SHAPES[8][1]} {PLANTED}",
)
"""What screening must keep out of every file, in whatever field it comes."""


def plain(body: str) -> str:
    """Return what two ways of writing one text have in common."""
    return "".join(c for c in body.casefold() if c.isalnum())


@dataclass
class Watch:
    """Compares the vault before and after each call with what the gate promises."""

    machine: Machine
    vault: Vault
    rejected: set[tuple[str, str]] = field(default_factory=set)  # scope, text
    corrects: dict[str, str | None] = field(default_factory=dict)  # of proposals, the note's id
    owners: set[str] = field(default_factory=set)  # digests that the owner's own acts wrote
    told: int = 0
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)

    def events(self) -> list[LedgerEvent]:
        assert ledger.verify(self.vault.root) == []
        return list(ledger.read_all(self.vault.root))

    def documents(self) -> Iterator[AnyDocument]:
        for path, data in self.machine.files().items():
            if layout.place(path) is not None:
                yield documents.read(path, data)

    def after_owner(self) -> None:
        """Take an act of the owner's own as it is."""
        written = self.events()
        for event in written[self.told :]:
            self.owners.update(each.after for each in event.changes if each.after)
        self.told = len(written)
        self.texts = dict(self._texts())

    def after_call(self, *, session: str, said_yes: bool) -> None:
        """Check everything that a call over MCP may not do."""
        written = self.events()
        new, self.told = written[self.told :], len(written)
        for event in new:
            self._by_an_agent(event, session=session, said_yes=said_yes)
        self._screened()
        self._approved(written)
        self._keeps_verdicts()

    def _by_an_agent(self, event: LedgerEvent, *, session: str, said_yes: bool) -> None:
        assert event.surface == "mcp"
        assert event.session == session
        assert event.channel in (None, Channel.RELAYED, Channel.HOST), event
        if event.channel == Channel.HOST:
            assert said_yes, event
        if event.object_kind == "memory":
            assert event.channel is not None, event

    def _screened(self) -> None:
        for path, data in self.machine.files().items():
            assert PLANTED.encode() not in data, data.decode()
            assert PLANTED not in path
        for record in (self.machine.root / "Memory/.keepm").rglob("*"):
            assert not record.is_file() or PLANTED.encode() not in record.read_bytes(), record

    def _approved(self, written: list[LedgerEvent]) -> None:
        """Each formal note stands on exactly one approval, of its very bytes, that suffices."""
        by_digest: dict[str, list[LedgerEvent]] = {}
        for event in written:
            for change in event.changes:
                if change.after and event.channel is not None:
                    by_digest.setdefault(change.after, []).append(event)
        for document in self.documents():
            note = document.content
            if not isinstance(note, Memory):
                continue
            (event,) = by_digest[document.checksum.hex]
            assert event.channel, event
            channel = Channel(event.channel)
            if document.checksum.hex in self.owners:
                continue
            assert event.surface == "mcp" and channel.rank < Channel.OWNER_CLI.rank
            needed = BY_KIND.get(str(note.claim.kind), MINIMUM)
            assert channel.rank >= needed.rank, (note.claim.kind, channel)

    def _keeps_verdicts(self) -> None:
        now = dict(self._texts())
        for handle, said in now.items():
            # What a note says already is nothing new in a correction of that note.
            of = self.texts.get(f"Memory {self.corrects.get(handle)}")
            if said not in (self.texts.get(handle), of):
                assert said not in self.rejected, (handle, said)
        self.texts = now

    def _texts(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield what notes and waiting proposals say, by a handle that outlives moves."""
        for document in self.documents():
            content, place = document.content, layout.place(document.path)
            assert place is not None
            if isinstance(content, Memory) or (
                isinstance(content, Proposal) and place.shelf is Shelf.PROPOSAL
            ):
                said = (content.claim.scope.key, plain(content.claim.body))
                handle = f"{type(content).__name__} {content.id}"
                if isinstance(content, Proposal):
                    self.corrects[handle] = content.target_id
                yield handle, said


def settings() -> Mapping[str, object]:
    """Return the settings under which the gate is tried."""
    assert set(BY_KIND) < set(load_policy().kinds)
    kinds = {kind: str(minimum) for kind, minimum in BY_KIND.items()}
    return {"approval": {"minimum": str(MINIMUM), "kinds": kinds}}
