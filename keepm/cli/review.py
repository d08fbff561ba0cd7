"""`keepm review`: the owner decides what becomes memory, on exactly the bytes that are shown."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from keepm.cli import accepting, batch, named, opening, output, owner, sheet, wording
from keepm.cli.batch import Batch
from keepm.cli.deciding import Outcome, Session
from keepm.cli.named import Named
from keepm.cli.wording import Words
from keepm.index.rows import NoteRow
from keepm.model import visible
from keepm.operations import reviewing, vouching, waiting
from keepm.operations.discarding import Discarded
from keepm.operations.reviewing import ProposalReview
from keepm.operations.vault import Caller, Vault
from keepm.operations.vouching import NoteReview
from keepm.operations.waiting import InboxItem, InboxPage

Decide = Callable[[Vault, Caller, ProposalReview, Words], dict[str, Any]]
"""What is done with a proposal that was shown; returns what is told of it as JSON."""
_ALL = 1_000_000


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `review` and its actions to the commands."""
    parser = subparsers.add_parser(
        "review",
        help="decide on proposals, one at a time",
        description="Go through the proposals that wait: each is shown whole as it is stored, "
        "invisible characters written out, with what it would change and what speaks against it; "
        "one key approves, rejects, edits or skips it. Without a terminal, or with --list, only "
        "list them. With --relayed, the same for formal notes that stand on an agent's word alone; "
        "with --edits for hand edits, where approval.external_edits is review.",
        epilog="Examples:\n"
        "  keepm review\n"
        "  keepm review --relayed\n"
        "  keepm review --list --format json\n"
        "  keepm review approve 9f31c2aa-… --yes\n"
        "  keepm review reject build-command --reason 'we use make'\n"
        "  keepm review approve --kind preference\n"
        "  keepm review reject --client codex --overdue",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="only list, decide nothing")
    parser.add_argument("--relayed", action="store_true", help="notes on an agent's word alone")
    parser.add_argument("--edits", action="store_true", help="hand edits that wait for your look")
    batch.add_arguments(parser)
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=_go_through)
    actions = parser.add_subparsers(metavar="ACTION")
    for action, says, act in (
        ("approve", "let proposals into memory", _approve),
        ("reject", "file proposals away as rejected", _reject),
        ("confirm", "take notes that stand on an agent's word on the owner's", _confirm),
    ):
        inner = actions.add_parser(action, help=says)
        named.add_arguments(inner, nargs="+" if action == "confirm" else "*")
        if action != "confirm":
            batch.add_arguments(inner)
        if action == "reject":
            inner.add_argument("--reason", default="", help="why, kept in the archived proposal")
            inner.add_argument(
                "--no-remember",
                dest="remember",
                action="store_false",
                help="only this time: the same may be proposed again",
            )
        named.add_owner(inner)
        inner.set_defaults(run=act)
    accepting.add_actions(actions)


# ---- the list and the sitting --------------------------------------------------------------------


def _go_through(args: argparse.Namespace) -> int:
    """List what waits, or decide on it at a terminal."""
    sitting = owner.at_terminal() and not args.list and args.format == "text"
    with opening.vault(args) as vault:
        say = wording.words(vault.settings.language)
        if args.relayed:
            return _relayed(args, vault, say, sitting=sitting)
        if args.edits:
            return accepting.go_through(args, vault, say, sitting=sitting)
        page = waiting.list_page(vault, batch.rule(args), limit=_ALL)
        if not sitting or not page.items:
            return _list(args, vault, say, page)
        session = Session(vault, owner.deciding(as_owner=False), say)
        output.say(_waiting(vault, say, page))
        _tell(session.proposals(page.items), say)
        accepting.tell(vault, say)
        _tell_relayed(vault, say)
    return output.OK


def _list(args: argparse.Namespace, vault: Vault, say: Words, page: InboxPage) -> int:
    overdue = sum(item.overdue for item in page.items)
    output.emit(
        args,
        text="\n".join(_line(item, say) for item in page.items),
        data={
            "items": [_item(item) for item in page.items],
            "total": page.total,
            "overdue": overdue,
            "remind": waiting.summary(vault).remind,
            "relayed": len(vouching.relayed(vault)),
        },
    )
    output.say(_waiting(vault, say, page))
    accepting.tell(vault, say)
    _tell_relayed(vault, say)
    if page.items:
        output.say(say("how"))
    return output.OK


def _relayed(args: argparse.Namespace, vault: Vault, say: Words, *, sitting: bool) -> int:
    rows = vouching.relayed(vault)
    if sitting and rows:
        session = Session(vault, owner.deciding(as_owner=False), say)
        output.say(say("relayed_waiting", count=len(rows)))
        _tell(session.notes([row.id for row in rows]), say)
        return output.OK
    output.emit(
        args,
        text="\n".join(_note_line(row, say) for row in rows),
        data={"items": [_note_item(row) for row in rows], "total": len(rows)},
    )
    output.say(say("relayed_waiting", count=len(rows)) if rows else say("relayed_none"))
    return output.OK


def _tell_relayed(vault: Vault, say: Words) -> None:
    if count := len(vouching.relayed(vault)):
        output.say(say("relayed_too", count=count))


def _tell(tally: dict[Outcome, int], say: Words) -> None:
    output.say(
        say(
            "tally",
            approved=tally[Outcome.APPROVED],
            rejected=tally[Outcome.REJECTED],
            left=tally[Outcome.LEFT],
        )
    )


# ---- named ones ----------------------------------------------------------------------------------


def _approve(args: argparse.Namespace) -> int:
    if batch.is_rule(args):
        return _by_rule(args, "batch_approve", _approved, clean_only=True)
    return _by_name(args, "approve_question", _approved)


def _reject(args: argparse.Namespace) -> int:
    def rejected(
        vault: Vault, caller: Caller, review: ProposalReview, say: Words
    ) -> dict[str, Any]:
        decided = reviewing.reject(
            vault, caller, review, reason=args.reason, remember=args.remember
        )
        done = "trashed" if isinstance(decided, Discarded) else "rejected"
        lasting = not isinstance(decided, Discarded) and decided.remembered
        said = "rejected_for_good" if lasting else done
        output.say(say(said, name=sheet.name(review.document)))
        return {
            "id": review.document.content.id,
            "done": done,
            "remembered": lasting,
            "checksum": review.document.checksum.hex,
        }

    if batch.is_rule(args):
        return _by_rule(args, "batch_reject", rejected, clean_only=False)
    return _by_name(args, "reject_question", rejected)


def _approved(vault: Vault, caller: Caller, review: ProposalReview, say: Words) -> dict[str, Any]:
    done = reviewing.approve(vault, caller, review)
    output.say(say("approved", name=sheet.name(done.memory), path=done.memory.path))
    return {
        "id": review.document.content.id,
        "done": "approved",
        "checksum": review.document.checksum.hex,
        "memory": {"id": done.memory.content.id, "path": done.memory.path},
    }


def _confirm(args: argparse.Namespace) -> int:
    def one(vault: Vault, caller: Caller, item: Named, say: Words) -> dict[str, Any] | None:
        review = vouching.look(vault, item.identifier)
        item.require(review.document, caller)
        named.show(named.sheet_of(say).note(review, _title(review)))
        if not named.agreed(args, say("confirm_question", name=sheet.name(review.document))):
            return None
        note = vouching.confirm(vault, caller, review)
        output.say(say("confirmed", name=sheet.name(note)))
        return {"id": note.content.id, "done": "confirmed", "checksum": note.checksum.hex}

    return named.each(args, one)


def _by_name(args: argparse.Namespace, question: str, decide: Decide) -> int:
    """Decide on each that is named, after it was shown and the question about it answered."""

    def one(vault: Vault, caller: Caller, item: Named, say: Words) -> dict[str, Any] | None:
        review = reviewing.look(vault, item.identifier)
        item.require(review.document, caller)
        named.show(named.sheet_of(say).proposal(review, _title(review)))
        if not named.agreed(args, say(question, name=sheet.name(review.document))):
            return None
        return decide(vault, caller, review, say)

    return named.each(args, one)


def _by_rule(
    args: argparse.Namespace,
    question: str,
    decide: Decide,
    *,
    clean_only: bool,
) -> int:
    """Decide on all that a rule chooses, after each was shown."""
    caller = owner.deciding(as_owner=False)
    with opening.vault(args) as vault:
        say = wording.words(vault.settings.language)
        session = Session(vault, caller, say)
        page = waiting.list_page(vault, batch.rule(args), limit=_ALL)
        chosen = Batch(
            session, question, lambda review: decide(vault, caller, review, say), clean_only
        )
        results = chosen.run(page.items, ask=not args.yes)
    if args.format == "json":
        output.emit(args, text="", data={"items": results})
    return output.USAGE if any("error" in each for each in results) else output.OK


def _title(review: ProposalReview | NoteReview) -> str:
    return review.document.content.id


# ---- lines ---------------------------------------------------------------------------------------


def _waiting(vault: Vault, say: Words, page: InboxPage) -> str:
    if not page.items:
        return say("none")
    overdue = sum(item.overdue for item in page.items)
    return say("waiting", count=page.total, overdue=overdue, days=vault.settings.inbox_review_days)


def _line(item: InboxItem, say: Words) -> str:
    row = item.row
    late = f"  ({say('overdue')})" if item.overdue else ""
    where = sheet.scope(row.scope, say)
    return f"{row.id}  {row.kind}  {where}  {row.created[:10]}{late}\n    {visible.shown(row.name)}"


def _note_line(row: NoteRow, say: Words) -> str:
    return f"{row.id}  {row.kind}  {sheet.scope(row.scope, say)}\n    {visible.shown(row.name)}"


def _item(item: InboxItem) -> dict[str, Any]:
    row = item.row
    return {
        "id": row.id,
        "name": row.name,
        "kind": str(row.kind),
        "scope": row.scope.label,
        "project_id": row.scope.project_id,
        "description": row.description,
        "created": row.created,
        "overdue": item.overdue,
        "target_id": row.target_id,
        "checksum": row.checksum,
    }


def _note_item(row: NoteRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "kind": str(row.kind) if row.kind else None,
        "scope": row.scope.label,
        "project_id": row.scope.project_id,
        "updated": row.updated,
        "checksum": row.checksum,
    }
