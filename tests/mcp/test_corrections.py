"""What recall says over MCP of a correction that waits, in each half of an answer."""

from __future__ import annotations

from tests.mcp.client import Tools

NOTE = {"name": "manager", "description": "d", "kind": "reference", "body": "npm"}


def test_both_halves_name_the_correction_and_never_its_text(tools: Tools) -> None:
    tools.done("create", **NOTE)
    made = tools.done(
        "propose",
        **{**NOTE, "body": "zzbodyzz", "description": "zzdescriptionzz"},
        proposal_reason="zzreasonzz",
        target_identifier="manager",
        target_action="update",
    )
    proposal = made["proposal"]["id"]
    for tool, arguments in (
        ("search", {"query": "manager"}),
        ("catalog", {}),
        ("context", {}),
        ("context", {"query": "manager"}),
        ("read", {"identifier": "manager"}),
    ):
        answer = tools.done(tool, **arguments)
        told = answer.data if tool == "read" else answer["items"][0]
        assert told["pending_corrections"] == {"total": 1, "proposals": [proposal]}, tool
        assert proposal in answer.text and "pending_corrections" in answer.text
        told_too = [
            word for word in ("body", "description", "reason") if f"zz{word}zz" in answer.whole
        ]
        assert told_too == [], tool
    decided = tools.done("inbox_read", identifier=proposal)
    tools.done("inbox_reject", **tools.proof_of(decided, proposal))
    assert "pending_corrections" not in tools.done("read", identifier="manager").whole
