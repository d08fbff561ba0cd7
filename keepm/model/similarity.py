"""When two notes say the same: the key of a title without its marks, and near titles.

A title's core is what is left when dates, counters, versions and words like "updated" or `最终版`
are taken off both ends until nothing changes. All words and patterns are data
(`policies/similarity.toml`). Candidates are found by `keys`, texts that an index stores: two
notes that are the same have one in common.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from keepm.config.sameness import SamenessRules
from keepm.model import identity
from keepm.model.memory import Claim

_CJK = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_CJK_RUN = re.compile(f"[{_CJK}]+")
# What parts words or only decorates a title. Signs that carry meaning aren't here: C++, C#, .env.
_BLANK = (
    r"\s_\-\u2010-\u2015\u2212,:;|~^'\"`?!()\[\]{}<>="
    "、。·…‥“”‘’„‚«»‹›¡¿《》「」『』【】〈〉〔〕〖〗•"
)
_SIGNS = r"*+#&%$@/\\"  # mean something after a short word, as in C++, and nothing after a long one
_AROUND = re.compile(f"^[{_BLANK}*]+|[{_BLANK}*]+$")
_BLANKS = re.compile(f"[{_BLANK}]+")
_ONLY_SIGNS = re.compile(f"[{_SIGNS}]+")
_REPEATED = re.compile(f"([{_BLANK}])\\1+")
_MOST_CHARACTERS = 300  # of a title that are looked at: a name has 120, a hand-made one any number
_DECORATION = frozenset(("So", "Sk"))


class Sameness(StrEnum):
    """In what way two notes are the same."""

    ALIAS = "alias"  # a name or alias of one is one of the other's
    TITLE = "title"  # the titles differ only by marks
    BODY = "body"  # the texts are identical
    NEAR_TITLE = "near_title"  # the same words in another order or form, or one misspelt


@dataclass(frozen=True, slots=True)
class Title:
    """A title without its marks; `tell` is the number it bears, by which others may differ."""

    core: str
    tell: str
    words: tuple[str, ...]
    ordered: bool

    @property
    def bag(self) -> str:
        """The words regardless of order, number and repetition, where order says nothing."""
        return " ".join(self.words if self.ordered else sorted(set(self.words)))


@functools.lru_cache(maxsize=1024)
def title(name: str, rules: SamenessRules) -> Title:
    """Take the marks off a title, to a fixpoint."""
    marks = _compiled(rules)
    text = _folded(name[:_MOST_CHARACTERS], marks)
    tells = {"front": "", "end": ""}
    while True:
        for end, pattern in (("end", marks.end), ("front", marks.front)):
            found = pattern.search(text)
            if found is None:
                continue
            rest = text[: found.start()] if end == "end" else text[found.end() :]
            if not marks.solid.search(rest):
                continue
            # Of several numbers the one next to the core counts.
            tells[end] = _number(found, marks) or tells[end]
            text = rest
            break
        else:
            break
    words = _words(text, marks)
    core = _joined(words)
    if len(core) < rules.short_characters:
        # A title may be of decoration alone.
        core = _short(text) or identity.slot_key(name)
        words = [core]
    return Title(
        core=core,
        tell="|".join(each for each in (tells["front"], tells["end"]) if each),
        words=tuple(word if word in rules.no_plurals else _singular(word) for word in words),
        ordered=not rules.ordered.isdisjoint(words),
    )


def told_apart(one: Title, other: Title) -> bool:
    """Tell whether both titles bear a number and the numbers differ."""
    return bool(one.tell and other.tell and one.tell != other.tell)


def nearness(one: Title, other: Title, rules: SamenessRules) -> float | None:
    """Return how near two titles are (up to 1), or nothing when they are two topics."""
    if told_apart(one, other):
        return None
    if one.core == other.core:
        return 1.0
    if one.bag == other.bag:
        return 0.95
    pair = _differing(one, other)
    if pair is None:
        return None
    longest = max(map(len, pair))
    allowed = 2 if min(map(len, pair)) >= rules.misspelt_twice_letters else 1
    if not all(_may_be_misspelt(word, rules) for word in pair) or pair[0][0] != pair[1][0]:
        return None
    distance = _distance(*pair, most=allowed)
    if distance > allowed:
        return None
    return round(1 - distance / max(len(one.core), longest), 2)


def body_key(body: str, rules: SamenessRules) -> str | None:
    """Return what identical texts share; nothing for one so short that slots may share it."""
    plain = body.lower() if body.isascii() else unicodedata.normalize("NFKC", body).casefold()
    folded = "".join(plain.split())
    weight = len(folded)
    if not folded.isascii():
        weight += sum(map(len, _CJK_RUN.findall(folded)))
    if weight < rules.body_characters:
        return None
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()


def folded(text: str, rules: SamenessRules) -> str:
    """Fold what a reader can't see or wouldn't take for a difference: case, width, accents…"""
    plain = text.casefold()
    if plain.isascii():
        return plain
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = "".join(
        c
        for c in unicodedata.normalize("NFD", plain)
        if not "\u0300" <= c <= "\u036f" and unicodedata.category(c) != "Cf"
    )
    plain = unicodedata.normalize("NFC", plain).translate(_compiled(rules).lookalikes)
    return "".join(" " if unicodedata.category(c) in _DECORATION else c for c in plain)


# ---- keys --------------------------------------------------------------------------------------


def stored_keys(claim: Claim, rules: SamenessRules) -> frozenset[str]:
    """Return the keys under which others find this claim."""
    named = title(claim.name, rules)
    found = {f"a:{slot}" for slot in _slots(claim)}
    found |= {f"t:{named.core}:*", f"t:{named.core}:{named.tell}"}
    found |= set(_near_keys(named, rules))
    if body := body_key(claim.body, rules):
        found.add(f"b:{body}")
    return frozenset(found)


def exact_keys(claim: Claim, rules: SamenessRules) -> dict[str, Sameness]:
    """Return the keys whose holders are certainly the same as this claim, and in what way."""
    named = title(claim.name, rules)
    tells = ("", named.tell) if named.tell else ("*",)
    found = {f"t:{named.core}:{tell}": Sameness.TITLE for tell in tells}
    found |= {f"a:{slot}": Sameness.ALIAS for slot in _slots(claim)}
    if body := body_key(claim.body, rules):
        found[f"b:{body}"] = Sameness.BODY
    return found


def near_keys(name: str, rules: SamenessRules) -> frozenset[str]:
    """Return the keys whose holders' titles may be near this one: `nearness` decides."""
    return frozenset(_near_keys(title(name, rules), rules))


def _slots(claim: Claim) -> set[str]:
    return {claim.slot, *(identity.slot_key(alias) for alias in claim.aliases)} - {""}


def _near_keys(named: Title, rules: SamenessRules) -> Iterator[str]:
    yield f"n:{named.bag}"
    for position, word in enumerate(named.words):
        if _may_be_misspelt(word, rules):
            rest = [*named.words[:position], *named.words[position + 1 :]]
            if not named.ordered:
                rest = sorted(set(rest))
            # A slip of the pen leaves the word's beginning or its end as it was.
            yield f"m:{word[:3]}:{' '.join(rest)}"
            yield f"m:{word[0]}…{word[-3:]}:{' '.join(rest)}"


# ---- words -------------------------------------------------------------------------------------


def _folded(name: str, marks: _Marks) -> str:
    return _REPEATED.sub(r"\1", folded(name, marks.rules))


def _words(text: str, marks: _Marks) -> list[str]:
    text = marks.signs.sub("", text)
    parts = [word.rstrip(".") or word for word in _BLANKS.split(text) if word]
    words = [word for word in parts if not _ONLY_SIGNS.fullmatch(word)] or parts
    kept = [w for w in words[:-1] if w not in marks.rules.dropped] + words[-1:]
    return [word if word.isascii() else marks.filler.sub("", word) for word in kept]


def _short(text: str) -> str:
    """Return a short title as it is but for what decorates its words."""
    parts = (_AROUND.sub("", part) for part in re.split(r"[\s_\-]+", text))
    return "-".join(part for part in parts if part)


def _joined(words: list[str]) -> str:
    """Join the words: `PackageManager` is `package-manager`, but 1-2 isn't 12."""
    if not any(word[0].isdigit() for word in words[1:]):
        return "".join(words)
    text = ""
    for word in words:
        text += "-" if text[-1:].isdigit() and word[:1].isdigit() else ""
        text += word
    return text


def _singular(word: str) -> str:
    """Return an English word without its plural's ending, roughly."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _may_be_misspelt(word: str, rules: SamenessRules) -> bool:
    return len(word) >= rules.misspelt_letters and word.isascii() and word.isalpha()


def _differing(one: Title, other: Title) -> tuple[str, str] | None:
    """Return the one word by which two titles differ, as each spells it."""
    mine, yours = set(one.words), set(other.words)
    if one.ordered or other.ordered:
        pairs = [(a, b) for a, b in zip(one.words, other.words, strict=False) if a != b]
        return pairs[0] if len(pairs) == 1 and len(one.words) == len(other.words) else None
    left, right = mine - yours, yours - mine
    return (left.pop(), right.pop()) if len(left) == len(right) == 1 else None


def _distance(one: str, other: str, *, most: int) -> int:
    """Count insertions, deletions, replacements and swaps of neighbours, up to `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and (a, b) == (other[j - 2], one[i - 2]):
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]


# ---- marks as regular expressions --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Marks:
    rules: SamenessRules
    front: re.Pattern[str]
    end: re.Pattern[str]
    solid: re.Pattern[str]  # something that is no blank
    filler: re.Pattern[str]
    signs: re.Pattern[str]  # at the end of a long word, or before one
    numbers: dict[str, str]
    lookalikes: dict[int, int]


@functools.cache
def _compiled(rules: SamenessRules) -> _Marks:
    tells = [regex for each in rules.patterns if each.tells for regex in each.regex]
    plain = [regex for each in rules.patterns if not each.tells for regex in each.regex]
    words = [f"{_literal(rules.words)}\\d{{0,2}}"]
    end_words = [f"{_literal((*rules.words, *rules.end_words))}\\d{{0,2}}"]
    number_words = [_literal(tuple(word for word, _ in rules.numbers))]
    # Lazy before the mark: brackets may belong to it.
    before, after, edge = f"[{_BLANK}]*?", f"[{_BLANK}]*", f"[{_BLANK}{_CJK}]"
    trailing = f"[{_BLANK}.{_SIGNS}]*$"
    fillers = "".join(sorted(rules.dropped_signs))
    letters = "[a-z]" * rules.glued_letters
    whole = r"(?!\s*[年月日号號])"  # no year is parted from its 年
    front = (
        f"^[{_BLANK}*+#&]*?(?:"
        f"(?:{_any(plain + words)}|(?P<tell>{_any(tells)}))(?:(?={edge}){whole}|$)"
        f"|{_literal(rules.signs)}){after}"
    )
    end = (
        f"{before}(?:"
        f"(?:(?<={edge})|(?<=^))"
        f"(?:{_any(plain + end_words)}|(?P<tell>{_any(tells + number_words)}))"
        f"|(?<={letters})(?P<glued>v?\\d{{1,2}})"
        f"|[{fillers}]?{_literal((*rules.signs, *rules.end_signs))}){trailing}"
    )
    return _Marks(
        rules=rules,
        front=re.compile(front),
        end=re.compile(end),
        solid=re.compile(f"[^{_BLANK}.]"),
        filler=re.compile(f"(?<=[{_CJK}])[{fillers}](?=[{_CJK}])"),
        signs=re.compile(
            f"(?<={letters})[{_SIGNS}]+(?=[{_BLANK}]|$)|(?:(?<=[{_BLANK}])|^)[*+#&]+(?={letters})"
            f"|(?<=[{_CJK}])[{_SIGNS}]+$"
        ),
        numbers=dict(rules.numbers),
        lookalikes=dict(rules.lookalikes),
    )


def _literal(texts: tuple[str, ...]) -> str:
    """Return an alternation of texts, the longest first; a blank is any run of blanks."""
    ordered = sorted(texts, key=len, reverse=True)
    return _any([f"[{_BLANK}]+".join(map(re.escape, text.split(" "))) for text in ordered])


def _any(regexes: list[str]) -> str:
    return f"(?:{'|'.join(regexes)})"


def _number(found: re.Match[str], marks: _Marks) -> str:
    """Return the number a mark tells, in one spelling (`v02` and `2.0` are 2), or nothing."""
    groups = found.groupdict()
    text = groups["tell"] or groups.get("glued") or ""
    if text in marks.numbers:
        return marks.numbers[text]
    digits = re.search(r"\d.*", text)
    if digits is None:
        return ""
    parts = [part.lstrip("0") or "0" for part in re.split(r"[.\-_ ]", digits[0])]
    while len(parts) > 1 and parts[-1] == "0":
        parts.pop()
    return ".".join(parts)
