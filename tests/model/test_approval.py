from __future__ import annotations

import pytest

from keepm.errors import ApprovalRequired
from keepm.model.approval import ApprovalRule, Channel, Minimum

SUFFICES = {
    Minimum.RELAYED: set(Channel),
    Minimum.HOST: set(Channel) - {Channel.RELAYED},
    Minimum.OWNER: set(Channel) - {Channel.RELAYED, Channel.HOST},
}


@pytest.mark.parametrize("minimum", Minimum)
@pytest.mark.parametrize("channel", Channel)
def test_a_channel_below_the_minimum_is_refused(minimum: Minimum, channel: Channel) -> None:
    rule = ApprovalRule(minimum)
    if channel in SUFFICES[minimum]:
        rule.require(channel, kind="fix")
    else:
        with pytest.raises(ApprovalRequired):
            rule.require(channel, kind="fix")


def test_a_kind_may_ask_for_more_or_less() -> None:
    rule = ApprovalRule(Minimum.HOST, {"constraint": Minimum.OWNER, "fix": Minimum.RELAYED})
    rule.require(Channel.RELAYED, kind="fix")
    with pytest.raises(ApprovalRequired) as caught:
        rule.require(Channel.HOST, kind="constraint")
    assert caught.value.details["minimum"] == "owner"
