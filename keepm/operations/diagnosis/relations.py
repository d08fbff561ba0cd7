"""What is wrong between documents: ids, names, links, and what supersedes what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from keepm.index import graph
from keepm.index.graph import LinkState
from keepm.model import copies, identity, resolution
from keepm.model.diagnosis import Finding
from keepm.model.document import Damaged
from keepm.model.memory import Memory, Status
from keepm.operations.diagnosis.survey import Seen
from keepm.operations.vault import Vault

_NAME, _ALIAS = "name", "alias"


def findings(vault: Vault, seen: Sequence[Seen]) -> Iterator[Finding]:
    """Yield what is wrong between the documents of the caller's scope."""
    second = set()
    for each in _ids(seen):
        if each.rule.code == "conflict_copy" and each.path:
            second.add(each.path)
        yield each
    notes = [each for each in seen if each.path not in second and isinstance(each.content, Memory)]
    yield from _names(notes)
    yield from _lineage(notes)
    yield from _links(vault, {each.path: each for each in notes})


# ---- ids -----------------------------------------------------------------------------------------


def _ids(seen: Iterable[Seen]) -> Iterator[Finding]:
    """Yield files that share an id: copies that a sync program left, and others."""
    by_id: defaultdict[str, list[Seen]] = defaultdict(list)
    for each in seen:
        if not isinstance(each.content, Damaged):
            by_id[identity.slot_key(each.content.id)].append(each)
    for group in by_id.values():
        if len(group) == 1:
            continue
        group.sort(key=lambda each: each.path)
        named_copies = {
            path
            for scope in {each.scope for each in group}
            for path in copies.among(each.path for each in group if each.scope == scope)
        }
        originals = [each for each in group if each.path not in named_copies]
        for each in group:
            if each.path in named_copies:
                yield _copy(each, originals)
            elif len(originals) > 1:
                yield _second(each, originals)


def _copy(copy: Seen, originals: Sequence[Seen]) -> Finding:
    same = [each for each in originals if each.checksum == copy.checksum]
    reason = (
        f"a copy of {_listed(same)}, with the very same bytes: it can be deleted"
        if same
        else f"a second version of {_listed(originals)}"
    )
    return copy.finding("conflict_copy", reason)


def _second(each: Seen, group: Sequence[Seen]) -> Finding:
    others = [other for other in group if other is not each]
    reason = f"its id is also that of {_listed(others)}"
    return each.finding("duplicate_id", reason, line=each.lines.get("id"))


# ---- names ---------------------------------------------------------------------------------------


def _names(notes: Sequence[Seen]) -> Iterator[Finding]:
    """Yield active notes of one scope that answer to one name; a project may shadow global."""
    called: defaultdict[tuple[str, str], list[tuple[Seen, str]]] = defaultdict(list)
    for each in notes:
        note = each.content
        assert isinstance(note, Memory)
        if note.status is Status.ACTIVE:
            own = note.claim.slot
            called[each.scope.key, own].append((each, _NAME))
            for alias in {identity.slot_key(alias) for alias in note.claim.aliases} - {own}:
                called[each.scope.key, alias].append((each, _ALIAS))
    for (_, slot), found in called.items():
        if len(found) == 1 or not slot:
            continue
        found.sort(key=lambda each: each[0].path)
        named = [each for each, role in found if role == _NAME]
        for each, role in found:
            if role == _NAME and len(named) > 1:
                others = [other for other in named if other is not each]
                reason = f"its name is also that of {_listed(others)}"
                line = each.lines.get("name")
                yield each.finding("duplicate_name", reason, line=line)
            elif role == _ALIAS:
                others = [other for other, _ in found if other is not each]
                reason = f"one of its aliases also names {_listed(others)}"
                line = each.lines.get("aliases")
                yield each.finding("duplicate_alias", reason, line=line)


# ---- what supersedes what ------------------------------------------------------------------------


def _lineage(notes: Sequence[Seen]) -> Iterator[Finding]:
    scopes: defaultdict[str, dict[str, Seen]] = defaultdict(dict)
    for each in notes:
        scopes[each.scope.key].setdefault(identity.slot_key(each.content.id), each)
    for by_id in scopes.values():
        # Most notes supersede none: they end a chain at most.
        wanted = {own: targets for own, each in by_id.items() if (targets := _targets(each))}
        there = {own: tuple(t for t in targets if t in by_id) for own, targets in wanted.items()}
        circles = [set(group) for group in resolution.loops(there)]
        for own in sorted(wanted, key=lambda own: by_id[own].path):
            each = by_id[own]
            circle = next((group for group in circles if own in group), set())
            others = [by_id[other] for other in circle if other != own]
            if circle:
                reason = f"it and {_listed(others)} supersede one another" if others else ""
                line = each.lines.get("supersedes")
                yield each.finding("supersedes_circle", reason or "it supersedes itself", line=line)
            if missing := len(wanted[own]) - len(there[own]):
                reason = f"supersedes names {_notes(missing)} not there"
                line = each.lines.get("supersedes")
                yield each.finding("unresolved_supersedes", reason, line=line)
            if _is_active(each):
                for target in there[own]:
                    if target not in circle and _is_active(by_id[target]):
                        yield _overtaken(by_id[target], each)


def _overtaken(loser: Seen, winner: Seen) -> Finding:
    reason = f"{winner.path} supersedes it, so that it isn't served as current"
    line = loser.lines.get("status")
    return loser.finding("superseded_but_active", reason, line=line, detail=winner.subject)


def _targets(each: Seen) -> tuple[str, ...]:
    assert isinstance(each.content, Memory)
    return tuple(dict.fromkeys(identity.slot_key(target) for target in each.content.supersedes))


def _is_active(each: Seen) -> bool:
    return isinstance(each.content, Memory) and each.content.status is Status.ACTIVE


def _notes(number: int) -> str:
    return "a note that is" if number == 1 else f"{number} notes that are"


# ---- links ---------------------------------------------------------------------------------------


def _links(vault: Vault, notes: dict[str, Seen]) -> Iterator[Finding]:
    """Yield links of active notes that lead nowhere or to several notes, as the index has them."""
    for loose in graph.loose_links(vault.database, vault.visibility):
        each = notes.get(loose.path)
        if each is None or not _is_active(each):
            continue
        above = each.lines.get(loose.relation or "", 1)
        line = each.text_line + loose.line - 1 if loose.line else above
        if loose.state is LinkState.AMBIGUOUS:
            yield each.finding("ambiguous_link", line=line, detail=loose.key)
        else:
            yield each.finding("unresolved_link", line=line, detail=loose.key)


# ---- words ---------------------------------------------------------------------------------------


def _listed(group: Sequence[Seen]) -> str:
    """Name at most three files."""
    shown = ", ".join(sorted(each.path for each in group)[:3])
    return shown if len(group) <= 3 else f"{shown} and {len(group) - 3} more"
