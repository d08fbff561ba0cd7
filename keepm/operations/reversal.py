"""What taking events back does to files, worked out on a bench before anything is touched.

Events name versions, not paths: a file is found by its digest, where an older version belongs
follows from what it says, and only the trash knows the exact place. Several events, newest first,
add up to one change of each file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from keepm.errors import AlreadyExists, KeepMError, NotFound, WrongState
from keepm.index import catalog, versions, writing
from keepm.markdown import documents
from keepm.model import identity, layout
from keepm.model.checksum import Checksum
from keepm.model.document import AnyDocument
from keepm.model.handoff import Handoff, HandoffStatus
from keepm.model.layout import Shelf
from keepm.model.memory import Memory, Status
from keepm.model.proposal import Proposal, ProposalStatus
from keepm.model.scope import Scope
from keepm.operations import drafting, withheld
from keepm.operations.mutation import Desk
from keepm.operations.recording import TO_TRASH
from keepm.store import history, ledger, reader, trash
from keepm.store.changes import Change, Create, Move, Replace
from keepm.store.event import Digests, LedgerEvent
from keepm.store.trash import Trashed


@dataclass(slots=True)
class Sheet:
    """One file on the bench: where it is now (if anywhere), and what it will be."""

    origin: str | None
    before: bytes | None
    path: str
    data: bytes
    trashed: bool = False
    laid: bytes | None = None  # what goes to the trash, if not the bytes as they are

    @property
    def digest(self) -> str:
        """The version it will be."""
        return Checksum.of(self.data).hex


@dataclass(slots=True)
class Bench:
    """The files that a reversal touches, as they will be after the events taken back so far."""

    desk: Desk
    sheets: list[Sheet] = field(default_factory=list)
    _trash: list[Trashed] | None = None
    _events: dict[str, LedgerEvent] | None = None  # by transaction, once they are asked for

    def take_back(self, event: LedgerEvent) -> None:
        """Undo one event; later ones that stand on it must have been taken back before.

        Raises:
            WrongState: a later change stands on it, or it can't be taken back at all.
            NotFound: the version before is no longer kept.
        """
        for change in reversed(event.changes):
            self._take_back(event, change)

    def restore(self, entry: Trashed, old_path: str) -> Sheet:
        """Put a file from the trash back to a path."""
        data = self._read(entry.path)
        if data is None:
            raise NotFound(f"{entry.path} is not there")
        sheet = Sheet(entry.path, data, old_path, data)
        self.sheets.append(sheet)
        return sheet

    def changes(self) -> tuple[Change, ...]:
        """Return what becomes of the files, each change with its precondition.

        Raises:
            AlreadyExists: a slot that comes back is held by another note or proposal.
            NotFound: a file of a project that may not be seen is among them.
        """
        for sheet in self.sheets:
            self._require_visible(sheet)
            if not sheet.trashed:
                self._require_free_slot(sheet)
                self._require_free_name(sheet)
        return tuple(change for sheet in self.sheets for change in self._net(sheet))

    # ---- one change of one event ---------------------------------------------------------------

    def _take_back(self, event: LedgerEvent, change: Digests) -> None:
        old, new = change.before, change.after
        if new is None:
            if old is not None:
                self._make(event, old)
            return
        if old is None:
            self._standing(event, new).trashed = True
            return
        sheet = self._from_trash(event, new)
        if old == new:
            if sheet is None:
                if event.operation == "external-edit":
                    raise WrongState(
                        f"event {event.sequence} is a move by hand",
                        hint="Move the file back by hand.",
                    )
                self._standing(event, new).trashed = True  # it came from the trash
            return
        if sheet is None:
            sheet = self._standing(event, new)
            data = self._kept(event, old)
            if self._took_out(event, old):
                sheet.trashed, sheet.laid = True, data
            else:
                sheet.path = _home(self, sheet, data)
            sheet.data = data
        else:
            sheet.data = self._kept(event, old)

    def _make(self, event: LedgerEvent, digest: str) -> None:
        for sheet in self.sheets:
            if sheet.trashed and sheet.digest == digest:
                sheet.trashed = False  # a later event of these had made it again
                return
        data = self._kept(event, digest)
        scope = Scope.from_key(event.scope)
        shelf = {"proposal": Shelf.PROPOSAL, "handoff": Shelf.HANDOFF}.get(
            event.object_kind, Shelf.MEMORY
        )
        sheet = Sheet(None, None, f"{layout.folder(shelf, scope)}/removed.md", data)
        sheet.path = _fresh_home(self, sheet, documents.read(sheet.path, data), scope)
        self.sheets.append(sheet)

    def _standing(self, event: LedgerEvent, digest: str) -> Sheet:
        """Return the file that is the version an event left."""
        for sheet in self.sheets:
            if sheet.digest == digest and not sheet.trashed:
                return sheet
        touched = {sheet.origin for sheet in self.sheets}
        for path in writing.paths_of(self.desk.vault.database, digest):
            if path not in touched:
                data = self._read(path)
                if data is not None and Checksum.of(data).hex == digest:
                    sheet = Sheet(path, data, path, data)
                    self.sheets.append(sheet)
                    return sheet
        raise self._refusal(event, digest)

    def _from_trash(self, event: LedgerEvent, digest: str) -> Sheet | None:
        """Return the file that this very event moved to the trash, back in its old place."""
        for sheet in self.sheets:
            if sheet.trashed and sheet.digest == digest:
                sheet.trashed = False
                return sheet
        if self._trash is None:
            self._trash = list(trash.entries(self.desk.vault.root))
        for entry in self._trash:
            if entry.transaction_id == event.transaction_id and entry.old_path is not None:
                data = self._read(entry.path)
                if data is not None and Checksum.of(data).hex == digest:
                    sheet = Sheet(entry.path, data, entry.old_path, data)
                    self.sheets.append(sheet)
                    return sheet
        return None

    def _took_out(self, event: LedgerEvent, digest: str) -> bool:
        """Tell whether an undo found this version in the trash."""
        for each in self._undone(event):  # the newest that left this version says where
            for change in each.changes:
                if change.after == digest:
                    return self._laid_down(each, change)
        return False

    def _laid_down(self, event: LedgerEvent, change: Digests) -> bool:
        """Tell whether an event left what it made of a file in the trash."""
        digest = change.after
        if digest is None:
            return False
        if event.operation in TO_TRASH:
            return True
        if event.extra.get("loser_action") == "delete":
            # Any place will do: only the id is asked for.
            path = layout.memory_path(Scope.from_key(event.scope), "loser")
            document = documents.read(path, self._kept(event, digest))
            return document.content.id == event.extra.get("loser_id")
        if change.before == digest:
            return "undoes" in event.extra and not self._took_out(event, digest)
        return any(
            back.before == digest and self._took_out(each, digest)
            for each in self._undone(event)
            for back in each.changes
        )

    def _undone(self, event: LedgerEvent) -> Iterator[LedgerEvent]:
        ids = event.extra.get("undoes", "").split()
        if ids:
            if self._events is None:
                everything = ledger.read_all(self.desk.vault.root)
                self._events = {each.transaction_id: each for each in everything}
            yield from (self._events[each] for each in ids if each in self._events)

    def _kept(self, event: LedgerEvent, digest: str) -> bytes:
        try:
            return history.get(self.desk.vault.root, Checksum(digest))
        except NotFound as error:
            raise NotFound(
                f"the version before event {event.sequence} is no longer kept",
                hint="gc removed it, or it was never seen; take it from a backup.",
            ) from error

    def _read(self, path: str) -> bytes | None:
        try:
            return reader.read(self.desk.vault.root, path, limit=history.LARGEST)
        except KeepMError:
            return None

    def _refusal(self, event: LedgerEvent, digest: str) -> WrongState:
        last = versions.latest(self.desk.vault.database, digest)
        if last is None or last.transaction_id == event.transaction_id:
            return WrongState(
                f"what event {event.sequence} ({event.operation}) left isn't there any more",
                hint="The file was changed or removed by hand just now, or its trash was emptied.",
                details={"event": event.sequence, "operation": event.operation},
            )
        by = last.client or last.surface
        return WrongState(
            f"a later change stands on event {event.sequence} ({event.operation}): "
            f"{last.operation} by {by} at {last.time}",
            hint=f"Undo that one first: keepm undo {last.transaction_id[:8]}",
            details={
                "event": event.sequence,
                "later_transaction": last.transaction_id,
                "later_operation": last.operation,
                "later_time": last.time,
                "later_client": last.client,
            },
        )

    # ---- the sum -------------------------------------------------------------------------------

    def _net(self, sheet: Sheet) -> Iterator[Change]:
        if sheet.origin is None or sheet.before is None:
            if not sheet.trashed:
                yield Create(sheet.path, sheet.data)
            return
        expect = Checksum.of(sheet.before)
        in_trash = sheet.origin.startswith(f"{layout.TRASH}/")
        if sheet.trashed:
            if not in_trash:
                stamp = self.desk.at.replace("-", "").replace(":", "")
                transaction_id = self.desk.transaction_id
                to = layout.trash_path(sheet.origin, stamp=stamp, transaction_id=transaction_id)
                laid = sheet.before if sheet.laid is None else sheet.laid
                yield Move(sheet.origin, to, laid, expect)
        elif sheet.path != sheet.origin:
            yield Move(sheet.origin, sheet.path, sheet.data, expect)
        elif sheet.data != sheet.before:
            yield Replace(sheet.path, sheet.data, expect)

    def _require_visible(self, sheet: Sheet) -> None:
        paths = (
            (sheet.path,) if sheet.trashed or sheet.origin is None else (sheet.path, sheet.origin)
        )
        for path in paths:
            place = layout.place(path)
            if place is not None and not self.desk.vault.visibility.sees(place.scope):
                raise NotFound(
                    "this reaches into a project that isn't this folder's",
                    hint="Run the command in that project, or with --all.",
                )

    def _require_free_slot(self, sheet: Sheet) -> None:
        content = documents.read(sheet.path, sheet.data).content
        leaving = self._ids()
        if isinstance(content, Memory) and content.status is Status.ACTIVE:
            holder = self.desk.slot_holder(content.claim, but=leaving)
            if holder is not None:
                raise withheld.slot_taken(
                    holder,
                    f"the slot '{content.claim.name}' is held by another active note",
                    hint="Rename, archive or delete that note first.",
                )
        if isinstance(content, Proposal) and content.status is ProposalStatus.PENDING:
            claim = content.claim
            row = catalog.pending_in_slot(self.desk.vault.database, claim.name, claim.scope)
            if row is not None and row.id not in leaving:
                raise withheld.slot_taken(
                    row,
                    f"a pending proposal holds the slot '{claim.name}'",
                    hint="Decide that proposal first.",
                )

    def _require_free_name(self, sheet: Sheet) -> None:
        place = layout.place(sheet.path)
        if sheet.path == sheet.origin or place is None:
            return
        leaving = {each.origin for each in self.sheets}
        for taken in drafting.neighbours(self.desk, place.scope, sheet.path):
            if taken not in leaving:
                raise AlreadyExists(
                    f"{sheet.path}: the file name is taken",
                    hint="Rename that file first, also if only upper and lower case differ.",
                    details={"path": sheet.path, "taken_by": taken.rpartition("/")[2]},
                )

    def _ids(self) -> set[str]:
        """Return the ids of all documents on the bench: they hold what they will hold."""
        found = set()
        for sheet in self.sheets:
            for path, data in ((sheet.path, sheet.data), (sheet.origin, sheet.before)):
                if path is not None and data is not None and layout.place(path) is not None:
                    found.add(documents.read(path, data).content.id)
        return found


# ---- where an older version belongs --------------------------------------------------------------


def _home(bench: Bench, sheet: Sheet, data: bytes) -> str:
    """Return the path of an older version of a file: its own, unless it says otherwise."""
    here = layout.place(sheet.path)
    assert here is not None
    scope = _scope(bench, sheet.path, data)
    old, now = documents.read(sheet.path, data), documents.read(sheet.path, sheet.data)
    if scope == here.scope and _shelf(old) in (None, here.shelf) and _slot(old) == _slot(now):
        return sheet.path
    if scope == here.scope and _slot(old) == _slot(now):
        # Only the shelf differs: a proposal or handoff goes back under the name it has.
        shelf = _shelf(old) or here.shelf
        name = sheet.path.removeprefix(layout.folder(here.shelf, scope))
        return layout.folder(shelf, scope) + name
    return _fresh_home(bench, sheet, old, scope)


def _fresh_home(bench: Bench, sheet: Sheet, document: AnyDocument, scope: Scope) -> str:
    here = layout.place(sheet.path)
    assert here is not None
    shelf = _shelf(document) or here.shelf
    content = document.content
    if isinstance(content, Proposal | Handoff):
        title = content.claim.name if isinstance(content, Proposal) else content.title or "handoff"
        return layout.inbox_path(shelf, scope, title, content.id)
    name = content.claim.name if isinstance(content, Memory) else content.name
    # People sort notes into sub-folders: a note stays in its folder.
    kept = sheet.path.rsplit("/", 1)[0] if scope == here.scope and sheet.origin else None
    attempt = 1
    while True:
        path = layout.memory_path(scope, name, attempt=attempt)
        if kept is not None:
            path = f"{kept}/{path.rsplit('/', 1)[-1]}"
        if path == sheet.origin or not _is_taken(bench, path):
            return path
        attempt += 1


def _is_taken(bench: Bench, path: str) -> bool:
    key = identity.file_key(path)
    if any(identity.file_key(sheet.path) == key for sheet in bench.sheets if not sheet.trashed):
        return True
    place = layout.place(path)
    assert place is not None
    return drafting.is_taken(bench.desk, place.scope, path)


def _scope(bench: Bench, path: str, data: bytes) -> Scope:
    """Return the scope in which a version was: its event says it, else its present folder."""
    here = layout.place(path)
    assert here is not None
    known = versions.scopes(bench.desk.vault.database, Checksum.of(data).hex)
    if not known or here.scope.key in known:
        return here.scope
    return Scope.from_key(sorted(known)[0])


def _shelf(document: AnyDocument) -> Shelf | None:
    content = document.content
    if isinstance(content, Proposal):
        pending = content.status is ProposalStatus.PENDING
        return Shelf.PROPOSAL if pending else Shelf.ARCHIVED_PROPOSAL
    if isinstance(content, Handoff):
        active = content.status is HandoffStatus.ACTIVE
        return Shelf.HANDOFF if active else Shelf.ARCHIVED_HANDOFF
    return None


def _slot(document: AnyDocument) -> str | None:
    content = document.content
    if isinstance(content, Memory | Proposal):
        return content.claim.slot
    return None
