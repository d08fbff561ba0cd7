"""Verdicts: what a person ruled for good, and how it meets what comes afterwards.

They are made by the owner or through the host only, stand in the ledgers, and are about what a
text says (`model/verdict`), not about a file. *Rejected* binds in the scope it was given in; the
two about pairs bind wherever they may be seen. The owner's verbs on them are in `ruling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from keepm.config.sameness import load_sameness
from keepm.errors import KeepMError, RejectedBefore
from keepm.index import catalog, rulings, versions
from keepm.index.rulings import RulingRow
from keepm.markdown import documents
from keepm.model import layout, verdict
from keepm.model.approval import Channel
from keepm.model.checksum import Checksum
from keepm.model.document import Damaged
from keepm.model.handoff import Handoff
from keepm.model.layout import Shelf
from keepm.model.memory import Claim
from keepm.model.proposal import Proposal, TargetAction
from keepm.model.scope import Scope
from keepm.operations.vault import Caller, Vault
from keepm.store import history, reader

REJECTED = "rejected"
NOT_DUPLICATE = "not_duplicate"
NOT_CONFLICT = "not_conflict"
KINDS = (REJECTED, NOT_DUPLICATE, NOT_CONFLICT)


def may_rule(caller: Caller) -> bool:
    """Tell whether what comes by this caller's channel can be a person's lasting word."""
    return caller.channel.rank >= Channel.HOST.rank


# ---- rejected ------------------------------------------------------------------------------------


def require_not_rejected(vault: Vault, claim: Claim, *, was: Iterable[Claim] = ()) -> None:
    """Let a claim pass unless a person rejected it; what the notes say that it comes from (`was`)
    isn't new.

    Raises:
        RejectedBefore: naming the verdict, when it was given, and why if that is still kept.
    """
    found = rejection_of(vault, claim, was=was)
    if found is None:
        return
    lifting = found.transaction_id[:8]
    raise RejectedBefore(
        "a person rejected this before, for good",
        hint=f"{RejectedBefore.hint} {lifting}",
        details={
            "when": found.time,
            "why": reason(vault, found.object_id) or None,
            "id": found.object_id,
            "verdict": lifting,
        },
    )


def rejection_of(vault: Vault, claim: Claim, *, was: Iterable[Claim] = ()) -> RulingRow | None:
    """Return the latest standing verdict that rejects a claim in its scope.

    What was rejected for a project can't come to it as global memory either; other projects learn
    nothing of it.
    """
    if not rulings.has_any(vault.database, REJECTED):
        return None
    rules = load_sameness()
    values = set(verdict.values(claim, vault.policy, rules))
    for known in was:
        if known.scope == claim.scope:
            values.difference_update(verdict.values(known, vault.policy, rules))
    binding = {claim.scope.key}
    if claim.scope.project_id is None and vault.visibility.project_id is not None:
        binding.add(Scope(vault.visibility.project_id).key)
    found = [
        row
        for row in rulings.about(vault.database, REJECTED, sorted(values))
        if row.scope in binding and counts(row)
    ]
    return found[-1] if found else None


def rejecting(vault: Vault, caller: Caller, proposal: Proposal) -> dict[str, str]:
    """Return what the event of a rejection says so that it lasts.

    Nothing where the caller can't rule, or the proposal says just what its target says.
    """
    if not may_rule(caller):
        return {}
    there = target_claim(vault, proposal.target_id)
    claims = [proposal.claim]
    if there is not None and proposal.target_action is TargetAction.UPDATE:
        claims.append(replace(proposal.claim, name=there.name))  # as it would have been stored
    rules = load_sameness()
    subjects = [s for each in claims for s in verdict.rejected(each, there, vault.policy, rules)]
    return _ruled(REJECTED, list(dict.fromkeys(subjects)))


def target_claim(vault: Vault, note_id: str | None) -> Claim | None:
    """Return what the note says that a proposal corrects, if it does and that can be read."""
    if note_id is None:
        return None
    rows = catalog.find(vault.database, note_id, vault.visibility)
    found = next((row for row in rows if row.id == note_id), None)
    return None if found is None else claim_at(vault, found.path)


# ---- pairs ---------------------------------------------------------------------------------------


def not_duplicates(vault: Vault, claim: Claim, paths: Iterable[str]) -> frozenset[str]:
    """Return which of these documents a person ruled to be no duplicate of a claim, by path."""
    if not rulings.has_any(vault.database, NOT_DUPLICATE):
        return frozenset()
    pairs = {path: pair_with(vault, claim, path) for path in paths}
    ruled = ruled_pairs(vault, NOT_DUPLICATE, (each for each in pairs.values() if each))
    return frozenset(path for path, pair in pairs.items() if pair in ruled)


def telling_apart(
    vault: Vault, caller: Caller, claim: Claim, others: Mapping[str, str]
) -> dict[str, str]:
    """Return what the event says when a person let a claim by beside what it resembles.

    `others` are the paths of those by id.
    """
    if not may_rule(caller):
        return {}
    pairs = {each: pair_with(vault, claim, path) for each, path in others.items()}
    ruled = _ruled(NOT_DUPLICATE, sorted({pair for pair in pairs.values() if pair}))
    return {**ruled, "about": " ".join(pairs)} if ruled else {}


def not_conflicting(vault: Vault, pairs: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return which of these pairs of notes, by id, a person ruled to be no conflict.

    A pair comes back in the order in which it was given. Notes that the vault's visibility
    doesn't show, and ids that several files have, are never ruled about.
    """
    if not rulings.has_any(vault.database, NOT_CONFLICT):
        return frozenset()
    asked = list(pairs)
    known = {each: said_by(vault, each) for pair in asked for each in pair}
    digests = {
        ids: verdict.pair(one, other)
        for ids in asked
        if (one := known[ids[0]]) is not None and (other := known[ids[1]]) is not None
    }
    ruled = ruled_pairs(vault, NOT_CONFLICT, digests.values())
    return frozenset(ids for ids, digest in digests.items() if digest in ruled)


def pair_with(vault: Vault, claim: Claim, path: str) -> str | None:
    """Return the digest of a claim and a document as a pair; nothing if it can't be read."""
    there = claim_at(vault, path)
    if there is None:
        return None
    return verdict.pair(said(vault, claim), said(vault, there))


def said(vault: Vault, claim: Claim) -> str:
    """Return the digest of what a claim says."""
    return verdict.said(claim.description, claim.body, vault.policy, load_sameness())


# ---- what a verdict is told by -------------------------------------------------------------------


def ruled_pairs(vault: Vault, ruling: str, pairs: Iterable[str]) -> frozenset[str]:
    """Return which pairs' digests a person ruled about, as far as may be seen here."""
    return frozenset(
        row.subject
        for row in rulings.about(vault.database, ruling, sorted(set(pairs)))
        if vault.visibility.sees(Scope.from_key(row.scope)) and counts(row)
    )


def counts(row: RulingRow) -> bool:
    """Tell whether a person made this ruling; a ledger may come from anywhere."""
    try:
        return row.channel is not None and Channel(row.channel).rank >= Channel.HOST.rank
    except ValueError:
        return False


def said_by(vault: Vault, note_id: str) -> str | None:
    """Return the digest of what the one visible note with this id says."""
    rows = [
        row for row in catalog.find(vault.database, note_id, vault.visibility) if row.id == note_id
    ]
    if len(rows) != 1:
        return None
    (row,) = rows
    return verdict.said(row.description, row.body, vault.policy, load_sameness())


def claim_at(vault: Vault, path: str) -> Claim | None:
    """Return what a note or proposal says; nothing if it can't be read as one."""
    try:
        data = reader.read(vault.root, path, limit=vault.policy.document_bytes)
        content = documents.read(path, data).content
    except KeepMError:
        return None
    return None if isinstance(content, Damaged | Handoff) else content.claim


def reason(vault: Vault, proposal_id: str) -> str:
    """Return why a proposal was rejected: from the archive, else from the version that was kept."""
    for row in catalog.find_proposals(vault.database, proposal_id, vault.visibility):
        if row.id == proposal_id:
            try:
                data = reader.read(vault.root, row.path, limit=vault.policy.document_bytes)
                content = documents.read(row.path, data).content
            except KeepMError:
                continue
            if isinstance(content, Proposal) and content.rejection_reason:
                return content.rejection_reason
    last = versions.latest_of(vault.database, proposal_id)
    kept = (last.new or last.old) if last is not None else None
    if last is None or kept is None or not vault.visibility.sees(Scope.from_key(last.scope)):
        return ""
    try:
        data = history.get(vault.root, Checksum(kept))
    except KeepMError:
        return ""
    path = layout.inbox_path(
        Shelf.ARCHIVED_PROPOSAL, Scope.from_key(last.scope), "rejected", proposal_id
    )
    content = documents.read(path, data).content
    return (content.rejection_reason or "") if isinstance(content, Proposal) else ""


# ---- parts ---------------------------------------------------------------------------------------


def _ruled(ruling: str, subjects: Sequence[str]) -> dict[str, str]:
    return {"ruling": ruling, "subjects": " ".join(subjects)} if subjects else {}
