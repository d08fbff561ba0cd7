"""What doctor finds: a rule from the catalogue, at a place, about a thing, with a way out.

`model/document.Finding` says what is wrong within one file; this says it of the whole vault and
what surrounds it, so that a person, a script or another program can act on it. It holds no note
text, no secret, no token and no absolute path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from keepm.model.document import Severity
from keepm.model.scope import Scope


class Area(StrEnum):
    """What a rule speaks of, and what a finding's path is relative to."""

    VAULT = "vault"  # the vault's root
    PROJECT = "project"  # the work tree
    MACHINE = "machine"  # settings and data of this machine: no path


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding. `id` and `code` never change their meaning and are never used again."""

    id: str  # KM and three digits
    code: str  # snake_case
    severity: Severity  # of a file that can't be read at all it is always an error
    means: str
    fix: str
    area: Area = Area.VAULT


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or doubtful.

    `path` has forward slashes and is relative to what the rule's area says; `line` counts from 1.
    `subject` names what it is about: a document's id, a project's id, a host, a transaction.
    `detail` tells this finding from others of its rule at one place when lines move.
    """

    rule: Rule
    reason: str
    severity: Severity
    path: str | None = None
    line: int | None = None
    subject: str | None = None
    scope: Scope | None = None  # None: neither global nor any project's
    fix: str = ""
    detail: str = field(default="", repr=False)  # may hold note text; never shown
    repairable: bool = False  # `repairs` knows the one right change
    checksum: str | None = field(default=None, compare=False)  # of the file's bytes, as looked at

    @property
    def fingerprint(self) -> str:
        """What stays when only other lines of the file change: 16 hex digits."""
        parts = (self.rule.id, self.path or "", self.subject or "", self.detail)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def at_least(severity: Severity, least: Severity) -> bool:
    """Tell whether a severity is as grave as another, or graver."""
    return _RANK[severity] <= _RANK[least]


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return each finding once: by place, then line, then rule; what has no place comes first."""
    by_place = {
        (
            each.rule.area,
            each.path or "",
            each.line or 0,
            each.rule.id,
            each.subject or "",
            each.detail,
            each.reason,
        ): each
        for each in findings
    }
    return tuple(by_place[key] for key in sorted(by_place))


def gravest(findings: Sequence[Finding], *, most: int) -> tuple[Finding, ...]:
    """Return at most so many findings, the graver ones first, else in their order."""
    return tuple(sorted(findings, key=lambda each: _RANK[each.severity])[:most])


def counted(findings: Iterable[Finding]) -> dict[Severity, int]:
    """Return how many findings there are of each severity, gravest first."""
    counts = dict.fromkeys(Severity, 0)
    for each in findings:
        counts[each.severity] += 1
    return counts
