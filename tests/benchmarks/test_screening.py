"""What screening finds and where it is wrong, as the benchmark prints it."""

from __future__ import annotations

from tests.benchmarks import screening


def test_no_clean_line_of_the_corpora_is_refused_and_the_misses_are_counted() -> None:
    corpora = {
        row.name: row
        for row in screening.measures_of_corpora()
        if row.name.partition(":")[0]
        in ("secrets", "secrets, all", "invisible", "markup", "advice")
    }

    assert [row for row in corpora.values() if row.false] == []
    assert (corpora["secrets, all"].recall or 0) > 0.85
    assert (corpora["secrets: unseen"].recall or 0) > 0.8
    assert corpora["secrets: missed"].recall == 0
    assert all(row.bad + row.clean for row in corpora.values())
    assert screening.table(corpora.values()).count("\n") == len(corpora) + 2
