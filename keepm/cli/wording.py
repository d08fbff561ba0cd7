"""What a person is told in their language, from `policies/review.toml` and `setup.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from keepm import resources
from keepm.errors import ConfigurationError
from keepm.model import visible


@dataclass(frozen=True, slots=True)
class Words:
    """The sentences of one language, by key."""

    language: str
    sentences: Mapping[str, str]

    def __call__(self, key: str, **values: str | int) -> str:
        """Return a sentence with its values filled in; what isn't seen in them is written out."""
        safe = {k: visible.shown(v) if isinstance(v, str) else v for k, v in values.items()}
        return self.sentences[key].format_map(safe)


def words(language: str, *, of: str = "review") -> Words:
    """Return the words of a language, `of` the review or of setup.

    Raises:
        ConfigurationError: this installation lacks them.
    """
    try:
        text = (resources.folder("policies") / f"{of}.toml").read_text("utf-8")
        return Words(language, dict(tomllib.loads(text)[language]))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"this installation of KeepM lacks the words of {of} in '{language}'",
            hint="Install KeepM again.",
        ) from error
