"""The keys that memories and proposals share, and the limits of what is changed in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keepm.markdown import frontmatter
from keepm.markdown.fields import BAD_ID, NO_ID, Fields
from keepm.markdown.frontmatter import SECOND_BLOCK, Parsed, Value
from keepm.model.document import AnyDocument, Finding, Severity
from keepm.model.memory import Claim, Kind, Scope, distinct

BODY_LIMIT = 16384  # bytes; the default for callers that hold no policy

UNCHANGEABLE = frozenset({NO_ID, BAD_ID, SECOND_BLOCK})
"""The codes of findings that stand in the way of any change by us."""


def read(fields: Fields, *, stem: str, scope: Scope, body: str, body_limit: int) -> Claim:
    """Return what a document claims."""
    fields.check_scope(scope)
    size = len(body.encode())
    if size > body_limit:
        fields.note(
            "over_limit",
            f"the body has {size} bytes, the limit is {body_limit}: shorten or split the note",
            severity=Severity.WARNING,
        )
    tags = (tag.removeprefix("#") for tag in fields.values("tags", parted_by=","))
    return Claim(
        name=fields.text("name") or stem,
        description=fields.text("description"),
        kind=fields.choice("kind", Kind.REFERENCE),
        body=body,
        scope=scope,
        language=fields.language(body),
        tags=distinct(tuple(tags)),
        pinned=fields.flag("pinned"),
        aliases=distinct(fields.values("aliases")),
        sources=distinct(fields.values("sources"), fold=False),
        verified_at=fields.date("verified_at"),
    )


def written(claim: Claim) -> dict[str, Value]:
    """Return a claim's keys but its body; optional ones without content are left out."""
    fields: dict[str, Value] = {
        "name": claim.name,
        "description": claim.description,
        **scope_fields(claim.scope),
        "kind": str(claim.kind),
        "language": str(claim.language),
        "pinned": claim.pinned,
    }
    for key, values in (
        ("tags", claim.tags),
        ("aliases", claim.aliases),
        ("sources", claim.sources),
    ):
        if values:
            fields[key] = list(values)
    if claim.verified_at:
        fields["verified_at"] = claim.verified_at
    return fields


def scope_fields(scope: Scope) -> dict[str, Value]:
    """Return the keys that name a scope."""
    if scope.project_id is None:
        return {"scope": scope.label}
    return {"scope": scope.label, "project_id": scope.project_id}


def ordered(fields: Mapping[str, Value], keys: tuple[str, ...]) -> dict[str, Value]:
    """Return the fields in the order in which a new document has them."""
    return {key: fields[key] for key in keys if key in fields}


def changes(old: Mapping[str, Value], new: Mapping[str, Value]) -> dict[str, Value | None]:
    """Return the keys that differ, None for those that go."""
    differing: dict[str, Value | None] = {
        key: value for key, value in new.items() if old.get(key) != value
    }
    differing.update({key: None for key in old if key not in new})
    return differing


def parsed_for_change(document: AnyDocument) -> Parsed:
    """Return a document's front matter if it may be changed in place.

    Raises:
        MalformedDocument: it has no id of its own, or a second block follows its first.
    """
    blocked = unchangeable(document.findings)
    if blocked:
        raise frontmatter.malformed(blocked)
    return frontmatter.parse(document.data)


def unchangeable(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that stand in the way of any change by us."""
    return tuple(each for each in findings if each.code in UNCHANGEABLE)
