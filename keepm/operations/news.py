"""What the ledgers tell that the index doesn't know yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from keepm.index import rulings, versions
from keepm.index.rulings import RulingRow
from keepm.index.versions import Mark, VersionRow
from keepm.operations.vault import Vault
from keepm.store import ledger
from keepm.store.event import Head, LedgerEvent
from keepm.store.transaction import Appended

WITHOUT_VERSIONS = frozenset({"gc", "ledger_accept"})
"""Operations whose events put no document's version anywhere."""


@dataclass(frozen=True, slots=True)
class News:
    """Events as rows, and how far each ledger has been read with them.

    `anew`: a ledger is another one than it was, so these rows are all that counts.
    """

    versions: tuple[VersionRow, ...] = ()
    rulings: tuple[RulingRow, ...] = ()
    marks: dict[str, str] | None = None
    anew: bool = False


def waiting(vault: Vault) -> bool:
    """Tell whether some ledger isn't as long as the index remembers."""
    return ledger.sizes(vault.root) != _sizes(versions.marks(vault.database))


def read(vault: Vault, *, deep: bool = False) -> News:
    """Return what is new, for a batch that takes it up; `deep`: also where nothing has grown."""
    known = versions.marks(vault.database)
    sizes = ledger.sizes(vault.root)  # behind the marks: a ledger only grows, so none seems cut
    offsets = _sizes(known)
    if sizes == offsets and not deep:
        return News(marks={})
    anew = _is_another(vault, sizes, known)
    if sizes == offsets and not anew:
        return News(marks={})
    events: list[LedgerEvent] = []
    marks: dict[str, str] = {}
    for writer in sizes:
        found, reached = ledger.events_since(vault.root, {} if anew else offsets, of=[writer])
        events += found
        if not anew and reached[writer] == offsets.get(writer):
            continue  # who writes meanwhile says it of what is new
        before = None if anew else known.get(writer)
        mark = _mark(reached[writer], found[-1] if found else None, before)
        marks |= versions.marked(writer, mark)
    return News(tuple(_rows(events)), tuple(_rulings(events)), marks, anew)


def _sizes(known: Mapping[str, Mark]) -> dict[str, int]:
    return {writer: mark.size for writer, mark in known.items()}


def _mark(size: int, last: LedgerEvent | None, before: Mark | None = None) -> Mark:
    """Return how far a ledger was read: to the `last` event found, or to that of `before`."""
    if last is not None:
        return Mark(size, last.sequence, last.hash)
    return Mark(size) if before is None else before._replace(size=size)


def _is_another(vault: Vault, sizes: Mapping[str, int], known: Mapping[str, Mark]) -> bool:
    """Tell whether a ledger isn't what was read of it and more: a backup, or another branch."""
    if any(sizes.get(writer, 0) < mark.size for writer, mark in known.items()):
        return True
    return any(
        mark.digest
        and not ledger.anchored(vault.root, writer, Head(mark.sequence, mark.digest, mark.size))
        for writer, mark in known.items()
    )


def of(vault: Vault, event: LedgerEvent, appended: Appended) -> News | None:
    """Return what a commit told, without reading it again; None if it isn't all that is new."""
    known = versions.marks(vault.database).get(vault.root.writer_id, Mark(0))
    if known.size != appended.before.size_bytes or not appended.after.size_bytes:
        return None
    marks = versions.marked(vault.root.writer_id, _mark(appended.after.size_bytes, event))
    return News(tuple(_rows([event])), tuple(_rulings([event])), marks)


def _rows(events: Iterable[LedgerEvent]) -> Iterator[VersionRow]:
    for event in events:
        taken_back = event.operation == "repair" and event.extra.get("keep") == "theirs"
        if event.operation in WITHOUT_VERSIONS or taken_back:
            continue  # what is taken back there was never on record
        for position, change in enumerate(event.changes):
            yield VersionRow(
                transaction_id=event.transaction_id,
                position=position,
                sequence=event.sequence,
                time=event.time,
                operation=event.operation,
                surface=event.surface,
                channel=event.channel,
                client=event.client,
                session=event.session,
                object_id=event.object_id,
                scope=event.scope,
                old=change.before,
                new=change.after,
                similar_to=event.extra.get("similar_to", ""),
            )


def _rulings(events: Iterable[LedgerEvent]) -> Iterator[RulingRow]:
    for event in events:
        for ruling, subject in _ruled(event):
            yield RulingRow(
                transaction_id=event.transaction_id,
                sequence=event.sequence,
                time=event.time,
                ruling=ruling,
                scope=event.scope,
                object_id=event.object_id,
                subject=subject,
                channel=event.channel,
            )


def _ruled(event: LedgerEvent) -> Iterator[tuple[str, str]]:
    """Yield what an event rules, and about what."""
    extra = event.extra
    for undone in extra.get("undoes", "").split():
        yield rulings.UNDONE, undone
    if ruling := extra.get("ruling"):
        listed = extra.get("subjects")
        for subject in [extra.get("subject", "")] if listed is None else listed.split():
            yield ruling, subject
