"""`keepm search`: what an agent would find, for people."""

from __future__ import annotations

import argparse

from keepm.cli import opening, output
from keepm.model.memory import Kind, Language
from keepm.operations import answers, retrieval
from keepm.operations.answers import SearchAnswer, SearchItem
from keepm.operations.retrieval import Wanted

_REASONS = {
    "no_match": "Nothing matches.",
    "no_usable_words": "There is no word to search for.",
    "out_of_scope": "Nothing matches with these filters; without them something does.",
    "inbox_only": "Only a proposal in the Inbox has this name; it is no memory yet.",
    "withheld": "Nothing matches among what may be shown; some notes are withheld.",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `search` to the commands."""
    parser = subparsers.add_parser(
        "search",
        help="find notes by words",
        description="Find notes by words, in names, aliases, tags, descriptions and bodies.",
        epilog="Examples:\n  keepm search package manager\n  keepm search --kind fix 部署 --all",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="+", metavar="WORD")
    parser.add_argument("--scope", choices=("global", "project"), help="only this scope")
    parser.add_argument("--kind", choices=[str(kind) for kind in Kind], help="only this kind")
    parser.add_argument("--language", choices=[str(each) for each in Language])
    parser.add_argument("--tag", action="append", default=[], help="only with this tag; repeatable")
    parser.add_argument("--limit", type=_positive, default=10, metavar="N")
    parser.add_argument("--offset", type=int, default=0, metavar="N")
    parser.add_argument("--explain", action="store_true", help="show the score's parts")
    opening.add_format(parser)
    opening.add_scope(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the hits; an empty answer says why and is no error."""
    with opening.vault(args, reads=True) as vault:
        answer = retrieval.search(
            vault,
            Wanted(
                query=" ".join(args.words),
                scope=args.scope,
                kind=Kind(args.kind) if args.kind else None,
                language=Language(args.language) if args.language else None,
                tags=tuple(args.tag),
                limit=args.limit,
                offset=max(0, args.offset),
                explain=args.explain,
            ),
        )
    output.emit(args, text=_text(answer), data=answers.plain(answer))
    if not answer.items and answer.reason:
        output.say(f"{_REASONS[answer.reason]} (notes searched: {answer.searched})")
    elif answer.weak_match:
        output.say("These match only weakly.")
    if answer.did_you_mean:
        output.say(f"Did you mean: {', '.join(answer.did_you_mean)}?")
    return output.OK


def _text(answer: SearchAnswer) -> str:
    if not answer.items:
        return "0 notes"
    lines = [_item(item) for item in answer.items]
    last = answer.offset + answer.count
    if last < answer.total:
        lines.append(f"{last} of {answer.total}; go on with --offset {last}")
    return "\n\n".join(lines)


def _item(item: SearchItem) -> str:
    marks = [mark for mark in (item.kind, item.scope, item.source_state) if mark]
    if item.damaged:
        marks.append("damaged")
    if item.pending_corrections:
        marks.append("a correction waits for review")
    lines = [f"{item.name}  ({', '.join(marks)})  {item.id}"]
    if item.description:
        lines.append(f"  {item.description}")
    lines += [f"  | {line}" for line in item.snippet.splitlines() if line.strip()]
    if item.explain:
        fields = ", ".join(f"{name} {score:.2f}" for name, score in item.explain.fields.items())
        lines.append(
            f"  {item.explain.band}, score {item.explain.score:.2f}, "
            f"coverage {item.explain.coverage:.2f}: {fields}"
        )
    return "\n".join(lines)


def _positive(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError("must be from 1 to 1000")
    return number
