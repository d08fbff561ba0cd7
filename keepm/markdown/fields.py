"""Reads the keys of one front matter kindly, and notes what is odd about them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from keepm.markdown.frontmatter import Parsed, Tree
from keepm.model.document import Finding, Severity
from keepm.model.memory import Language, Scope, is_date

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0", ""})
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:[Tt ]\s*(?P<h>\d\d?):(?P<m>\d\d)(?::(?P<s>\d\d)(?:\.(?P<f>\d+))?)?"
    r"\s*(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}")
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

NO_ID = "missing_id"
BAD_ID = "invalid_id"

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(slots=True)
class Fields:
    """The keys of one document while they are read; `findings` grows on the way."""

    parsed: Parsed
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.findings.extend(self.parsed.findings)

    def note(
        self, code: str, message: str, *, key: str = "", severity: Severity = Severity.WARNING
    ) -> None:
        """Add a finding at a key's line."""
        self.findings.append(Finding(code, message, self.parsed.lines.get(key), severity))

    def text(self, key: str) -> str:
        """Return a key's text without blanks around it; empty when absent or not a text."""
        value = self._value(key)
        if isinstance(value, str):
            return value.strip()
        if value is not None:
            self.note("not_text", f"'{key}' must be one text, not a list or a map", key=key)
        return ""

    def optional(self, key: str) -> str | None:
        """Return a key's text, or None when absent or empty."""
        return self.text(key) or None

    def values(self, key: str, *, parted_by: str | None = None) -> tuple[str, ...]:
        """Return a key's texts, written as a list or as one text."""
        value = self._value(key)
        if isinstance(value, str):
            parts = value.split(parted_by) if parted_by else [value]
            return tuple(part.strip() for part in parts if part.strip())
        if isinstance(value, list):
            texts = [item.strip() for item in value if isinstance(item, str)]
            if len(texts) != len(value):
                self.note("not_text", f"'{key}' must hold texts only", key=key)
            return tuple(text for text in texts if text)
        if value is not None:
            self.note("not_text", f"'{key}' must be a text or a list of texts", key=key)
        return ()

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return a map of texts."""
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, Mapping):
            self.note("not_text", f"'{key}' must be a map of texts", key=key)
            return ()
        return tuple((name, text) for name, text in value.items() if isinstance(text, str))

    def flag(self, key: str) -> bool:
        """Return a yes or no; anything else is no."""
        text = self.text(key).casefold()
        if text not in _TRUE and text not in _FALSE:
            self.note("invalid_value", f"'{key}' must be true or false", key=key)
        return text in _TRUE

    def choice(self, key: str, default: Choice, *, otherwise: Choice | None = None) -> Choice:
        """Return one of a closed set: `default` when absent, `otherwise` when unknown."""
        text = self.text(key).casefold()
        kind = type(default)
        if not text:
            # A list or map where a word belongs is as unknown as a wrong word.
            return default if self._value(key) is None else (otherwise or default)
        try:
            return kind(text)
        except ValueError:
            known = ", ".join(kind)
            self.note(f"unknown_{key}", f"'{key}' must be one of {known}", key=key)
            return otherwise or default

    def optional_choice(self, key: str, kind: type[Choice]) -> Choice | None:
        """Return one of a closed set, or None when absent or unknown."""
        text = self.text(key).casefold()
        try:
            return kind(text) if text else None
        except ValueError:
            self.note(f"unknown_{key}", f"'{key}' must be one of {', '.join(kind)}", key=key)
            return None

    def moment(self, key: str) -> str:
        """Return a time as written, a plain date when its time is zero, or nothing if it is
        no time of the calendar."""
        text = self.text(key)
        found = _MOMENT.fullmatch(text)
        if not found or not _is_moment(found):
            if text:
                self.note("invalid_date", f"'{key}' is no date of the calendar", key=key)
            return ""
        if not any(int(found[part] or 0) for part in "hmsf") and not found["zone"]:
            return found["date"]
        return text

    def date(self, key: str) -> str | None:
        """Return a date, also of a date with a time."""
        return self.moment(key)[:10] or None

    def identity(self, derived: str) -> str:
        """Return the document's id, or the derived one with a finding."""
        text = self.text("id")
        if not text:
            self.note(
                NO_ID,
                "has no 'id', so that it can be read but not changed: add one, a UUID",
                key="id",
            )
        elif not _ID.fullmatch(text):
            self.note(BAD_ID, "'id' must be a UUID", key="id")
        else:
            return text
        return derived

    def check_scope(self, scope: Scope) -> None:
        """Note a front matter that names another scope than the folder, which decides."""
        label, project = self.text("scope"), unicodedata.normalize("NFC", self.text("project_id"))
        where = "the folder says otherwise, and the folder decides"
        if label and label.casefold() != scope.label:
            self.note("scope_mismatch", f"'scope' is not '{scope.label}': {where}", key="scope")
        elif project and project != (scope.project_id or ""):
            self.note("scope_mismatch", f"'project_id' differs: {where}", key="project_id")

    def language(self, body: str) -> Language:
        """Return the language that is named, else the one that the body is written in."""
        named = self.text("language").casefold()
        for language in Language:
            if re.split(r"[-_]", named)[0] == language:
                return language
        visible = sum(1 for character in body if not character.isspace())
        return Language.ZH if len(_CJK.findall(body)) * 3 > visible else Language.EN

    def _value(self, key: str) -> Tree:
        return self.parsed.fields.get(key)


def _is_moment(found: re.Match[str]) -> bool:
    hour, minute, second = (int(found[part] or 0) for part in "hms")
    return is_date(found["date"]) and hour < 24 and minute < 60 and second <= 60
