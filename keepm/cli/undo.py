"""`keepm undo`: take changes back."""

from __future__ import annotations

import argparse
from typing import Any

from keepm.cli import confirming, opening, owner
from keepm.cli.confirming import OWNER
from keepm.operations import undoing
from keepm.operations.undoing import Undone, UndoPlan, UndoRequest


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `undo` to the commands."""
    parser = subparsers.add_parser(
        "undo",
        help="take changes back, after a preview",
        description="Take back the last change, one event, or all that one origin wrote. The plan "
        "is shown first; on a terminal you are asked, elsewhere a token confirms it within ten "
        "minutes. Refused when later changes stand on it. An undo is an event itself and can be "
        "undone.",
        epilog="Examples:\n"
        "  keepm undo                     the last change\n"
        "  keepm undo 41                  event 41 of this machine\n"
        "  keepm undo 9f31c2aa            by the beginning of its transaction's id\n"
        "  keepm undo --client codex --since 2026-11-29\n"
        "  keepm undo --confirm --token T    what a plan without a terminal printed",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "event", metavar="EVENT", nargs="?", help="sequence number, or beginning of an id"
    )
    parser.add_argument(
        "--session", metavar="ID", help="all that this session (or its beginning) wrote"
    )
    parser.add_argument("--client", metavar="NAME", help="all that this client wrote")
    parser.add_argument("--since", metavar="TIME", help="all since this date or time (UTC)")
    confirming.add_arguments(parser)
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show the plan, and carry it out when confirmed."""
    request = UndoRequest(args.event, args.session, args.client, args.since)
    with opening.vault(args) as vault:
        return confirming.decide(
            args,
            vault,
            "undo",
            request=request.as_record(),
            asked=request.as_record(),
            make=lambda record: undoing.plan(vault, OWNER, UndoRequest.from_record(record)),
            carry_out=lambda record, digest: undoing.undo(
                vault, owner.caller(), UndoRequest.from_record(record), digest=digest
            ),
            show=_show,
            report=_report,
        )


def _show(plan: UndoPlan) -> tuple[str, dict[str, Any]]:
    lines = ["Taking back:"]
    for event in plan.events:
        by = event.client or event.surface
        lines.append(f"  {event.sequence}  {event.time}  {event.operation}  by {by}")
    for change in plan.changes:
        target = f" → {change.to}" if change.to else ""
        lines += ["", f"{change.path}{target}: {change.becomes}", *change.diff.splitlines()]
    return "\n".join(lines), _data(plan)


def _report(done: Undone) -> tuple[str, dict[str, Any]]:
    count = len(done.plan.events)
    what = "1 event" if count == 1 else f"{count} events"
    event = done.event
    text = f"Took back {what}, as event {event.sequence} ({event.transaction_id[:8]})."
    return text, {
        "undone": True,
        "sequence": event.sequence,
        "transaction_id": event.transaction_id,
        **_data(done.plan),
    }


def _data(plan: UndoPlan) -> dict[str, Any]:
    return {
        "events": [
            {
                "sequence": event.sequence,
                "time": event.time,
                "transaction_id": event.transaction_id,
                "operation": event.operation,
                "object_id": event.object_id,
                "client": event.client or None,
                "session": event.session or None,
            }
            for event in plan.events
        ],
        "changes": [
            {"path": each.path, "to": each.to, "becomes": each.becomes, "diff": each.diff or None}
            for each in plan.changes
        ],
    }
