"""Values that are assigned to a telling key.

A key is a word such as `password`, `clientSecret` or 密码 at the end of a name; what follows
decides. `password_min_length: 12`, "passwordless" and `password: str` hold no secret.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from keepm.config import Assignment, Judged
from keepm.model.screening import values

_NAME_CHARACTERS = f"{string.ascii_letters}{string.digits}_.$-"
_WORD_ENDS = re.compile(
    r"(?:[-_](?:prod|production|dev|test|staging|stage|live|local|old|new|root|admin|user|db))?"
    r"(?:_?\d{1,2})?(?![A-Za-z0-9_]*[A-Za-z0-9]|-\w|\.[A-Za-z_]|\()"
)
_NAME_BEFORE = 80  # characters of a key before its telling word

# How a value follows its key. Each is tried at the end of the key; the first that fits counts.
_CLOSE = r"[\"'`*_)\]]{0,4}"
_ANNOTATION = r"(?:[ \t]*:[ \t]*[A-Za-z_][\w.\[\]| ]{0,40}?(?=[ \t]*=[ \t]*[\"'brfu]))?"
_ASSIGNS = re.compile(
    rf"(?P<close>{_CLOSE}){_ANNOTATION}"
    r"(?P<before>[ \t]*)(?P<sign>:=|=>|===?|!==?|\?\?=|\?=|=|:|：|＝)(?P<after>[*_]{0,3}[ \t]*)"
)
_SAYS = re.compile(
    rf"{_CLOSE}[ \t]*(?:"
    r"(?:字段|值|当前|目前|现在|统一|已|都)?"
    r"(?:是|为|為|就是|设为|设成|设置为|设置成|改为|改成了?|换成了?|用的是|等于)"
    r"|[ \t](?:is|was|are|equals|set to|changed to|reset to|will be)"
    r"(?:[ \t]+(?:now|still|currently|just|simply|set to|changed to|reset to))?"
    r")[ \t]*[:：]?[ \t]*"
)
# "password for new hires: …", 密码（生产）：…, 密码 …: here the value must look like one.
_APART = re.compile(
    rf"{_CLOSE}(?:[ \t](?:for|of|to|on|in|at)[ \t][^\n:：=.]{{1,40}}?[ \t]*[:：=]"
    r"|[ \t]?[（(][^()（）\n]{1,30}[)）][ \t]*(?:[:：=]|is|是|为)"
    r"|(?:(?<=[\u3400-\u9fff])[，,、]?|,?(?=[ \t])))[ \t]*"
    r"(?P<value>[A-Za-z0-9][A-Za-z0-9!@#$%^&*+~._\-]{7,79})(?![\w:=/\[\]()])"
)
_CELL = re.compile(rf"{_CLOSE}[ \t]*\|[ \t]*")
_CALL = re.compile(r"[\"'][ \t]*,[ \t]*(?=[\"'][^\"'\n]*[\"'][ \t]*[,)])")
_ELEMENT = re.compile(r">(?P<value>[^<>\n]{1,200})</")
_FLAG = re.compile(r"[ \t]+")

# No secret is longer than a line of this; what is, is left to the shapes and the encoded runs.
_QUOTED = re.compile(
    r"[*_]{0,2}(?:[brfuBRFU]{1,2}(?=[\"']))?(?:"
    r"\"(?P<double>(?:\\.|[^\"\\\n]){0,400})\"|'(?P<single>(?:\\.|[^'\\\n]){0,400})'"
    r"|`(?P<code>[^`\n]{0,400})`|“(?P<curly>[^”\n]{0,400})”"
    r"|「(?P<corner>[^」\n]{0,400})」|『(?P<white>[^』\n]{0,400})』)"
)
_BARE = re.compile(r"[*_]{0,2}(?P<value>[^\s\"'`，。；、！？）】」』《》（]{1,160})")
_TAIL = ",;.)]}:*"
_BLOCK = re.compile(r"[|>][-+]?\d?[ \t]*\n[ \t]+(?P<value>\S+)")
_UNIT = re.compile(
    r"[ \t]*(?:characters?|chars?|bits?|bytes?|days?|rounds|iterations|times|or more|seconds|"
    r"位|个|字符|天|次)"
)
_DEFAULT = re.compile(r"\$\{\w+:?[-=](?P<value>[^{}$]+)\}")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LINE_START = re.compile(
    r"[ \t]*(?:[-*+>•]|\d{1,3}[.)])?[ \t]*[*_\"'`]{0,3}(?:(?:export|set|ENV|-e)[ \t]+)?"
)
_LINE_END = re.compile(r"[*_`]{0,2}[ \t]*(?:[#,。.].*)?(?:\r?\n|\Z)")


@dataclass(frozen=True, slots=True)
class Assigned:
    """Where a secret stands, and how its key had it judged."""

    span: tuple[int, int]
    judged: Judged


def secrets(text: str, policy: Assignment) -> Iterator[Assigned]:
    """Yield each value that a telling key is given and that is a secret."""
    keys, small = _keys(policy), _small(text)
    if not any(map(small.__contains__, keys.ascii_signs if text.isascii() else keys.signs)):
        return  # as nearly every text, and a walk with the expression costs ten times this
    for key in keys.expression.finditer(small):
        word, end = key.group(), key.end()
        if word.isascii():
            behind = _WORD_ENDS.match(text, end)
            before = text[key.start() - 1 : key.start()]
            if not behind or (word in keys.short and before.isascii() and before.isalpha()):
                continue
            end = behind.end()
        judged = Judged.ALWAYS if word in keys.passwords else Judged.BY_LOOK
        if span := _Place(text, key.start(), end, judged, policy).secret():
            yield Assigned(span, judged)


@dataclass(frozen=True, slots=True)
class _Keys:
    """The telling words, and an expression that finds them in a text of small letters."""

    expression: re.Pattern[str]
    passwords: frozenset[str]
    short: frozenset[str]
    signs: tuple[str, ...]  # a text without any of them holds none of the words
    ascii_signs: tuple[str, ...]  # likewise, for a text in ASCII


@lru_cache(maxsize=8)
def _keys(policy: Assignment) -> _Keys:
    # `api_key`, `api-key`, `apiKey` and `API KEY` are one word. The longer of two comes first.
    words = (*policy.passwords, *policy.secrets, *policy.short_passwords, *policy.short_secrets)
    # By their first letters, so that at most places of a text all but a few are passed over.
    begun: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        begun.setdefault(word[0], []).append(re.escape(word[1:]).replace("_", "[-_ ]?"))
    either = (f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in begun.items())
    return _Keys(
        re.compile("|".join(either)),
        frozenset((*policy.passwords, *policy.short_passwords)),
        frozenset((*policy.short_passwords, *policy.short_secrets)),
        signs := _signs(words),
        tuple(sign for sign in signs if sign.isascii()),
    )


def _signs(words: Iterable[str]) -> tuple[str, ...]:
    """Return the fewest texts of which every word holds one: `key` for `api_key` and `apikey`."""
    # Within a word of several parts only the parts are written in one way.
    ends = {word.rpartition("_")[2] for word in words}
    return tuple(sorted(e for e in ends if not any(o != e and o in e for o in ends)))


def _small(text: str) -> str:
    """Return the text in small letters, each at its place."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(one if len(one := character.lower()) == 1 else character for character in text)


@dataclass(frozen=True, slots=True)
class _Place:
    """A telling key in a text, and the ways in which a value can follow it."""

    text: str
    start: int
    end: int
    judged: Judged
    policy: Assignment

    def secret(self) -> tuple[int, int] | None:
        """Return where the secret stands that the key is given, if it is given one."""
        text, end = self.text, self.end
        if assigns := _ASSIGNS.match(text, end):
            return self._assigned(assigns)
        if element := _ELEMENT.match(text, end):
            return element.span("value") if self._written(element["value"]) else None
        if call := _CALL.match(text, end):
            return self._said(call.end(), sure=True)
        if says := _SAYS.match(text, end):
            return self._said(says.end())
        if cell := _CELL.match(text, end):
            return self._said(cell.end(), sure=True)
        if self._name().startswith("-") and (flag := _FLAG.match(text, end)):
            return self._said(flag.end())
        if (apart := _APART.match(text, end)) and self._is_apart(apart["value"].rstrip(_TAIL)):
            return apart.span("value")
        return None

    def _is_apart(self, value: str) -> bool:
        mixed = re.search(r"[A-Za-z]", value) and re.search(r"\d", value)
        code = values.is_code(value) or self._stands(value, value)
        return bool(mixed) and not code and values.looks_random(value)

    def _name(self) -> str:
        """Return what stands before the telling word in its key."""
        before = self.text[max(0, self.start - _NAME_BEFORE) : self.start]
        return before[len(before.rstrip(_NAME_CHARACTERS)) :]

    def _assigned(self, assigns: re.Match[str]) -> tuple[int, int] | None:
        position = assigns.end()
        if block := _BLOCK.match(self.text, position):
            return block.span("value") if self._written(block["value"]) else None
        if quoted := _QUOTED.match(self.text, position):
            sort = quoted.lastgroup or ""
            return quoted.span(sort) if self._written(quoted[sort]) else None
        bare = _BARE.match(self.text, position)
        if not bare:
            return None
        value = _cut(bare["value"])
        found = value and not self._stands(bare["value"], value) and self._bare(value, assigns)
        return (bare.start("value"), bare.start("value") + len(value)) if found else None

    def _said(self, position: int, *, sure: bool = False) -> tuple[int, int] | None:
        """Judge what a sentence says (`the password is …`); `sure`: only what looks random."""
        if quoted := _QUOTED.match(self.text, position):
            sort = quoted.lastgroup or ""
            value, start = quoted[sort], quoted.start(sort)
            if " " in value or self._stands(value, value):
                return None
            plain = values.is_type(value) or values.is_prose_word(value) or len(value) < 4
            if not sure and self.judged is Judged.ALWAYS and not plain:
                found = not values.is_measure(value) and not values.is_code(value)
            else:
                found = self._looks_random(value)
        elif bare := _BARE.match(self.text, position):
            value, start = _cut(bare["value"]), bare.start("value")
            if not value or self._stands(bare["value"], value) or values.is_code(value):
                return None
            found = self._looks_random(value)
        else:
            return None
        return (start, start + len(value)) if found else None

    def _stands(self, whole: str, value: str) -> bool:
        return (
            values.stands_for_one(whole, self.policy)
            or values.stands_for_one(value, self.policy)
            or values.names_a_secret(value)
        )

    def _looks_random(self, value: str) -> bool:
        if self.judged is Judged.ALWAYS:
            return values.looks_random(value, least=5) or values.is_number(value)
        return values.looks_random(value, least=8)

    def _written(self, value: str) -> bool:
        """Judge a value in quotes, or in an element."""
        value = value.strip()
        if self._stands(value, value) or value.startswith(("^", "(?", "//", "[", "#")):
            return False
        if self.judged is Judged.BY_LOOK:
            return values.looks_random(value)
        if " " in value or _HAN.search(value):
            return any(values.looks_random(word, least=5) for word in value.split())
        return len(value) >= 3 and not values.is_measure(value) and not values.is_prose_word(value)

    def _bare(self, value: str, assigns: re.Match[str]) -> bool:
        """Judge a value without quotes: of a settings file, or a piece of code or prose."""
        tight = assigns["before"] == assigns["after"] == ""
        name = f"{self._name()}{self.text[self.start : self.end]}"
        is_setting = assigns["sign"] == "=" and tight and _is_setting(name, self._before_name())
        if values.is_code(value) and not is_setting:
            return False
        if values.is_measure(value) or (values.is_type(value) and not is_setting):
            return False
        if self.judged is Judged.BY_LOOK:
            counted = re.fullmatch(r"[a-z_]+\d{1,2}", value) is not None and not is_setting
            return values.looks_random(value, least=8) and not counted
        if values.is_number(value):
            return not _UNIT.match(self.text, assigns.end() + len(value))
        if values.is_name(value) or values.is_variable(value):
            lone = assigns["sign"] in (":", "：") and self._is_alone(assigns.end() + len(value))
            if values.is_prose_word(value) or len(value) < 3:
                return False
            return is_setting or (lone and len(value) >= 4)
        return values.looks_random(value, least=4) or (
            len(value) >= 4 and re.search(r"\w[!@#$%^&*+=~?]+\w|\w[!#$%^]+\Z", value) is not None
        )

    def _before_name(self) -> str:
        start = self.start - len(self._name())
        return self.text[max(0, start - 1) : start]

    def _is_alone(self, end: int) -> bool:
        """Tell whether key and value make up their line, as in a settings file."""
        start = self.start - len(self._name())
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        return (
            _LINE_START.fullmatch(line) is not None and _LINE_END.match(self.text, end) is not None
        )


def _is_setting(name: str, before: str) -> bool:
    """Tell whether `name=value` is a variable, a flag or a property, rather than code."""
    upper = name.isupper() and not name.startswith("$")
    dotted = "." in name and not name.startswith(("self.", "this.", "cls.", "$", "."))
    return upper or name.startswith("--") or dotted or before == ";"


def _cut(value: str) -> str:
    """Return a bare value without what belongs to its sentence or to the code around it."""
    if default := _DEFAULT.match(value):
        return default["value"]
    if value.startswith(values.BEGUN):
        return ""
    if han := _HAN.search(value):
        value = value[: han.start()]
    return re.split(r"[;&](?=\S)|,(?=\S*[=:])|\\[nrt]", value, maxsplit=1)[0].rstrip(_TAIL)
