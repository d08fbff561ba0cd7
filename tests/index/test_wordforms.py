from __future__ import annotations

import pytest

from keepm.index.analysis import query_terms
from keepm.index.stemming import stem
from keepm.index.wordforms import base_form


@pytest.mark.parametrize(
    "forms",
    [
        ("wake", "wakes", "waking", "woke", "woken"),
        ("write", "written", "wrote", "writing"),
        ("build", "built", "builds"),
        ("index", "indexes", "indices"),
        ("color", "colour", "colours", "coloured"),
        ("behavior", "behaviour", "behaviours"),
        ("behavioral", "behavioural"),
        ("optimize", "optimise", "optimised", "optimising", "optimisation", "optimization"),
        ("center", "centre", "centred"),
        ("analyze", "analyse", "analysed", "analysing", "analysis", "analyses"),
        ("license", "licence", "licences"),
        ("cancelled", "canceled", "cancel"),
    ],
)
def test_irregular_forms_and_both_spellings_share_a_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    "word",
    [
        *("hour", "four", "source", "course", "journal", "tour", "pour"),
        *("exist", "existing", "visible", "this", "list", "raise", "rise", "wise", "disable"),
        *("left", "saw", "found", "bound", "set", "read"),
    ],
)
def test_other_words_stay_as_they_are(word: str) -> None:
    assert base_form(word) == word


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("why can't we upgrade", ["upgrad"]),
        ("I don't see what isn't cached", ["see", "cach"]),
        ("how long does a session last", ["session", "last"]),
        ("long running", ["long", "run"]),
        ("which ports are used by anyone", ["port"]),
        ("GET requests", ["get", "request"]),
        ("优惠券几天过期", ["优惠", "惠券", "天过", "过期"]),
        ("哪家供应商", ["家供", "供应", "应商"]),
        ("几乎", ["几乎"]),
        ("保存多久", ["保存"]),
        ("请求超时", ["请求", "求超", "超时"]),
        ("请先登录", ["先登", "登录"]),
        ("请问怎么申请退款", ["申请", "请退", "退款"]),
        ("邀请码", ["邀请", "请码"]),
        ("了解配置了吗", ["了解", "解配", "配置"]),
        ("怎么办理退款", ["办理", "理退", "退款"]),
        ("退款失败怎么办", ["退款", "款失", "失败"]),
        ("贴吧在哪里", ["贴吧", "吧在"]),
        ("用 Redis 吗", ["redi"]),
        ("在WSL里怎么用Docker", ["wsl", "docker"]),
        ("用户", ["用户"]),
        ("用", ["用"]),
        ("Redis AND cache OR queue", ["redi", "cach", "queue"]),
    ],
)
def test_words_that_only_ask_are_dropped(query: str, expected: list[str]) -> None:
    assert [term.text for term in query_terms(query, limit=20)] == expected
