"""`keepm quarantine`: take all that one origin wrote out of recall, and let it back."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from keepm.cli import confirming, opening, output, owner
from keepm.cli.confirming import OWNER
from keepm.index.withheld import Withheld
from keepm.model.quarantine import Rule
from keepm.operations import quarantining
from keepm.operations.quarantining import (
    Lifted,
    LiftPlan,
    Listed,
    Quarantined,
    QuarantinePlan,
    QuarantineRequest,
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `quarantine` with its actions to the commands."""
    parser = subparsers.add_parser(
        "quarantine",
        help="withhold all that one origin wrote, reversibly",
        description="Take notes, proposals and handoffs that one session, one client or one span "
        "of time left behind out of every read at once. No file is touched. What an owner "
        "approved is listed apart and stays unless it is named with --include. A session's or "
        "client's quarantine takes what it writes later too, until it is lifted. Who keeps "
        "writing can be seen in `keepm ledger show`.",
        epilog="Examples:\n"
        "  keepm quarantine add --client codex --dry-run\n"
        "  keepm quarantine add --session 4f0c9b1e-…\n"
        "  keepm quarantine add --between 2026-11-28 2026-11-29T12:00:00Z\n"
        "  keepm quarantine list --format json\n"
        "  keepm quarantine lift 9f31c2aa",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser(
        "add",
        help="withhold an origin, after a preview",
        description="Show what would be withheld and what stays; on a terminal you are asked, "
        "elsewhere a token confirms it within ten minutes.",
    )
    add.add_argument(
        "--session", metavar="ID", help="all that this session (or its beginning) wrote and writes"
    )
    add.add_argument("--client", metavar="NAME", help="all that this client wrote and writes")
    add.add_argument(
        "--between",
        nargs=2,
        metavar=("A", "B"),
        help="all that was written from A to B (dates or times, UTC; a date B is the whole day)",
    )
    add.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="ID",
        help="an owner-approved note that goes along, by id or name; repeatable",
    )
    add.add_argument("--dry-run", action="store_true", help="only show what would be withheld")
    confirming.add_arguments(add)
    opening.add_format(add)
    opening.add_scope(add)
    add.set_defaults(run=_add)

    listing = actions.add_parser("list", help="the quarantines that stand, oldest first")
    opening.add_format(listing)
    opening.add_scope(listing)
    listing.set_defaults(run=_list)

    lift = actions.add_parser("lift", help="let what a quarantine withholds be read again")
    lift.add_argument("id", metavar="ID", help="as `list` shows it, or the beginning of it")
    lift.add_argument(
        "--as-owner",
        action="store_true",
        help="without a terminal: you say that it is you. Only for scripts of your own",
    )
    confirming.add_arguments(lift)
    opening.add_format(lift)
    opening.add_scope(lift)
    lift.set_defaults(run=_lift)


def _add(args: argparse.Namespace) -> int:
    owner.require_own_shell()  # the preview names what nobody else may read
    since, until = args.between or (None, None)
    request = QuarantineRequest(args.session, args.client, since, until, tuple(args.include))
    asked = request.as_record()
    with opening.vault(args) as vault:
        if args.dry_run:
            text, data = _show(quarantining.plan(vault, OWNER, request))
            output.emit(args, text=text, data={"plan": data, "token": None})
            output.say("Nothing was changed.")
            return output.OK
        return confirming.decide(
            args,
            vault,
            "quarantine",
            request=asked,
            asked=[name for name, value in asked.items() if value],
            make=lambda record: quarantining.plan(
                vault, OWNER, QuarantineRequest.from_record(record)
            ),
            carry_out=lambda record, digest: quarantining.add(
                vault, owner.caller(), QuarantineRequest.from_record(record), digest=digest
            ),
            show=_show,
            report=_report,
            command="quarantine add",
        )


def _list(args: argparse.Namespace) -> int:
    owner.require_own_shell()
    with opening.vault(args) as vault:
        found = quarantining.listing(vault)
    output.emit(
        args,
        text="\n".join(_lines(each) for each in found),
        data={"items": [_listed(each) for each in found], "total": len(found)},
    )
    if not found:
        output.say("No quarantine stands.")
    return output.OK


def _lift(args: argparse.Namespace) -> int:
    owner.require_own_shell()
    request = {"id": args.id}
    with opening.vault(args) as vault:
        return confirming.decide(
            args,
            vault,
            "quarantine_lift",
            request=request,
            asked=request,
            make=lambda record: quarantining.plan_lift(vault, OWNER, record["id"]),
            carry_out=lambda record, digest: quarantining.lift(
                vault, owner.deciding(as_owner=args.as_owner), record["id"], digest=digest
            ),
            show=_show_lift,
            report=_report_lift,
            command=f"quarantine lift {args.id}",
        )


# ---- words ---------------------------------------------------------------------------------------


def _show(plan: QuarantinePlan) -> tuple[str, dict[str, Any]]:
    lines = [f"Quarantine of {_origin(plan.rule)}, {_reach(plan.rule)}"]
    lines += _section("Would be withheld", plan.taken)
    if plan.spared:
        lines += _section("Owner-approved, stays (--include ID takes it along)", plan.spared)
    if plan.rule.is_open:
        lines.append("What it writes later is withheld too, until the quarantine is lifted.")
    return "\n".join(lines), _data(plan)


def _report(done: Quarantined) -> tuple[str, dict[str, Any]]:
    short = done.event.transaction_id[:8]
    text = (
        f"Withheld: {len(done.plan.taken)}, as quarantine {short}. "
        f"`keepm quarantine lift {short}` takes it back."
    )
    return text, {"id": done.event.transaction_id, "time": done.event.time, **_data(done.plan)}


def _show_lift(plan: LiftPlan) -> tuple[str, dict[str, Any]]:
    rule = plan.standing.rule
    lines = [f"Lifting the quarantine of {_origin(rule)}, {_reach(rule)}"]
    return "\n".join([*lines, *_section("Would be read again", plan.back)]), _lift_data(plan)


def _report_lift(done: Lifted) -> tuple[str, dict[str, Any]]:
    data = {"lifted": True, "transaction_id": done.event.transaction_id, **_lift_data(done.plan)}
    return f"Lifted; read again: {len(done.plan.back)}.", data


def _lines(each: Listed) -> str:
    rule = each.standing.rule
    head = f"{each.standing.transaction_id}  {each.standing.made.time}"
    lines = [f"{head}  {_origin(rule)}, {_reach(rule)}"]
    return "\n".join([*lines, *_section("withheld", each.taken)])


def _section(title: str, documents: Iterable[Withheld]) -> list[str]:
    found = list(documents)
    return [f"{title}: {len(found)}", *(f"  {d.kind:<8}  {d.id}  {d.path}" for d in found)]


def _origin(rule: Rule) -> str:
    if rule.session is not None:
        return f"session {rule.session}"
    if rule.client is not None:
        return f"client {rule.client}"
    return f"all from {rule.since} to {rule.until}"


def _reach(rule: Rule) -> str:
    if rule.reach is None:
        return "in the whole vault"
    return f"in project {rule.reach} and global memory" if rule.reach else "in global memory"


def _data(plan: QuarantinePlan) -> dict[str, Any]:
    return {
        **_rule(plan.rule),
        "withheld": [_document(each) for each in plan.taken],
        "owner_approved": [_document(each) for each in plan.spared],
    }


def _lift_data(plan: LiftPlan) -> dict[str, Any]:
    return {
        "id": plan.standing.transaction_id,
        **_rule(plan.standing.rule),
        "back": [_document(each) for each in plan.back],
    }


def _listed(each: Listed) -> dict[str, Any]:
    return {
        "id": each.standing.transaction_id,
        "time": each.standing.made.time,
        **_rule(each.standing.rule),
        "withheld": [_document(document) for document in each.taken],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "session": rule.session,
        "client": rule.client,
        "since": rule.since,
        "until": rule.until,
        "whole_vault": rule.reach is None,
        "project_id": rule.reach or None,
        "include": list(rule.include),
    }


def _document(each: Withheld) -> dict[str, Any]:
    return {
        "object_kind": each.kind,
        "id": each.id,
        "name": each.name,
        "path": each.path,
        "scope": each.scope.label,
        "project_id": each.scope.project_id,
    }
