"""The owner's last word: on a terminal a question, elsewhere a second call with a token."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from keepm.cli import output
from keepm.errors import ConfirmationRequired, InvalidInput, Problem
from keepm.model.approval import Channel
from keepm.operations import plans
from keepm.operations.mutation import Previewed
from keepm.operations.vault import Caller, Vault

OWNER = Caller(surface="cli", channel=Channel.OWNER_CLI)


PlanT = TypeVar("PlanT", bound=Previewed)
Done = TypeVar("Done")
Request = Mapping[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a command that shows a plan first."""
    parser.add_argument("--yes", "-y", action="store_true", help="on a terminal: don't ask")
    parser.add_argument("--confirm", action="store_true", help="carry out the plan of --token")
    parser.add_argument("--token", metavar="T", default="", help="printed with the plan")


def decide(
    args: argparse.Namespace,
    vault: Vault,
    operation: str,
    *,
    request: Request,
    asked: Collection[str],
    make: Callable[[Request], PlanT],
    carry_out: Callable[[Request, str], Done],
    show: Callable[[PlanT], tuple[str, dict[str, Any]]],
    report: Callable[[Done], tuple[str, dict[str, Any]]],
    command: str | None = None,
) -> int:
    """Show a plan and carry it out when the owner says so; return the exit code.

    `asked` are the parts of the request that this call names itself: with `--confirm` they must
    be what the plan was made for. `command` are the words to confirm with, if not the verb alone.
    """
    if args.confirm:
        kept = plans.read(vault, operation, args.token)
        if any(kept.request.get(name) != request[name] for name in asked):
            raise ConfirmationRequired("the token is of a plan with other arguments")
        done = carry_out(kept.request, kept.digest)
        plans.spend(vault, args.token)
        return _emit(args, report(done))
    terminal = sys.stdin.isatty() and getattr(args, "format", "text") == "text"
    if args.yes and not terminal:
        message = "works on a terminal only"
        raise InvalidInput(
            f"--yes {message}",
            problems=[Problem("yes", message)],
            hint="Run it without --yes, look at the plan, then use --confirm with its token.",
        )
    plan = make(request)
    text, data = show(plan)
    if plan.is_empty:
        output.emit(args, text=text, data={"plan": data, "token": None})
        output.say("There is nothing to do.")
        return output.OK
    if terminal:
        output.say(text)
        if not args.yes and not ask("Do this?"):
            output.say("Nothing was changed.")
            return output.OK
        return _emit(args, report(carry_out(request, plan.digest)))
    token = plans.keep(vault, operation, request, digest=plan.digest)
    confirm = f"keepm {command or args.command} --confirm --token {token}"
    output.emit(args, text=text, data={"plan": data, "token": token, "confirm": confirm})
    output.say(f"Nothing was changed yet. Within ten minutes: {confirm}")
    return output.OK


def ask(question: str) -> bool:
    """Ask a person at the terminal; only a plain yes counts."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _emit(args: argparse.Namespace, told: tuple[str, dict[str, Any]]) -> int:
    text, data = told
    output.emit(args, text=text, data=data)
    return output.OK
