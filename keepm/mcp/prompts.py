"""The prompt `review`, for hosts that offer prompts to their users.

It names proposals by label and id alone: a prompt is an instruction, and no stored text may stand
in one.
"""

from __future__ import annotations

import re
from typing import Any

from fastmcp import FastMCP

from keepm import resources
from keepm.errors import KeepMError
from keepm.mcp import results
from keepm.mcp.session import Session
from keepm.operations import waiting
from keepm.operations.vault import Vault
from keepm.operations.waiting import InboxFilter

_AT_ONCE = 3
_MOST = 100
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")


def register(server: FastMCP[Any], session: Session) -> None:
    """Put the prompt on the server."""

    def review() -> str:
        try:
            return _text(session.vault())
        except KeepMError as error:
            # A prompt has no error of its own that a host shows.
            told = {"code": error.code, "message": error.message, "hint": error.next_step}
            return results.text({"error": told})

    server.prompt(
        review,
        name="review",
        title="Review memory proposals",
        description="Show the proposals that wait (P1, P2, P3) and let the user decide on each.",
    )


def _text(vault: Vault) -> str:
    ids = [item.row.id for item in waiting.list_page(vault, InboxFilter(), limit=_MOST).items]
    # A file made by hand can have any text for its id: such a one is for `keepm review`.
    plain = [each for each in ids if _PLAIN_ID.fullmatch(each)][:_AT_ONCE]
    counted = waiting.summary(vault)
    labelled = [f"- P{number}: {each}" for number, each in enumerate(plain, 1)]
    return resources.policy_text(vault.settings.language, "review").format(
        pending=counted.pending, overdue=counted.overdue, candidates="\n".join(labelled) or "- –"
    )
