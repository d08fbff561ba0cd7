"""`keepm doctor`: everything that is wrong, in words that help, for people and for CI."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path

from keepm import config
from keepm.agents import examining
from keepm.cli import interchange, opening, output
from keepm.cli.confirming import OWNER
from keepm.errors import ConfigurationError, InvalidInput, Problem
from keepm.model import diagnosis as model
from keepm.model import rules
from keepm.model.diagnosis import Finding
from keepm.model.document import Severity
from keepm.operations import diagnosis, reports, repositories
from keepm.operations.diagnosis import Diagnosis, changes
from keepm.operations.vault import Vault
from keepm.store.disk import OSDisk

_FORMATS = ("text", "json", "markdown", "github", "sarif", "junit")
_NEVER = "never"
_HOSTS = frozenset(rule.code for rule in rules.RULES.values() if rule.area is model.Area.PROJECT)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `doctor` to the commands."""
    parser = subparsers.add_parser(
        "doctor",
        help="find what is wrong with notes, records and hosts; for CI too",
        description="Read every note once and say what is wrong, where, and what to do about it. "
        "No note is changed. Ends with 1 when something is as grave as --fail-on. "
        "docs/findings.md explains each finding.",
        epilog="Examples:\n"
        "  keepm doctor\n"
        "  keepm doctor --all --select KM1,content_refused --fail-on warning\n"
        "  keepm doctor --format sarif --output doctor.sarif\n"
        "  keepm doctor --changed-since origin/main --format github",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--format", choices=_FORMATS, default="text", help="of the report")
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write the report there, whole or not at all"
    )
    parser.add_argument(
        "--select", action="append", default=[], metavar="RULES",
        help="only these: ids (KM109), their beginnings (KM1) or codes, parted by commas",
    )  # fmt: skip
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="RULES", help="all but these"
    )
    parser.add_argument(
        "--fail-on", choices=[*map(str, Severity), _NEVER], default=str(Severity.ERROR),
        help="from which severity on the exit code is 1 (error)",
    )  # fmt: skip
    parser.add_argument(
        "--changed-since", metavar="REV",
        help="only: notes that document what changed since REV and weren't verified again",
    )  # fmt: skip
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Look, report, and say by the exit code whether it is bad."""
    codes = rules.chosen(_names(args.select, "select"), _names(args.ignore, "ignore"))
    with opening.vault(args) as vault:
        beside = _beside_its_work_tree(args, vault)
        if args.changed_since is not None:
            found = changes.examine(beside, args.changed_since)
        else:
            found = diagnosis.examine(beside, OWNER)
            if codes & _HOSTS and args.project is None:
                found = _with_hosts(vault, found)
        kept = tuple(each for each in found.findings if each.rule.code in codes)
        found = replace(found, findings=kept)
        report = _report(args, found, prefix=changes.prefix(beside))
    if args.output is None:
        output.write(report)
    else:
        _save(args.output, report)
    output.say(f"{reports.in_words(found.findings)} ({found.files} files)")
    return output.FINDINGS if any(_fails(args, each) for each in found.findings) else output.OK


def _names(given: list[str], flag: str) -> tuple[str, ...]:
    names = tuple(name.strip() for each in given for name in each.split(",") if name.strip())
    if odd := rules.unknown(names):
        message = f"no rule is called {', '.join(odd)}"
        raise InvalidInput(
            f"--{flag}: {message}",
            hint="Name ids, beginnings of ids or codes as docs/findings.md has them.",
            problems=[Problem(flag, message)],
        )
    return names


def _beside_its_work_tree(args: argparse.Namespace, vault: Vault) -> Vault:
    """Take this folder's repository for the work tree of a project named with --project.

    Only where this machine has no work tree of that project and this folder is set up as none, as
    in CI: there nobody has run setup.
    """
    if args.project is None or os.path.isdir(vault.identity.top):
        return vault
    repository = repositories.locate(vault.settings.project_dir)
    if repository is None:
        return vault
    identity = replace(vault.identity, project_dir=vault.settings.project_dir, top=repository.top)
    return replace(vault, identity=identity)


def _with_hosts(vault: Vault, found: Diagnosis) -> Diagnosis:
    """Add what is wrong with the files of this project's hosts."""
    top, environ = vault.identity.top, config.environment()
    if not os.path.isdir(top):
        return found
    beside = examining.findings(
        vault.settings, top, vault.identity.project_id, environ, config.home_folder()
    )
    return replace(found, findings=model.ordered((*found.findings, *beside)))


def _report(args: argparse.Namespace, found: Diagnosis, *, prefix: str | None) -> str:
    match args.format:
        case "json":
            return json.dumps(reports.as_json(found), ensure_ascii=False, indent=2)
        case "markdown":
            return reports.as_markdown(found)
        case "github":
            return interchange.github(found.findings, prefix=prefix)
        case "sarif":
            log = interchange.sarif(found.findings, prefix=prefix)
            return json.dumps(log, ensure_ascii=False, indent=2)
        case "junit":
            return interchange.junit(found.findings, fails=lambda each: _fails(args, each))
        case _:
            return reports.as_text(found)


def _fails(args: argparse.Namespace, each: Finding) -> bool:
    return args.fail_on != _NEVER and model.at_least(each.severity, Severity(args.fail_on))


def _save(place: Path, report: str) -> None:
    """Put the report in its place at once: a reader finds the old one or the whole new one."""
    disk, fresh = OSDisk(), place.with_name(f".{place.name}.keepm-new")
    try:
        with contextlib.suppress(FileNotFoundError):
            disk.unlink(fresh)
        disk.create(fresh, f"{report.rstrip()}\n".encode("utf-8", "replace"), mode=None)
        disk.rename_over(fresh, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            disk.unlink(fresh)
        raise ConfigurationError(
            f"{place} can't be written: {error.strerror or type(error).__name__}",
            hint="Give a file in a folder that is there and can be written.",
        ) from error
