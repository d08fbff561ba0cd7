"""`keepm` and `python -m keepm`: the fast ways first, then the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    `--version` and `hook` run at every session of a host: they import as little as can be.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        from keepm import __version__

        print(f"keepm {__version__}")  # noqa: T201
        return 0
    if arguments[:1] == ["hook"] and not {"-h", "--help"}.intersection(arguments):
        from keepm.cli import hook

        return hook.run(arguments[1:])
    from keepm.cli import main as command_line

    return command_line.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
