"""What the ledgers tell that the index doesn't know yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from keepm.index import rulings, versions
from keepm.index.rulings import RulingRow
from keepm.index.versions import VersionRow
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
    return ledger.sizes(vault.root) != versions.marks(vault.database)


def read(vault: Vault, *, deep: bool = False) -> News:
    """Return what is new, for a batch that takes it up; `deep`: also where nothing has grown."""
    sizes, known = ledger.sizes(vault.root), versions.marks(vault.database)
    if sizes == known and not deep:
        return News(marks={})
    anew = _is_another(vault, sizes, known)
    if sizes == known and not anew:
        return News(marks={})
    events: list[LedgerEvent] = []
    marks: dict[str, str] = {}
    for writer in sizes:
        found, reached = ledger.events_since(vault.root, {} if anew else known, of=[writer])
        events += found
        if not anew and reached[writer] == known.get(writer):
            continue  # who writes meanwhile says it of what is new
        marks[versions.mark(writer)] = str(reached[writer])
        if found or anew:
            marks[_end(writer)] = _as_text(found[-1]) if found else ""
    return News(tuple(_rows(events)), tuple(_rulings(events)), marks, anew)


def _is_another(vault: Vault, sizes: Mapping[str, int], known: Mapping[str, int]) -> bool:
    """Tell whether a ledger isn't what was read of it and more: a backup, or another branch."""
    if any(sizes.get(writer, 0) < offset for writer, offset in known.items()):
        return True
    for writer, offset in known.items():
        sequence, _, digest = (vault.database.get_meta(_end(writer)) or "").partition(" ")
        if digest and not ledger.anchored(vault.root, writer, Head(int(sequence), digest, offset)):
            return True
    return False


def _end(writer: str) -> str:
    """Return the key under which the index remembers the last event it read of a ledger."""
    return f"ledger_end:{writer}"


def _as_text(event: LedgerEvent) -> str:
    return f"{event.sequence} {event.hash}"


def of(vault: Vault, event: LedgerEvent, appended: Appended) -> News | None:
    """Return what a commit told, without reading it again; None if it isn't all that is new."""
    mark = versions.mark(vault.root.writer_id)
    known = int(vault.database.get_meta(mark) or 0)
    if known != appended.before.size_bytes or not appended.after.size_bytes:
        return None
    end = _end(vault.root.writer_id)
    marks = {mark: str(appended.after.size_bytes), end: _as_text(event)}
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
