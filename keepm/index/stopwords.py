"""Words that carry no topic: dropped from a query unless nothing would be left.

They are indexed all the same, so that a query made of nothing else still finds something.
Words that name things in our field (`go`, `will`, `not`, `no`) are not among them.
"""

from __future__ import annotations

import re

_ENGLISH = """
    a about above actually after again all already also although am an and any anybody anyone
    anything are as at be because been before being below between both but by can could
    currently did do does doing done down during each either else enough ever everybody everyone
    everything exactly few for from further get gets getting got had has have having he her here
    hers him his how however i if in instead into is it its itself just let may me might more most
    much must my myself of off often on once only or other our out over own please quite rather
    really same shall she should since so some somebody someone something somewhere such than that
    the their them then there these they this those though through to too under until up us use
    used uses using usually very was we were what whatever when whenever where whether which while
    who whom whose why with would yet you your yours
"""
ENGLISH = frozenset(_ENGLISH.split())
HOW = frozenset(("big", "deep", "far", "fast", "high", "large", "long", "old", "quickly", "soon"))
"""Words that ask after `how` and are topics elsewhere: `how long`, but `a long`."""
OPERATORS = frozenset(("AND", "OR"))
"""Capitals that other search engines want, and no names as `IT` is one."""

_CHINESE = (
    *("为什么", "怎么样", "怎么", "怎样", "什么", "甚么", "如何", "为何", "哪里"),
    *("哪儿", "哪个", "哪些", "哪种", "多少", "是否", "是不是", "有没有", "能不能", "可不可以"),
    *("请问", "我们", "你们", "他们", "这个", "那个", "这些", "那些", "这里", "那里"),
    *("可以", "应该", "需要", "一个", "一下", "以及", "或者", "还是", "因为", "所以", "但是"),
    *("吗", "呢", "啊", "呀", "的话", "谁", "多久", "多长时间", "多长", "多大", "多远"),
    *("何时", "何处", "何人", "什么时候", "要不要", "会不会", "该不该", "有什么", "怎"),
)
# `的` and `了` part words, except inside a few words; `几`, `哪` and `请` ask, except in words such
# as `几何` and `请求`; `怎么办` asks, and in `怎么办理` only `怎么` does.
CHINESE = re.compile(
    "|".join(
        (
            "怎么办(?![理公事])",
            *sorted(_CHINESE, key=len, reverse=True),
            "(?<![申邀聘])请(?![求假示帖柬])",
            "了(?![解结断])",
            "(?<![贴酒网])吧",
            "(?<!目)的(?!士|确)",
            "几(?!乎|何)",
            "哪(?!吒|怕)",
        )
    )
)
_ALONE = frozenset("用是在有和与或及对把被从到会能要想让将为以跟给就都也还又很中里时")


def is_alone(character: str) -> bool:
    """Tell whether a character that stands by itself carries no topic: `用 Redis 吗`."""
    return character in _ALONE or CHINESE.fullmatch(character) is not None
