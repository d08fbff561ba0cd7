"""The ledger for its owner: shown, checked against its anchors, exported, accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from keepm.errors import WrongState
from keepm.model.scope import Scope
from keepm.operations import anchoring, identifying
from keepm.operations.mutation import draft, writing_time
from keepm.operations.vault import Caller, Vault
from keepm.store import ledger, transaction
from keepm.store.event import Head, LedgerEvent
from keepm.store.ledger import LedgerProblem as LedgerProblem

ACCEPT = "ledger_accept"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to show; what isn't given doesn't matter."""

    since: str | None = None
    object_id: str | None = None  # or the beginning of it
    client: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One event and the machine whose chain it stands in."""

    writer: str
    event: LedgerEvent


@dataclass(frozen=True, slots=True)
class Chain:
    """One machine's ledger: where it ends, and where it was last known to end."""

    writer: str
    own: bool
    head: Head
    known: Head | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """All chains, and what is wrong with them."""

    chains: tuple[Chain, ...]
    problems: tuple[LedgerProblem, ...]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The event that accepts shorter ledgers, and which they were."""

    event: LedgerEvent
    chains: tuple[Chain, ...]


def events(vault: Vault, wanted: Wanted) -> list[Recorded]:
    """Return the events of visible scopes that fit, newest first.

    Raises:
        StorageFailed: a ledger can't be read.
        AmbiguousIdentifier: several sessions begin with what is given.
    """
    seen = [e for e in export(vault) if vault.visibility.sees(Scope.from_key(e.event.scope))]
    if wanted.session:
        session = identifying.session((each.event for each in seen), wanted.session)
        wanted = replace(wanted, session=session)
    found = [each for each in seen if _fits(each.event, wanted)]
    found.sort(key=lambda each: (each.event.time, each.event.sequence), reverse=True)
    return found


def export(vault: Vault) -> Iterator[Recorded]:
    """Yield every event of every machine, each chain in its order.

    Raises:
        StorageFailed: a ledger can't be read.
    """
    for writer in ledger.writers(vault.root):
        for event in ledger.read(vault.root, writer):
            yield Recorded(writer, event)


def verify(vault: Vault) -> Verdict:
    """Check every chain by itself and against its last known end.

    Raises:
        StorageFailed: a ledger can't be read.
    """
    anchors = anchoring.anchors(vault)
    return Verdict(_chains(vault), tuple(ledger.verify(vault.root, anchors)))


def shortened(vault: Vault) -> tuple[Chain, ...]:
    """Return the chains that no longer hold their last known end."""
    lost = set(anchoring.lost(vault))
    return tuple(chain for chain in _chains(vault) if chain.writer in lost)


def accept(vault: Vault, caller: Caller) -> Accepted:
    """Record that the owner takes the ledgers as they are now, after a backup was restored.

    Raises:
        WrongState: every ledger holds its last known end.
        RootLocked, StorageFailed: as of every change.
    """
    with writing_time(vault, caller):
        chains = shortened(vault)
        if not chains:
            raise WrongState("no ledger lacks its end", hint="No step is needed.")
        record = draft(
            caller,
            ACCEPT,
            object_id=vault.root.writer_id,
            object_kind="ledger",
            scope=Scope(),
            approved=True,
            extra={
                "known": " ".join(f"{c.writer}:{_end(c.known)}" for c in chains),
                "accepted": " ".join(f"{c.writer}:{_end(c.head)}" for c in chains),
            },
        )
        at = ledger.next_time(vault.root, vault.now())
        event = transaction.record(
            vault.root, record, (), versions=(), transaction_id=vault.new_id(), at=at
        )
        heads = ledger.heads(vault.root)
        kept = {w: h for w, h in anchoring.anchors(vault).items() if w not in _writers(chains)}
        kept.update({w: heads[w] for w in (*_writers(chains), vault.root.writer_id) if w in heads})
        anchoring.set_anchors(vault, kept)
    return Accepted(event, chains)


def _chains(vault: Vault) -> tuple[Chain, ...]:
    anchors, heads = anchoring.anchors(vault), ledger.heads(vault.root)
    return tuple(
        Chain(
            writer,
            writer == vault.root.writer_id,
            heads.get(writer, Head(0, ledger.FIRST, 0)),
            anchors.get(writer),
        )
        for writer in sorted({*anchors, *heads})
    )


def _writers(chains: tuple[Chain, ...]) -> set[str]:
    return {chain.writer for chain in chains}


def _end(head: Head | None) -> str:
    return f"{head.sequence}:{head.hash}" if head else ""


def _fits(event: LedgerEvent, wanted: Wanted) -> bool:
    return (
        event.time >= (wanted.since or "")
        and event.object_id.startswith(wanted.object_id or "")
        and wanted.client in (None, event.client)
        and wanted.session in (None, event.session)
    )
