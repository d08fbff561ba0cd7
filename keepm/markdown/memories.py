"""Formal memories: one note, its claim in the front matter and the body."""

from __future__ import annotations

from keepm.markdown import bodies, claims, frontmatter
from keepm.markdown.claims import BODY_LIMIT
from keepm.markdown.damage import derived_id, from_broken, place
from keepm.markdown.fields import Fields
from keepm.markdown.frontmatter import Broken, Tree, Value
from keepm.model import layout, links
from keepm.model.approval import Channel
from keepm.model.checksum import Checksum
from keepm.model.document import Damaged, Document
from keepm.model.links import WikiLink
from keepm.model.memory import Memory, Status, distinct

KEYS = (
    "id",
    "name",
    "description",
    "scope",
    "project_id",
    "kind",
    "language",
    "tags",
    "pinned",
    "aliases",
    "status",
    "created",
    "updated",
    "sources",
    "verified_at",
    "source_digests",
    "supersedes",
    "approved_via",
    "resolution_reason",
)


def read(
    path: str, data: bytes, *, body_limit: int = BODY_LIMIT
) -> Document[Memory] | Document[Damaged]:
    """Read one note.

    Raises:
        InvalidIdentifier: the path is not a place for documents.
    """
    where = place(path)
    try:
        parsed = frontmatter.examine(data)
    except Broken as broken:
        return from_broken(path, data, broken)
    fields = Fields(parsed)
    memory = Memory(
        id=fields.identity(derived_id(path)),
        claim=claims.read(
            fields,
            stem=layout.stem(path),
            scope=where.scope,
            body=bodies.trimmed(parsed.body),
            body_limit=body_limit,
        ),
        # An unknown status counts as the less trusted one.
        status=fields.choice("status", Status.ACTIVE, otherwise=Status.ARCHIVED),
        created=fields.moment("created"),
        updated=fields.moment("updated"),
        supersedes=distinct(fields.values("supersedes")),
        source_digests=fields.pairs("source_digests"),
        approved_via=fields.optional_choice("approved_via", Channel),
        resolution_reason=fields.optional("resolution_reason"),
    )
    return Document(path, Checksum.of(data), data, memory, tuple(fields.findings))


def render(memory: Memory) -> bytes:
    """Write a new note.

    Raises:
        MalformedDocument: the text can't be read back as it is given.
    """
    return frontmatter.render(_fields(memory), _body(memory))


def patch(document: Document[Memory], memory: Memory) -> bytes:
    """Return the note's bytes with only those keys changed that differ from what was read.

    Raises:
        MalformedDocument: the file can't be changed without a guess.
    """
    parsed = claims.parsed_for_change(document)
    old, new = document.content, memory
    changes = claims.changes(_fields(old), _fields(new))
    supersedes = changes.get("supersedes")
    if isinstance(supersedes, str) and isinstance(parsed.fields.get("supersedes"), list):
        changes["supersedes"] = [supersedes]
    body = None
    if _body(new) != _body(old):
        whole = document.data.decode("utf-8")
        body = bodies.replaced(parsed.body, _body(new), whole=whole)
    return frontmatter.patch(document.data, changes, body=body)


def relations(document: Document[Memory]) -> tuple[WikiLink, ...]:
    """Return the links of a note's body, then those in front matter keys that aren't ours."""
    found = links.parse(document.content.claim.body)
    # Most notes have no link up there; looking for one is cheaper than reading YAML again.
    if b"[[" in document.data[: len(document.data) - len(document.content.claim.body.encode())]:
        for key, tree in frontmatter.parse(document.data).fields.items():
            if key not in KEYS:
                found += links.from_values(key, _texts(tree))
    return tuple(found)


def _fields(memory: Memory) -> dict[str, Value]:
    fields: dict[str, Value] = {
        "id": memory.id,
        **claims.written(memory.claim),
        "status": str(memory.status),
    }
    if memory.created:
        fields["created"] = memory.created
    if memory.updated:
        fields["updated"] = memory.updated
    if memory.source_digests:
        fields["source_digests"] = dict(memory.source_digests)
    if memory.supersedes:
        many = len(memory.supersedes) > 1
        fields["supersedes"] = list(memory.supersedes) if many else memory.supersedes[0]
    if memory.approved_via:
        fields["approved_via"] = str(memory.approved_via)
    if memory.resolution_reason:
        fields["resolution_reason"] = memory.resolution_reason
    return claims.ordered(fields, KEYS)


def _body(memory: Memory) -> str:
    return bodies.trimmed(memory.claim.body)


def _texts(tree: Tree) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    if isinstance(tree, list):
        return [text for item in tree for text in _texts(item)]
    return []
