"""Whether a value that was written out is a secret, or only stands for one.

A password may look like anything, so what is refused is all that isn't plainly something else:
a mask, a placeholder, a reference, a piece of code, a word of prose. A token or key must look
like one.
"""

from __future__ import annotations

import re

from keepm.config import Assignment, compiled

_MASK = re.compile(r"[*xX•●·.…_\-?#＊█∗]+|0+")
_PARTLY_MASKED = re.compile(r"\*{3}|…|\.{3}|•{3}|＊{2}|█{2}")
# What is put in later, with the default that may be written beside it.
_FILLED_IN = re.compile(
    r"\$?\$\{\{.*?\}\}|\{\{.*?\}\}|\{%.*?%\}"
    r"|\$\{[^{}:]*(?::?[-=](?P<default>[^{}]*)|:?[?+][^{}]*|:(?P<also>[^{}]*))?\}"
    r"|[#@%]?\{[^{}]*\}|%\(\w+\)[sdr]|%[sdr]\b|<[^<>]{1,80}>|%[A-Za-z_]\w*%|\$\([^()]*\)|\$env:\w+|＜[^＞]*＞"
    r"|〈[^〉]*〉|《[^》]*》|【[^】]*】"
)
BEGUN = ("$(", "${", "{", "<", "[", "(", "`", "@{", "#{")
"""How a value begins that is no text: a substitution, a list, a map, a placeholder."""

_VARIABLE = re.compile(
    r"\$[A-Z_][A-Z0-9_]*|\$[A-Za-z_]+|\$\d|[:@%?][A-Za-z_]+|\{[\w.:!]*\}|\?|![A-Z][A-Za-z]+|!\w+"
)
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_MEASURE = re.compile(
    r"[\d.,:/–~+%≥≤<>=*x×-]*\d[\d.,:/–~+%≥≤<>=*x×-]*(?:[a-zA-Z]{1,3}|bits?|bytes|chars?|days?)?"
)
_LONE_DIGITS = re.compile(r"\d{4,}")
_DATE = re.compile(r"(?:19|20)\d\d[-/.年]\d\d?(?:[-/.月]\d\d?日?)?")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_EXPRESSION = re.compile(
    r"[&*@$!~\-]{0,2}[A-Za-z_$][\w$]*(?:\(|\[|(?:\?|!)?\.[A-Za-z_$]|::|->|<[A-Za-z])"
)
_SIGIL = re.compile(r"[&*@$!~\-]{1,2}(?=[A-Za-z_])")
_SEPARATOR = re.compile(r"[-_./:@ +|#\\]+")
_SEGMENT = re.compile(r"[^\W\d_]+|v?\d{1,4}|v\d+(?:rc|alpha|beta)?\d*")
_SEGMENT_OF_MANY = re.compile(r"[^\W\d_]+\d{0,2}|\d{1,2}[^\W\d_]+|v?\d{1,4}")
_SYMBOL = re.compile(r"[!@#$%^&*+=~?|\\]")
_PARTICIPLE = re.compile(r"[a-z]+(?:ed|ing|ly|able|ible|less|ful)")
_NAMES = re.compile(
    r"(?i)pass(?:w(?:or)?d|phrase|code|wort)?|pwd|secret|token|credential|key|auth|密码|口令|密钥|令牌"
)
_TYPE_OF_SECRET = re.compile(r"[A-Z]\w*(?:Key|Token|Secret|Credential|Password)(?:s|Types?)?\W*")


def stands_for_one(value: str, policy: Assignment) -> bool:
    """Tell whether a value is empty, a mask, a placeholder or a reference to where one lies."""
    value = value.strip().strip("*_").strip()
    if not value or _MASK.fullmatch(value) or _PARTLY_MASKED.search(value):
        return True
    if value.casefold().rstrip("!?.,;:") in policy.harmless:
        return True
    if compiled(policy.placeholder).search(value) or compiled(policy.reference).match(value):
        return True
    if _VARIABLE.fullmatch(value) or _ENVIRONMENT.fullmatch(value):
        return True
    filled = _FILLED_IN.sub(lambda found: found["default"] or found["also"] or "", value)
    if filled != value:
        rest = filled.strip("\"'`_-:/@. ")
        return stands_for_one(rest, policy) or not looks_random(rest, least=4)
    return False


def looks_random(value: str, *, least: int = 6) -> bool:
    """Tell whether a value looks like a key: letters among digits or signs, no words parted."""
    value = value.strip()
    if len(value) < least or " " in value or not re.search(r"[A-Za-z]", value):
        return False
    if _MEASURE.fullmatch(value) or _DATE.fullmatch(value) or is_name(value):
        return False
    if any(character.isdigit() for character in value):
        return True
    return len(value) >= 8 and _SYMBOL.search(value.rstrip("!?")) is not None


def is_name(value: str) -> bool:
    """Tell whether a value consists of words and small numbers: `csrf-token-v2`, `prod/db`."""
    parts = [part for part in _SEPARATOR.split(value) if part]
    if not parts or _SYMBOL.sub("", value) != value.replace("+", "").replace("|", ""):
        return False
    sort = _SEGMENT_OF_MANY if len(parts) > 1 else _SEGMENT
    return all(sort.fullmatch(part) and len(part) <= 24 for part in parts)


def is_code(value: str) -> bool:
    """Tell whether a value without quotes is an expression: a call, a look-up, a path of names."""
    return _EXPRESSION.match(value) is not None


def is_variable(value: str) -> bool:
    """Tell whether a value without quotes is one name, such as `user_input` or `pw2`."""
    plain = _SIGIL.sub("", value)
    if _IDENTIFIER.fullmatch(plain) is None:
        return False
    return len(plain) < 5 or not any(character.isdigit() for character in plain)


def names_a_secret(value: str) -> bool:
    """Tell whether a value is itself a name for one: `user_password`, `#token-field`, `Pass1`."""
    if _NAMES.search(value) is None:
        return False
    if _TYPE_OF_SECRET.fullmatch(value):
        return True
    bare = re.sub(r"\d{1,2}$", "", value)
    return not any(character.isdigit() for character in bare) and not re.search(r"[!$%^&+~]", bare)


def is_measure(value: str) -> bool:
    """Tell whether a value is a size, a range, a version or a date."""
    if _DATE.fullmatch(value):
        return True
    return _MEASURE.fullmatch(value) is not None and _LONE_DIGITS.fullmatch(value) is None


def is_number(value: str) -> bool:
    """Tell whether a value is a whole number long enough to be a code."""
    return _LONE_DIGITS.fullmatch(value) is not None


def is_type(value: str) -> bool:
    """Tell whether a value is written like a type: `SecretStr`, `String!`, `Password`."""
    plain = value.rstrip("!?;,)")
    return re.fullmatch(r"[A-Z][a-z]+(?:[A-Z][a-z]*)*", plain) is not None


def is_prose_word(value: str) -> bool:
    """Tell whether a value is one word as sentences have it, rather than as passwords are."""
    return _PARTICIPLE.fullmatch(value.casefold()) is not None
