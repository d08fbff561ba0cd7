"""A file of the vault as it was read: where, which bytes, what they say, what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from keepm.model.checksum import Checksum
from keepm.model.handoff import Handoff
from keepm.model.memory import Memory, Scope
from keepm.model.proposal import Proposal


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with one file, in words that help to mend it. No note text in it."""

    code: str  # snake_case, stable
    message: str
    line: int | None = None  # 1-based
    severity: Severity = Severity.WARNING


class Standing(StrEnum):
    """Whether a file may be served."""

    SOUND = "sound"
    DAMAGED = "damaged"  # searchable by its text, readable raw, never rewritten
    WITHHELD = "withheld"  # not in default recall: duplicate keys, merge markers, NUL


@dataclass(frozen=True, slots=True)
class Damaged:
    """A note whose metadata can't be read: its raw text under its file's name."""

    id: str  # derived from the path
    name: str  # the file's stem
    scope: Scope
    text: str  # decoded with replacement characters
    standing: Standing = Standing.DAMAGED


Content = TypeVar("Content", Memory, Proposal, Handoff, Damaged)


@dataclass(frozen=True, slots=True)
class Document(Generic[Content]):
    """One read of one file.

    `path` is relative to the root, with forward slashes; `data` are the exact bytes.
    """

    path: str
    checksum: Checksum
    data: bytes
    content: Content
    findings: tuple[Finding, ...] = ()


AnyDocument = Document[Memory] | Document[Proposal] | Document[Handoff] | Document[Damaged]
