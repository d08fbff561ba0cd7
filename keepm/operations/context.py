"""The one call at the start of a task: bounded, in a fixed order, the same while nothing changes.

Pinned notes, then what the query finds, then one hop along explicit relations, then notes that
the query or a find names in passing; beside them the handoff, the Inbox's counts and the conflict
hints. Without a query: the project's briefing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from keepm.errors import KeepMError
from keepm.index import catalog as index_catalog
from keepm.index import graph, mentions
from keepm.index.graph import Direction
from keepm.index.rows import NoteRow
from keepm.index.search import SearchResult
from keepm.model.handoff import Handoff
from keepm.operations import (
    answers,
    corrections,
    freshness,
    handoffs,
    identifying,
    retrieval,
    sync,
    waiting,
    withheld,
)
from keepm.operations.answers import (
    ContextAnswer,
    ContextHandoff,
    ContextItem,
    Corrections,
    InboxCounts,
)
from keepm.operations.progress import IndexState
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.operations.worktree import Look

_PINNED = 5
_HOPS_FROM = 3
_MENTIONED = 3
_NAMED_IN_ONE = 10  # notes that one text may name before those that are shown anyway are left out
_LEAST_TEXT = 160
_MOST_TEXT = 1500
_HANDOFF_KEY = len(',"handoff":,"omitted":1000')  # what comes with the value, and with no item


@dataclass(frozen=True, slots=True)
class _Candidate:
    row: NoteRow
    via: str
    passage: str  # the stretch of the body that matters most; the body's start without a query


def context(
    vault: Vault, *, query: str | None = None, limit: int = 10, max_chars: int = 6000
) -> ContextAnswer:
    """Return what a task should know, in at most `max_chars` characters all told."""
    with vault.progress.answering():
        return _context(vault, query, limit=limit, max_chars=max_chars)


def _context(vault: Vault, query: str | None, *, limit: int, max_chars: int) -> ContextAnswer:
    state = sync.refresh(vault)
    with vault.database.steady():
        return _answer(vault, query, state, limit=limit, max_chars=max_chars)


def _answer(
    vault: Vault, query: str | None, state: IndexState, *, limit: int, max_chars: int
) -> ContextAnswer:
    found = None
    if query is not None and query.strip():
        found = retrieval.find(vault, Wanted(query, limit=limit))
    candidates = _candidates(vault, query or "", found, limit)
    reason, hidden = None, None
    if found is not None and query and not found.hits:
        reason, hidden = retrieval.why_empty(vault, Wanted(query), found)
    elif found is None and not candidates:
        reason, hidden = withheld.why_none(vault)
    counts = waiting.summary(vault)
    hints = retrieval.conflict_hints(vault, [each.row for each in candidates])
    answer = ContextAnswer(
        notice=answers.NOTICE,
        project=vault.visibility.project_id,
        items=[],
        inbox_summary=InboxCounts(counts.pending, counts.overdue, counts.remind),
        index_state=retrieval.worth(state, found),
        files_left=vault.progress.files_left,
        conflict_hints=hints[:3] or None,
        weak_match=True if found and found.weak_match and found.hits else None,
        query_cut=retrieval.cut(vault, query),
        reason=reason,
        withheld=hidden,
        did_you_mean=list(found.did_you_mean) or None if found else None,
        setup=None
        if vault.visibility.project_id
        else "No project is set up for this folder: global memory only. Run `keepm setup` here.",
    )
    for lean in (answer, replace(answer, conflict_hints=None, did_you_mean=None)):
        room = max_chars - answers.size(lean)
        # The handoff may take a third, so that a long one doesn't starve the memories.
        most = room - _HANDOFF_KEY
        share = room // 3 if candidates else most
        handoff = _handoff(vault, share, most=most) if room >= 0 else None
        answer = replace(lean, handoff=handoff)
        if room >= 0 and (handoff is None or answers.part_size(handoff) <= most):
            break  # else hints make room: even a handoff's handle alone doesn't fit beside them
    return _filled(vault, answer, candidates, max_chars)


def _candidates(
    vault: Vault, query: str, found: SearchResult | None, limit: int
) -> list[_Candidate]:
    """Return what may be shown, in its order."""
    pinned, _ = index_catalog.catalog(
        vault.database, vault.visibility, pinned_only=True, limit=_PINNED, bodies=True
    )
    chosen = {row.id: _Candidate(row, "pinned", "") for row in pinned}
    if found is None:
        rows, _ = index_catalog.catalog(vault.database, vault.visibility, limit=limit, bodies=True)
        for row in rows:
            chosen.setdefault(row.id, _Candidate(row, "briefing", ""))
        return list(chosen.values())
    for hit in found.hits:
        via = "name" if hit.band == "exact" else "match"
        chosen.setdefault(hit.note.id, _Candidate(hit.note, via, hit.snippet))
    first = [hit.note for hit in found.hits[:_HOPS_FROM]]
    for row in first:
        for candidate in _related(vault, row):
            chosen.setdefault(candidate.row.id, candidate)
    for candidate in _mentioned(vault, query, first, chosen):
        chosen.setdefault(candidate.row.id, candidate)
    return list(chosen.values())


def _related(vault: Vault, row: NoteRow) -> Iterator[_Candidate]:
    """Yield the notes one explicit relation away."""
    found, _ = graph.links(
        vault.database,
        row.id,
        vault.visibility,
        direction=Direction.FORWARD,
        relation=None,
        limit=20,
        offset=0,
    )
    for link in found:
        if link.relation and link.id:
            for target in index_catalog.find(vault.database, link.id, vault.visibility):
                if target.status == "active":
                    yield _Candidate(target, f"{link.relation} of {row.name}", "")


def _mentioned(
    vault: Vault, query: str, rows: Sequence[NoteRow], without: Collection[str]
) -> list[_Candidate]:
    """Return the first few notes that the query, or the text of one of these, names in passing."""
    texts = [("the query", query), *((row.name, f"{row.description}\n{row.body}") for row in rows)]
    found: dict[str, _Candidate] = {}
    for where, text in texts:
        for row in mentions.find(vault.database, text, vault.visibility, limit=_NAMED_IN_ONE):
            if row.id not in without:
                found.setdefault(row.id, _Candidate(row, f"mentioned in {where}", ""))
    return list(found.values())[:_MENTIONED]


def _handoff(vault: Vault, room: int, *, most: int) -> ContextHandoff | None:
    """Return the latest handoff within `room`; of a larger one at least the handle, in `most`."""
    rows = identifying.active_handoffs(vault)
    if not rows:
        return None
    row = rows[0]
    others = len(rows) - 1 or None
    least = ContextHandoff(id=row.id, title=row.title, cut=True, others=others)
    while least.title and answers.part_size(least) > most:
        least = replace(least, title=answers.excerpt(least.title, len(least.title) * 2 // 3))
    try:
        content = handoffs.read(vault, row.id).document.content
    except KeepMError:
        return least
    if not isinstance(content, Handoff):
        return least
    whole = ContextHandoff(
        id=content.id,
        title=content.title,
        goal=content.goal,
        current_state=content.current_state,
        unresolved=list(content.unresolved) or None,
        next_steps=list(content.next_steps) or None,
        others=others,
    )
    if answers.part_size(whole) <= room:
        return whole
    share = max(40, (room - answers.part_size(least)) // 3)
    cut = replace(
        whole,
        goal=answers.excerpt(content.goal, share),
        current_state=answers.excerpt(content.current_state, share),
        unresolved=None,
        next_steps=None,
        cut=True,
    )
    return cut if answers.part_size(cut) <= room else least


def _filled(
    vault: Vault, answer: ContextAnswer, candidates: list[_Candidate], max_chars: int
) -> ContextAnswer:
    """Put in as many candidates as fit, each with a fair share of text."""
    pending = corrections.of_rows(vault, [candidate.row for candidate in candidates])
    seen = freshness.look(vault)
    bare = [
        _context_item(vault, candidate, pending.get(candidate.row.id), seen)
        for candidate in candidates
    ]
    room = max_chars - answers.size(answer)
    while bare and sum(answers.part_size(item) + 1 for item in bare) + 16 > room:
        bare.pop()
    items = list(bare)
    left = room - sum(answers.part_size(item) + 1 for item in items) - 16
    for number, item in enumerate(items):
        share = left // (len(items) - number)
        candidate = candidates[number]
        text = _text(candidate, min(share - 30, _MOST_TEXT))
        if text:
            whole = text.strip() == candidate.row.body.strip()
            fuller = replace(item, text=text, cut=None if whole else True)
            grown = answers.part_size(fuller) - answers.part_size(item)
            if grown <= left:
                items[number] = fuller
                left -= grown
    omitted = len(candidates) - len(items)
    full = replace(answer, items=items, omitted=omitted or None)
    while full.items and answers.size(full) > max_chars:
        full = replace(full, items=full.items[:-1], omitted=(full.omitted or 0) + 1)
    return full


def _text(candidate: _Candidate, room: int) -> str:
    body = candidate.row.body.strip()
    if len(body) <= room:
        return body
    if room < _LEAST_TEXT:
        return answers.excerpt(candidate.passage, room) if candidate.passage else ""
    passage = candidate.passage.strip("… \n")
    start = body.find(passage[:40]) if passage else 0
    # Begin at the passage, or at the body's start when the passage fits behind it.
    if start <= 0 or start + len(passage) <= room:
        return answers.excerpt(body, room)
    line = body.rfind("\n", 0, start) + 1
    return "…" + answers.excerpt(body[line:], room - 1)


def _context_item(
    vault: Vault, candidate: _Candidate, pending: Corrections | None, seen: Look | None
) -> ContextItem:
    row = retrieval.shown(vault, candidate.row)
    return ContextItem(
        id=row.id,
        name=row.name,
        kind=str(row.kind) if row.kind else None,
        scope=row.scope.label,
        via=candidate.via,
        description=row.description,
        source_state=retrieval.source_state(vault, row, seen),
        pending_corrections=pending,
    )
