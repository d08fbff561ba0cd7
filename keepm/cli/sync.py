"""`keepm sync`: bring the index up to the files now."""

from __future__ import annotations

import argparse

from keepm.cli import opening, output
from keepm.operations import answers, resyncing
from keepm.operations.resyncing import Synced


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `sync` to the commands."""
    parser = subparsers.add_parser(
        "sync",
        help="bring the index up to the files now",
        description="Look at the vault's files, take up what changed, and put hand edits on "
        "record. Servers do this by themselves; it helps behind a restored backup or a sync. "
        "--full throws the index away and builds it from the files; files that are missing and "
        "held back count as deleted then. 1 when files are still held back.",
        epilog="Examples:\n  keepm sync\n  keepm sync --full",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--full", action="store_true", help="build the index anew")
    opening.add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Synchronise and say what was found."""
    with opening.vault(args, look=False) as vault:
        done = resyncing.full(vault) if args.full else resyncing.quick(vault)
    output.emit(args, text=_text(done), data=answers.plain(done))
    return output.FINDINGS if done.found.held else output.OK


def _text(done: Synced) -> str:
    found = done.found
    what = "Index built anew" if done.rebuilt else "Index brought up to date"
    lines = [
        f"{what}: {found.seen} files, {found.read} read, {found.removed} gone, "
        f"{found.skipped} newly skipped."
    ]
    if found.held:
        lines.append(
            f"{found.held} files are missing and not taken for deleted: bring them back, "
            "or run `keepm sync --full` if they are."
        )
    return "\n".join(lines)
