"""`keepm repair`: the owner's decision on an interrupted change."""

from __future__ import annotations

import argparse
from typing import Any

from keepm.cli import confirming, opening, output, owner
from keepm.cli.confirming import OWNER
from keepm.errors import InvalidInput, Problem
from keepm.operations import repairing
from keepm.operations.repairing import Blocked, Keep, Repaired, RepairPlan
from keepm.operations.vault import Vault


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `repair` to the commands."""
    parser = subparsers.add_parser(
        "repair",
        help="decide on an interrupted change that met another program's version",
        description="A change that was interrupted and then met a version that KeepM didn't write "
        "waits for your decision. Without arguments, list such changes (1 when there are any). "
        "--keep mine finishes KeepM's change; the other version is kept in history or the trash. "
        "--keep theirs takes the change back and leaves the other version where it is.",
        epilog="Examples:\n"
        "  keepm repair\n"
        "  keepm repair --transaction 9f31c2aa --keep theirs\n"
        "  keepm repair --confirm --token T",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--transaction", metavar="ID", help="its id, or the beginning of it")
    parser.add_argument("--keep", choices=[str(each) for each in Keep], help="whose version stays")
    confirming.add_arguments(parser)
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List what waits, or show a decision's plan and carry it out when confirmed."""
    with opening.vault(args) as vault:
        if not args.confirm and args.transaction is None and args.keep is None:
            return _list(args, vault)
        if not args.confirm and (args.transaction is None or args.keep is None):
            message = "go together"
            raise InvalidInput(
                f"--transaction and --keep {message}", problems=[Problem("keep", message)]
            )
        given = {"transaction": args.transaction, "keep": args.keep}
        request = {name: value for name, value in given.items() if value is not None}
        return confirming.decide(
            args,
            vault,
            "repair",
            request=request,
            asked=tuple(request),
            make=lambda record: repairing.plan(
                vault, OWNER, record["transaction"], Keep(record["keep"])
            ),
            carry_out=lambda record, digest: repairing.repair(
                vault, owner.caller(), record["transaction"], Keep(record["keep"]), digest=digest
            ),
            show=_show,
            report=_report,
        )


def _list(args: argparse.Namespace, vault: Vault) -> int:
    found = repairing.blocked(vault, OWNER)
    output.emit(
        args,
        text="\n".join(_line(each) for each in found),
        data={
            "blocked": [
                {
                    "transaction": each.transaction_id,
                    "paths": list(each.paths),
                    "reason": each.reason,
                    "operation": each.operation,
                    "time": each.time,
                }
                for each in found
            ]
        },
    )
    if not found:
        output.say("No change waits for a decision.")
    return output.FINDINGS if found else output.OK


def _line(each: Blocked) -> str:
    what = f"{each.operation} of {each.time}" if each.operation else "a record nobody can read"
    return "\n".join([f"{each.transaction_id}  {what}", *(f"    {path}" for path in each.paths)])


def _show(plan: RepairPlan) -> tuple[str, dict[str, Any]]:
    whose = "KeepM's change is finished" if plan.keep is Keep.MINE else "KeepM's change is dropped"
    lines = [f"{plan.transaction_id}: {whose}"]
    for change in plan.changes:
        target = f" → {change.to}" if change.to else ""
        lines += ["", f"{change.path}{target}: {change.becomes}", *change.diff.splitlines()]
    return "\n".join(lines), _data(plan)


def _report(done: Repaired) -> tuple[str, dict[str, Any]]:
    text = f"Decided, as event {done.event.sequence}."
    return text, {"repaired": True, "sequence": done.event.sequence, **_data(done.plan)}


def _data(plan: RepairPlan) -> dict[str, Any]:
    return {
        "transaction": plan.transaction_id,
        "keep": str(plan.keep),
        "changes": [
            {"path": each.path, "to": each.to, "becomes": each.becomes, "diff": each.diff or None}
            for each in plan.changes
        ],
    }
