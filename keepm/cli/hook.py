"""`keepm hook`: what a host calls when a session begins and when a turn ends.

A hook must never hold up or break a session: whatever goes wrong, the exit code is 0 and the
output empty, with one line on stderr. Nothing heavy is imported, and nothing of the vault is
touched; where its path leads to a dead mount, the digest is given up in time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

_EVENTS = {"session-start": "SessionStart", "stop": "Stop"}
_LARGEST_INPUT = 4 * 1024 * 1024
_SECONDS = 0.4
"""How long finding out where the index is may take, with a healthy disk a millisecond."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `hook` to the commands; only its help comes this way, a host's call is faster."""
    parser = subparsers.add_parser(
        "hook",
        help="what a host calls when a session begins or a turn ends",
        description="Answer a host's hook: its JSON on stdin, context for the model on stdout."
        " `keepm setup` registers both; there is no need to call them by hand.",
    )
    parser.add_argument("event", choices=tuple(_EVENTS))
    parser.set_defaults(run=_run_parsed)


def _run_parsed(args: argparse.Namespace) -> int:
    return run([args.event, *(["--root", args.root] if args.root else [])])


def run(argv: Sequence[str]) -> int:
    """Answer one hook: `session-start [--root DIR]` or `stop`; return 0 whatever happens.

    Only a call that no host makes (an unknown hook) is a usage error, 2.
    """
    verb, *rest = argv or [""]
    flagged = len(rest) == 2 and rest[0] == "--root"
    if verb not in _EVENTS or (rest and not flagged):
        return _say("usage: keepm hook session-start [--root DIR] | stop", code=2)
    try:
        given = _read(_EVENTS[verb])
        if verb == "session-start":
            text = _digest(given, rest[1] if flagged else None)
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    except Exception as error:  # noqa: BLE001 - a hook may fail, a session may not
        message = str(getattr(error, "message", error)).splitlines() or [type(error).__name__]
        return _say(f"keepm hook {verb}: {message[0]}", code=0)
    return 0


def _read(event: str) -> dict[str, Any]:
    """Return the host's input.

    Raises:
        ValueError: it isn't an object for this event.
    """
    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(_LARGEST_INPUT + 1)
    if len(data) > _LARGEST_INPUT:
        raise ValueError("the input is too large")
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("the input is not JSON") from None
    if not isinstance(given, dict) or given.get("hook_event_name") != event:
        raise ValueError(f"the input is not that of {event}")
    return given


def _digest(given: dict[str, Any], root: str | None) -> str:
    import threading
    from pathlib import Path

    from keepm import config
    from keepm.agents import policy
    from keepm.operations import digest, places, recognition

    where = given.get("cwd")
    settings = config.load(
        {"root": root} if root else {},
        working_dir=Path(where) if isinstance(where, str) and where.startswith("/") else None,
    )
    found: list[tuple[Path, str, str | None]] = []
    failures: list[Exception] = []

    def locate() -> None:
        try:
            project_id = recognition.resolve(settings).project_id
            found.append((places.index_path(settings), places.vault_id(settings), project_id))
        except Exception as error:  # noqa: BLE001 - told by who waits, not by a traceback
            failures.append(error)

    # The index's name is a hash of the root's real path, and projects are compared by their
    # folders: following links may touch a dead mount.
    thread = threading.Thread(target=locate, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if failures:
        raise failures[0]
    if not found:
        raise TimeoutError("the vault's or a project's folder doesn't answer")
    index, vault_id, project_id = found[0]
    return digest.digest(
        index,
        vault_id,
        project_id=project_id,
        language=settings.language,
        introduction=policy.session_text(settings.language),
    )


def _say(text: str, *, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code
