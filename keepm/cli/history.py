"""`keepm history`: a note's versions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from keepm.cli import opening, output
from keepm.operations import history
from keepm.operations.history import Version


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `history` to the commands."""
    parser = subparsers.add_parser(
        "history",
        help="a note's versions, hand edits included",
        description="List a note's versions, newest first: when, by what, by which channel and "
        "client; a deleted note's too, while the trash has it. With --diff, what each changed. "
        "With --version, one version's text.",
        epilog="Examples:\n"
        "  keepm history project-package-manager\n"
        "  keepm history project-package-manager --diff\n"
        "  keepm history project-package-manager --version 3f2a9c01",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("identifier", metavar="NAME", help="id, name or alias")
    parser.add_argument("--diff", action="store_true", help="show what each version changed")
    parser.add_argument("--version", metavar="DIGEST", help="show one version; 8 digits suffice")
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the versions, or one of them."""
    with opening.vault(args, reads=True) as vault:
        if args.version:
            old = history.version(vault, args.identifier, args.version, with_deleted=True)
            text = old.document.data.decode("utf-8-sig", "replace")
            output.emit(args, text=text.rstrip("\n"), data={**_data(old.version), "text": text})
            return output.OK
        known = history.history(vault, args.identifier, with_deleted=True)
        changes = dict(history.diffs(vault, known)) if args.diff else {}
    document = known.document
    if known.deleted_at:
        output.say(f"keepm: deleted {known.deleted_at}; `keepm restore` puts it back")
    output.emit(
        args,
        text="\n".join(_lines(each, changes) for each in known.versions),
        data={
            "id": document.content.id,
            "path": document.path,
            "deleted_at": known.deleted_at,
            "versions": [
                {**_data(each), **({"diff": changes[each]} if each in changes else {})}
                for each in known.versions
            ],
        },
    )
    return output.OK


def _lines(each: Version, changes: Mapping[Version, str]) -> str:
    when = each.time or "before the ledger"
    by = "  ".join(part for part in (each.channel, each.client) if part)
    line = f"{each.digest[:12]}  {when:<20}  {each.operation:<14}  {by}".rstrip()
    return f"{line}\n{changes[each]}\n" if each in changes else line


def _data(each: Version) -> dict[str, str | None]:
    return {
        "digest": each.digest,
        "operation": each.operation,
        "time": each.time,
        "channel": each.channel,
        "client": each.client or None,
        "transaction_id": each.transaction_id,
    }
