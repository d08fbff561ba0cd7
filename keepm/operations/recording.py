"""Hand edits on record: what a person did to a file gets its event, exactly once.

Whoever looks at the files notes in the index what changed (`index/handmade`); here each note is
judged under the vault's lock, by what the ledger says stands there. So it doesn't matter how many
servers look, or which of them dies.
"""

from __future__ import annotations

from collections.abc import Iterable

from keepm.errors import InvalidInput, KeepMError, NotFound, RootUnavailable, StorageFailed
from keepm.index import handmade, versions, withholding, writing
from keepm.index.handmade import HandEdit
from keepm.index.versions import VersionRow
from keepm.index.writing import Batch
from keepm.markdown import documents
from keepm.model import layout
from keepm.model.approval import Channel
from keepm.model.checksum import Checksum
from keepm.model.document import Damaged
from keepm.model.quarantine import UNREVIEWED
from keepm.operations import anchoring, holding, news
from keepm.operations.vault import Vault
from keepm.store import history, ledger, lock, reader, transaction
from keepm.store.changes import Change, Create
from keepm.store.event import Digests, EventDraft

OPERATION = "external-edit"
SURFACE = "edit"
_NO_FILE = ("ELOOP", "EISDIR", "EINVAL", "ENXIO")  # a link, a folder, a pipe: no version
_DENIED = ("EACCES", "EPERM")
_AT_ONCE = 50  # how many are recorded in one hold of the lock
_BETWEEN_SECONDS = 0.05  # and until the next some, for whoever waits for the lock
TO_TRASH = frozenset({"delete", "inbox_prune"})
"""Operations that put into the trash whatever version they leave."""
_KINDS = {
    **dict.fromkeys(("propose", "inbox_update", "reject"), "proposal"),
    **dict.fromkeys(("handoff_create", "handoff_update", "handoff_complete"), "handoff"),
}
"""Of which kind the versions are that these operations put in place."""


def record(vault: Vault, *, most: int = _AT_ONCE) -> bool:
    """Put at most so many noted hand edits on record if the lock is free; tell if some are left.

    A busy lock or a vault that can't be written leaves them for the next time: reading goes on.
    """
    if vault.read_only is not None or not handmade.pending(vault.database, 1):
        return False
    try:
        holding.refuse_another(vault)  # the edits are this vault's
        with lock.hold(vault.root.paths, surface=SURFACE, timeout=0, now=vault.now()):
            recovery = transaction.recover(vault.root)
            if recovery.finished:
                return True  # the index must see those files first
            record_held(vault, most=most)
    except RootUnavailable:
        return True
    return bool(handmade.pending(vault.database, 1))


def record_all(vault: Vault) -> None:
    """Put all noted hand edits on record, for a thread that has time: others may go between."""
    left = len(handmade.pending(vault.database))
    while left and record(vault) and not vault.progress.stopping.wait(_BETWEEN_SECONDS):
        before, left = left, len(handmade.pending(vault.database))
        if left >= before:
            return  # the lock isn't free, or nothing can be written: the next time


def record_held(vault: Vault, *, most: int = _AT_ONCE) -> None:
    """Put noted hand edits on record. The caller holds the vault's lock and has recovered.

    Raises:
        StorageFailed: the file system refused; what isn't on record stays noted.
    """
    pending = handmade.pending(vault.database)
    if pending:
        _take_up(vault, ())
    # What is gone comes last: it may have gone to another name, edited on the way.
    pending.sort(key=lambda edit: edit.before is not None)
    done: set[str] = set()
    for start in range(0, len(pending), most):
        now = pending[start : start + most]
        for edit in sorted(now, key=lambda edit: not _is_there(vault, edit.path)):
            if edit.path not in done:
                done.update(_record(vault, edit, pending))
        if done:
            return  # else access was denied to all of these: the next ones needn't wait for it


def before_change(vault: Vault, changes: Iterable[Change]) -> None:
    """Put on record the hand edits that a change builds on and the index hasn't seen.

    The caller holds the vault's lock; the changes' expectations are what was read just now.
    """
    found = {change.path: change.expect for change in changes if not isinstance(change, Create)}
    if not found:
        return
    rows = writing.file_rows(vault.database, found)
    edits = tuple(
        HandEdit(path, row.checksum, review=vault.reviews_edits)
        for path, row in rows.items()
        if row.reason is None and row.checksum != found[path].hex
    )
    if edits:
        writing.apply(vault.database, Batch(edits=edits))
        record_held(vault)


def keep_seen(vault: Vault, *, most: int | None = None) -> None:
    """Keep what people wrote as versions of its own, for files that no commit has kept.

    Cheap and beside everything else; what can't be kept now is kept the next time.
    """
    kept = {(each.digest, each.size) for each in history.objects(vault.root)}
    # What is kept counts as seen where edits are reviewed: no edit does before it is on record.
    noted = {edit.path for edit in handmade.pending(vault.database) if edit.review}
    missing = [
        row
        for row in writing.files(vault.database).values()
        if row.reason is None
        and row.size
        and (row.checksum, row.size) not in kept
        and row.path not in noted
    ]
    for row in missing[:most]:
        if vault.progress.stopping.is_set():
            return
        try:
            history.keep_seen(
                vault.root, reader.read(vault.root, row.path, limit=vault.policy.document_bytes)
            )
        except NotFound:
            continue
        except RootUnavailable:
            return  # a full or read-only disk
        except KeepMError:
            continue


# ---- judging one edit --------------------------------------------------------------------------


def _record(vault: Vault, edit: HandEdit, pending: list[HandEdit]) -> tuple[str, ...]:
    """Write the event of one edit, if it needs one; return the paths that are settled."""
    place = layout.place(edit.path)
    if place is None:
        return _settle(vault, edit.path)
    try:
        data = reader.read(vault.root, edit.path, limit=history.LARGEST)
    except NotFound:
        if reader.is_evicted(vault.root, edit.path):
            return _settle(vault, edit.path)  # it is met again when its bytes come back
        return _record_gone(vault, edit, place)
    except StorageFailed as error:
        if error.details.get("reason") in _DENIED:
            return ()  # it stays noted until it can be read: others needn't wait for it
        if error.details.get("reason") not in _NO_FILE:
            raise
        return _settle(vault, edit.path)
    except InvalidInput:  # behind a symlink now, or too large for us
        return _settle(vault, edit.path)
    digest = Checksum.of(data).hex
    if digest == edit.before:
        return _settle(vault, edit.path)
    last = versions.latest(vault.database, digest)
    if last is not None and last.new == digest:
        if edit.before is None and _belongs_elsewhere(last, place):
            # The same bytes in another project's folder, among the notes or out of the trash:
            # a person moved or copied the file.
            return _write(vault, edit, place, Digests(digest, digest), last.object_id)
        return _settle(vault, edit.path)
    document = documents.read(edit.path, data)
    damaged = isinstance(document.content, Damaged)
    document_id = edit.document_id if damaged and edit.document_id else document.content.id
    source = edit if edit.before else _moved_from(vault, document_id, pending)
    before = source.before if source else _left_behind(vault, document_id)
    if (
        before is None
        and edit.before is None
        and not edit.review
        and versions.is_empty(vault.database)
    ):
        return _settle(vault, edit.path)  # nothing of this vault is on record yet
    # What is there counts, though the ledger may have it gone: it was away between two looks.
    standing = versions.standing(vault.database, before) or before if before else None
    moved = () if source is None or source is edit else _settle(vault, source.path)
    if standing == digest and source and layout.place(source.path) == place:
        return _settle(vault, edit.path) + moved  # renamed, and nothing else
    return _write(vault, edit, place, Digests(standing, digest), document_id, data) + moved


def _record_gone(vault: Vault, edit: HandEdit, place: layout.Place) -> tuple[str, ...]:
    if edit.before is None:
        return _settle(vault, edit.path)
    standing = versions.standing(vault.database, edit.before)
    if standing is None or _in_place(vault, standing):
        return _settle(vault, edit.path)  # on record, or moved
    if _is_trashed(vault, versions.latest(vault.database, standing), edit.path):
        return _settle(vault, edit.path)
    return _write(vault, edit, place, Digests(standing, None), edit.document_id or "")


def _moved_from(vault: Vault, document_id: str, pending: list[HandEdit]) -> HandEdit | None:
    """Return the noted removal of the same document: renamed and edited at once."""
    for other in pending:
        is_same = other.document_id == document_id and other.before is not None
        if is_same and not _is_there(vault, other.path):
            return other
    return None


def _left_behind(vault: Vault, document_id: str) -> str | None:
    """Return the last version on record of a document that is in no file now."""
    last = versions.latest_of(vault.database, document_id)
    if last is None:
        return None
    here = last.new or last.old
    standing = versions.standing(vault.database, here) if here else None
    if standing is None or _in_place(vault, standing):
        return None
    return standing


def _in_place(vault: Vault, digest: str) -> bool:
    """Tell whether some file of the vault has these bytes, as far as the index knows."""
    paths = writing.paths_of(vault.database, digest)
    return any(_is_there(vault, path) for path in paths)


def _is_there(vault: Vault, path: str) -> bool:
    """Tell whether a file is there, or in a folder that denies access: then it is unknown."""
    try:
        return reader.state(vault.root, path) is not None
    except StorageFailed as error:
        if error.details.get("reason") not in _DENIED:
            raise
        return True


def _belongs_elsewhere(last: VersionRow, place: layout.Place) -> bool:
    """Tell whether the last event of a version left it in another place than this."""
    if last.operation == "undo":
        return False  # it may reach over several
    if last.scope != place.scope.key or last.operation in TO_TRASH:
        return True
    return _KINDS.get(last.operation, kind_of(place)) != kind_of(place)


def _is_trashed(vault: Vault, last: VersionRow | None, path: str) -> bool:
    """Tell whether the last event of a version took the file from this path to the trash."""
    if last is None:
        return False
    if last.operation in TO_TRASH:
        return True  # also when gc has emptied the trash since
    stamp = last.time.replace("-", "").replace(":", "")
    trashed = layout.trash_path(path, stamp=stamp, transaction_id=last.transaction_id)
    return reader.state(vault.root, trashed) is not None


# ---- writing it down ---------------------------------------------------------------------------


def _write(
    vault: Vault,
    edit: HandEdit,
    place: layout.Place,
    change: Digests,
    document_id: str,
    data: bytes | None = None,
) -> tuple[str, ...]:
    kind, scope = kind_of(place), place.scope
    ruling: dict[str, str] = {}
    if edit.review and change.after is not None:
        subject = withholding.subject(vault.database, change.after, scope, kind)
        ruling = {"ruling": UNREVIEWED, "subject": subject}
    transaction.record(
        vault.root,
        EventDraft(
            operation=OPERATION,
            surface=SURFACE,
            object_id=document_id,
            object_kind=kind,
            scope=scope.key,
            channel=str(Channel.OWNER_EDIT),
            extra=ruling,
        ),
        (change,),
        versions=() if data is None else (data,),
        transaction_id=vault.new_id(),
        at=ledger.next_time(vault.root, vault.now()),
    )
    return _settle(vault, edit.path)


def kind_of(place: layout.Place) -> str:
    """Return what kind of object a place holds, as events name it."""
    match place.shelf:
        case layout.Shelf.MEMORY:
            return "memory"
        case layout.Shelf.PROPOSAL | layout.Shelf.ARCHIVED_PROPOSAL:
            return "proposal"
        case _:
            return "handoff"


def _settle(vault: Vault, path: str) -> tuple[str, ...]:
    _take_up(vault, (path,))
    return (path,)


def _take_up(vault: Vault, recorded: tuple[str, ...]) -> None:
    told = news.read(vault)
    writing.apply(
        vault.database,
        Batch(
            versions=told.versions,
            rulings=told.rulings,
            anew=told.anew,
            meta=told.marks or {},
            recorded=recorded,
        ),
    )
    if told.marks:
        anchoring.advance(vault)
