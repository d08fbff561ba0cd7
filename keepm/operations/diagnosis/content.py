"""What is wrong within one file: what its codec says, limits, contract, screening, absent keys.

Pure: bytes and a policy in, findings out. The front matter is read a second time only where a
finding needs a line of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from keepm.config import Policy
from keepm.errors import Problem
from keepm.markdown import damage, frontmatter, outline
from keepm.markdown.frontmatter import Parsed, Tree
from keepm.markdown.outline import Outline
from keepm.model import (
    contracts,
    handoff,
    identity,
    layout,
    memory,
    proposal,
    repairs,
    rules,
    screening,
)
from keepm.model.diagnosis import Finding
from keepm.model.document import AnyDocument, Damaged, Severity
from keepm.model.handoff import Handoff, HandoffStatus
from keepm.model.memory import Claim, Memory, Scope, Status
from keepm.model.proposal import Proposal, ProposalStatus
from keepm.model.repairs import Facts
from keepm.model.screening import Mark

Times = Callable[[str], tuple[str | None, str | None]]
"""From a document's id to the times of the ledger's first and last event about it."""

_NAMES_A_KEY = frozenset({"duplicate_key", "empty_value"})  # their messages quote the person's key
_FROM_PROBLEM = {
    "description": "missing_description",
    "body": "empty_body",
    "sources": "invalid_source",
    "aliases": "invalid_name",
    "name": "invalid_name",
}
_COMMENT = re.compile(r"^[ \t]*(#[^\n]*)", re.M)
# Lines of the front matter that can hold nothing to find: ids, dates, words of a closed set.
_HARMLESS = re.compile(
    r"^(?:(?:id|supersedes|target_id): *[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:scope|kind|language|status|pinned|approved_via|origin): *[a-z-]{2,16}"
    r"|(?:created|updated|verified_at|resolved_at): *'?[0-9T:Z-]{10,20}'?)$\n",
    re.M,
)
# What the front matter's own writing could hide from a look at its text as it stands.
_WRITTEN_OTHERWISE = ("\\", "`", "~~~", "|", ">", "<")


@dataclass(frozen=True, slots=True)
class Examiner:
    """Examines one document after another by one policy, on one day (YYYY-MM-DD)."""

    policy: Policy
    today: str
    times: Times

    def examine(self, document: AnyDocument, cut: Outline | None = None) -> tuple[Finding, ...]:
        """Return what is wrong with a document, in no order; `cut` is its outline, if known."""
        if cut is None and not isinstance(document.content, Damaged):
            cut = outline.of(document.data)
        return tuple(_Case(self, document, cut).findings())

    def facts(self, document: AnyDocument, parsed: Parsed | None = None) -> Facts:
        """Return what a repair of a document goes by; `parsed` is its front matter, if known.

        Raises:
            MalformedDocument: the front matter can't be read.
        """
        parsed = parsed or frontmatter.parse(document.data)
        first, last = self.times(document.content.id)
        return Facts(
            place=damage.place(document.path),
            stem=layout.stem(document.path),
            derived_id=damage.derived_id(document.path),
            keys={
                key: value.strip()
                for key, value in parsed.fields.items()
                if isinstance(value, str) and value.strip()
            },
            first_event=first,
            last_event=last,
        )

    def subject(self, document: AnyDocument) -> str:
        """Return what a finding calls a document: its id, unless that may not be shown."""
        own = document.content.id
        if identity.is_id(own) or not screening.findings(own, rules=self.policy.screening):
            return own
        return damage.derived_id(document.path)


@dataclass
class _Case:
    """One document under examination."""

    by: Examiner
    document: AnyDocument
    cut: Outline | None  # None: the file can't be cut
    _said: Counter[str] = field(default_factory=Counter)

    def findings(self) -> Iterator[Finding]:
        document, content = self.document, self.document.content
        yield from self._of_codec()
        if isinstance(content, Damaged):
            if not any(each.code == "nul_byte" for each in document.findings):
                marks = screening.findings(content.text, rules=self.by.policy.screening)
                yield from self._marks(marks, 1)
            return
        yield from self._screened()
        if isinstance(content, Handoff):
            if content.status is HandoffStatus.ACTIVE:
                yield from self._of_handoff(content)
        elif _is_live(content):
            yield from self._of_claim(content.claim)
            if isinstance(content, Proposal):
                found = proposal.problems(content, self.by.policy)
                yield from (f for p in found for f in self._problem(p))
        yield from self._absent()

    @property
    def outline(self) -> Outline:
        assert self.cut is not None  # what can't be cut is examined as it stands
        return self.cut

    @property
    def scope(self) -> Scope:
        content = self.document.content
        if isinstance(content, Handoff):
            return Scope(content.project_id)
        return content.scope if isinstance(content, Damaged) else content.claim.scope

    @cached_property
    def parsed(self) -> Parsed:
        return frontmatter.parse(self.document.data)

    @cached_property
    def facts(self) -> Facts:
        return self.by.facts(self.document, self.parsed)

    # ---- what the codec found --------------------------------------------------------------------

    def _of_codec(self) -> Iterator[Finding]:
        broken = isinstance(self.document.content, Damaged)
        for each in self.document.findings:
            yield self._found(
                each.code,
                "" if each.code in _NAMES_A_KEY else each.message,
                line=each.line,
                severity=Severity.ERROR if broken else None,
            )

    # ---- what the gate would say -----------------------------------------------------------------

    def _of_claim(self, claim: Claim) -> Iterator[Finding]:
        policy = self.by.policy
        for problem in memory.problems(claim, policy, today=self.by.today, screened=False):
            yield from self._problem(problem)
        rule = policy.kinds[claim.kind]
        for problem in contracts.missing(rule, claim.body, sources=len(claim.sources)):
            yield self._found("contract_missing", problem.message, line=self._line("kind"))

    def _of_handoff(self, content: Handoff) -> Iterator[Finding]:
        for problem in handoff.problems(content, self.by.policy):
            yield from self._problem(problem)
        size, most = len(self.document.data), self.by.policy.handoff.file_bytes
        if size > most:
            reason = f"the file has {size} bytes, the limit is {most}"
            yield self._found("over_limit", reason)

    def _problem(self, problem: Problem) -> Iterator[Finding]:
        """Turn what the gate would refuse into what is found; screening has its own lines."""
        key = problem.field.partition("[")[0]
        if problem.code == "content_refused" or (key == "body" and "over_limit" in self._said):
            return
        if problem.code == "limit_exceeded":
            code = "over_limit"
        elif key == "verified_at":
            code = "future_date"
        elif isinstance(self.document.content, Handoff):
            if "missing_section" in self._said:
                return
            code = "invalid_field"
        else:
            code = _FROM_PROBLEM.get(key, "invalid_field")
        reason = f"{problem.field}: {problem.message}"
        yield self._found(code, reason, line=self._line(key))

    # ---- what may never be stored ----------------------------------------------------------------

    def _screened(self) -> Iterator[Finding]:
        rules_, cut = self.by.policy.screening, self.outline
        head = _HARMLESS.sub("", cut.head)
        plain = not any(sign in head for sign in _WRITTEN_OTHERWISE)
        # Nearly always there is nothing, and then one look at both parts is enough.
        if plain and not screening.findings(f"{head}\n\n{cut.body}", rules=rules_):
            return
        if marks := screening.findings(cut.body, rules=rules_):
            yield from self._marks(marks, cut.body_line)
        yield from self._screened_head()

    def _screened_head(self) -> Iterator[Finding]:
        """Screen each value by itself, as the gate does, and each comment."""
        rules_ = self.by.policy.screening
        for key, value in self.parsed.fields.items():
            for text in _texts(value):
                whole = text if key in _PLAIN else f"{key}: {text}"
                marks = screening.findings(whole, rules=rules_)
                # A value may be written over several lines; its key's line is where to look.
                yield from self._marks(marks, self.parsed.lines.get(key, 1), every=True)
        for comment in _COMMENT.finditer(self.outline.head):
            line = 2 + self.outline.head.count("\n", 0, comment.start(1))
            yield from self._marks(screening.findings(comment[1], rules=rules_), line)

    def _marks(
        self, marks: Sequence[Mark], first_line: int, *, every: bool = False
    ) -> Iterator[Finding]:
        """Turn marks into findings: lines count from `first_line`, or `every` one stands there."""
        for mark in marks:
            line = first_line + (0 if every else mark.line - 1)
            reason = f"holds {mark.says} ({mark.rule})"
            yield self._found("content_refused", reason, line=line, sort=mark.rule)

    # ---- what is absent --------------------------------------------------------------------------

    def _absent(self) -> Iterator[Finding]:
        wanted = _REQUIRED[type(self.document.content)]
        if self.scope.project_id is not None:
            wanted |= {"project_id"}
        if wanted <= {
            key for key, (_, rest) in self.outline.entries.items() if outline.is_filled(rest)
        }:
            return
        if missing := repairs.missing_keys(self.facts):
            reason = f"absent: {', '.join(missing)}"
            yield self._found(repairs.MISSING_KEY, reason, line=1)
        if dates := repairs.missing_dates(self.facts):
            yield self._found(repairs.MISSING_DATE, f"absent: {', '.join(dates)}", line=1)

    def _line(self, key: str) -> int | None:
        entry = self.outline.entries.get(key)
        return entry[0] if entry else self.parsed.lines.get(key)

    def _found(
        self,
        code: str,
        reason: str,
        *,
        line: int | None = None,
        severity: Severity | None = None,
        sort: str = "",
    ) -> Finding:
        document = self.document
        self._said[code] += 1
        self._said[f"{code} {sort}"] += 1
        return rules.finding(
            code,
            reason,
            severity=severity,
            path=document.path,
            line=line,
            subject=self.by.subject(document),
            scope=self.scope,
            detail=f"{sort} {self._said[f'{code} {sort}']}",
            repairable=code in repairs.REPAIRABLE and self._repairable(code),
            checksum=document.checksum.hex,
        )

    def _repairable(self, code: str) -> bool:
        if isinstance(self.document.content, Damaged):
            return False
        codes = {each.code for each in self.document.findings}
        return bool(repairs.plan({*(codes & repairs.UNREPAIRABLE), code}, self.facts))


def _is_live(content: Memory | Proposal) -> bool:
    """Tell whether the gate's rules matter: what was decided or laid aside may be as it is."""
    return content.status in (Status.ACTIVE, ProposalStatus.PENDING)


_PLAIN = frozenset(
    {"id", "name", "title", "description", "tags", "aliases", "sources", "proposal_reason"}
    | {"source_ref", "source_client", "resolution_reason", "rejection_reason"}
)
"""Keys whose values the gate screens by themselves; others with the key as what they are for."""

_COMMON = frozenset({"scope", "status", "created", "updated"})
_REQUIRED: dict[type, frozenset[str]] = {
    Memory: _COMMON | {"name"},
    Proposal: _COMMON | {"name"},
    Handoff: _COMMON | {"title", "type"},
}
"""A quick look finds nothing absent when it sees these."""


def _texts(value: Tree) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for key, item in value.items():
                for text in _texts(item):
                    yield f"{key}: {text}"
