"""Opening the vault for a command: settings from flags, scope from the folder, index caught up."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

from keepm.cli import flags, output, owner
from keepm.errors import ConfigurationError
from keepm.operations import recording, sync
from keepm.operations.vault import Vault, open_vault

_KEPT_AT_ONCE = 500
_BEHIND = "The index is being written to; the newest changes may be missing."
_FILLING = "Another process is doing so; what it hasn't read yet is missing."


@contextmanager
def vault(args: argparse.Namespace, *, look: bool = True, reads: bool = False) -> Iterator[Vault]:
    """Open the vault, look at its files once unless told not to, and close it at the end.

    What only `reads` doesn't wait for others that write to the index, and opens it for writing
    only if it is behind the files.

    Raises:
        ApprovalRequired: another project, or every one, is asked for from an agent's shell.
        ConfigurationError: there is no vault yet.
        RootUnavailable: it can't be seen now.
    """
    chosen = flags.settings(args)
    if os.path.isdir(chosen.root) and not os.access(chosen.root, os.X_OK):
        raise ConfigurationError(
            f"access to {chosen.root} is denied",
            hint="Give yourself access to the folder, or name another one with --root.",
        )
    if not os.path.isdir(chosen.root / "Memory"):
        raise ConfigurationError(
            f"there is no vault in {chosen.root}",
            hint="Run `keepm setup` to make one, or give another folder with --root.",
        )
    project_id, everything = getattr(args, "project", None), getattr(args, "all", False)
    owner.require_own_view(chosen, project_id=project_id, everything=everything)
    opened = open_vault(chosen, everything=everything, project_id=project_id, reads=reads)
    try:
        first = opened.database.get_meta("filled") is None
        if first:
            output.say("Reading every note once to build the index …")
        if look:
            sync.recover(opened)
            if not reads:
                sync.reconcile(opened)
                recording.record(opened)
            elif not sync.catch_up(opened):
                output.say(_FILLING if first else _BEHIND)
        yield opened
        # A server keeps the rest beside its answers.
        if first and opened.database.get_meta("filled") is not None:
            recording.keep_seen(opened, most=_KEPT_AT_ONCE)
    finally:
        opened.close()


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add `--format`."""
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json for scripts"
    )


def add_scope(parser: argparse.ArgumentParser) -> None:
    """Add `--project` and `--all`: whose memory the command works on."""
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", metavar="ID", help="this project, not the folder's")
    scope.add_argument("--all", action="store_true", help="every project")
