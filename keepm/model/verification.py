"""Whether what a note says was checked recently enough."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

from keepm.config import Policy
from keepm.model.memory import Kind, Status, is_date


class Verification(StrEnum):
    """How a note stands that is to be verified."""

    EXEMPT = "exempt"  # of no kind that is to be verified, or not active
    CURRENT = "current"
    MISSING = "missing"  # it never was verified, and has no date or is too old
    OVERDUE = "overdue"  # it was, too long ago


def state(
    policy: Policy,
    kind: Kind | None,
    status: Status,
    *,
    verified_at: str | None,
    created: str,
    today: str,
    days: int,
) -> Verification:
    """Judge an active note of a kind that is to be verified every so many days.

    A note that never was verified ages from the day it was made.
    """
    contract = policy.kinds.get(str(kind))
    if status is not Status.ACTIVE or contract is None or not contract.verification:
        return Verification.EXEMPT
    since = verified_at or created[:10]
    never = Verification.OVERDUE if verified_at else Verification.MISSING
    if not is_date(since):
        return never
    age = date.fromisoformat(today) - date.fromisoformat(since)
    return never if age.days > days else Verification.CURRENT
