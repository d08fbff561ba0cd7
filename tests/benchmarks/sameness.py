"""`python -m tests.benchmarks.sameness`: which near-duplicates are met, who is wrongly refused.

An evasion says a slot's name once more with a date, a counter, a version or a word such as "new";
each is tried in both directions. The honest names lie in one scope, each compared with all before
it. Both lists were written for KeepM; exit code 1 when more than one honest name in a hundred is
refused.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator

from keepm.model import similarity
from tests.benchmarks.screening import Measure, table
from tests.model.test_similarity import EVASIONS, HONEST, RULES, claim, sameness

_MOST_REFUSED = 0.01


def measures() -> Iterator[Measure]:
    """Measure each language, then both together with the honest names."""
    honest = {name: not name.isascii() for name in HONEST}
    wrong = set(refused(HONEST))
    for label, chinese in (("English", False), ("Chinese", True)):
        tried = [pair for pair in EVASIONS if (not pair[0].isascii()) is chinese]
        names = [name for name, is_chinese in honest.items() if is_chinese is chinese]
        yield _measure(f"near-duplicates: {label}", tried, len(wrong.intersection(names)), names)
    yield _measure("near-duplicates, all", EVASIONS, len(wrong), HONEST)


def _measure(name: str, tried: list[tuple[str, ...]], false: int, honest: Iterable[str]) -> Measure:
    found = sum(
        sameness(claim(one), claim(other)) is not None
        for slot, evasion in tried
        for one, other in ((slot, evasion), (evasion, slot))
    )
    return Measure(name, found, 2 * len(tried), false, len(list(honest)))


def refused(names: Iterable[str]) -> Iterator[str]:
    """Yield the names that would be refused for one that came before them."""
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        new = claim(name)
        asked = {*similarity.exact_keys(new, RULES), *similarity.near_keys(name, RULES)}
        met = {other for key in asked for other in holders.get(key, ())}
        if any(sameness(claim(other), new) for other in met):
            yield name
        for key in similarity.stored_keys(new, RULES):
            holders[key].append(name)


def main() -> int:
    """Print the table and the honest names that are refused; return 1 when they are too many."""
    rows = tuple(measures())
    print(table(rows), end="")
    wrong = list(refused(HONEST))
    print(f"\nRefused though honest: {'; '.join(wrong) or 'none'}")
    return 1 if len(wrong) > _MOST_REFUSED * len(HONEST) else 0


if __name__ == "__main__":
    sys.exit(main())
