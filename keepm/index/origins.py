"""What an origin in quarantine wrote, and what came of it: a walk along the versions.

A version is of an origin when an event of that origin put it in place, or when it was made from
such a version, unless an owner approved it. So a note that somebody else touched up afterwards
is still of that origin, and one that its owner decided on isn't. A document that was removed and
made by hand again, with its id, is made from what it was. Otherwise only digests count and not
the order of events: ledgers of several machines may come in late.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from keepm.index.versions import VersionRow
from keepm.model.approval import Channel
from keepm.model.quarantine import Rule

_AT_ONCE = 500  # parameters of one statement; SQLite takes at least 999
_BY_OWNER = (Channel.OWNER_CLI, Channel.OWNER_WEB)
# An owner's act that says nothing for the text: it was turned down, or is merely back in place.
_NO_APPROVAL = ("reject", "restore", "repair")
_COLUMNS = (
    "v.transaction_id, v.position, v.sequence, v.time, v.operation, v.channel, v.client, v.session,"
)
_COLUMNS += " v.object_id, v.old, v.new"
# A move makes no version; what an undo brings back is what it was before.
_AGAIN = "v.operation = 'external-edit' AND v.old IS NULL"  # by hand, where nothing was
_EARLIER = "(p.time, p.sequence) < (v.time, v.sequence)"
_MADE = "v.new IS NOT NULL AND v.old IS NOT v.new AND v.operation <> 'undo'"


class Moment(NamedTuple):
    """When an event was: times are whole seconds, within one the sequence of the ledger tells."""

    time: str
    sequence: int


class _Step(NamedTuple):
    """One version put in place."""

    transaction_id: str
    position: int
    sequence: int
    time: str
    operation: str
    channel: str | None
    client: str
    session: str
    object_id: str
    old: str | None
    new: str


@dataclass(slots=True)
class Origin:
    """The versions of one rule's origin.

    `made` is when the rule was made (`Moment`), `unreviewed` the transactions of hand edits that
    nobody has accepted. Without `heeds_approval` an owner's word spares nothing.
    """

    connection: sqlite3.Connection
    rule: Rule
    made: Moment
    unreviewed: frozenset[str]
    heeds_approval: bool = True
    _found: set[str] = field(default_factory=set)

    def versions(self) -> set[str]:
        """Return all of them, by digest."""
        self._found = set()
        self._follow(step for step in self._seeds() if self._takes(step))
        return self._found

    def with_news(
        self, is_known: Callable[[str], bool], told: Iterable[VersionRow]
    ) -> set[str] | None:
        """Return those that come on top of the known ones through these rows, which are stored.

        Nothing (`None`) if some of the known ones may no longer be among them.
        """
        self._found = set()
        fresh = [step for step in map(_step, told) if step is not None]
        if any(self._approves(step) and is_known(step.new) for step in fresh):
            return None
        self._follow(
            (
                step
                for step in fresh
                if self._takes(step)
                and (self._is_ours(step) or any(map(is_known, self._parents(step))))
            ),
            is_known,
        )
        return self._found

    # ---- one step ------------------------------------------------------------------------------

    def _is_ours(self, step: _Step) -> bool:
        return self.rule.matches(session=step.session, client=step.client, time=step.time)

    def _takes(self, step: _Step) -> bool:
        """Tell whether a version that an event of the origin made, or its heir, isn't spared."""
        if not self.heeds_approval:
            return True
        return not any(self._approves(each) for each in self._made_by(step.new))

    def _approves(self, step: _Step) -> bool:
        """Tell whether with this event an owner said that the text is good."""
        is_earlier = (step.time, step.sequence) <= self.made
        if step.object_id in self.rule.include and is_earlier:
            return False
        if step.channel in _BY_OWNER:
            return step.operation not in _NO_APPROVAL
        # A hand edit may be anybody's with a shell: once the rule stands, none lets a text out.
        return (
            step.channel == Channel.OWNER_EDIT
            and is_earlier
            and step.transaction_id not in self.unreviewed
        )

    def _follow(
        self, steps: Iterable[_Step], is_known: Callable[[str], bool] = lambda digest: False
    ) -> None:
        while frontier := {
            step.new for step in steps if step.new not in self._found and not is_known(step.new)
        }:
            self._found |= frontier
            steps = (step for step in self._heirs(sorted(frontier)) if self._takes(step))

    # ---- rows ----------------------------------------------------------------------------------

    def _seeds(self) -> Iterator[_Step]:
        rule = self.rule
        if rule.session is not None:
            return self._steps("v.session = ?", [rule.session])
        if rule.client is not None:
            return self._steps("v.client = ?", [rule.client])
        return self._steps("v.time BETWEEN ? AND ?", [rule.since or "", rule.until or ""])

    def _made_by(self, digest: str) -> Iterator[_Step]:
        return self._steps("v.new = ?", [digest])

    def _heirs(self, digests: Sequence[str]) -> Iterator[_Step]:
        """Yield what was made from these versions: their successors, and promoted notes."""
        for start in range(0, len(digests), _AT_ONCE):
            some = digests[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            yield from self._steps(f"v.old IN ({marks})", some)
            yield from self._steps(
                # The proposal comes last in its promotion, the note first.
                "v.operation = 'promote' AND v.position = 0 AND v.transaction_id IN"  # noqa: S608
                " (SELECT p.transaction_id FROM versions AS p WHERE p.operation = 'promote'"
                f" AND p.old IN ({marks}) AND p.position = (SELECT max(position) FROM versions"
                " WHERE transaction_id = p.transaction_id))",
                some,
            )
            yield from self._steps(
                f"{_AGAIN} AND v.object_id IN (SELECT p.object_id FROM versions AS p"  # noqa: S608
                f" WHERE p.new IN ({marks}) AND {_EARLIER})",
                some,
            )

    def _parents(self, step: _Step) -> set[str]:
        found = {step.old} if step.old is not None else set()
        if step.operation == "promote" and step.position == 0:
            rows = self.connection.execute(
                "SELECT old FROM versions WHERE transaction_id = ? AND position > 0"
                " ORDER BY position DESC LIMIT 1",
                (step.transaction_id,),
            )
            found.update(old for (old,) in rows if old is not None)
        elif step.old is None:
            rows = self.connection.execute(
                "SELECT p.new FROM versions AS v JOIN versions AS p ON p.object_id = v.object_id"  # noqa: S608
                f" WHERE v.transaction_id = ? AND v.position = ? AND {_AGAIN} AND {_EARLIER}",
                (step.transaction_id, step.position),
            )
            found.update(new for (new,) in rows if new is not None)
        return found

    def _steps(self, condition: str, values: Sequence[str]) -> Iterator[_Step]:
        found = self.connection.execute(
            f"SELECT {_COLUMNS} FROM versions AS v WHERE {condition} AND {_MADE}",  # noqa: S608
            values,
        ).fetchall()
        return (_Step(*row) for row in found)


def _step(row: VersionRow) -> _Step | None:
    if row.new is None or row.new == row.old or row.operation == "undo":
        return None
    return _Step(
        row.transaction_id,
        row.position,
        row.sequence,
        row.time,
        row.operation,
        row.channel,
        row.client,
        row.session,
        row.object_id,
        row.old,
        row.new,
    )
