"""The trash: what lies in it, and a file put back exactly where it was."""

from __future__ import annotations

from dataclasses import dataclass

from keepm.errors import AmbiguousIdentifier, KeepMError, NotFound
from keepm.markdown import documents
from keepm.model import layout
from keepm.model.document import AnyDocument
from keepm.model.handoff import Handoff
from keepm.model.identity import slot_key
from keepm.model.memory import Memory
from keepm.model.proposal import Proposal
from keepm.model.scope import GLOBAL, Scope
from keepm.operations.mutation import Desk, Plan, draft, mutate
from keepm.operations.recording import kind_of
from keepm.operations.reversal import Bench
from keepm.operations.vault import Caller, Vault
from keepm.store import history, reader, trash
from keepm.store.changes import ChangeSet
from keepm.store.event import LedgerEvent
from keepm.store.trash import Trashed

OPERATION = "restore"
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class TrashItem:
    """One file in the trash: what it is, and where it would go back to."""

    entry: Trashed
    id: str
    name: str
    kind: str  # memory | proposal | handoff
    scope: Scope
    target: str


@dataclass(frozen=True, slots=True)
class Restored:
    """A file that is back in its place."""

    item: TrashItem
    event: LedgerEvent


def listing(vault: Vault) -> list[TrashItem]:
    """Return what lies in the trash and may be seen, the newest first.

    Raises:
        StorageFailed: the trash can't be read.
    """
    found = [item for entry in trash.entries(vault.root) if (item := _item(vault, entry))]
    found.sort(key=lambda item: item.entry.path)
    found.sort(key=lambda item: item.entry.deleted_at or "", reverse=True)
    return found


def deleted(vault: Vault, identifier: str) -> tuple[AnyDocument, Trashed] | None:
    """Return the note in the trash that answers to an id or a name, the one deleted last.

    Raises:
        StorageFailed: the trash can't be read.
    """
    key = slot_key(identifier)
    for item in listing(vault):
        if item.kind == "memory" and (item.id == identifier or slot_key(item.name) == key):
            data = reader.read(vault.root, item.entry.path, limit=history.LARGEST)
            return documents.read(item.target, data), item.entry
    return None


def restore(vault: Vault, caller: Caller, identifier: str) -> Restored:
    """Put one file back where it was, named by its path in the trash, its id, its name, or the
    beginning of the transaction that deleted it.

    Raises:
        NotFound: nothing in the trash that may be seen has this name.
        AmbiguousIdentifier: several do; the details list their paths.
        AlreadyExists: the path or the slot is taken.
    """
    chosen: list[TrashItem] = []

    def plan(desk: Desk) -> Plan:
        item = _chosen(listing(vault), identifier)
        chosen.append(item)
        bench = Bench(desk)
        bench.restore(item.entry, item.target)
        place = layout.place(item.target)
        assert place is not None
        return Plan(
            ChangeSet(bench.changes()),
            draft(
                caller,
                OPERATION,
                object_id=item.id,
                object_kind=kind_of(place),
                scope=item.scope,
                approved=True,
            ),
        )

    receipt = mutate(vault, caller, plan)
    return Restored(chosen[-1], receipt.event)


def _chosen(items: list[TrashItem], identifier: str) -> TrashItem:
    wanted = identifier.strip()
    key = slot_key(wanted)
    fitting = [item for item in items if item.entry.path == wanted]
    if not fitting:
        fitting = [item for item in items if wanted == item.id or key == slot_key(item.name)]
    if not fitting and len(wanted) >= _SHORTEST:
        fitting = [
            item for item in items if (item.entry.transaction_id or "").startswith(wanted.lower())
        ]
    if not fitting:
        raise NotFound(
            "nothing in the trash has this name", hint="`keepm restore` lists what is there."
        )
    if len(fitting) > 1:
        raise AmbiguousIdentifier(
            f"this fits {len(fitting)} files in the trash",
            hint="Give the path of the one you mean.",
            details={"candidates": [item.entry.path for item in fitting[:20]]},
        )
    return fitting[0]


def _item(vault: Vault, entry: Trashed) -> TrashItem | None:
    try:
        data = reader.read(vault.root, entry.path, limit=history.LARGEST)
    except KeepMError:
        return None
    target = entry.old_path or _place_of_old_trash(vault, data)
    place = layout.place(target) if target else None
    if target is None or place is None or not vault.visibility.sees(place.scope):
        return None
    document = documents.read(target, data)
    return TrashItem(
        entry, document.content.id, _name(document), kind_of(place), place.scope, target
    )


def _place_of_old_trash(vault: Vault, data: bytes) -> str | None:
    """Return where a file of a KeepM 3 trash belongs: only the file itself can say it."""
    known = [vault.visibility.project_id, *(entry.project_id for entry in vault.settings.projects)]
    projects = known if vault.visibility.everything else known[:1]
    for scope in (GLOBAL, *(Scope(project) for project in projects if project)):
        document = documents.read(layout.memory_path(scope, "restored"), data)
        claimed = all(finding.code != "scope_mismatch" for finding in document.findings)
        if isinstance(document.content, Memory) and claimed:
            return layout.memory_path(scope, document.content.claim.name)
    return None


def _name(document: AnyDocument) -> str:
    content = document.content
    if isinstance(content, Memory | Proposal):
        return content.claim.name
    return content.title if isinstance(content, Handoff) else content.name
