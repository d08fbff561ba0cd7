"""Proposals: a claim with its reason in the front matter; the body follows a marker line.

What stands above the marker is a heading for people and is not read.
"""

from __future__ import annotations

import re

from keepm.markdown import bodies, claims, frontmatter
from keepm.markdown.claims import BODY_LIMIT
from keepm.markdown.damage import derived_id, from_broken, place
from keepm.markdown.fields import Fields
from keepm.markdown.frontmatter import Broken, Value
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.model.document import Damaged, Document
from keepm.model.proposal import Proposal, ProposalStatus, TargetAction

MARKER = "<!-- keepm:proposal-body -->"

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
    "sources",
    "verified_at",
    "status",
    "created",
    "updated",
    "origin",
    "proposal_reason",
    "source_client",
    "source_ref",
    "target_id",
    "target_action",
    "promoted_memory_id",
    "resolved_at",
    "rejection_reason",
)

_MARKER_LINE = re.compile(rf"(?:\A|(?<=[\r\n]))[ \t]*{re.escape(MARKER)}[ \t]*(?:\r\n|\r|\n|\Z)")


def read(
    path: str, data: bytes, *, body_limit: int = BODY_LIMIT
) -> Document[Proposal] | Document[Damaged]:
    """Read one proposal.

    Raises:
        InvalidIdentifier: the path is not a place for documents.
    """
    where = place(path)
    try:
        parsed = frontmatter.examine(data)
    except Broken as broken:
        return from_broken(path, data, broken)
    fields = Fields(parsed)
    archived = where.shelf is layout.Shelf.ARCHIVED_PROPOSAL
    # An unknown status must not leave a proposal open to a decision.
    status = fields.choice("status", ProposalStatus.PENDING, otherwise=ProposalStatus.REJECTED)
    if archived is (status is ProposalStatus.PENDING):
        fields.note("status_mismatch", f"'status' is {status}, its folder says else", key="status")
    proposal = Proposal(
        id=fields.identity(derived_id(path)),
        claim=claims.read(
            fields,
            stem=layout.stem(path),
            scope=where.scope,
            body=bodies.trimmed(parsed.body[_body_start(parsed.body) :]),
            body_limit=body_limit,
        ),
        reason=fields.text("proposal_reason"),
        status=status,
        created=fields.moment("created"),
        updated=fields.moment("updated"),
        origin=fields.text("origin") or "agent_inference",
        source_client=fields.text("source_client"),
        source_ref=fields.text("source_ref"),
        target_id=fields.optional("target_id"),
        target_action=fields.optional_choice("target_action", TargetAction),
        promoted_memory_id=fields.optional("promoted_memory_id"),
        resolved_at=fields.moment("resolved_at") or None,
        rejection_reason=fields.optional("rejection_reason"),
    )
    return Document(path, Checksum.of(data), data, proposal, tuple(fields.findings))


def render(proposal: Proposal) -> bytes:
    """Write a new proposal.

    Raises:
        MalformedDocument: the text can't be read back as it is given.
    """
    body = f"{_heading(proposal)}\n\n{MARKER}\n\n{_body(proposal)}"
    return frontmatter.render(_fields(proposal), body)


def patch(document: Document[Proposal], proposal: Proposal) -> bytes:
    """Return the proposal's bytes with only those keys and, if it differs, the body changed.

    Raises:
        MalformedDocument: the file can't be changed without a guess.
    """
    parsed = claims.parsed_for_change(document)
    old, new = document.content, proposal
    start = _body_start(parsed.body)
    above, below = parsed.body[:start], parsed.body[start:]
    if old.claim.name != new.claim.name:
        above = above.replace(_heading(old), _heading(new), 1)
    if _body(new) != _body(old):
        below = bodies.replaced(below, _body(new), whole=document.data.decode("utf-8"))
    changes = claims.changes(_fields(old), _fields(new))
    return frontmatter.patch(document.data, changes, body=above + below)


def _body_start(body: str) -> int:
    found = _MARKER_LINE.search(body)
    return found.end() if found else 0


def _heading(proposal: Proposal) -> str:
    return f"# Proposal: {proposal.claim.name}"


def _body(proposal: Proposal) -> str:
    return bodies.trimmed(proposal.claim.body)


def _fields(proposal: Proposal) -> dict[str, Value]:
    fields: dict[str, Value] = {
        "id": proposal.id,
        **claims.written(proposal.claim),
        "status": str(proposal.status),
    }
    optional = {
        "created": proposal.created,
        "updated": proposal.updated,
        "origin": proposal.origin,
        "proposal_reason": proposal.reason,
        "source_client": proposal.source_client,
        "source_ref": proposal.source_ref,
        "target_id": proposal.target_id,
        "target_action": proposal.target_action and str(proposal.target_action),
        "promoted_memory_id": proposal.promoted_memory_id,
        "resolved_at": proposal.resolved_at,
        "rejection_reason": proposal.rejection_reason,
    }
    fields.update({key: text for key, text in optional.items() if text})
    return claims.ordered(fields, KEYS)
