"""Data sets from elsewhere: documents, questions and the documents that answer them.

Both files hold one JSON object a line. A document has `id`, `text` and perhaps `title`; a
question has `question`, `gold` (a list of document ids, empty where nothing answers it) and
perhaps `type`. Everything that is wrong with the files is told at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from keepm.model.memory import Claim, Kind
from tests.benchmarks.retrieval.cards import NO_ANSWER, Corpus, Question

_MOST_TOLD = 20


class UnusableError(Exception):
    """The files aren't such a data set; each argument is one thing that is wrong."""


class _Reader:
    """Takes objects apart and collects what is wrong with them."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def objects(self, path: Path) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the objects of a file, each with its place."""
        try:
            text = path.read_text("utf-8-sig")
        except OSError as error:
            self.wrong.append(f"{path}: can't be read: {error.strerror}")
            return
        except UnicodeDecodeError as error:
            self.wrong.append(f"{path.name}: not UTF-8: byte {error.start + 1}")
            return
        if text.lstrip().startswith("["):
            self.wrong.append(f"{path.name}: one JSON object a line is expected, not one array")
            return
        empty = True
        # Not `splitlines`: a JSON text may hold other line ends than this one.
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            empty = False
            place = f"{path.name}:{number}"
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                self.wrong.append(f"{place}: not JSON: {error.msg}, column {error.colno}")
                continue
            if isinstance(value, dict):
                yield place, value
            else:
                self.wrong.append(f"{place}: not a JSON object")
        if empty:
            self.wrong.append(f"{path.name}: nothing in it")

    def text(self, found: dict[str, object], key: str, place: str) -> str:
        """Return a text of an object, also one that is a whole number."""
        if key not in found:
            self.wrong.append(f"{place}: no `{key}`; there are {', '.join(found) or 'no keys'}")
            return ""
        return self._text(found[key], f"`{key}`", place)

    def _text(self, value: object, what: str, place: str) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value.strip():
            self.wrong.append(f"{place}: {what} must be text, and not blank")
            return ""
        if any("\ud800" <= character <= "\udfff" for character in value):
            self.wrong.append(f"{place}: {what} holds half of a character (a lone surrogate)")
            return ""
        return value

    def optional(self, found: dict[str, object], key: str, place: str) -> str:
        """Return a text of an object, empty where it is missing, null or blank."""
        return self.text(found, key, place) if found.get(key) not in (None, "") else ""

    def texts(self, found: dict[str, object], key: str, place: str) -> tuple[str, ...]:
        """Return the different texts of a list."""
        value = found.get(key)
        if not isinstance(value, list):
            self.wrong.append(f"{place}: `{key}` must be a list of document ids, or an empty one")
            return ()
        its = (self._text(each, f"what `{key}` lists", place) for each in value)
        return tuple(dict.fromkeys(its))


def load(documents: Path, questions: Path) -> Corpus:
    """Read a data set.

    Raises:
        UnusableError: the files can't be read or aren't of that shape, an id stands twice, or gold
            names no document.
    """
    reader = _Reader()
    cards: dict[str, Claim] = {}
    for place, found in reader.objects(documents):
        name = reader.text(found, "id", place)
        if name and name in cards:
            reader.wrong.append(f"{place}: the id {name!r} stands twice")
        cards[name] = Claim(
            name=reader.optional(found, "title", place) or name,
            description="",
            kind=Kind.REFERENCE,
            body=reader.text(found, "text", place),
        )
    whole = not reader.wrong  # else ids may be missing because their documents are wrong
    asked = []
    for place, found in reader.objects(questions):
        text = reader.text(found, "question", place)
        gold = reader.texts(found, "gold", place)
        if whole and (unknown := [each for each in gold if each and each not in cards]):
            reader.wrong.append(f"{place}: `gold` names no document: {', '.join(unknown)}")
        sort = reader.optional(found, "type", place) or "all"
        if gold and sort == NO_ANSWER:
            reader.wrong.append(f"{place}: of type {NO_ANSWER}, but `gold` lists documents")
        asked.append(Question(text, gold, sort if gold else NO_ANSWER))
    if reader.wrong:
        more = len(reader.wrong) - _MOST_TOLD
        raise UnusableError(*reader.wrong[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else []))
    return Corpus(documents.stem, cards, tuple(asked))
