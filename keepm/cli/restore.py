"""`keepm restore`: the trash, and a file back where it was."""

from __future__ import annotations

import argparse
from typing import Any

from keepm.cli import opening, output, owner
from keepm.operations import restoring
from keepm.operations.restoring import TrashItem


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `restore` to the commands."""
    parser = subparsers.add_parser(
        "restore",
        help="list the trash, or put a file back where it was",
        description="Without a name, list the trash, newest first. With one, put that file back "
        "exactly where it was; refused when its place or its slot is taken. A restore is an event "
        "and can be undone.",
        epilog="Examples:\n"
        "  keepm restore\n"
        "  keepm restore project-package-manager\n"
        "  keepm restore Memory/.trash/20261129T181500Z-9f31c2aa…/global/pkg.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "identifier",
        metavar="NAME",
        nargs="?",
        help="name or id of the document, path in the trash, or beginning of the transaction's id",
    )
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List the trash, or put one file back."""
    with opening.vault(args) as vault:
        if args.identifier is None:
            items = restoring.listing(vault)
            output.emit(
                args,
                text="\n".join(_line(item) for item in items),
                data={"items": [_data(item) for item in items], "total": len(items)},
            )
            if not items:
                output.say("The trash is empty.")
            return output.OK
        done = restoring.restore(vault, owner.caller(), args.identifier)
    output.emit(
        args,
        text=f"{done.item.target} is back, as event {done.event.sequence}.",
        data={"restored": True, **_data(done.item), "sequence": done.event.sequence},
    )
    return output.OK


def _line(item: TrashItem) -> str:
    when = item.entry.deleted_at or "time unknown"
    return f"{when:<20}  {item.kind:<8}  {item.name}\n    {item.entry.path}"


def _data(item: TrashItem) -> dict[str, Any]:
    return {
        "path": item.entry.path,
        "old_path": item.target,
        "deleted_at": item.entry.deleted_at,
        "transaction_id": item.entry.transaction_id,
        "id": item.id,
        "name": item.name,
        "kind": item.kind,
    }
