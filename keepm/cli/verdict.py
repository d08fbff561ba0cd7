"""`keepm verdict`: what the owner ruled for good, and taking it back."""

from __future__ import annotations

import argparse
from typing import Any

from keepm.cli import opening, output, owner
from keepm.operations import judging, verdicts
from keepm.operations.judging import StandingVerdict

_PAIRS = {"not-duplicate": verdicts.NOT_DUPLICATE, "not-conflict": verdicts.NOT_CONFLICT}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `verdict` with its actions to the commands."""
    parser = subparsers.add_parser(
        "verdict",
        help="what was ruled for good: rejected, no duplicate, no conflict",
        description="A verdict outlives the notes it was given on, by what they say: a rejected "
        "claim can't be proposed or stored again in that scope; two notes that were told apart "
        "are no longer refused as near-duplicates, or named as a conflict, until one of them says "
        "something else. Rejections come from `keepm review` (or a host that asked you).",
        epilog="Examples:\n"
        "  keepm verdict list --format json\n"
        "  keepm verdict add not-conflict deploy-target deploy-target-eu\n"
        "  keepm verdict lift 9f31c2aa",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    listing = actions.add_parser("list", help="the verdicts that stand, newest first")
    opening.add_format(listing)
    opening.add_scope(listing)
    listing.set_defaults(run=_list)

    add = actions.add_parser("add", help="tell two notes apart")
    add.add_argument("kind", choices=tuple(_PAIRS), help="what the two are not")
    add.add_argument("one", metavar="A", help="id, name or alias of one")
    add.add_argument("other", metavar="B", help="and of the other")
    _add_owner(add)
    add.set_defaults(run=_add)

    lift = actions.add_parser("lift", help="take a verdict back; what it kept out may come again")
    lift.add_argument("id", metavar="ID", help="as `list` shows it")
    _add_owner(lift)
    lift.set_defaults(run=_lift)


def _add_owner(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as-owner",
        action="store_true",
        help="without a terminal: you say that it is you. Only for scripts of your own",
    )
    opening.add_format(parser)
    opening.add_scope(parser)


def _list(args: argparse.Namespace) -> int:
    with opening.vault(args) as vault:
        found = judging.standing(vault)
    output.emit(
        args,
        text="\n".join(map(_lines, found)),
        data={"items": [_data(each) for each in found], "total": len(found)},
    )
    if not found:
        output.say("No verdict stands.")
    return output.OK


def _add(args: argparse.Namespace) -> int:
    caller = owner.deciding(as_owner=args.as_owner)
    with opening.vault(args) as vault:
        made = judging.tell_apart(vault, caller, _PAIRS[args.kind], (args.one, args.other))
    output.emit(args, text=f"Ruled: {_lines(made)}", data=_data(made))
    return output.OK


def _lift(args: argparse.Namespace) -> int:
    caller = owner.deciding(as_owner=args.as_owner)
    with opening.vault(args) as vault:
        lifted = judging.lift(vault, caller, args.id)
    output.emit(
        args,
        text="\n".join(f"Lifted: {_lines(each)}" for each in lifted),
        data={"items": [_data(each) for each in lifted], "total": len(lifted)},
    )
    return output.OK


def _lines(each: StandingVerdict) -> str:
    kind = each.kind.replace("_", " ")
    where = each.scope.project_id or "global"
    stale = "" if each.applies else "  (one of them says something else now)"
    named = " / ".join(subject.name or f"{subject.id} (gone)" for subject in each.about)
    why = " ".join(each.reason.split())
    return (
        f"{each.id[:8]}  {kind:<13}  {each.time}  {where}  {each.channel}{stale}\n"
        f"    {named}{f': {why}' if why else ''}"
    )


def _data(each: StandingVerdict) -> dict[str, Any]:
    return {
        "id": each.id,
        "kind": each.kind,
        "time": each.time,
        "channel": each.channel,
        "scope": each.scope.label,
        "project_id": each.scope.project_id,
        "about": [{"id": subject.id, "name": subject.name} for subject in each.about],
        "reason": each.reason or None,
        "applies": each.applies,
    }
