"""A formal memory: one note, one slot; and the claim that it shares with a proposal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from keepm.config import Policy, ScreeningRules
from keepm.errors import Problem, refuse_if_any
from keepm.model import contracts, identity, limits, screening
from keepm.model.approval import Channel
from keepm.model.scope import GLOBAL as GLOBAL
from keepm.model.scope import Scope as Scope
from keepm.model.scope import Visibility as Visibility


class Kind(StrEnum):
    """The kinds of memory; their contracts and catalog order stand in `policies/kinds.toml`."""

    CONSTRAINT = "constraint"
    DECISION = "decision"
    FIX = "fix"
    WORKFLOW = "workflow"
    PREFERENCE = "preference"
    FEEDBACK = "feedback"
    CAPABILITY = "capability"
    OVERVIEW = "overview"
    REFERENCE = "reference"


class Language(StrEnum):
    ZH = "zh"
    EN = "en"


class Status(StrEnum):
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said: everything a person decides on, in a memory and a proposal alike."""

    name: str
    description: str
    kind: Kind
    body: str
    scope: Scope = GLOBAL
    language: Language = Language.EN
    tags: tuple[str, ...] = ()
    pinned: bool = False
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    verified_at: str | None = None  # YYYY-MM-DD

    @property
    def slot(self) -> str:
        """The slot's key; equal keys in one scope are one slot."""
        return identity.slot_key(self.name)


@dataclass(frozen=True, slots=True)
class ClaimEdit:
    """A change of a claim: `None` stays as it is, an empty value clears."""

    name: str | None = None
    description: str | None = None
    kind: Kind | None = None
    body: str | None = None
    scope: Scope | None = None
    language: Language | None = None
    tags: tuple[str, ...] | None = None
    pinned: bool | None = None
    aliases: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    verified_at: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One formal note. Times are RFC 3339 in UTC, or a plain date from a KeepM 3 vault."""

    id: str
    claim: Claim
    status: Status = Status.ACTIVE
    created: str = ""
    updated: str = ""
    supersedes: tuple[str, ...] = ()
    source_digests: tuple[tuple[str, str], ...] = ()  # path → git blob id, 12 hex digits
    approved_via: Channel | None = None
    resolution_reason: str | None = None


def apply(claim: Claim, edit: ClaimEdit) -> Claim:
    """Return the claim with the edit's present fields; a renamed slot keeps its old name as
    an alias."""
    changed = replace(
        claim,
        name=claim.name if edit.name is None else edit.name.strip(),
        description=claim.description if edit.description is None else edit.description.strip(),
        kind=edit.kind or claim.kind,
        body=claim.body if edit.body is None else edit.body,
        scope=edit.scope or claim.scope,
        language=edit.language or claim.language,
        tags=claim.tags if edit.tags is None else distinct(edit.tags),
        pinned=claim.pinned if edit.pinned is None else edit.pinned,
        aliases=claim.aliases if edit.aliases is None else distinct(edit.aliases),
        sources=claim.sources if edit.sources is None else distinct(edit.sources, fold=False),
        verified_at=claim.verified_at if edit.verified_at is None else (edit.verified_at or None),
    )
    if changed.slot == claim.slot:
        return changed
    kept = tuple(a for a in changed.aliases if identity.slot_key(a) != changed.slot)
    if all(identity.slot_key(alias) != claim.slot for alias in kept):
        kept = (*kept, claim.name)
    return replace(changed, aliases=kept)


def distinct(values: tuple[str, ...], *, fold: bool = True) -> tuple[str, ...]:
    """Strip, drop empty items, and keep the first of each (case twins count as one by default)."""
    seen: dict[str, str] = {}
    for value in values:
        stripped = value.strip()
        if stripped:
            seen.setdefault(stripped.casefold() if fold else stripped, stripped)
    return tuple(seen.values())


def check(claim: Claim, policy: Policy, *, today: str) -> None:
    """Accept a claim for storing, or name everything that is wrong with it.

    Raises:
        InvalidInput: or the subclass all problems share.
    """
    found = list(problems(claim, policy, today=today))
    rule = policy.kinds[claim.kind]
    found += contracts.missing(rule, claim.body, sources=len(claim.sources))
    refuse_if_any(found)


def check_change(old: Claim, new: Claim, policy: Policy, *, today: str) -> None:
    """Accept a change of a claim, or name everything that is wrong with what it changes.

    What a note made by hand or by an older program misses elsewhere hinders no change; the
    contract is due again when body or kind change.

    Raises:
        InvalidInput: or the subclass all problems share.
    """
    changed = {
        field for field in Claim.__dataclass_fields__ if getattr(old, field) != getattr(new, field)
    }
    found = [
        problem
        for problem in problems(new, policy, today=today)
        if problem.field.partition("[")[0] in changed
    ]
    if changed & {"body", "kind"}:
        rule = policy.kinds[new.kind]
        found += contracts.missing(rule, new.body, sources=len(new.sources))
    refuse_if_any(found)


def problems(
    claim: Claim, policy: Policy, *, today: str, screened: bool = True
) -> Iterator[Problem]:
    """Yield what is wrong with a claim's fields, its kind's contract apart.

    Without `screened` what may never be stored is not looked for: who has the whole file at hand
    screens that instead, its other keys included.
    """
    most, rules = policy.memory, policy.screening
    screen = screening.text if screened else _unscreened
    yield from name_problems("name", claim.name, policy, screened=screened)
    if not claim.description:
        yield Problem("description", "must say in one line what the note holds")
    yield from screen("description", claim.description, rules=rules, one_line=True)
    yield from limits.characters("description", claim.description, most.description_characters)
    yield from screen("body", claim.body, rules=rules)
    yield from limits.size("body", claim.body, most.body_bytes)
    if not claim.body.strip():
        yield Problem("body", "must not be empty")
    for field, values, count, each in (
        ("tags", claim.tags, most.tags, most.tag_characters),
        ("aliases", claim.aliases, most.aliases, most.alias_characters),
        ("sources", claim.sources, most.sources, most.source_characters),
    ):
        yield from limits.items(field, values, count=count, each=each)
        for number, value in enumerate(values):
            yield from screen(f"{field}[{number}]", value, rules=rules, one_line=True)
    for number, alias in enumerate(claim.aliases):
        if not identity.slot_key(alias):
            yield Problem(f"aliases[{number}]", "must hold a letter, a digit or a symbol")
    for number, source in enumerate(claim.sources):
        yield from pointer_problems(f"sources[{number}]", source)
    if claim.verified_at is not None:
        yield from date_problems("verified_at", claim.verified_at, today=today)


def name_problems(
    field: str, name: str, policy: Policy, *, screened: bool = True
) -> Iterator[Problem]:
    """Check a slot's name; `screened` as in `problems`."""
    screen = screening.text if screened else _unscreened
    if not identity.slot_key(name):
        yield Problem(field, "must hold a letter, a digit or a symbol", code="invalid_identifier")
    yield from screen(field, name, rules=policy.screening, one_line=True)
    yield from limits.characters(field, name, policy.memory.name_characters)


def _unscreened(
    field: str, value: str, *, rules: ScreeningRules, one_line: bool = False
) -> Iterator[Problem]:
    return iter(())


def pointer_problems(field: str, pointer: str) -> Iterator[Problem]:
    """Check a source pointer: a repository-relative path with an optional `#hint`."""
    path = source_path(pointer)
    if (
        not path
        or path.startswith(("/", "~"))
        or re.match(r"[A-Za-z]:|[A-Za-z][A-Za-z0-9+.\-]+:/", path)
        or ".." in path.split("/")
    ):
        yield Problem(
            field,
            "must be a path inside the repository such as src/app.py#function, "
            "not absolute and without '..'",
        )


def source_path(pointer: str) -> str:
    """Return a pointer's path: forward slashes, no leading `./`, without the `#hint`."""
    path = pointer.split("#", 1)[0].strip().replace("\\", "/")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def date_problems(field: str, text: str, *, today: str) -> Iterator[Problem]:
    """Check a calendar date that must not lie in the future (`today` is YYYY-MM-DD)."""
    if not is_date(text):
        yield Problem(field, "must be a date as YYYY-MM-DD")
    elif text > today:
        yield Problem(field, f"lies in the future (today is {today})")


def is_date(text: str) -> bool:
    """Tell whether text is a date of the calendar, written YYYY-MM-DD."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
    if not found:
        return False
    year, month, day = (int(part) for part in found.groups())
    if not 1 <= month <= 12 or year < 1:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= day <= days[month - 1]
