"""What names a thing: slots, ids, project ids, and the file a slot's name makes.

A slot's name is kept as written; two names are one slot when their keys are equal.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata

from keepm.errors import InvalidIdentifier, Problem

_SEPARATORS = re.compile(r"[\s_\-]+")
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
# Refused by Windows (<>:"/\|?*), or a link sign to Obsidian ([]#^|), or a control character.
_NOT_IN_FILE_NAMES = re.compile(r'[<>:"/\\|?*\[\]#^\x00-\x1f\x7f-\x9f]')
_WINDOWS_DEVICES = re.compile(
    r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.I
)
_STEM_BYTES = 180  # leaves room for a suffix, ".md" and any file system's own additions to 255
_PROJECT_CHARACTERS = 80


@functools.lru_cache(maxsize=1 << 11)  # one note's name is asked for several times in a row
def slot_key(name: str) -> str:
    """Return what two names of one slot have in common.

    NFKC, case folded, with runs of blanks, `_` and `-` as one `-`. Symbols that carry meaning
    stay: `C++`, `C#` and `C` are three slots, and so are `.env file` and `env-file`.
    """
    if name.isascii():
        folded = name.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _SEPARATORS.sub("-", folded).strip("-")


def is_id(text: str) -> bool:
    """Tell whether text has the shape of a note's id (a UUID)."""
    return _UUID.fullmatch(text.strip().lower()) is not None


def file_stem(name: str) -> str:
    """Return a portable file name (without `.md`) for a slot's name.

    Valid on Windows, macOS and Linux, no Obsidian link sign, no leading dot, short enough for
    255 bytes with any suffix. A name that had to be changed gets eight hex digits of its key, so
    that two slots never meet in one file name.
    """
    plain = unicodedata.normalize("NFC", name)
    stem = _NOT_IN_FILE_NAMES.sub("-", plain).strip().rstrip(". ").lstrip(". ")
    stem = _cut(stem, _STEM_BYTES)
    reserved = _WINDOWS_DEVICES.fullmatch(stem) is not None
    if stem and stem == plain and not reserved:
        return stem
    digest = hashlib.sha256(slot_key(name).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    if reserved:
        stem = f"note-{stem.replace('.', '-')}"
    return f"{stem.rstrip('. ') or 'note'}-{digest}"


def is_device(file_name: str) -> bool:
    """Tell whether Windows takes this file name for a device, whatever its extension."""
    stem, dot, extension = file_name.partition(".")
    return _WINDOWS_DEVICES.fullmatch(stem.rstrip() + dot + extension) is not None


def file_key(file_name: str) -> str:
    """Return what two names share that a case- or form-insensitive file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", file_name).casefold())


def _cut(text: str, limit: int) -> str:
    """Cut to at most `limit` UTF-8 bytes without parting a character from its marks."""
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text
    size, end = 0, 0
    for position, character in enumerate(text):
        size += len(character.encode("utf-8", "surrogatepass"))
        if size > limit:
            end = position
            break
    while end > 1 and _continues(text, end):
        end -= 1
    return text[:end]


def _continues(text: str, position: int) -> bool:
    """Tell whether the character at `position` belongs to the one before it."""
    here, before = text[position], text[position - 1]
    return (
        unicodedata.combining(here) != 0
        or unicodedata.category(here) in ("Mn", "Me", "Mc", "Cf")
        or before == "\u200d"
        or 0x1F3FB <= ord(here) <= 0x1F3FF
        or (0x1F1E6 <= ord(here) <= 0x1F1FF and 0x1F1E6 <= ord(before) <= 0x1F1FF)
    )


def parse_project_id(text: str, *, field: str = "project_id") -> str:
    """Return a project id in its one spelling (NFC).

    Unicode letters and digits, `.`, `_` and `-`, at most 80 characters, no leading or trailing
    dot, no Windows device name: it becomes a folder's name.

    Raises:
        InvalidIdentifier: it can't be a project id.
    """
    value = unicodedata.normalize("NFC", text.strip())
    if (
        not value
        or len(value) > _PROJECT_CHARACTERS
        or len(value.encode("utf-8", "surrogatepass")) > 200
        or value.startswith((".", "-"))
        or value.endswith(".")
        or _WINDOWS_DEVICES.fullmatch(value)
        or not all(c in "._-" or unicodedata.category(c)[0] in "LMN" for c in value)
    ):
        message = "1 to 80 letters, digits, '.', '_', '-'; not '.' or '-' first, nor '.' last"
        raise InvalidIdentifier(
            f"{field}: {message}",
            problems=[Problem(field, message, "invalid_identifier")],
            hint="Choose another id, such as widgets, team.widgets or 我的项目.",
        )
    return value


def propose_project_id(text: str) -> str:
    """Turn a folder's or repository's name into a valid project id, the nearest there is."""
    plain = unicodedata.normalize("NFC", text.strip())
    kept = "".join(c if c in "._-" or unicodedata.category(c)[0] in "LMN" else "-" for c in plain)
    kept = _cut(re.sub(r"-{2,}", "-", kept).strip("-. ")[:_PROJECT_CHARACTERS], 180).strip("-. ")
    if not kept or _WINDOWS_DEVICES.fullmatch(kept):
        kept = f"project-{hashlib.sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return kept
