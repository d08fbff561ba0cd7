from __future__ import annotations

import pytest

from keepm.model import limits


@pytest.mark.parametrize(("length", "count"), [(9, 0), (10, 0), (11, 1)])
def test_at_the_limit_passes_and_one_over_is_refused(length: int, count: int) -> None:
    assert len(list(limits.characters("name", "记" * length, 10))) == count
    assert len(list(limits.size("body", "x" * length, 10))) == count
    assert len(list(limits.items("tags", ["x"] * length, count=10, each=5))) == count


def test_sizes_count_bytes_and_lengths_characters() -> None:
    assert not list(limits.characters("name", "记忆", 2))
    (problem,) = limits.size("body", "记忆", 5)
    assert problem.details == {"limit": 5, "actual": 6, "unit": "bytes"}
    assert problem.code == "limit_exceeded"


def test_an_item_over_its_limit_is_named_by_its_place() -> None:
    (problem,) = limits.items("tags", ["a", "long"], count=3, each=3)
    assert problem.field == "tags[1]"
