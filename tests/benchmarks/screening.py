"""`python -m tests.benchmarks.screening`: how much screening finds, and how often it is wrong.

Each corpus was written for KeepM by whoever wrote the rules, so these figures are an upper bound.
`missed` holds what is known not to be found; it counts. `unseen` was written when the rules stood:
they found 30 of its 45 lines at first, and were then made to know five more ways of writing in
general (a qualified key, a Chinese key without a sign). The last rows are texts that were
written for other purposes: this repository's own, and the Python library's. Exit code 1 when a
clean line is refused.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from keepm import config
from keepm.model import screening
from tests import corpora
from tests.corpora import tokens

_TOP = Path(__file__).resolve().parents[2]
_RULES = config.load_policy().screening
_LIBRARY_FILES = 150
_INVISIBLE = frozenset({"control_character", "invisible_character"})
_MARKUP = frozenset({"html_comment", "hiding_html", "unsafe_link", "hidden_definition"})
_ENCODED = frozenset({"encoded_run"})
_SECRETS = frozenset(_RULES.rules) - _INVISIBLE - _MARKUP - _ENCODED - {"line_break"}


@dataclass(frozen=True, slots=True)
class Measure:
    """What one class of rules did with texts that it should and shouldn't have found."""

    name: str
    found: int
    bad: int
    false: int
    clean: int

    @property
    def precision(self) -> float | None:
        """The part of what was found that should have been."""
        return self.found / (self.found + self.false) if self.found else None

    @property
    def recall(self) -> float | None:
        """The part of what should have been found that was."""
        return self.found / self.bad if self.bad else None


def refused(text: str, by: Iterable[str]) -> bool:
    """Tell whether one of these rules refuses a text."""
    wanted = frozenset(by)
    return any(mark.rule in wanted for mark in screening.findings(text, rules=_RULES))


def advised(text: str) -> bool:
    """Tell whether a text is marked as speaking to an assistant."""
    return bool(screening.advice(text, rules=_RULES))


def measures() -> Iterator[Measure]:
    """Measure each class of rules on its corpora, then on texts of other origin."""
    yield from measures_of_corpora()
    for name, texts in (
        ("this repository's notes and code", _own()),
        ("Python's library", _library()),
    ):
        pieces = [piece for text in texts for piece in text.split("\n\n") if piece.strip()]
        yield _measure(f"{name}: secrets", _is_secret, [], pieces)
        yield _measure(f"{name}: invisible", lambda t: refused(t, _INVISIBLE), [], pieces)
        yield _measure(f"{name}: encoded runs", lambda t: refused(t, _ENCODED), [], pieces)
        yield _measure(f"{name}: advice", advised, [], pieces)


def measures_of_corpora() -> Iterator[Measure]:
    """Measure each class of rules on its corpora."""
    clean = [line for name in corpora.names("clean") for line in corpora.lines(name)]
    by_form = {name: corpora.lines(name) for name in corpora.names("secrets")}
    shapes = [text for _, text in tokens.SHAPES]

    for name, lines in by_form.items():
        form = name.partition("/")[2]
        counterpart = (
            corpora.lines(f"clean/{form}") if f"clean/{form}" in corpora.names("clean") else []
        )
        yield _measure(f"secrets: {form}", _is_secret, lines, counterpart)
    yield _measure("secrets: shapes of tokens", _is_secret, shapes, [])
    everything = [line for lines in by_form.values() for line in lines]
    yield _measure("secrets, all", _is_secret, [*everything, *shapes], clean)
    for name, by in (("invisible", _INVISIBLE), ("markup", _MARKUP)):
        bad = [*corpora.escaped(f"{name}/refused"), *corpora.escaped(f"{name}/missed")]
        good = [*corpora.escaped(f"{name}/clean"), *clean]
        yield _measure(name, lambda text, by=by: refused(text, by), bad, good)  # type: ignore[misc]
    yield _measure("encoded runs", lambda text: refused(text, _ENCODED), [*_encoded()], clean)
    yield _measure(
        "advice",
        advised,
        corpora.lines("advice/addressed"),
        [*corpora.lines("advice/ordinary"), *clean],
    )


def _is_secret(text: str) -> bool:
    return refused(text, _SECRETS)


def _measure(name: str, finds: Callable[[str], bool], bad: list[str], clean: list[str]) -> Measure:
    return Measure(name, sum(map(finds, bad)), len(bad), sum(map(finds, clean)), len(clean))


def _encoded() -> Iterator[str]:
    noise = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(40))
    for size in (200, 300, 600, 1200):
        part = noise[:size]
        yield from (part.hex(), base64.b64encode(part).decode(), base64.b32encode(part).decode())
        yield from (base64.encodebytes(part).decode(), base64.b85encode(part).decode())
        yield " ".join(part.hex()[i : i + 32] for i in range(0, 2 * len(part), 32))


def _own() -> Iterator[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md", "keepm/*.py", "policies/*"],
        cwd=_TOP, capture_output=True, check=True, encoding="utf-8",
    )  # fmt: skip
    for name in listed.stdout.split("\0"):
        path = _TOP / name
        if name and path.is_file() and "/cases/" not in name and "screening" not in name:
            yield path.read_text("utf-8")


def _library() -> Iterator[str]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(folder.glob("*.py"))[:_LIBRARY_FILES]:
        yield path.read_text("utf-8", errors="replace")


def table(rows: Iterable[Measure]) -> str:
    """Render the figures as a Markdown table."""
    lines = [
        "| class | found | of | recall | false alarms | of | precision |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.name} | {row.found} | {row.bad} | {_share(row.recall)} "
        f"| {row.false} | {row.clean:,} | {_share(row.precision)} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def main() -> int:
    """Print the table; return 1 when a clean line of the corpora is refused."""
    rows = tuple(measures())
    print(table(rows), end="")
    wrong = [
        row for row in rows if row.false and row.name.startswith(("secrets", "inv", "mark", "enc"))
    ]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
