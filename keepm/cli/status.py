"""`keepm status`: the vault, its index and its ledger."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from keepm.cli import opening, output
from keepm.operations import answers, status
from keepm.operations.status import LedgerHead, Status
from keepm.operations.vault import Vault

_WAYS_OUT = "keepm quarantine list, keepm review --edits"
_SHOWN = 10  # files that need a hand


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `status` to the commands."""
    parser = subparsers.add_parser(
        "status",
        help="the state of the vault, its index and its ledger",
        description="Show which vault and project this folder has, and the state of both.",
    )
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the status; 1 when the vault is degraded."""
    with opening.vault(args, reads=True) as vault:
        found = status.status(vault)
        data = answers.plain(found)
        head = found.ledger_head
        rows = [
            ("version", found.version),
            ("root", found.root),
            ("project", found.project or "none (global memory only)"),
            ("notes", str(found.notes)),
            ("proposals waiting", str(found.pending_proposals)),
            *((("withheld", f"{found.withheld} ({_WAYS_OUT})"),) if found.withheld else ()),
            ("index", found.index_state),
            *((("index trouble", found.index_trouble),) if found.index_trouble else ()),
            *((("files left to read", str(found.files_left)),) if found.files_left else ()),
            *((("missing, held", str(found.deletions_held)),) if found.deletions_held else ()),
            ("last deep scan", _deep_scan(found)),
            ("vault lies on", found.filesystem.vault),
            (
                "index lies on",
                f"{found.filesystem.index} (journal: {found.filesystem.journal_mode})",
            ),
            ("index file", found.filesystem.index_path),
            *(("warning", each) for each in found.filesystem.warnings or ()),
            ("approval minimum", found.approval_minimum),
            *((("read only", found.read_only),) if found.read_only else ()),
            ("health", found.health.state),
            *_problems(vault, found.health.problems),
            ("ledger head", _head(head) if head.sequence else "empty"),
            *((("ledger last known", _head(known)),) if (known := found.ledger_last_known) else ()),
            *(
                (("recovery pending", ", ".join(found.recovery_pending)),)
                if found.recovery_pending
                else ()
            ),
            *((("no project", f"{found.setup} (`keepm project show`)"),) if found.setup else ()),
        ]
        width = max(len(name) for name, _ in rows)
        text = "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
        output.emit(args, text=text, data=data)
        return output.OK if found.health.state == "ok" else output.FINDINGS


def _deep_scan(found: Status) -> str:
    due = ", due now" if found.deep_scan_due else ""
    return f"{found.last_checksum_scan or 'never'}{due}"


def _problems(vault: Vault, number: int) -> Iterator[tuple[str, str]]:
    """Name the files that need a hand; `keepm read` shows what is wrong with a note."""
    paths = status.problem_paths(vault, limit=_SHOWN) if number else []
    for path in paths:
        yield "needs a hand", path
    if number > len(paths):
        yield "needs a hand", f"… and {number - len(paths)} more"


def _head(head: LedgerHead) -> str:
    return f"{head.sequence} {head.hash[:16]}"
