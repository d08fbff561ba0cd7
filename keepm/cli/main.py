"""The command line: one parser, a module a verb, one table from errors to exit codes."""

from __future__ import annotations

import argparse
import importlib
import sys
import textwrap
from collections.abc import Sequence

from keepm import __version__
from keepm.cli import output
from keepm.errors import KeepMError

_VERBS = (
    "serve",
    "setup",
    "demo",
    "status",
    "sync",
    "search",
    "read",
    "doctor",
    "review",
    "verdict",
    "history",
    "undo",
    "quarantine",
    "ledger",
    "restore",
    "gc",
    "repair",
    "project",
    "config",
    "hook",
)

_EXAMPLE = 100  # the longest line of an example

_DESCRIPTION = """\
KeepM: long-term memory for coding agents, in local Markdown, behind a gate.
What an agent infers waits as a proposal until a person approves exactly those bytes.

Begin with `keepm setup` in a project's folder, or look at `keepm demo` first (ten seconds, on a
throw-away vault). Without a command, `keepm` is the MCP server on stdio."""

_EPILOG = """\
Exit codes: 0 fine, 1 findings or failed parts, 2 usage or configuration, 3 internal.
Every command explains itself: keepm COMMAND --help"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Leaves examples as they are written, and folds what is prose: lines longer than those."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = text.splitlines()
        return "\n".join(
            textwrap.fill(line, width) if len(line) > _EXAMPLE else line for line in lines
        )


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; no traceback reaches the user."""
    chosen = next((word for word in arguments if word in _VERBS), None)
    if chosen == "serve" or not arguments:
        # Stdout is the protocol's: what Python's start printed there must not reach it.
        with output.stdout_to_stderr():
            output.utf8()
    else:
        output.utf8()
    parser = _parser([chosen] if chosen else _VERBS)
    try:
        args = parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else output.USAGE
    if args.command is None:
        from keepm.cli import serve

        args.run = serve.run
    as_json = getattr(args, "format", "text") == "json"
    try:
        code: int = args.run(args)
        return code
    except KeepMError as error:
        return output.failure(error, as_json=as_json)
    except KeyboardInterrupt:
        output.say("keepm: stopped")
        return output.INTERNAL
    except BrokenPipeError:
        # The reader of our output has gone (`keepm search … | head`): nothing is wrong.
        sys.stderr.close()
        return output.OK
    except OSError as error:
        # Not ours to mend: the place and the system's own words say more than a class's name.
        place = f"{error.filename}: " if error.filename else ""
        output.say(f"keepm: {place}{error.strerror or type(error).__name__}")
        output.say("  → mend that and run it again; nothing is half done")
        return output.INTERNAL
    except Exception as error:  # noqa: BLE001 - the last line before the user
        output.say(f"keepm: internal error: {type(error).__name__}")
        output.say("  → nothing is half done; `keepm status` shows the state of the vault")
        return output.INTERNAL


def _parser(verbs: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser; only the chosen verb's module is imported."""
    parser = argparse.ArgumentParser(
        prog="keepm",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", "-V", action="version", version=f"keepm {__version__}")
    parser.set_defaults(run=None, root=None, project_dir=None)
    _add_places(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for verb in verbs:
        importlib.import_module(f"keepm.cli.{verb}").add_parser(commands)
    for command in commands.choices.values():
        command.formatter_class = _Help
        _add_places_below(command)
    return parser


def _add_places(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say which vault and which project, unless the verb has its own."""
    known = parser._option_string_actions
    if "--root" not in known:
        parser.add_argument(
            "--root",
            metavar="DIR",
            default=argparse.SUPPRESS,
            help="the vault's folder (default: the settings', else ~/keepm)",
        )
    if "--project-dir" not in known:
        parser.add_argument(
            "--project-dir",
            metavar="DIR",
            default=argparse.SUPPRESS,
            help="the project's folder (default: CLAUDE_PROJECT_DIR, else this folder)",
        )


def _add_places_below(parser: argparse.ArgumentParser) -> None:
    _add_places(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _add_places_below(inner)
