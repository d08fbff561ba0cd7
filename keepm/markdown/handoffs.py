"""Handoffs: metadata in the front matter; goal, state and lists as sections people can edit.

A KeepM 3 handoff keeps the latter in its front matter and repeats them below; it is read, and
takes the present form when one of them changes.
"""

from __future__ import annotations

from keepm.markdown import bodies, claims, frontmatter, sections
from keepm.markdown.damage import damaged, derived_id, from_broken, place
from keepm.markdown.fields import Fields
from keepm.markdown.frontmatter import Broken, Value
from keepm.markdown.patching import dominant_newline
from keepm.markdown.sections import Section
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.model.document import Damaged, Document, Finding, Severity, Standing
from keepm.model.handoff import LISTS, Handoff, HandoffStatus
from keepm.model.memory import Scope

KEYS = (
    "id",
    "type",
    "scope",
    "project_id",
    "title",
    "status",
    "language",
    "created",
    "updated",
    "source_client",
)

TITLES = {
    "goal": "Goal",
    "current_state": "Current state",
    "completed": "Completed",
    "unresolved": "Unresolved",
    "next_steps": "Next steps",
    "verification": "Verification",
}
"""The sections in their order, by field."""

_BY_HEADING = {title.casefold(): name for name, title in TITLES.items()}


def read(path: str, data: bytes) -> Document[Handoff] | Document[Damaged]:
    """Read one handoff.

    Raises:
        InvalidIdentifier: the path is not a place for documents.
    """
    where = place(path)
    if where.scope.project_id is None:
        message = "a handoff belongs to a project: move it below projects/<id>/"
        finding = Finding("scope_mismatch", message, None, Severity.ERROR)
        return damaged(path, data, (finding,), Standing.DAMAGED)
    try:
        parsed = frontmatter.examine(data)
    except Broken as broken:
        return from_broken(path, data, broken)
    fields = Fields(parsed)
    fields.check_scope(where.scope)
    status = fields.choice("status", HandoffStatus.ACTIVE, otherwise=HandoffStatus.COMPLETED)
    if (where.shelf is layout.Shelf.ARCHIVED_HANDOFF) is (status is HandoffStatus.ACTIVE):
        fields.note("status_mismatch", f"'status' is {status}, its folder says else", key="status")
    texts, lists = _said_above(fields) if _is_keepm3(fields) else _said_below(fields)
    handoff = Handoff(
        id=fields.identity(derived_id(path)),
        project_id=where.scope.project_id,
        title=fields.text("title") or layout.stem(path),
        goal=texts["goal"],
        current_state=texts["current_state"],
        completed=lists["completed"],
        unresolved=lists["unresolved"],
        next_steps=lists["next_steps"],
        verification=lists["verification"],
        language=fields.language(parsed.body),
        status=status,
        created=fields.moment("created"),
        updated=fields.moment("updated"),
        source_client=fields.text("source_client"),
    )
    return Document(path, Checksum.of(data), data, handoff, tuple(fields.findings))


def render(handoff: Handoff) -> bytes:
    """Write a new handoff.

    Raises:
        MalformedDocument: the text can't be read back as it is given.
    """
    written = (_written(handoff, name) for name in TITLES)
    return frontmatter.render(_fields(handoff), "\n".join(text for text in written if text))


def patch(document: Document[Handoff], handoff: Handoff) -> bytes:
    """Return the handoff's bytes with only the keys and sections changed that differ.

    Sections that people added stay where they are.

    Raises:
        MalformedDocument: the file can't be changed without a guess.
    """
    parsed = claims.parsed_for_change(document)
    changes = claims.changes(_fields(document.content), _fields(handoff))
    differing = {
        name for name in TITLES if _written(document.content, name) != _written(handoff, name)
    }
    if not differing:
        return frontmatter.patch(document.data, changes)
    if "goal" in parsed.fields:
        changes.update(dict.fromkeys(TITLES))
        differing = set(TITLES)
    newline = dominant_newline(document.data.decode("utf-8"))
    body = _rewritten(parsed.body, handoff, differing, newline=newline)
    return frontmatter.patch(document.data, changes, body=body)


def _rewritten(body: str, handoff: Handoff, differing: set[str], *, newline: str) -> str:
    """Return the body with the differing sections written anew, the others byte for byte."""
    parts = sections.split(body)
    order = list(TITLES)
    for name in order:
        if name not in differing:
            continue
        text = _written(handoff, name)
        raw = text.replace("\n", newline) + newline if text else ""
        here = _place(parts, name)
        if here is not None:
            parts[here : here + 1] = [Section(_heading(name), raw, 0)] if raw else []
        elif raw:
            before = [_place(parts, earlier) for earlier in order[: order.index(name)]]
            at = max((place for place in before if place is not None), default=0) + 1
            parts.insert(at, Section(_heading(name), raw, 0))
    pieces = [part.raw for part in parts]
    for number, piece in enumerate(pieces[:-1]):
        # A heading needs an empty line above it, where a piece ended the file before.
        if piece.strip() and pieces[number + 1] and not piece.endswith(newline * 2):
            ended = piece.endswith(("\n", "\r"))
            following = parts[number + 1]
            if following.line == 0 or not ended:
                pieces[number] = piece + (newline if ended else newline * 2)
    joined = "".join(pieces)
    if parts[-1].line == 0 and joined.endswith(newline * 2):
        joined = joined.removesuffix(newline)
    return joined if joined.startswith(("\n", "\r")) else newline + joined


def _place(parts: list[Section], name: str) -> int | None:
    heading = _heading(name)
    return next((n for n, part in enumerate(parts) if part.key == heading), None)


def _heading(name: str) -> str:
    return TITLES[name].casefold()


def _is_keepm3(fields: Fields) -> bool:
    return fields.parsed.fields.get("goal") is not None


def _said_above(fields: Fields) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return texts and lists of a KeepM 3 handoff, from its front matter."""
    texts = {name: fields.text(name) for name in TITLES if name not in LISTS}
    return texts, {name: fields.values(name) for name in LISTS}


def _said_below(fields: Fields) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return texts and lists from the visible sections; the first of two with one name counts."""
    texts = {name: "" for name in TITLES if name not in LISTS}
    lists: dict[str, tuple[str, ...]] = dict.fromkeys(LISTS, ())
    seen: set[str] = set()
    for section in sections.split(fields.parsed.body):
        name = _BY_HEADING.get(section.key)
        if name is None:
            continue
        if name in seen:
            line = fields.parsed.body_line + section.line - 1
            message = f"a second section '## {TITLES[name]}' is not read: join the two"
            fields.findings.append(Finding("duplicate_section", message, line))
        elif name in LISTS:
            lists[name] = sections.items(section)
        else:
            texts[name] = sections.text(section)
        seen.add(name)
    for name in texts:
        if not texts[name]:
            message = f"has no text under '## {TITLES[name]}'"
            fields.findings.append(Finding("missing_section", message))
    return texts, lists


def _written(handoff: Handoff, name: str) -> str:
    """Return one section as it is written; empty for an empty list or text."""
    if name in LISTS:
        values = tuple(v for v in getattr(handoff, name) if v.strip())
        return sections.written_items(TITLES[name], values) if values else ""
    text = bodies.trimmed(getattr(handoff, name))
    return sections.written_text(TITLES[name], text) if text else ""


def _fields(handoff: Handoff) -> dict[str, Value]:
    fields: dict[str, Value] = {
        "id": handoff.id,
        "type": "handoff",
        **claims.scope_fields(Scope(handoff.project_id)),
        "title": handoff.title,
        "status": str(handoff.status),
        "language": str(handoff.language),
    }
    optional = {
        "created": handoff.created,
        "updated": handoff.updated,
        "source_client": handoff.source_client,
    }
    fields.update({key: text for key, text in optional.items() if text})
    return claims.ordered(fields, KEYS)
