"""`keepm project`: which project this folder is, and giving it an id."""

from __future__ import annotations

import argparse
import os

from keepm.cli import flags, output, owner
from keepm.config import ProjectEntry, Settings
from keepm.errors import ConfirmationRequired
from keepm.operations import projects

_EPILOG = """\
An id belongs to the repositories it was given to on this machine. What a repository says of
itself (its .keepm.toml, its remote, its name) only makes a proposal.

  keepm project show             the project of this folder, or what would be proposed
  keepm project bind             give this repository the proposed id
  keepm project bind widgets     give it this id; it then sees the memory of widgets
  keepm project list             every project this machine knows
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `project` to the commands."""
    parser = subparsers.add_parser(
        "project",
        help="show which project this folder is, or give it an id",
        description="Show which project this folder is, or give its repository an id.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    show = actions.add_parser("show", help="the project of this folder (the default)")
    bind = actions.add_parser("bind", help="give this folder's repository an id")
    bind.add_argument(
        "project_id", metavar="ID", nargs="?", help="without it, the proposed one if it is free"
    )
    every = actions.add_parser("list", help="every project this machine knows")
    for action in (show, bind, every):
        action.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run, action="show", format="text")


def run(args: argparse.Namespace) -> int:
    """Carry out one `keepm project` action; return the exit code."""
    settings = flags.settings(args)
    match args.action:
        case "show":
            _show(args, settings)
        case "bind":
            _bind(args, settings)
        case "list":
            _list(args, settings)
    return 0


def _show(args: argparse.Namespace, settings: Settings) -> None:
    found = projects.resolve(settings)
    lines = [
        f"project  {found.project_id or '–  (global memory only)'}",
        f"because  {found.reason}",
        f"folder   {found.top}",
    ]
    data: dict[str, object] = {
        "project_id": found.project_id,
        "reason": found.reason,
        "top": str(found.top),
        "proposed": None,
    }
    if found.project_id is None and os.path.isdir(found.top):
        offer = projects.propose(settings, vault_projects=projects.in_vault(settings.root))
        data["proposed"] = {
            "project_id": offer.project_id,
            "source": offer.source,
            "known": offer.known,
            "note": offer.note,
        }
        lines.append(f"proposed {offer.project_id}  (from {offer.source})")
        lines.extend([f"note     {offer.note}"] if offer.note else [])
        lines.append(
            f"next     `keepm project bind {offer.project_id}` if this is that same project"
            if offer.known
            else "next     `keepm setup`, or `keepm project bind`"
        )
    output.emit(args, text="\n".join(lines), data=data)


def _bind(args: argparse.Namespace, settings: Settings) -> None:
    chosen = args.project_id
    if chosen is None:
        offer = projects.propose(settings, vault_projects=projects.in_vault(settings.root))
        if offer.known:
            raise ConfirmationRequired(
                f"the vault or this machine already has a project '{offer.project_id}'",
                hint=f"If this is that project: `keepm project bind {offer.project_id}`. "
                "If not: `keepm project bind ANOTHER-ID`.",
                details={"project_id": offer.project_id, "source": offer.source},
            )
        chosen = offer.project_id
    owner.require_own_project(settings, chosen)
    entry = projects.bind(settings, chosen)
    output.emit(
        args,
        text=f"This repository is now {entry.project_id}; servers take it up when they start.",
        data=_row(entry),
    )


def _list(args: argparse.Namespace, settings: Settings) -> None:
    owner.require_own_shell()  # names and folders of other projects
    here = projects.resolve(settings).project_id
    lines = []
    for entry in sorted(settings.projects, key=lambda each: each.project_id):
        mark = "*" if entry.project_id == here else " "
        lines.append(f"{mark} {entry.project_id}")
        lines.extend(f"    {place}" for place in (*entry.roots, *entry.remotes))
    output.emit(
        args,
        text="\n".join(lines) or "No project is set up on this machine; run `keepm setup` in one.",
        data={"here": here, "projects": [_row(entry) for entry in settings.projects]},
    )


def _row(entry: ProjectEntry) -> dict[str, object]:
    return {
        "project_id": entry.project_id,
        "roots": list(entry.roots),
        "remotes": list(entry.remotes),
        "first_commits": list(entry.first_commits),
    }
