"""`keepm read`: one note as it is on disk."""

from __future__ import annotations

import argparse

from keepm.cli import opening, output
from keepm.model.document import Damaged
from keepm.operations import answers, memories


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `read` to the commands."""
    parser = subparsers.add_parser(
        "read",
        help="show one note",
        description="Show one note as it is on disk, found by id, name or alias.",
        epilog="Example:\n  keepm read project-package-manager",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("identifier", metavar="NAME", help="id, name or alias")
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the file's text on stdout, where it comes from and what is wrong with it on stderr."""
    with opening.vault(args, reads=True) as vault:
        found = memories.read(vault, args.identifier, max_chars=vault.policy.document_bytes)
    document = found.document
    text = document.data.decode("utf-8-sig", "replace")
    damaged = isinstance(document.content, Damaged)
    output.emit(
        args,
        text=text.rstrip("\n"),
        data={
            "id": document.content.id,
            "path": document.path,
            "checksum": document.checksum.hex,
            "approved_via": str(found.approved_via),
            "source_state": None if found.source_state is None else str(found.source_state),
            "damaged": damaged,
            "pending_corrections": answers.plain(found.pending_corrections),
            "findings": [
                {"code": each.code, "message": each.message, "line": each.line}
                for each in document.findings
            ],
            "text": text,
        },
    )
    standing = "damaged, shown as it is" if damaged else f"approved via {found.approved_via}"
    output.say(f"{document.path}  {standing}")
    if waiting := found.pending_corrections:
        output.say(
            f"corrections that wait for you: {waiting.total} (`keepm review`): "
            f"{', '.join(waiting.proposals)}"
        )
    for each in document.findings:
        where = f":{each.line}" if each.line else ""
        output.say(f"{document.path}{where}: {each.message} [{each.code}]")
    return output.FINDINGS if damaged else output.OK
