"""`keepm config`: the settings, where each comes from, and changing one."""

from __future__ import annotations

import argparse
from pathlib import Path

from keepm import config
from keepm.cli import flags, output, owner
from keepm.config import Settings
from keepm.operations import settings_file

_EPILOG = """\
A flag comes before a KEEPM_* variable, this before the settings file, this before the default.

  keepm config show                              every value with its origin
  keepm config show --format json                the same for a script
  keepm config set language zh                   write into the settings file
  keepm config set approval.minimum host         nothing below the host's own confirmation
  keepm config set approval.kinds.decision owner decisions only by the owner
  keepm config path                              where the settings file is
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `config` to the commands."""
    parser = subparsers.add_parser(
        "config",
        help="show or change the settings",
        description="Show the settings, each with its origin, or change one.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    show = actions.add_parser("show", help="every setting with its value and origin (the default)")
    change = actions.add_parser("set", help="write one setting into the settings file")
    change.add_argument("name", metavar="NAME", help="such as language or approval.minimum")
    change.add_argument("value", metavar="VALUE")
    place = actions.add_parser("path", help="the settings file's place")
    for action in (show, place):
        action.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run, action="show", format="text")


def run(args: argparse.Namespace) -> int:
    """Carry out one `keepm config` action; return the exit code."""
    match args.action:
        case "show":
            _show(args, flags.settings(args))
        case "set":
            _set(args.name, args.value)
        case "path":
            output.emit(args, text=str(_place()), data={"config_file": str(_place())})
    return 0


def _show(args: argparse.Namespace, settings: Settings) -> None:
    rows = [(name, _value(settings, name), origin) for name, origin in settings.origins.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for name, value, origin in rows]
    output.emit(
        args,
        text="\n".join(lines),
        data={
            "config_file": str(settings.config_file),
            "data_dir": str(settings.data_dir),
            "settings": [
                {"name": name, "value": value, "origin": origin} for name, value, origin in rows
            ],
        },
    )
    for name in settings.unknown:
        output.say(f"'{name}' in {settings.config_file} is no setting and does nothing")


def _value(settings: Settings, name: str) -> str:
    if name.startswith(config.BY_KIND):
        return settings.approval_by_kind[name.removeprefix(config.BY_KIND)]
    value = getattr(settings, name.replace(".", "_"))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _set(name: str, value: str) -> None:
    if name.startswith(config.GATE):
        owner.require_own_shell()  # who may open the gate is for the owner to say
    # The settings are not resolved before: a wrong one must not stop its own mending.
    settings_file.write_settings(_place(), {name: value})
    variable = config.variable(name)
    if variable in config.environment():
        output.say(f"{name} is written, but {variable} is set and comes before the settings file.")
    else:
        output.say(f"{name} is written; servers take it up when they start.")


def _place() -> Path:
    return config.config_file(config.environment(), config.home_folder())
