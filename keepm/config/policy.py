"""The policy data that the rules are made of: kinds with their contracts, limits, screening."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from keepm import resources
from keepm.config.screening import ScreeningRules, load_screening
from keepm.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class KindContract:
    """What the body of one kind of memory must hold."""

    name: str
    purpose: Mapping[str, str]  # by language
    labels: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    needs_source: bool = False
    verification: bool = False  # active notes of this kind become stale


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    body_bytes: int
    name_characters: int
    description_characters: int
    tags: int
    tag_characters: int
    aliases: int
    alias_characters: int
    sources: int
    source_characters: int


@dataclass(frozen=True, slots=True)
class ProposalLimits:
    reason_characters: int
    client_characters: int
    reference_characters: int


@dataclass(frozen=True, slots=True)
class HandoffLimits:
    file_bytes: int
    title_characters: int
    text_characters: int
    items: int
    item_characters: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What the gate enforces: kinds with their contracts (in catalog order), limits, screening."""

    kinds: Mapping[str, KindContract]
    memory: MemoryLimits
    proposal: ProposalLimits
    handoff: HandoffLimits
    document_bytes: int
    query_characters: int
    directory: Path

    @property
    def version(self) -> str:
        """Twelve hex digits over everything that is enforced: which rules a promotion passed."""
        return _version(self.directory)

    @property
    def screening(self) -> ScreeningRules:
        """What may never be stored; read when it is first asked for.

        Raises:
            ConfigurationError: the file is missing or malformed.
        """
        return load_screening(self.directory)


@functools.lru_cache(maxsize=8)
def _version(directory: Path) -> str:
    """Hash the enforced data by name and content.

    Raises:
        ConfigurationError: a file can't be read.
    """
    import hashlib

    digest = hashlib.sha256()
    try:
        for path in sorted(directory.glob("*.toml")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    except OSError as error:
        raise _unreadable() from error
    return digest.hexdigest()[:12]


def load_policy(directory: Path | None = None) -> Policy:
    """Read `policies/kinds.toml` and `policies/limits.toml`.

    Raises:
        ConfigurationError: a file is missing or malformed.
    """
    import tomllib

    place = directory or resources.folder("policies")
    try:
        kinds = tomllib.loads((place / "kinds.toml").read_text("utf-8"))
        limits = tomllib.loads((place / "limits.toml").read_text("utf-8"))
        return Policy(
            kinds={
                name: KindContract(
                    name=name,
                    purpose={"en": entry["en"], "zh": entry["zh"]},
                    labels=tuple(entry.get("labels", ())),
                    headings=tuple(entry.get("headings", ())),
                    needs_source=entry.get("needs_source", False),
                    verification=entry.get("verification", False),
                )
                for name, entry in kinds.items()
            },
            memory=MemoryLimits(**limits["memory"]),
            proposal=ProposalLimits(**limits["proposal"]),
            handoff=HandoffLimits(**limits["handoff"]),
            document_bytes=limits["document"]["file_bytes"],
            query_characters=limits["query"]["characters"],
            directory=place,
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise _unreadable() from error


def _unreadable() -> ConfigurationError:
    return ConfigurationError(
        "the policy files of this installation can't be read", hint="Install KeepM again."
    )
