"""What waits in the Inbox as resources, for hosts that let their users open them.

A resource is opened by a person and read by their agent: it holds data, says that it is untrusted,
and hands out no token. Names and descriptions of the resources hold no stored text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fastmcp import FastMCP

from keepm.errors import KeepMError
from keepm.mcp import inbox_views as views
from keepm.mcp.inbox_views import InboxItemView
from keepm.mcp.session import Session
from keepm.operations import answers, inbox, reviewing, waiting
from keepm.operations.vault import Vault
from keepm.operations.waiting import InboxFilter

PENDING = "keepm://inbox"
ONE = "keepm://inbox/{identifier}"
_MOST = 100
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class PendingList:
    """The proposals that wait, the oldest first: at most a hundred of `total`."""

    notice: str
    items: list[InboxItemView]
    count: int
    total: int
    overdue: int
    review_now: bool
    index_state: str
    withheld: int | None = None


def register(server: FastMCP[Any], session: Session) -> None:
    """Put the resources on the server."""

    def pending() -> str:
        return _answered(lambda: _pending(session.vault()))

    def one(identifier: str) -> str:
        return _answered(lambda: _one(session.vault(), identifier))

    server.resource(
        PENDING,
        name="inbox",
        title="Proposals that wait",
        description="What waits for the user's decision; none of it is memory.",
        mime_type=_JSON,
    )(pending)
    server.resource(
        ONE,
        name="proposal",
        title="One proposal",
        description="A proposal as it is stored, by its id; it is no memory.",
        mime_type=_JSON,
    )(one)


def _pending(vault: Vault) -> PendingList:
    page = waiting.list_page(vault, InboxFilter(), limit=_MOST)
    listed = views.inbox_list(page, offset=0)
    counts = waiting.summary(vault)
    return PendingList(
        notice=answers.NOTICE,
        items=listed.items,
        count=listed.count,
        total=listed.total,
        overdue=counts.overdue,
        review_now=counts.remind,
        index_state=listed.index_state,
        withheld=listed.withheld,
    )


def _one(vault: Vault, identifier: str) -> views.ProposalRead:
    reading = inbox.read(vault, identifier, max_chars=vault.policy.document_bytes)
    # Nobody is entitled to a change by opening a resource.
    shown = views.proposal_read(reading, reviewing.advice(vault, reading.document))
    return replace(shown, update_token=None)


def _answered(ask: Callable[[], object]) -> str:
    try:
        told = answers.plain(ask())
    except KeepMError as error:
        # Hosts show a resource's content, but not what an error of the protocol says.
        told = {
            "error": {"code": error.code, "message": error.message, "hint": error.next_step},
        }
    return json.dumps(told, ensure_ascii=False)
