"""`keepm setup`: register KeepM in a project, or take it out again."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from keepm import config
from keepm.agents import handshake, hosts, installing, launching, onboarding
from keepm.agents.hosts import Host
from keepm.agents.installing import FileChange
from keepm.agents.launching import Candidate
from keepm.agents.merging import Program
from keepm.agents.onboarding import Wish
from keepm.agents.report import Report
from keepm.cli import output, owner
from keepm.config import Settings
from keepm.errors import ConfigurationError
from keepm.model import identity
from keepm.operations import projects, repositories

_SETTINGS = (
    "root",
    "language",
    "deep_reconcile_seconds",
    "verification_review_days",
    "inbox_review_days",
    "sqlite_journal_mode",
)
"""Settings that setup takes as flags and keeps in the settings file."""

_EPILOG = """\
On a terminal setup asks; with --yes it doesn't, and needs no other flag.

  keepm setup                      ask, then write
  keepm setup --yes                this folder's project, the hosts found here, vault ~/keepm
  keepm setup --dry-run            show every change as a diff, write nothing
  keepm setup --yes --agent codex --root ~/notes
  keepm setup --remove             take everything out of this project; the vault stays

It ends with a table of what was written and checked, by starting the registered command and
speaking to it. Exit code 1 when a line of it failed."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `setup` to the commands."""
    parser = subparsers.add_parser(
        "setup",
        help="register KeepM in a project (--remove takes it out again)",
        description="Set up this project: vault, hosts (MCP server, instructions, hooks), id.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--yes", "-y", action="store_true", help="ask nothing")
    add("--dry-run", action="store_true", help="show the exact changes, write nothing")
    add("--remove", action="store_true", help="take everything out of this project again")
    add(
        "--agent",
        nargs="+",
        action="extend",
        choices=hosts.NAMES,
        metavar="NAME",
        help=f"the hosts to register: {', '.join(hosts.NAMES)} (default: those found here)",
    )
    add("--project-id", metavar="ID", help="the project's id (default: proposed from the project)")
    add("--language", choices=("zh", "en"), help="of the texts that agents are given")
    add("--deep-reconcile-seconds", metavar="N", help="full check of checksums every N (0: off)")
    add("--verification-review-days", metavar="N", help="a note unverified for N days is stale")
    add("--inbox-review-days", metavar="N", help="a proposal of N days is overdue")
    add("--sqlite-journal-mode", choices=("wal", "delete"), help="delete: for odd file systems")
    add("--no-hooks", action="store_true", help="register no hooks")
    add("--format", choices=("text", "json"), default="text", help="of the report")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Set up, show what setting up would change, or remove; return the exit code."""
    given = {name: getattr(args, name) for name in _SETTINGS if getattr(args, name) is not None}
    where = {"project_dir": args.project_dir} if args.project_dir else {}
    settings = config.load(given | where)
    top = _top(settings, chosen=bool(args.project_dir))
    if args.remove:
        return _remove(args, settings, top)
    asks = not (args.yes or args.dry_run)
    if asks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError(
            "setup asks questions, and this is no terminal",
            hint="Give --yes to accept what is proposed, or --dry-run to see it.",
        )
    environ = config.environment()
    chosen = {name: str(value) for name, value in given.items()}
    if "root" in chosen:
        chosen["root"] = str(settings.root)  # absolute, whatever folder it was given from
    wish = (_asked if asks else _unasked)(args, settings, top, chosen)
    # Before anything is started or installed: a file that can't be changed ends it here, and so
    # does the owner's no.
    if wish is not None:
        owner.require_own_project(settings, wish.project_id)
        plan = onboarding.prepare(wish, environ)
    if wish is None or (asks and not _confirmed(plan.changes, wish.settings.language)):
        output.say("keepm: nothing was changed")
        return output.USAGE
    wish = replace(wish, program=_program(settings, environ, prepare=not args.dry_run))
    plan = onboarding.prepare(wish, environ)
    if args.dry_run:
        changes = (onboarding.settings_change(wish), *plan.changes)
        return _show_diff(args, changes, f"Vault: {settings.root}; project: {wish.project_id}")
    output.say("keepm: writing, then starting the registered server to check it …")
    report = onboarding.carry_out(wish, plan, environ)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    output.emit(args, text=text(report, width), data=_data(report))
    return output.FINDINGS if report.failed else output.OK


def _unasked(
    args: argparse.Namespace, settings: Settings, top: Path, chosen: Mapping[str, str]
) -> Wish:
    """Return what setup does by itself."""
    environ = config.environment()
    return Wish(
        settings,
        top,
        _wanted_hosts(args.agent, top, environ),
        _project_id(args.project_id, settings),
        _likely(settings, environ),
        hooks=not args.no_hooks,
        chosen=tuple(chosen.items()),
    )


def _asked(
    args: argparse.Namespace, settings: Settings, top: Path, chosen: Mapping[str, str]
) -> Wish | None:
    """Return what the owner answers, or nothing when the questions are stopped."""
    from keepm.cli import wizard

    environ = config.environment()
    wanted = _wanted_hosts(args.agent, top, environ)
    answers = wizard.ask(settings, top, wanted, project_id=args.project_id, hooks=not args.no_hooks)
    if answers is None:
        return None
    return Wish(
        answers.settings,
        top,
        answers.hosts,
        answers.project_id,
        _likely(settings, environ),
        hooks=answers.hooks,
        chosen=tuple({**chosen, **answers.chosen}.items()),
    )


def _confirmed(changes: Sequence[FileChange], language: str) -> bool:
    from keepm.cli import wizard

    return wizard.confirm(changes, language)


def _remove(args: argparse.Namespace, settings: Settings, top: Path) -> int:
    changes = onboarding.removal(settings, top)
    if args.dry_run:
        return _show_diff(args, changes, "The vault and its notes stay.")
    had_settings = onboarding.remove(settings, top, changes)
    files = [change.path for change in changes]
    if had_settings:
        files.append(str(settings.config_file))
    text = "\n".join(
        ["Removed from:", *(f"  {path}" for path in files)] if files else ["Nothing to remove."]
    )
    output.emit(args, text=f"{text}\nThe vault and its notes stay.", data={"removed": files})
    return output.OK


def _show_diff(args: argparse.Namespace, changes: Sequence[FileChange], note: str) -> int:
    real = [change for change in changes if change.is_one]
    text = installing.diff(real) or "Nothing would change.\n"
    data = {"changes": [{"path": each.path, "diff": installing.diff([each])} for each in real]}
    output.emit(args, text=text.rstrip("\n"), data=data)
    output.say(f"keepm: nothing was written. {note}")
    return output.OK


# ---- what is proposed --------------------------------------------------------------------------


def _top(settings: Settings, *, chosen: bool) -> Path:
    """Return the folder whose files are written: the work tree's top.

    Raises:
        ConfigurationError: it isn't there, or can't be a project.
    """
    repository = repositories.locate(settings.project_dir)
    if repository is None:
        raise ConfigurationError(
            "the project folder is not there", hint="Give one that is: --project-dir FOLDER"
        )
    top = repository.top
    home = Path(os.path.realpath(config.home_folder()))
    if top == Path(top.anchor) or (top == home and not chosen):
        # In the home folder, the files of a project are the user's own settings of each host.
        raise ConfigurationError(
            f"{top} is no project's folder",
            hint="Go to the project, or give its folder: --project-dir FOLDER",
        )
    return top


def _wanted_hosts(
    names: Sequence[str] | None, top: Path, environ: Mapping[str, str]
) -> tuple[Host, ...]:
    """Return the hosts that are named, else those found here, else the default ones."""
    if names is None:
        names = [host.name for host in hosts.ALL if _is_here(host, top, environ)]
    names = names or hosts.DEFAULT
    return tuple(host for host in hosts.ALL if host.name in names)


def _is_here(host: Host, top: Path, environ: Mapping[str, str]) -> bool:
    home = config.home_folder()
    return (
        any(shutil.which(each, path=environ.get("PATH")) for each in host.programs)
        or any(os.path.exists(home / each) for each in host.home_marks)
        or any(os.path.exists(top / each) for each in host.project_marks)
    )


def _project_id(given: str | None, settings: Settings) -> str:
    """Return the project's id without asking.

    Raises:
        ConfigurationError: the proposed id is in use, and only the owner can say whether this is
            the same project.
    """
    if given is not None:
        return identity.parse_project_id(given)
    proposed = projects.propose(settings, vault_projects=projects.in_vault(settings.root))
    if proposed.note:
        output.say(f"keepm: {proposed.note}")
    if proposed.known:
        raise ConfigurationError(
            f"the project id '{proposed.project_id}' is in use already",
            hint=f"Is it this project? Then give --project-id {proposed.project_id}; "
            "else give it an id of its own.",
        )
    return proposed.project_id


def _ways(settings: Settings, environ: Mapping[str, str]) -> Iterator[Candidate]:
    return launching.candidates(launching.Installation.current(), environ, settings.data_dir)


def _likely(settings: Settings, environ: Mapping[str, str]) -> Program:
    """Return the command that will most likely be registered; nothing is started for it."""
    return next((way.program for way in _ways(settings, environ)), Program("keepm"))


def _program(settings: Settings, environ: Mapping[str, str], *, prepare: bool) -> Program:
    """Return the command to register, proven by its answer.

    Raises:
        ConfigurationError: there is none.
    """
    apart = handshake.host_environment(environ)
    if prepare:
        output.say("keepm: looking for a lasting way to start this KeepM …")
    return launching.choose(
        _ways(settings, environ),
        lambda program: handshake.greet(program.line(), apart),
        prepare=prepare,
    ).program


# ---- the report --------------------------------------------------------------------------------


def text(report: Report, width: int | None) -> str:
    """Lay the report out; with a terminal's width, long lines go on below their beginning."""
    cells = [(row.what, row.host or "", str(row.state), row.note) for row in report.rows]
    widths = [max(len(cell[column]) for cell in cells) for column in range(3)]
    lines = [f"Project {report.project_id} in {report.project_dir}", ""]
    for *head, note in cells:
        columns = (cell.ljust(size) for cell, size in zip(head, widths, strict=True))
        lines += _folded(f"{'  '.join(columns)}  ", note, width)
    for title, items in (
        ("Written:", report.written or ("nothing, all was in place",)),
        ("Checked:", report.checked),
        ("Next:", report.next_steps),
    ):
        lines += ["", title]
        for item in items:
            lines += _folded("  ", item, width)
    return "\n".join(lines)


def _folded(head: str, words: str, width: int | None) -> list[str]:
    if width is None or width - len(head) < 20:
        return [head + words]
    return textwrap.wrap(
        words,
        width,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _data(report: Report) -> dict[str, object]:
    return asdict(report) | {"failed": report.failed}
