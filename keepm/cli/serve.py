"""`keepm serve`: the MCP server on stdio."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import secrets
import signal
import sys
from typing import TYPE_CHECKING

from keepm import config
from keepm.cli import flags, output
from keepm.errors import ConfigurationError

if TYPE_CHECKING:
    from types import FrameType

    from keepm.config import Settings
    from keepm.operations.vault import Vault


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `serve` to the commands."""
    parser = subparsers.add_parser(
        "serve",
        help="run the MCP server on stdio (what hosts start; the default command)",
        description="Run the MCP server on stdio. Hosts start it; `keepm setup` registers it. "
        "It ends when its input ends.",
    )
    parser.set_defaults(run=run)


def _settings(args: argparse.Namespace) -> Settings | None:
    """Return the settings, or nothing where they are wrong: then every tool says so.

    A server that dies tells its host nothing that a person or a model could act on.
    """
    try:
        return flags.settings(args)
    except ConfigurationError as error:
        output.failure(error, as_json=False)
        return None


def run(args: argparse.Namespace) -> int:
    """Serve until the input ends; stdout carries the protocol and nothing else."""
    settings = _settings(args)
    if sys.stdin.isatty():
        output.say(
            "keepm is an MCP server: a host starts it and speaks to it on stdin.\n"
            "To try it, run `keepm demo`; to set up a project, run `keepm setup`. Ctrl-C ends."
        )
    # A full collection amid some thousand imports finds nothing and costs a tenth of the start.
    gc.disable()
    from keepm.mcp import stdio

    with stdio.apart():
        config.isolate_sdk()
        from keepm.mcp import server as faces

        faces.quiet()

        def open_here() -> Vault:
            from keepm.operations.vault import open_vault

            # Read anew, so that a mended file needs no new server.
            return open_vault(settings or flags.settings(args))

        server, session = faces.build(
            open_here,
            language=settings.language if settings else "en",
            session_id=secrets.token_hex(16),
        )
        gc.freeze()
        gc.enable()
        # Not where a shell that put us into the background had it ignored.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _stop)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(transport="stdio", show_banner=False)
    with contextlib.suppress(KeyboardInterrupt):
        session.close()
    sys.stderr.flush()
    # The SDK's own shutdown takes over half a second; everything of ours is closed.
    os._exit(output.OK)


def _stop(number: int, frame: FrameType | None) -> None:
    """End the server at once. asyncio's own answer to Ctrl-C waits for the next line of input."""
    raise KeyboardInterrupt
