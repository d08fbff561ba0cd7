"""What counts as the same: the table of `policies/similarity.toml` as frozen values."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keepm import resources
from keepm.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class MarkPattern:
    """Regular expressions of one sort of mark; `tells` when its number tells titles apart."""

    name: str
    regex: tuple[str, ...]
    tells: bool = False


# One object for all: comparing or hashing its tables each time would cost more than their use.
@dataclass(frozen=True, slots=True, eq=False)
class SamenessRules:
    """Marks that titles wear, and how alike titles and texts must be to count as the same."""

    words: tuple[str, ...]
    end_words: tuple[str, ...]
    signs: tuple[str, ...]
    end_signs: tuple[str, ...]
    patterns: tuple[MarkPattern, ...]
    numbers: tuple[tuple[str, str], ...]
    dropped: frozenset[str]
    dropped_signs: frozenset[str]
    no_plurals: frozenset[str]
    ordered: frozenset[str]
    glued_letters: int
    short_characters: int
    misspelt_letters: int
    misspelt_twice_letters: int
    body_characters: int
    claim_characters: int
    lookalikes: tuple[tuple[int, int], ...]


@functools.cache
def load_sameness() -> SamenessRules:
    """Read `policies/similarity.toml`, once.

    Raises:
        ConfigurationError: the file is missing or malformed.
    """
    import tomllib

    try:
        text = (resources.folder("policies") / "similarity.toml").read_text("utf-8")
        return _parsed(tomllib.loads(text))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            "the policy files of this installation can't be read", hint="Install KeepM again."
        ) from error


def _parsed(table: Mapping[str, Any]) -> SamenessRules:
    titles, lookalikes = table["titles"], table["lookalikes"]
    return SamenessRules(
        words=tuple(table["words"]["both"]),
        end_words=tuple(table["words"]["end"]),
        signs=tuple(table["signs"]["both"]),
        end_signs=tuple(table["signs"]["end"]),
        patterns=tuple(
            MarkPattern(each["name"], tuple(each["regex"]), tells=each.get("tells", False))
            for each in table["patterns"]
        ),
        numbers=tuple(table["numbers"].items()),
        dropped=frozenset(titles["dropped"]),
        dropped_signs=frozenset(titles["dropped_signs"]),
        no_plurals=frozenset(titles["no_plurals"]),
        ordered=frozenset(titles["ordered"]),
        glued_letters=titles["glued_letters"],
        short_characters=titles["short_characters"],
        misspelt_letters=titles["misspelt_letters"],
        misspelt_twice_letters=titles["misspelt_twice_letters"],
        body_characters=table["bodies"]["characters"],
        claim_characters=table["bodies"]["claim_characters"],
        lookalikes=tuple(
            zip(map(ord, lookalikes["from"]), map(ord, lookalikes["to"]), strict=True)
        ),
    )
