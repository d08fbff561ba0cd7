"""What agents are told: the texts of `policies/`, with the figures the gate enforces filled in.

The prose lives in `policies/en` and `policies/zh`. Here is only what depends on data: the rows
of the kinds, the limits, and where the complete text is to be found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from keepm import resources
from keepm.errors import ConfigurationError

if TYPE_CHECKING:  # only annotations need them, and a hook doesn't
    from keepm.config import KindContract, Policy

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def block(language: str, *, policy_path: str) -> str:
    """Return the managed block for AGENTS.md and CLAUDE.md, without its markers.

    `policy_path` is where the complete text is, relative to the file that holds the block.

    Raises:
        ConfigurationError: this installation lacks the text.
    """
    return _fill(resources.policy_text(language, "block"), {"policy_path": policy_path})


def full(language: str, policy: Policy) -> str:
    """Return the complete rules, with the kinds and limits of `policy`.

    Raises:
        ConfigurationError: this installation lacks the text.
    """
    return _fill(resources.policy_text(language, "agent-policy"), _figures(language, policy))


def session_text(language: str) -> str:
    """Return the paragraph with which a session begins.

    Raises:
        ConfigurationError: this installation lacks the text.
    """
    return _fill(resources.policy_text(language, "session-start"), {})


def placeholders(text: str) -> frozenset[str]:
    """Return the names of the placeholders in a policy text."""
    return frozenset(_PLACEHOLDER.findall(text))


def _fill(text: str, values: Mapping[str, str]) -> str:
    if unknown := placeholders(text) - values.keys():
        raise ConfigurationError(
            f"a policy text has unknown placeholders: {', '.join(sorted(unknown))}",
            hint="Install KeepM again.",
        )
    # In one pass, so that a value that looks like a placeholder stays what it is.
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], text)


def _figures(language: str, policy: Policy) -> dict[str, str]:
    memory, proposal, handoff = policy.memory, policy.proposal, policy.handoff
    return {
        "kind_rows": "\n".join(_kind_row(kind, language) for kind in policy.kinds.values()),
        "body_bytes": _grouped(memory.body_bytes),
        "name_characters": _grouped(memory.name_characters),
        "description_characters": _grouped(memory.description_characters),
        "tags": _grouped(memory.tags),
        "tag_characters": _grouped(memory.tag_characters),
        "aliases": _grouped(memory.aliases),
        "alias_characters": _grouped(memory.alias_characters),
        "sources": _grouped(memory.sources),
        "source_characters": _grouped(memory.source_characters),
        "reason_characters": _grouped(proposal.reason_characters),
        "handoff_bytes": _grouped(handoff.file_bytes),
        "title_characters": _grouped(handoff.title_characters),
        "text_characters": _grouped(handoff.text_characters),
        "items": _grouped(handoff.items),
        "item_characters": _grouped(handoff.item_characters),
    }


def _grouped(number: int) -> str:
    return f"{number:,}"


def _kind_row(kind: KindContract, language: str) -> str:
    parts = [f"`{label}:`" for label in kind.labels]
    parts += [f"`## {heading}`" for heading in kind.headings]
    if kind.needs_source:
        parts.append("`sources`")
    return f"| {kind.name} | {kind.purpose[language]} | {' + '.join(parts) or '–'} |"
