"""`python -m tests.benchmarks.retrieval`: ask, judge, and print the table.

Without arguments: the project's own corpora and known-item search. With --documents and
--questions: a data set from elsewhere, JSON objects line by line, `{"id", "text", "title"?}` and
`{"question", "gold": [ids], "type"?}`; an empty `gold` says that nothing answers the question.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from keepm.index import catalog
from tests.benchmarks import table
from tests.benchmarks.retrieval import cards, known_item, outside, report, shelves, systems
from tests.benchmarks.retrieval.cards import Corpus
from tests.benchmarks.retrieval.report import Line, Run

HEADS = ("memory_search", "memory_context", "FTS5 unicode61", "FTS5 trigram", "substring scan")


def ask(home: Path, corpus: Corpus, *, negatives: bool) -> Run:
    """Put a corpus into a vault and ask all systems all its questions."""
    home.mkdir()
    with shelves.filled(home, corpus, negatives=negatives) as shelved:
        if not negatives:
            held = catalog.counts(shelved.vault.database, shelved.vault.visibility)
            if held.withheld:
                print(f"{held.withheld} documents are withheld by screening", file=sys.stderr)
        return report.run(corpus, {**systems.ours(shelved), **systems.baselines(corpus)})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 1 when a note was found that must not be, or too few are, and 2
    when files from elsewhere aren't of that shape."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.retrieval", description=__doc__
    )
    parser.add_argument("--documents", type=Path, metavar="FILE.jsonl")
    parser.add_argument("--questions", type=Path, metavar="FILE.jsonl")
    parser.add_argument(
        "--known-item", type=int, default=10_000, metavar="NOTES", help="0 leaves it out"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there too")
    args = parser.parse_args(arguments)
    if (args.documents is None) != (args.questions is None):
        parser.error("--documents and --questions go together")
    given: Corpus | None = None
    if args.documents is not None:
        try:
            given = outside.load(args.documents, args.questions)
        except outside.UnusableError as error:
            print(*error.args, sep="\n", file=sys.stderr)
            return 2
    rows: list[Line] = []
    leaked, kept = 0, True
    with tempfile.TemporaryDirectory(prefix="keepm-retrieval-") as folder:
        home = Path(folder)
        if given is not None:
            rows += report.lines(ask(home / "outside", given, negatives=False), halves=False)
        else:
            for language in cards.LANGUAGES:
                found = ask(home / language, cards.load(language), negatives=True)
                rows += report.lines(found, halves=True)
                leaked += found.leaked
            if args.known_item:
                (home / "generated").mkdir()
                result = known_item.measure(home / "generated", notes=args.known_item)
                kept = result.at_5 >= known_item.MUST
                rows.append(
                    report.known_item(
                        result, len(HEADS), notes=args.known_item, must=known_item.MUST
                    )
                )
            rows.append(Line("negatives leaked (must be 0)", leaked, ("",) * len(HEADS)))
    print(report.plain(HEADS, rows), end="")
    print(report.LEGEND)
    if args.markdown is not None:
        text = f"{table.circumstances()}\n\n{report.markdown(HEADS, rows)}\n{report.LEGEND}\n"
        args.markdown.write_text(text, "utf-8")
    return 1 if leaked or not kept else 0


if __name__ == "__main__":
    sys.exit(main())
