"""Deciding on many proposals by one rule: each is shown, then one answer decides on those shown.

A rule chooses what is shown, and decides nothing by itself: each decision binds the version that
was on the screen, as a decision on a single one does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keepm.cli import output, owner
from keepm.cli.deciding import Outcome, Session
from keepm.cli.sheet import name
from keepm.errors import InvalidInput, KeepMError, NotFound, Problem, WrongState
from keepm.model.memory import Kind
from keepm.operations.reviewing import ProposalReview
from keepm.operations.waiting import InboxFilter, InboxItem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose proposals by what they have in common."""
    parser.add_argument("--client", metavar="NAME", help="only what this client proposed")
    parser.add_argument("--kind", choices=[str(kind) for kind in Kind], help="only this kind")
    parser.add_argument("--scope", choices=("global", "project"), help="only this scope")
    parser.add_argument("--overdue", action="store_true", help="only what has waited too long")


def rule(args: argparse.Namespace) -> InboxFilter:
    """Return the filter that the flags make; without any it fits whatever waits."""
    return InboxFilter(
        scope=args.scope,
        kind=Kind(args.kind) if args.kind else None,
        client=args.client,
        overdue_only=args.overdue,
    )


def is_rule(args: argparse.Namespace) -> bool:
    """Tell whether a decision is to be by rule; it is by name or by rule, never by both.

    Raises:
        InvalidInput: neither was given, or both; or there is no terminal to show anything on.
    """
    by_rule = rule(args) != InboxFilter()
    if by_rule == bool(args.named):
        message = "either the proposals' ids, or a rule such as --client or --kind"
        raise InvalidInput(f"give {message}", problems=[Problem("named", message)])
    if by_rule and (args.as_owner or not owner.at_terminal()):
        raise InvalidInput(
            "a rule decides only on what was shown on a terminal",
            hint="Name each version instead: ID@CHECKSUM, as `keepm review --list` tells.",
        )
    return by_rule


@dataclass(frozen=True, slots=True)
class Batch:
    """One decision for all that a rule chose."""

    session: Session
    question: str  # key of the words
    decide: Callable[[ProposalReview], dict[str, Any]]
    clean_only: bool  # leave out what has warnings: that wants a look of its own

    def run(self, items: Sequence[InboxItem], *, ask: bool) -> list[dict[str, Any]]:
        """Show each, ask once, decide; return what became of each that was chosen."""
        reviews: list[ProposalReview] = []
        for number, item in enumerate(items, 1):
            review = self._shown(item, number, len(items))
            if review is None:
                continue
            if self.clean_only and review.warnings:
                self.session.say("batch_left", name=name(review.document))
                continue
            outcome = self._looked_at() if ask else None
            if outcome is Outcome.QUIT:
                self.session.say("batch_stopped")
                return []
            if outcome is None:
                reviews.append(review)
        if not reviews:
            self.session.say("batch_none")
            return []
        if ask and not self.session.agrees(self.question, count=len(reviews)):
            self.session.say("batch_stopped")
            return []
        return list(self._decided(reviews))

    def _shown(self, item: InboxItem, number: int, total: int) -> ProposalReview | None:
        session = self.session
        try:
            review = session.look(item)
        except (NotFound, WrongState):
            session.say("gone", name=item.row.name)
            return None
        title = session.words("title", number=number, total=total)
        output.say("\n".join(session.sheet().proposal(review, title, overdue=item.overdue)))
        return review

    def _looked_at(self) -> Outcome | None:
        """Wait until a person has seen it; return whether it is left, or all of it ends."""
        while True:
            self.session.say("batch_keys")
            match self.session.keyboard.key():
                case "\n" | " ":
                    return None
                case "s":
                    return Outcome.LEFT
                case "q" | "":
                    return Outcome.QUIT

    def _decided(self, reviews: Sequence[ProposalReview]) -> Iterator[dict[str, Any]]:
        for review in reviews:
            told = {"named": review.document.content.id}
            try:
                yield {**told, **self.decide(review)}
            except KeepMError as error:
                # It changed since it was shown, or a rule refuses it: it waits on.
                output.failure(error, as_json=False)
                done = {"code": error.code, "message": error.message, "hint": error.next_step}
                yield {**told, "error": done}
