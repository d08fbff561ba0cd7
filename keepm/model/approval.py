"""Which way a person's approval came, and whether that way suffices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from keepm.errors import ApprovalRequired


class Channel(StrEnum):
    """By which way a person's approval came."""

    RELAYED = "relayed"  # the agent says that the user agreed
    HOST = "host"  # the host asked by native elicitation
    OWNER_CLI = "owner-cli"
    OWNER_WEB = "owner-web"
    OWNER_EDIT = "owner-edit"  # a hand edit of the file
    IMPORT = "import"

    @property
    def rank(self) -> int:
        """0 relayed, 1 host, 2 the owner's own act."""
        match self:
            case Channel.RELAYED:
                return 0
            case Channel.HOST:
                return 1
            case _:
                return 2


class Minimum(StrEnum):
    """The weakest channel that lets text become formal memory."""

    RELAYED = "relayed"
    HOST = "host"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """Comparable with `Channel.rank`."""
        return list(Minimum).index(self)


_WAY_OUT = {
    Minimum.HOST: "Propose it (memory_propose) or leave it pending, and tell the user: they decide "
    "through a host that can ask them, or with `keepm review` in a terminal of their own.",
    Minimum.OWNER: "Propose it (memory_propose) or leave it pending, and tell the user: they "
    "decide with `keepm review` in a terminal of their own.",
}


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """The configured minimum, with exceptions by kind."""

    minimum: Minimum = Minimum.RELAYED
    by_kind: Mapping[str, Minimum] = field(default_factory=dict)

    def for_kind(self, kind: str) -> Minimum:
        """Return the minimum for this kind of memory."""
        return self.by_kind.get(kind, self.minimum)

    def require(self, channel: Channel, *, kind: str) -> None:
        """Let the channel pass or refuse it.

        Raises:
            ApprovalRequired: the channel ranks below the minimum for this kind.
        """
        minimum = self.for_kind(kind)
        if channel.rank < minimum.rank:
            raise ApprovalRequired(
                f"{kind} notes need an approval of at least '{minimum}', this one came '{channel}'",
                hint=_WAY_OUT[minimum],
                details={"minimum": str(minimum), "channel": str(channel), "kind": kind},
            )
