"""Arguments that don't fit: each is refused with the rule it misses, whatever its type."""

from __future__ import annotations

import pytest

from tests.mcp.client import Tools


@pytest.mark.parametrize("wrong", [0.5, 1e308, 10**30, "many", "9" * 5000, [1], {"a": 1}])
def test_what_is_no_whole_number_is_told_so(agent: Tools, wrong: object) -> None:
    answer = agent.call("search", query="x", limit=wrong)

    (problem,) = answer["error"]["details"]["problems"]
    assert problem["field"] == "limit"
    assert problem["message"] in ("must be a whole number", "must be at most 100")
    assert problem["message"] in answer.text
