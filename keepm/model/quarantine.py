"""What a quarantine takes out of recall: all that one origin wrote, as a rule. Pure.

A rule is stored as the subject of a ruling, in JSON: which origin, how far it reaches, and the
owner-approved documents that it names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from keepm.errors import InvalidInput, Problem

RULING = "quarantine"
"""How events and the index call it."""
BY_QUARANTINE = "quarantine"
BY_REVIEW = "review"
"""Why a document is withheld: by a rule, or as a hand edit that nobody has looked at."""
UNREVIEWED = "unreviewed"
"""The ruling about a hand edit that waits for a person; its subject is `kind:digest`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An origin: a session, a client, or all within a span of time (both ends included)."""

    session: str | None = None
    client: str | None = None
    since: str | None = None
    until: str | None = None
    reach: str | None = None  # the project (empty: global memory only); None: the whole vault
    include: tuple[str, ...] = ()  # ids of documents whose approval doesn't spare them

    def check(self) -> None:
        """Refuse what is no origin.

        Raises:
            InvalidInput: none is named or several are, one is empty, or a span ends too early.
        """
        problems = []
        given = {"session": self.session, "client": self.client, "between": self.since}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            problems.append(Problem("origin", "name exactly one: a session, a client or a span"))
        problems += [
            # An unset variable of a script must not turn `--client "$NAME"` into something else.
            Problem(name, "is empty")
            for name in named
            if not (given[name] or "").strip()
        ]
        if self.since and self.until and self.since > self.until:
            problems.append(Problem("between", "ends before it begins"))
        if problems:
            raise InvalidInput(
                "; ".join(f"{p.field}: {p.message}" for p in problems), problems=problems
            )

    def matches(self, *, session: str, client: str, time: str) -> bool:
        """Tell whether an event is of this origin."""
        if self.session is not None:
            return session == self.session
        if self.client is not None:
            return client == self.client
        return (self.since or "") <= time <= (self.until or "")

    def covers(self, scope: str) -> bool:
        """Tell whether documents of a scope (its key) are within reach."""
        return self.reach is None or scope in ("", self.reach)

    @property
    def is_open(self) -> bool:
        """Tell whether it takes what that origin writes later, too."""
        return self.since is None

    def as_subject(self) -> str:
        """Return the rule as the subject of its event."""
        record = {
            "session": self.session,
            "client": self.client,
            "since": self.since,
            "until": self.until,
            "reach": self.reach,
            "include": sorted(self.include) or None,
        }
        said = {key: value for key, value in record.items() if value is not None}
        return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_subject(cls, subject: str) -> Rule | None:
        """The inverse of `as_subject`; nothing if it isn't one."""
        try:
            record = json.loads(subject)
            include = tuple(record.pop("include", None) or ())
            rule = cls(**record, include=include)
            rule.check()
        except (ValueError, TypeError, AttributeError, InvalidInput):
            return None
        return rule
