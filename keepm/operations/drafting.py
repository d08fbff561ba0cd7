"""Parts of plans on formal notes, shared by every operation that changes them.

What a claim looks like when stored, which file a slot's note gets, how a note's next version or
its way to the trash is planned.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from keepm.index import catalog
from keepm.markdown import bodies
from keepm.markdown import memories as codec
from keepm.model import identity, layout, memory
from keepm.model.document import AnyDocument, Document
from keepm.model.memory import Claim, Memory, Scope, Status
from keepm.operations import freshness, succession, verdicts, withheld
from keepm.operations.mutation import Desk
from keepm.operations.vault import Caller
from keepm.store import reader
from keepm.store.changes import Change, Create, Move, Replace


def normal(claim: Claim) -> Claim:
    """Return the claim as it is read back: trimmed, and lists without twins."""
    return replace(
        claim,
        name=claim.name.strip(),
        description=claim.description.strip(),
        body=bodies.trimmed(claim.body),
        tags=memory.distinct(claim.tags),
        aliases=tuple(
            alias
            for alias in memory.distinct(claim.aliases)
            if identity.slot_key(alias) != claim.slot
        ),
        sources=memory.distinct(claim.sources, fold=False),
    )


def creation(
    desk: Desk,
    claim: Claim,
    note_id: str,
    *,
    caller: Caller,
    losers: Sequence[Document[Memory]] = (),
    reason: str | None = None,
) -> tuple[Change, ...]:
    """Plan the file of a new note in a free slot, and the changes of the notes it supersedes.

    Raises:
        AlreadyExists: another active note holds the slot.
        RejectedBefore: a person rejected the claim.
        InvalidInput, WrongState, ApprovalRequired: as `succession.take_place`.
    """
    known = [loser.content.claim for loser in losers]
    verdicts.require_not_rejected(desk.vault, claim, was=known)
    note = Memory(
        id=note_id,
        claim=claim,
        status=Status.ACTIVE,
        created=desk.at,
        updated=desk.at,
        source_digests=freshness.record(desk.vault, claim.scope, claim.sources)
        if claim.verified_at
        else (),
        approved_via=caller.channel,
    )
    taken = succession.take_place(desk, caller, note, losers, field="supersedes", reason=reason)
    require_free_slot(desk, claim, but=taken.winner.supersedes)
    path = free_path(desk, claim.scope, claim.name)
    return (Create(path, codec.render(taken.winner)), *taken.changes)


def replacement(desk: Desk, document: Document[Memory], new: Memory) -> Change:
    """Plan a note's new version, in a new place if its slot or scope changed."""
    old = document.content
    data = codec.patch(document, new)
    if (new.claim.slot, new.claim.scope) == (old.claim.slot, old.claim.scope):
        return Replace(document.path, data, document.checksum)
    # People sort notes into sub-folders: a renamed note stays in its folder.
    kept = document.path.rsplit("/", 1)[0] if new.claim.scope == old.claim.scope else None
    path = free_path(desk, new.claim.scope, new.claim.name, folder=kept)
    return Move(document.path, path, data, document.checksum)


def to_trash(desk: Desk, document: AnyDocument) -> Move:
    """Plan a file's way to the trash, with its bytes as they are."""
    stamp = desk.at.replace("-", "").replace(":", "")
    target = layout.trash_path(document.path, stamp=stamp, transaction_id=desk.transaction_id)
    return Move(document.path, target, document.data, document.checksum)


def require_free_slot(desk: Desk, claim: Claim, *, but: Collection[str] = ()) -> None:
    """Refuse a slot that another active note of the same scope holds, `but` these ids apart.

    Raises:
        AlreadyExists: naming that note.
    """
    holder = desk.slot_holder(claim, but=but)
    if holder is not None:
        raise withheld.slot_taken(
            holder,
            f"the slot '{claim.name}' is held by an active note",
            details={"scope": holder.scope.label},
        )


def free_path(desk: Desk, scope: Scope, name: str, *, folder: str | None = None) -> str:
    """Return a path for a slot's note that no file has, also where case doesn't count."""
    attempt = 1
    while True:
        path = layout.memory_path(scope, name, attempt=attempt)
        if folder is not None:
            path = f"{folder}/{path.rsplit('/', 1)[-1]}"
        if not is_taken(desk, scope, path):
            return path
        attempt += 1


def is_taken(desk: Desk, scope: Scope, path: str) -> bool:
    """Tell whether a file has this name, or one that other file systems take for it."""
    return bool(neighbours(desk, scope, path)) or reader.is_taken(desk.vault.root, path)


def neighbours(desk: Desk, scope: Scope, path: str) -> list[str]:
    """Return the notes whose paths some file system takes for this one, as the index knows them."""
    key = identity.file_key(path)
    known = catalog.paths_named(desk.vault.database, layout.stem(path), scope)
    return [each for each in known if identity.file_key(each) == key]
