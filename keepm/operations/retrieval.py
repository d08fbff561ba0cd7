"""Finding what is known: search, catalog, links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from keepm.errors import RootUnavailable
from keepm.index import catalog as index_catalog
from keepm.index import graph, hints
from keepm.index import search as index_search
from keepm.index.graph import Direction, LinkRow
from keepm.index.hints import ConflictHint
from keepm.index.hits import Hit
from keepm.index.rows import NoteRow, ProposalRow
from keepm.index.search import Query, SearchResult
from keepm.model import memory, verification
from keepm.model.document import Standing
from keepm.model.memory import Kind, Language
from keepm.model.proposal import ProposalStatus
from keepm.model.verification import Verification
from keepm.operations import (
    answers,
    corrections,
    freshness,
    identifying,
    sync,
    verdicts,
    withheld,
    worktree,
)
from keepm.operations.answers import (
    CatalogAnswer,
    CatalogItem,
    Corrections,
    Explanation,
    Hint,
    LinkItem,
    LinksAnswer,
    SearchAnswer,
    SearchItem,
)
from keepm.operations.progress import IndexState
from keepm.operations.vault import Vault
from keepm.operations.worktree import Look
from keepm.store import reader
from keepm.store.root import is_there

_PURPOSE_CHARACTERS = 30
_HINTS = 5
Row = TypeVar("Row", NoteRow, ProposalRow)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search with its filters."""

    query: str
    scope: str | None = None
    kind: Kind | None = None
    language: Language | None = None
    tags: tuple[str, ...] = ()
    limit: int = 10
    offset: int = 0
    explain: bool = False


def search(vault: Vault, wanted: Wanted) -> SearchAnswer:
    """Find notes by words; any string is a legal query, and an empty answer says why."""
    with vault.progress.answering():
        return _search(vault, wanted)


def _search(vault: Vault, wanted: Wanted) -> SearchAnswer:
    state = sync.refresh(vault)
    with vault.database.steady():
        return _answer(vault, wanted, state)


def _answer(vault: Vault, wanted: Wanted, state: IndexState) -> SearchAnswer:
    result = find(vault, wanted)
    waiting = corrections.of_rows(vault, [hit.note for hit in result.hits])
    seen = freshness.look(vault)
    items = [
        _item(vault, hit, waiting.get(hit.note.id), seen, explain=wanted.explain)
        for hit in result.hits
    ]
    reason, hidden = (None, None) if result.total else why_empty(vault, wanted, result)
    conflicts = conflict_hints(vault, [hit.note for hit in result.hits])
    return SearchAnswer(
        notice=answers.NOTICE,
        items=items,
        count=len(items),
        total=result.total,
        offset=wanted.offset,
        index_state=worth(state, result),
        files_left=vault.progress.files_left,
        weak_match=True if result.weak_match and items else None,
        query_cut=cut(vault, wanted.query),
        reason=reason,
        withheld=hidden,
        searched=None if items else result.searched,
        did_you_mean=list(result.did_you_mean) or None,
        conflict_hints=conflicts or None,
    )


def cut(vault: Vault, query: str | None) -> int | None:
    """Return how many characters of a query are looked at, if not all of them."""
    longest = vault.policy.query_characters
    return longest if query is not None and len(query) > longest else None


def find(vault: Vault, wanted: Wanted) -> SearchResult:
    """Search the index, and again when a hit's file has changed since it was indexed."""
    query = Query(
        text=wanted.query[: vault.policy.query_characters],
        visibility=vault.visibility,
        scope=wanted.scope,
        kind=wanted.kind,
        language=wanted.language,
        tags=wanted.tags,
        limit=wanted.limit,
        offset=wanted.offset,
        explain=wanted.explain,
    )
    result = index_search.search(vault.database, query)
    with vault.root.paths.looking_once():
        late = [hit.note.path for hit in result.hits if _has_changed(vault, hit.note)]
    if late:
        vault.database.move_on()
        known = sync.take_in(vault, late)
        result = replace(index_search.search(vault.database, query), behind=not known)
    return result


def worth(state: IndexState, found: SearchResult | None) -> IndexState:
    """Return what an answer is worth, by the index's state before and what was found in it."""
    behind = found is not None and found.behind
    return IndexState.CATCHING_UP if behind and state is IndexState.CURRENT else state


def _has_changed(vault: Vault, row: NoteRow) -> bool:
    try:
        state = reader.state(vault.root, row.path)
        if state is None:
            # The whole vault out of sight is not one deleted note.
            return is_there(vault.root)
    except RootUnavailable:
        return False  # we aren't let near it: what the index knows is still worth an answer
    return (state.size, state.mtime_ns) != (row.size, row.mtime_ns)


def _item(
    vault: Vault, hit: Hit, waiting: Corrections | None, seen: Look | None, *, explain: bool
) -> SearchItem:
    row = shown(vault, hit.note)
    return SearchItem(
        id=row.id,
        name=row.name,
        kind=str(row.kind) if row.kind else None,
        scope=row.scope.label,
        description=row.description,
        snippet=hit.snippet,
        source_state=source_state(vault, row, seen),
        status=None if row.status == memory.Status.ACTIVE else str(row.status),
        damaged=True if row.standing is Standing.DAMAGED else None,
        pending_corrections=waiting,
        explain=Explanation(hit.band, hit.score, hit.coverage, dict(hit.field_scores))
        if explain
        else None,
    )


def why_empty(vault: Vault, wanted: Wanted, result: SearchResult) -> tuple[str, int | None]:
    """Say why nothing was found, without a word about what may not be seen."""
    if not result.used_terms:
        return "no_usable_words", None
    if wanted.scope or wanted.kind or wanted.language or wanted.tags:
        free = replace(wanted, scope=None, kind=None, language=None, tags=(), limit=1, offset=0)
        if find(vault, free).total:
            return "out_of_scope", None
    waiting = index_catalog.find_proposals(vault.database, wanted.query, vault.visibility)
    if any(row.status == ProposalStatus.PENDING for row in waiting):
        return "inbox_only", None
    return withheld.why_none(vault)


def shown(vault: Vault, row: Row) -> Row:
    """Return a row with name and description as answers show them: as long as ours may be.

    Hand-made files may have longer ones, and one of them must not crowd out all others.
    """
    limits = vault.policy.memory
    name = answers.excerpt(row.name, limits.name_characters)
    description = answers.excerpt(row.description, limits.description_characters)
    if (name, description) == (row.name, row.description):
        return row
    return replace(row, name=name, description=description)


def source_state(vault: Vault, row: NoteRow, seen: Look | None) -> str | None:
    """Return whether a note's sources still are what it was verified against."""
    state = freshness.state(vault, row.scope, row.sources, dict(row.source_digests), seen=seen)
    return None if state is None else str(state)


def conflict_hints(vault: Vault, shown: Sequence[NoteRow]) -> list[Hint]:
    """Return what may contradict the first of the notes that are shown.

    Without the pairs that a person ruled to be no conflict.
    """
    limit = _HINTS
    paths = [row.path for row in shown]
    while True:
        found = hints.around(vault.database, paths, vault.visibility, limit=limit)
        ruled = verdicts.not_conflicting(vault, [(each.a[0], each.b[0]) for each in found])
        left = [each for each in found if (each.a[0], each.b[0]) not in ruled]
        if len(left) >= _HINTS or len(found) < limit:
            break
        limit *= 4  # verdicts must not crowd out what nobody ruled about
    longest = vault.policy.memory.name_characters
    return [_hint(each, longest) for each in left[:_HINTS]]


def _hint(found: ConflictHint, longest: int) -> Hint:
    return Hint(
        kind=found.kind,
        ids=[found.a[0], found.b[0]],
        names=[answers.excerpt(name, longest) for _, name in (found.a, found.b)],
        detail=answers.excerpt(found.detail, longest),
    )


# ---- catalog ---------------------------------------------------------------------------------


def catalog(
    vault: Vault,
    *,
    kind: Kind | None = None,
    source_path: str | None = None,
    limit: int = 20,
    offset: int = 0,
    max_chars: int = 4500,
) -> CatalogAnswer:
    """List handles in their fixed order; `source_path` asks which notes cover a file or folder.

    An absolute one below the project's working tree is taken as relative to it; of a file that
    was moved, the notes on its former place are shown.
    """
    state = sync.refresh(vault)
    former: list[str] = []
    if source_path is not None:
        source_path = worktree.relative(vault.identity.top, source_path)
        former = freshness.former_paths(vault, source_path)
    with vault.database.steady():
        page, total = index_catalog.catalog(
            vault.database,
            vault.visibility,
            kind=kind,
            source_path=source_path,
            former_paths=former,
            limit=limit,
            offset=offset,
        )
        waiting = corrections.of_rows(vault, page)
        reason, hidden = (None, None) if total else withheld.why_none(vault)
        seen = freshness.look(vault)
        answer = CatalogAnswer(
            notice=answers.NOTICE,
            items=[_catalog_item(vault, row, waiting.get(row.id), seen) for row in page],
            count=len(page),
            total=total,
            offset=offset,
            index_state=state,
            files_left=vault.progress.files_left,
            reason=reason,
            withheld=hidden,
        )
    while answer.items and answers.size(answer) > max_chars:
        items = answer.items[:-1]
        answer = replace(answer, items=items, count=len(items), truncated=True)
    return answer


def _catalog_item(
    vault: Vault, found: NoteRow, waiting: Corrections | None, seen: Look | None
) -> CatalogItem:
    row = shown(vault, found)
    return CatalogItem(
        id=row.id,
        name=row.name,
        kind=str(row.kind) if row.kind else None,
        scope=row.scope.label,
        purpose=purpose(row.description),
        is_stale=is_stale(vault, row),
        source_state=source_state(vault, row, seen),
        pending_corrections=waiting,
    )


def purpose(description: str) -> str:
    """Cut a description to what a catalog shows of it."""
    if len(description) <= _PURPOSE_CHARACTERS:
        return description
    return description[: _PURPOSE_CHARACTERS - 1].rstrip() + "…"


def is_stale(vault: Vault, row: NoteRow) -> bool:
    """Tell whether an active note of a kind that is to be verified was not, for too long."""
    found = verification.state(
        vault.policy,
        row.kind,
        row.status,
        verified_at=row.verified_at,
        created=row.created,
        today=vault.today(),
        days=vault.settings.verification_review_days,
    )
    return found in (Verification.MISSING, Verification.OVERDUE)


# ---- links -----------------------------------------------------------------------------------


def links(
    vault: Vault,
    identifier: str,
    *,
    direction: str = "both",
    relation: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> LinksAnswer:
    """List what a note links to and what links to it.

    Raises:
        NotFound, AmbiguousIdentifier, InvalidIdentifier.
    """
    state = sync.refresh(vault)
    row = identifying.note(vault, identifier)
    found, total = graph.links(
        vault.database,
        row.id,
        vault.visibility,
        direction=Direction(direction),
        relation=relation,
        limit=limit,
        offset=offset,
    )
    longest = vault.policy.memory.name_characters
    return LinksAnswer(
        id=row.id,
        name=answers.excerpt(row.name, longest),
        items=[_link(each, longest) for each in found],
        count=len(found),
        total=total,
        offset=offset,
        index_state=state,
        files_left=vault.progress.files_left,
    )


def _link(row: LinkRow, longest: int) -> LinkItem:
    return LinkItem(
        direction=row.direction,
        target=answers.excerpt(row.target_text, 2 * longest),
        state=row.state,
        id=row.id,
        name=None if row.name is None else answers.excerpt(row.name, longest),
        kind=None if row.kind is None else str(row.kind),
        scope=None if row.scope is None else row.scope.label,
        relation=row.relation,
        line=row.line,
        candidates=[f"{answers.excerpt(name, longest)} ({i})" for i, name in row.candidates]
        or None,
    )
