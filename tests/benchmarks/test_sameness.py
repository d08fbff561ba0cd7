"""What the benchmark of near-duplicates prints."""

from __future__ import annotations

from tests.benchmarks import sameness
from tests.model.test_similarity import EVASIONS, HONEST


def test_every_evasion_is_met_and_hardly_an_honest_name_refused() -> None:
    rows = {row.name: row for row in sameness.measures()}
    everything = rows["near-duplicates, all"]

    assert (everything.bad, everything.clean) == (2 * len(EVASIONS), len(HONEST))
    assert everything.recall == 1
    assert everything.false <= 0.01 * everything.clean
    for language in ("English", "Chinese"):
        assert rows[f"near-duplicates: {language}"].bad >= 60
    assert sum(row.clean for row in rows.values()) == 2 * len(HONEST)


def test_a_name_is_refused_for_one_before_it_only() -> None:
    assert list(sameness.refused(["cache", "proxy", "cache-v2", "cache (1)"])) == [
        "cache-v2",
        "cache (1)",
    ]
