"""Near-duplicates: refused by naming the one that is there, let by at the user's word, counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from keepm.config.sameness import load_sameness
from keepm.errors import ApprovalRequired, TooSimilar
from keepm.index import catalog, likeness, versions
from keepm.index.likeness import Holder
from keepm.markdown import documents
from keepm.model import similarity
from keepm.model.approval import Channel
from keepm.model.memory import Claim
from keepm.model.proposal import Proposal, ProposalStatus
from keepm.model.similarity import Sameness
from keepm.operations import sync, verdicts
from keepm.operations.mutation import Desk
from keepm.operations.vault import Caller, Vault
from keepm.store import reader

_FREE = 2  # so many a day pass at the agent's word that the user agreed
_DAY = timedelta(hours=24)
_ORDER = list(Sameness)


@dataclass(frozen=True, slots=True)
class Alike:
    """An existing note, or a pending proposal, that a claim is the same as, and in what way."""

    id: str
    name: str
    path: str
    sameness: Sameness
    score: float
    is_proposal: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a claim isn't compared with: `but` are ids of what gives way to it or is its target,
    `known` the claims of its scope that it comes from, whose likenesses it may keep. With `inbox`
    pending proposals are compared too."""

    but: Collection[str] = ()
    known: Sequence[Claim] = ()
    inbox: bool = False


def admit(
    desk: Desk,
    caller: Caller,
    claim: Claim,
    around: Surroundings,
    *,
    allowed: bool,
    permitted: Collection[str] = (),
    hint: str | None = None,
) -> tuple[Alike, ...]:
    """Let a claim pass; return what it resembles and was let by, for the event (`noted`).

    `allowed`: the user wants it nevertheless. `permitted` are ids it may resemble already.

    Raises:
        TooSimilar: it is a near-duplicate, and nobody allowed that.
        ApprovalRequired: it was allowed by the agent's word alone, too often within a day.
    """
    vault = desk.vault
    found = tuple(a for a in find(vault, claim, around) if a.id not in permitted)
    if any(reader.state(vault.root, each.path) is None for each in found):
        # Somebody took the file away just now, and nobody is to be referred to what is gone.
        sync.reconcile(vault)
        found = tuple(a for a in find(vault, claim, around) if a.id not in permitted)
    if not found:
        return ()
    if not allowed:
        raise _refusal(found[0], hint)
    used = versions.let_by_since(vault.database, _day_before(vault))
    if used >= _FREE and caller.channel.rank < Channel.HOST.rank:
        raise ApprovalRequired(
            f"{used} near-duplicates were let by within 24 hours; for more the user's own "
            "confirmation is needed",
            hint="Read the existing note and update it, or ask the owner to write this one.",
            details={"id": found[0].id, "name": found[0].name, "let_by": used},
        )
    return found


def admit_decided(
    desk: Desk, caller: Caller, proposal_id: str, claim: Claim, around: Surroundings
) -> tuple[Alike, ...]:
    """Let a pending proposal's claim pass as it would become; return what was let by, as `admit`.

    What it was let by to resemble when it was proposed, it may resemble; anything else needs a
    person's own confirmation.

    Raises:
        TooSimilar.
    """
    return admit(
        desk,
        caller,
        claim,
        around,
        allowed=caller.channel.rank >= Channel.HOST.rank,
        permitted=permitted(desk.vault, proposal_id),
        hint="Read the existing one and work on that (memory_inbox_promote takes it as "
        "target_identifier), or reject this proposal and, if the user says that both are wanted, "
        "propose it anew with allow_similar=true.",
    )


def noted(found: Iterable[Alike]) -> dict[str, str]:
    """Return what the ledger's event says of the likenesses that were let by."""
    ids = ",".join(each.id for each in found)
    return {"similar_to": ids} if ids else {}


def ruled(
    desk: Desk, caller: Caller, claim: Claim, around: Surroundings, let_by: Iterable[Alike]
) -> dict[str, str]:
    """Return the verdict that a person gave by letting a claim into memory, for the event.

    Beside what they were shown it is no duplicate: for the owner's review all that it resembles,
    in a host's question what is let by just now.
    """
    seen = find(desk.vault, claim, around) if caller.channel.rank > Channel.HOST.rank else let_by
    return verdicts.telling_apart(
        desk.vault, caller, claim, {each.id: each.path for each in seen if not each.is_proposal}
    )


def permitted(vault: Vault, proposal_id: str) -> frozenset[str]:
    """Return the ids that a proposal was let by to resemble, proposals by what became of them."""
    ids = versions.let_by(vault.database, proposal_id)
    return ids.union(*(_became(vault, each) for each in ids))


def find(vault: Vault, claim: Claim, around: Surroundings) -> tuple[Alike, ...]:
    """Return the active notes of the claim's own scope that it is the same as, the surest first.

    What a person ruled to be no duplicate of it is not among them.
    """
    rules = load_sameness()
    exact = similarity.exact_keys(claim, rules)
    kept = [known for known in around.known if known.scope == claim.scope]
    for known in kept:
        for key in similarity.exact_keys(known, rules):
            exact.pop(key, None)
    found = {
        holder.id: _alike(holder, exact[holder.key], 1.0)
        for holder in sorted(
            _holders(vault, exact, claim, around),
            key=lambda holder: (-_ORDER.index(exact[holder.key]), holder.id),
        )
    }
    for holder in _near(vault, claim, around, kept):
        score = similarity.nearness(
            similarity.title(claim.name, rules), similarity.title(holder.name, rules), rules
        )
        if score is not None and holder.id not in found:
            found[holder.id] = _alike(holder, Sameness.NEAR_TITLE, score)
    ruled = verdicts.not_duplicates(vault, claim, (each.path for each in found.values()))
    return tuple(
        sorted(
            (each for each in found.values() if each.path not in ruled),
            key=lambda a: (a.is_proposal, _ORDER.index(a.sameness), -a.score, a.name, a.id),
        )
    )


def _near(vault: Vault, claim: Claim, around: Surroundings, kept: Sequence[Claim]) -> list[Holder]:
    rules = load_sameness()
    keys = similarity.near_keys(claim.name, rules)
    if any(similarity.near_keys(known.name, rules) == keys for known in kept):
        return []
    return _holders(vault, keys, claim, around)


def _holders(vault: Vault, keys: Iterable[str], claim: Claim, around: Surroundings) -> list[Holder]:
    held = likeness.holders(vault.database, keys, claim.scope, with_proposals=around.inbox)
    return [holder for holder in held if holder.id not in around.but]


def _alike(holder: Holder, sameness: Sameness, score: float) -> Alike:
    return Alike(holder.id, holder.name, holder.path, sameness, score, holder.is_proposal)


def _became(vault: Vault, proposal_id: str) -> frozenset[str]:
    """Return the note that a proposal became, if it did."""
    for row in catalog.find_proposals(vault.database, proposal_id, vault.visibility):
        if row.id == proposal_id and row.status is ProposalStatus.PROMOTED:
            data = reader.read(vault.root, row.path, limit=vault.policy.document_bytes)
            content = documents.read(row.path, data).content
            if isinstance(content, Proposal) and content.promoted_memory_id:
                return frozenset({content.promoted_memory_id})
    return frozenset()


def _refusal(found: Alike, hint: str | None) -> TooSimilar:
    what = "pending proposal" if found.is_proposal else "note"
    how = {
        Sameness.ALIAS: "has a name or alias in common with this",
        Sameness.TITLE: "has the same title but for dates, numbers and words like 'new'",
        Sameness.BODY: "has the same text",
        Sameness.NEAR_TITLE: "has nearly the same title",
    }[found.sameness]
    if hint is None and found.is_proposal:
        hint = (
            "Read it with memory_inbox_read and change it with memory_inbox_update. If the user "
            "says that both are wanted, call again with allow_similar=true."
        )
    return TooSimilar(
        f"the {what} '{found.name}' {how}",
        hint=hint,
        details={
            "id": found.id,
            "name": found.name,
            "score": found.score,
            "sameness": str(found.sameness),
            "is_proposal": found.is_proposal,
        },
    )


def _day_before(vault: Vault) -> str:
    return (vault.clock.now() - _DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
