"""Items that a command names, each decided by itself and perhaps in one version only."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from keepm.cli import confirming, opening, output, owner, wording
from keepm.cli.sheet import Sheet
from keepm.cli.wording import Words
from keepm.errors import InvalidInput, KeepMError, Problem
from keepm.model.document import AnyDocument
from keepm.operations import reviewing
from keepm.operations.vault import Caller, Vault

_WITH_VERSION = re.compile(r"(?P<identifier>.+)@(?P<checksum>[0-9a-f]{12,64})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Named:
    """One item as the command names it."""

    identifier: str
    checksum: str  # the beginning of it; empty: whatever version there is

    @classmethod
    def parse(cls, text: str) -> Named:
        """Read `ID` or `ID@CHECKSUM`."""
        found = _WITH_VERSION.fullmatch(text)
        return cls(found["identifier"], found["checksum"]) if found else cls(text, "")

    def require(self, document: AnyDocument, caller: Caller) -> None:
        """Refuse another version than the one that was named; without a terminal one must be.

        Raises:
            InvalidInput, ChecksumMismatch.
        """
        if not self.checksum and caller.terminal != "tty":
            message = "needs @ and the beginning of the checksum you decide on"
            raise InvalidInput(
                f"{self.identifier} {message}",
                problems=[Problem("named", message)],
                hint="`keepm review --list --format json` tells it: ID@CHECKSUM.",
            )
        reviewing.require_shown(document, self.checksum)


def add_arguments(parser: argparse.ArgumentParser, *, nargs: str) -> None:
    """Add the items and the flags of a command that decides on them."""
    parser.add_argument(
        "named",
        nargs=nargs,
        metavar="ID",
        help="id or name; with @ and the beginning (12 digits) of the checksum that --list "
        "shows, only this very version",
    )


def add_owner(parser: argparse.ArgumentParser) -> None:
    """Add the flags by which the owner speaks without being asked."""
    parser.add_argument("--yes", "-y", action="store_true", help="show it, but don't ask")
    parser.add_argument(
        "--as-owner",
        action="store_true",
        help="without a terminal: you say that it is you. Only for scripts of your own; each "
        "ID needs its checksum then",
    )
    opening.add_format(parser)
    opening.add_scope(parser)


def each(
    args: argparse.Namespace,
    one: Callable[[Vault, Caller, Named, Words], dict[str, Any] | None],
) -> int:
    """Decide on each named item by itself; what is refused is told, and the rest goes on."""
    _require_question(args)
    caller = owner.deciding(as_owner=args.as_owner)
    results: list[dict[str, Any]] = []
    refused = False
    with opening.vault(args) as vault:
        say = wording.words(vault.settings.language)
        for named in map(Named.parse, args.named):
            try:
                done = one(vault, caller, named, say)
            except KeepMError as error:
                refused = True
                output.failure(error, as_json=False)
                done = {"code": error.code, "message": error.message, "hint": error.next_step}
                results.append({"named": named.identifier, "error": done})
                continue
            results.append({"named": named.identifier, **(done or {"done": "left"})})
    if args.format == "json":
        output.emit(args, text="", data={"items": results})
    return output.USAGE if refused else output.OK


def agreed(args: argparse.Namespace, question: str) -> bool:
    """Tell whether the owner agrees, who may have said so in the command."""
    return bool(args.yes) or confirming.ask(question)


def show(lines: Sequence[str]) -> None:
    """Show an item to the person at the terminal, if there is one."""
    if owner.at_terminal():
        output.say("\n".join(lines))


def sheet_of(say: Words) -> Sheet:
    """Return a sheet that fits the terminal."""
    return Sheet.fitting(say, shutil.get_terminal_size((80, 24)).columns)


def _require_question(args: argparse.Namespace) -> None:
    if not owner.at_terminal() and not args.yes:
        message = "is needed where nobody can be asked"
        raise InvalidInput(
            f"--yes {message}",
            problems=[Problem("yes", message)],
            hint="Decide on a terminal; for a script of your own see docs/cli.md.",
        )
