"""Words that carry no topic: dropped from a query unless nothing would be left.

They are indexed all the same, so that a query made of nothing else still finds something.
Words that name things in our field (`go`, `will`, `not`, `no`) are not among them.
"""

from __future__ import annotations

import re

_ENGLISH = """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has
    have having he her here hers him his how i if in into is it its itself just may me might more
    most must my of off on once only or other our out over own please same shall she should so some
    such than that the their them then there these they this those through to too under until up
    us very was we were what when where which while who whom why with would you your yours
"""
ENGLISH = frozenset(_ENGLISH.split())

_CHINESE = (
    *("为什么", "怎么样", "怎么办", "怎么", "怎样", "什么", "甚么", "如何", "为何", "哪里"),
    *("哪儿", "哪个", "哪些", "哪种", "多少", "是否", "是不是", "有没有", "能不能", "可不可以"),
    *("请问", "请", "我们", "你们", "他们", "这个", "那个", "这些", "那些", "这里", "那里"),
    *("可以", "应该", "需要", "一个", "一下", "以及", "或者", "还是", "因为", "所以", "但是"),
    *("吗", "呢", "吧", "啊", "呀", "了", "的话", "谁", "几个"),
)
# `的` parts words, except inside the few words that end with it.
CHINESE = re.compile("|".join((*sorted(_CHINESE, key=len, reverse=True), "(?<!目)的(?!士|确)")))
