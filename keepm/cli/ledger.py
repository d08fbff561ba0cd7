"""`keepm ledger`: what happened, and whether the record of it is whole."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from keepm.cli import confirming, opening, output, owner
from keepm.errors import ConfirmationRequired
from keepm.operations import auditing, undoing
from keepm.operations.auditing import Chain, LedgerProblem, Recorded, Wanted

_BEGINNING = 8  # characters of an id: enough for `undo --session`
_MEANING = {
    "unreadable": "is no event",
    "edited": "was changed after it was written",
    "gap": "follows events that are missing",
    "fork": "continues from an older event beside another continuation",
    "reordered": "stands out of order",
    "torn_tail": "was cut short while it was written",
    "cut": "was the last known event, and is missing now",
    "rewritten": "was the last known event, and another stands in its place",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ledger` with its actions to the commands."""
    parser = subparsers.add_parser(
        "ledger",
        help="every change on record; whether the record is whole",
        description="Show, check or export the ledger: one chain of events per machine, which "
        "names every change and holds no text of a note.",
        epilog="Examples:\n"
        "  keepm ledger show --limit 5\n"
        "  keepm ledger show --client codex --since 2026-11-29 --format json\n"
        "  keepm ledger verify             ends with 1 when something is wrong\n"
        "  keepm ledger export > ledger-archive.jsonl\n"
        "  keepm ledger accept             after you restored a backup",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    show = actions.add_parser(
        "show",
        help="list events, newest first",
        description="List the events of this folder's project and of global memory, newest first.",
    )
    show.add_argument("--limit", type=int, default=20, metavar="N", help="at most N (default 20)")
    show.add_argument("--since", metavar="TIME", help="from this date or time (UTC) on")
    show.add_argument("--object", metavar="ID", help="about this note, proposal or handoff")
    show.add_argument("--client", metavar="NAME", help="by this client")
    show.add_argument("--session", metavar="ID", help="by this session (or its beginning)")
    opening.add_format(show)
    opening.add_scope(show)
    show.set_defaults(run=_show)

    verify = actions.add_parser(
        "verify",
        help="check every chain; 1 when something is wrong",
        description="Check every machine's chain: changed, missing, doubled or reordered events, "
        "and a missing end (compared with the end that this machine last knew).",
    )
    opening.add_format(verify)
    verify.set_defaults(run=_verify)

    export = actions.add_parser(
        "export",
        help="all events of all machines as JSON lines",
        description="Write every event of every machine as a JSON line: the event as it stands, "
        "and the machine's id in `writer`. Hashes are over the line without `writer` and `hash`.",
    )
    export.set_defaults(run=_export)

    accept = actions.add_parser(
        "accept",
        help="take a ledger that lost its end as it is",
        description="After a backup of the vault was restored, the ledger ends earlier than this "
        "machine knew. Accepting records that, as an event. Asks on a terminal.",
    )
    accept.add_argument("--yes", "-y", action="store_true", help="don't ask")
    opening.add_format(accept)
    accept.set_defaults(run=_accept)


def _show(args: argparse.Namespace) -> int:
    wanted = Wanted(
        since=undoing.moment(args.since) if args.since else None,
        object_id=args.object,
        client=args.client,
        session=args.session,
    )
    with opening.vault(args) as vault:
        found = auditing.events(vault, wanted)
    page = found[: max(0, args.limit)]
    output.emit(
        args,
        text="\n".join(_line(each) for each in page),
        data={"events": [_data(each) for each in page], "count": len(page), "total": len(found)},
    )
    if len(page) < len(found):
        output.say(f"{len(found) - len(page)} more: raise --limit.")
    return output.OK


def _verify(args: argparse.Namespace) -> int:
    with opening.vault(args) as vault:
        verdict = auditing.verify(vault)
    lines = [_chain_line(chain) for chain in verdict.chains]
    lines += [_problem(each) for each in verdict.problems]
    output.emit(
        args,
        text="\n".join(lines),
        data={
            "ok": not verdict.problems,
            "chains": [_chain_data(chain) for chain in verdict.chains],
            "problems": [
                {"code": each.code, "writer": each.writer, "line": each.line}
                for each in verdict.problems
            ],
        },
    )
    if not verdict.problems:
        output.say("The ledger is whole.")
        return output.OK
    if any(each.code in ("cut", "rewritten") for each in verdict.problems):
        output.say("If you restored a backup: `keepm ledger accept` takes the ledger as it is.")
    return output.FINDINGS


def _export(args: argparse.Namespace) -> int:
    with opening.vault(args) as vault:
        for each in auditing.export(vault):
            sys.stdout.write(f"{json.dumps(_data(each), ensure_ascii=False, sort_keys=True)}\n")
    return output.OK


def _accept(args: argparse.Namespace) -> int:
    with opening.vault(args) as vault:
        for chain in auditing.shortened(vault):
            output.say(_chain_line(chain))
        if not args.yes:
            if not sys.stdin.isatty():
                raise ConfirmationRequired(
                    "accepting a shorter ledger is the owner's word",
                    hint="Run it on a terminal, or with --yes.",
                )
            if auditing.shortened(vault) and not confirming.ask("Take it as it is?"):
                output.say("Nothing was changed.")
                return output.OK
        done = auditing.accept(vault, owner.caller())
    output.emit(
        args,
        text=f"Accepted, as event {done.event.sequence}.",
        data={
            "accepted": True,
            "sequence": done.event.sequence,
            "chains": [_chain_data(chain) for chain in done.chains],
        },
    )
    return output.OK


def _line(each: Recorded) -> str:
    event = each.event
    by = "  ".join(part for part in (event.channel, event.client or event.surface) if part)
    ruling = event.extra.get("ruling", "").replace("_", " ")
    return (
        f"{event.sequence:>6}  {event.time}  {event.operation:<16}  {event.object_id[:8]:<8}  "
        f"{event.transaction_id[:8]}  {by}{f'  [{ruling}]' if ruling else ''}"
        f"{f'  session {event.session[:_BEGINNING]}' if event.session else ''}"
    )


def _data(each: Recorded) -> dict[str, Any]:
    return {"writer": each.writer, **each.event.as_record()}


def _chain_line(chain: Chain) -> str:
    whose = "this machine" if chain.own else chain.writer
    known = ""
    if chain.known and chain.known != chain.head:
        known = f", last known {chain.known.sequence} {chain.known.hash[:16]}"
    return f"{whose}: {chain.head.sequence} events, head {chain.head.hash[:16]}{known}"


def _chain_data(chain: Chain) -> dict[str, Any]:
    known = chain.known
    return {
        "writer": chain.writer,
        "own": chain.own,
        "sequence": chain.head.sequence,
        "hash": chain.head.hash,
        "known": {"sequence": known.sequence, "hash": known.hash} if known else None,
    }


def _problem(each: LedgerProblem) -> str:
    word = "event" if each.code in ("cut", "rewritten") else "line"
    return f"{each.writer}: {word} {each.line} {_MEANING[each.code]} [{each.code}]"
