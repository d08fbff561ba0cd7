"""`keepm review --edits`: hand edits that nothing reads before the owner has looked at them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from keepm.cli import named, output, owner
from keepm.cli.deciding import Outcome, Session
from keepm.cli.named import Named
from keepm.cli.sheet import name, scope
from keepm.cli.wording import Words
from keepm.errors import NotFound, WrongState
from keepm.index.withheld import Withheld
from keepm.model import visible
from keepm.operations import edits
from keepm.operations.edits import EditReview
from keepm.operations.vault import Caller, Vault


def add_actions(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add what can be done with hand edits that wait to the actions of `review`."""
    for action, says, act in (
        ("accept", "let files that were edited by hand be read again", _accept),
        (
            "put-back",
            "put the version before a hand edit back; a new file goes to the trash",
            _back,
        ),
    ):
        inner = actions.add_parser(action, help=says)
        named.add_arguments(inner, nargs="+")
        named.add_owner(inner)
        inner.set_defaults(run=act)


def go_through(args: argparse.Namespace, vault: Vault, say: Words, *, sitting: bool) -> int:
    """List the hand edits that wait, or decide on them at a terminal."""
    waiting = edits.listing(vault)
    words = say("edits_waiting", count=len(waiting)) if waiting else say("edits_none")
    if sitting and waiting:
        session = EditSession(vault, owner.deciding(as_owner=False), say)
        output.say(words)
        tally = session.edits([each.path for each in waiting])
        output.say(
            say(
                "edits_tally",
                accepted=tally[Outcome.APPROVED],
                back=tally[Outcome.REJECTED],
                left=tally[Outcome.LEFT],
            )
        )
        return output.OK
    output.emit(
        args,
        text="\n".join(_line(each, say) for each in waiting),
        data={"items": [_item(each) for each in waiting], "total": len(waiting)},
    )
    output.say(words)
    return output.OK


def tell(vault: Vault, say: Words) -> None:
    """Say how many hand edits wait, if any do."""
    waiting = edits.listing(vault)
    if waiting:
        output.say(say("edits_waiting", count=len(waiting)))


class EditSession(Session):
    """One sitting over hand edits."""

    def edits(self, paths: Sequence[str]) -> dict[Outcome, int]:
        """Go through files; return how many were accepted, put back and left."""

        def one(place: int) -> Outcome:
            try:
                review = edits.look(self.vault, paths[place])
            except (NotFound, WrongState):
                self.say("gone", name=paths[place])
                return Outcome.LEFT
            title = self.words("edit_title", number=place + 1, total=len(paths))
            return self._shown(self.sheet().edit(review, title)) or self._decide_edit(review)

        return self._each(len(paths), one)

    def _decide_edit(self, review: EditReview) -> Outcome:
        return self._choose(
            {"a": lambda: self._accept(review), "b": lambda: self._put_back(review)},
            keys="edit_keys",
            explained="edit_help",
        )

    def _accept(self, review: EditReview) -> Outcome | None:
        count = len(review.warnings)
        if count and not self.agrees("edit_sure", count=count):
            return None
        edits.accept(self.vault, self.caller, review)
        self.say("edit_accepted", name=name(review.document))
        return Outcome.APPROVED

    def _put_back(self, review: EditReview) -> Outcome | None:
        if not self.agrees(_back_question(review), name=name(review.document)):
            return None
        edits.put_back(self.vault, self.caller, review)
        self.say(_back_done(review), name=name(review.document))
        return Outcome.REJECTED


def _accept(args: argparse.Namespace) -> int:
    def one(vault: Vault, caller: Caller, item: Named, say: Words) -> dict[str, Any] | None:
        review = _looked(vault, caller, item, say)
        if not named.agreed(args, say("accept_question", name=name(review.document))):
            return None
        edits.accept(vault, caller, review)
        output.say(say("edit_accepted", name=name(review.document)))
        return _done(review, "accepted")

    return named.each(args, one)


def _back(args: argparse.Namespace) -> int:
    def one(vault: Vault, caller: Caller, item: Named, say: Words) -> dict[str, Any] | None:
        review = _looked(vault, caller, item, say)
        if not named.agreed(args, say(_back_question(review), name=name(review.document))):
            return None
        edits.put_back(vault, caller, review)
        output.say(say(_back_done(review), name=name(review.document)))
        return _done(review, "put_back" if review.behind else "trashed")

    return named.each(args, one)


def _looked(vault: Vault, caller: Caller, item: Named, say: Words) -> EditReview:
    review = edits.look(vault, item.identifier)
    item.require(review.document, caller)
    named.show(named.sheet_of(say).edit(review, review.item.path))
    return review


def _back_question(review: EditReview) -> str:
    return "back_question" if review.behind else "trash_question"


def _back_done(review: EditReview) -> str:
    return "put_back" if review.behind else "trashed"


def _done(review: EditReview, done: str) -> dict[str, Any]:
    return {
        "id": review.document.content.id,
        "path": review.item.path,
        "done": done,
        "checksum": review.item.checksum,
    }


def _line(item: Withheld, say: Words) -> str:
    return f"{item.id}  {say(item.kind)}  {scope(item.scope, say)}\n    {visible.shown(item.path)}"


def _item(item: Withheld) -> dict[str, Any]:
    return {
        "id": item.id,
        "name": item.name,
        "path": item.path,
        "object_kind": item.kind,
        "scope": item.scope.label,
        "project_id": item.scope.project_id,
        "checksum": item.checksum,
    }
