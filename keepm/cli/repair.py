"""`keepm repair`: mend a note's front matter, or decide on an interrupted change."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from keepm.cli import confirming, opening, output, owner
from keepm.cli.confirming import OWNER
from keepm.errors import InvalidInput, Problem
from keepm.operations import mending, repairing
from keepm.operations.mending import Mended, MendPlan
from keepm.operations.mutation import as_shown
from keepm.operations.repairing import Blocked, Keep, Repaired, RepairPlan
from keepm.operations.vault import Vault


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `repair` to the commands."""
    parser = subparsers.add_parser(
        "repair",
        help="mend a note's metadata, or decide on an interrupted change",
        description="With NOTE, mend in its front matter what has one possible value (doctor says "
        "repairable): a missing id, scope, date or key. What it says stays as it is, and `keepm "
        "undo` takes it back.\n\n"
        "A change that was interrupted and then met a version that KeepM didn't write "
        "waits for your decision. Without arguments, list such changes (1 when there are any). "
        "--keep mine finishes KeepM's change; the other version goes to the trash. "
        "--keep theirs takes the change back and leaves the other version where it is.",
        epilog="Examples:\n"
        "  keepm repair build-command\n"
        "  keepm repair\n"
        "  keepm repair --transaction 9f31c2aa --keep theirs\n"
        "  keepm repair --confirm --token T",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "note", nargs="?", metavar="NOTE", help="an id, name or alias, or its path in the vault"
    )
    parser.add_argument("--transaction", metavar="ID", help="its id, or the beginning of it")
    parser.add_argument("--keep", choices=[str(each) for each in Keep], help="whose version stays")
    confirming.add_arguments(parser)
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Mend a note, list what waits, or show a decision's plan and carry it out when confirmed."""
    with opening.vault(args) as vault:
        request = _request(args)
        if not request and not args.confirm:
            return _list(args, vault)
        return confirming.decide(
            args,
            vault,
            "repair",
            request=request,
            asked=tuple(request),
            make=lambda record: _plan(vault, record),
            carry_out=lambda record, digest: _carry_out(vault, record, digest),
            show=_show,
            report=_report,
        )


def _request(args: argparse.Namespace) -> dict[str, str]:
    given = {"note": args.note, "transaction": args.transaction, "keep": args.keep}
    request = {name: value for name, value in given.items() if value is not None}
    if "note" in request and len(request) > 1:
        message = "goes without --transaction and --keep"
        raise InvalidInput(f"NOTE {message}", problems=[Problem("note", message)])
    if not args.confirm and len(request.keys() & {"transaction", "keep"}) == 1:
        message = "go together"
        raise InvalidInput(
            f"--transaction and --keep {message}", problems=[Problem("keep", message)]
        )
    return request


def _plan(vault: Vault, record: Mapping[str, str]) -> RepairPlan | MendPlan:
    if "note" in record:
        return mending.plan(vault, OWNER, record["note"])
    return repairing.plan(vault, OWNER, record["transaction"], Keep(record["keep"]))


def _carry_out(vault: Vault, record: Mapping[str, str], digest: str) -> Repaired | Mended:
    caller = owner.caller()
    if "note" not in record:
        keep = Keep(record["keep"])
        return repairing.repair(vault, caller, record["transaction"], keep, digest=digest)
    return mending.mend(vault, caller, record["note"], None, confirmed=as_shown(digest))


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


def _show(plan: RepairPlan | MendPlan) -> tuple[str, dict[str, Any]]:
    if isinstance(plan, MendPlan):
        return _show_mend(plan)
    whose = "KeepM's change is finished" if plan.keep is Keep.MINE else "KeepM's change is dropped"
    lines = [f"{plan.transaction_id}: {whose}"]
    for change in plan.changes:
        target = f" → {change.to}" if change.to else ""
        lines += ["", f"{change.path}{target}: {change.becomes}", *change.diff.splitlines()]
    return "\n".join(lines), _data(plan)


def _show_mend(plan: MendPlan) -> tuple[str, dict[str, Any]]:
    lines = [plan.path]
    lines += (f"  {each.code}: {each.because}" for each in plan.repairs)
    lines += (
        f"  left to you: {each.rule.code}: {each.reason or each.rule.means} → {each.fix}"
        for each in plan.unmended
    )
    if plan.change:
        lines += ["", *plan.change.diff.splitlines()]
    return "\n".join(lines), _mend_data(plan)


def _report(done: Repaired | Mended) -> tuple[str, dict[str, Any]]:
    if isinstance(done, Mended):
        text = f"Mended, as event {done.event.sequence}; `keepm undo` takes it back."
        data = {"repaired": True, "sequence": done.event.sequence, **_mend_data(done.plan)}
        return text, {**data, "checksum": done.checksum.hex}
    text = f"Decided, as event {done.event.sequence}."
    return text, {"repaired": True, "sequence": done.event.sequence, **_data(done.plan)}


def _mend_data(plan: MendPlan) -> dict[str, Any]:
    return {
        "path": plan.path,
        "id": plan.document_id,
        "checksum": plan.checksum.hex,
        "repairs": [{"code": each.code, "because": each.because} for each in plan.repairs],
        "left_to_you": [
            {"code": each.rule.code, "reason": each.reason or each.rule.means, "fix": each.fix}
            for each in plan.unmended
        ],
        "diff": plan.change.diff if plan.change else None,
    }


def _data(plan: RepairPlan) -> dict[str, Any]:
    return {
        "transaction": plan.transaction_id,
        "keep": str(plan.keep),
        "changes": [
            {"path": each.path, "to": each.to, "becomes": each.becomes, "diff": each.diff or None}
            for each in plan.changes
        ],
    }
