"""`python -m tests.benchmarks`: measure, and print the table of results.

The bounds are those of KeepM's product description; a bound that isn't kept is marked OVER and
makes the exit code 1. Everything happens in a throw-away folder; where the system's own is kept
in memory, let TMPDIR name one on a disk, or durable writes cost nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.benchmarks import beside, inside, starts, table, vaults, writers
from tests.benchmarks.table import Row
from tests.benchmarks.vaults import Place

# In the order in which they run: `passes` and `servers` leave a warm index to those after them.
PARTS: Mapping[str, Callable[[Place], Iterator[Row]]] = {
    "passes": inside.passes,
    "servers": starts.servers,
    "short-calls": starts.short_calls,
    "answers": inside.answers,
    "beside": beside.beside,
    "writes": inside.writes,
    "writers": writers.writers,
}
_ON_REQUEST = ("writers",)


def measure(home: Path, *, sizes: Sequence[int], parts: Sequence[str]) -> Iterator[Row]:
    """Make a vault of each size and measure the parts on it."""
    for notes in sizes:
        folder = home / str(notes)
        folder.mkdir()
        place = vaults.generate(folder, notes=notes)
        for part in parts:
            yield from PARTS[part](place)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; return 1 when a bound isn't kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--notes", nargs="+", type=int, default=[1000, 10_000], metavar="N")
    parser.add_argument(
        "--only", nargs="+", choices=tuple(PARTS), help="these parts instead of all but `writers`"
    )
    parser.add_argument("--writers", action="store_true", help="8 processes × 250 writes as well")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there too")
    args = parser.parse_args(arguments)
    chosen = args.only or [part for part in PARTS if part not in _ON_REQUEST]
    parts = [part for part in PARTS if part in chosen or (part == "writers" and args.writers)]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="keepm-benchmark-") as home:
        for row in measure(Path(home), sizes=args.notes, parts=parts):
            print(f"  {row.what} ({row.notes}): {row.ours}", file=sys.stderr, flush=True)
            rows.append(row)
    print(table.plain(rows), end="")
    if args.markdown is not None:
        args.markdown.write_text(f"{table.circumstances()}\n\n{table.markdown(rows)}", "utf-8")
    return 1 if any(row.kept is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
