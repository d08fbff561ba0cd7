"""`keepm gc`: what nobody needs goes for good."""

from __future__ import annotations

import argparse
from typing import Any

from keepm.cli import confirming, opening, owner
from keepm.cli.confirming import OWNER, Request
from keepm.operations import cleaning
from keepm.operations.cleaning import Cleaned, CleanPlan, CleanRequest


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `gc` to the commands."""
    parser = subparsers.add_parser(
        "gc",
        help="delete old trash and unneeded versions for good, after a preview",
        description="Show what could go for good: files that were deleted long ago, and kept "
        "versions that neither a note nor the ledger needs (older ones too where "
        "history.keep_days says so). --confirm deletes exactly the plan of its token, once, within "
        "ten minutes. Files of unknown age, symlinks, the ledger and all else stay.",
        epilog="Examples:\n"
        "  keepm gc                                  the plan, for 30 days\n"
        "  keepm gc --older-than-days 7 --format json\n"
        "  keepm gc --confirm --token T              carry out the plan that printed T",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--older-than-days", type=int, metavar="N", help="what is older than N days (default 30)"
    )
    confirming.add_arguments(parser)
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show the plan, and carry it out when confirmed."""
    days = 30 if args.older_than_days is None else args.older_than_days
    with opening.vault(args) as vault:
        return confirming.decide(
            args,
            vault,
            "gc",
            request={"older_than_days": str(days), "at": vault.now()},
            asked=() if args.older_than_days is None else ("older_than_days",),
            make=lambda record: cleaning.plan(vault, OWNER, _request(record)),
            carry_out=lambda record, digest: cleaning.clean(
                vault, owner.caller(), _request(record), digest=digest
            ),
            show=_show,
            report=_report,
        )


def _request(record: Request) -> CleanRequest:
    return CleanRequest(int(record["older_than_days"]), record["at"])


def _show(plan: CleanPlan) -> tuple[str, dict[str, Any]]:
    lines = [each.path for each in plan.files if each.kind == "trash"]
    count = sum(each.kind == "object" for each in plan.files)
    lines.append(f"{len(lines)} files in the trash, {count} versions, {plan.size} bytes")
    if plan.unknown_age:
        lines.append(f"{plan.unknown_age} files in the trash stay: nothing tells their age")
    if plan.ledger_incomplete:
        lines.append("No version goes: the ledger lacks its end (keepm ledger verify)")
    return "\n".join(lines), _data(plan)


def _report(done: Cleaned) -> tuple[str, dict[str, Any]]:
    text = f"{len(done.plan.files)} files are gone for good, as event {done.event.sequence}."
    return text, {"cleaned": True, "sequence": done.event.sequence, **_data(done.plan)}


def _data(plan: CleanPlan) -> dict[str, Any]:
    return {
        "files": [{"path": each.path, "size": each.size, "kind": each.kind} for each in plan.files],
        "bytes": plan.size,
        "unknown_age": plan.unknown_age,
        "ledger_incomplete": plan.ledger_incomplete,
    }
