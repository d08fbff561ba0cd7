"""`keepm verdict`: what was ruled for good is listed, told apart by hand, and lifted."""

from __future__ import annotations

import json

import pytest

from keepm.model.approval import Channel
from keepm.model.scope import GLOBAL
from keepm.operations import inbox, memories
from keepm.operations.inbox import Suggestion
from keepm.operations.vault import Vault
from tests.cli.support import MARKS, CommandLine
from tests.cli.test_review import KEYS, propose, reviewing
from tests.operations.support import AGENT, Machine, claim, events

BODY = "Use pnpm 9 for every package, never npm."
OWNER = "--as-owner"


def version(vault: Vault, identifier: str) -> str:
    return inbox.read(vault, identifier, max_chars=10_000).document.checksum.hex[:12]


def reject(keepm: CommandLine, vault: Vault, *words: str) -> dict[str, object]:
    propose(vault, "package-manager", body=BODY)
    named = f"package-manager@{version(vault, 'package-manager')}"
    done = keepm.json("review", "reject", named, "--yes", OWNER, "--reason", "we use make", *words)
    return dict(done["items"][0])


def test_a_rejection_by_the_owner_lasts_until_it_is_lifted(
    keepm: CommandLine, vault: Vault
) -> None:
    assert reject(keepm, vault)["remembered"] is True

    (item,) = keepm.json("verdict", "list")["items"]
    assert (item["kind"], item["channel"], item["project_id"]) == (
        "rejected",
        "owner-cli",
        "widgets",
    )
    assert (item["about"][0]["name"], item["reason"]) == ("package-manager", "we use make")
    _, text = keepm.run("verdict", "list")
    assert text.startswith(f"{item['id'][:8]}  rejected")
    assert "package-manager: we use make" in text
    _, ledger = keepm.run("ledger", "show")
    assert "[rejected]" in ledger

    lifted = keepm.json("verdict", "lift", item["id"][:8], OWNER)
    assert [each["id"] for each in lifted["items"]] == [item["id"]]
    assert keepm.json("verdict", "list") == {"items": [], "total": 0}
    propose(vault, "renamed", body=BODY)
    assert keepm.run("ledger", "verify")[0] == 0
    _, ledger = keepm.run("ledger", "show")
    assert "[lifted]" in ledger


def test_the_owner_may_reject_without_ruling(keepm: CommandLine, vault: Vault) -> None:
    assert reject(keepm, vault, "--no-remember")["remembered"] is False
    assert keepm.json("verdict", "list")["items"] == []
    assert "No verdict stands." in keepm.said


def test_a_refusal_tells_when_and_why(keepm: CommandLine, vault: Vault) -> None:
    waiting = propose(vault, "twin", description="One value", body="pnpm")
    made = propose(vault, "first", description="One value", body="pnpm")
    named = f"{made}@{version(vault, made)}"
    keepm.json("review", "reject", named, "--yes", OWNER, "--reason", "we use make")

    named = f"{waiting}@{version(vault, waiting)}"
    code, _ = keepm.run("review", "approve", named, "--yes", OWNER)

    assert code == 2
    assert "[rejected_before]" in keepm.said
    assert "we use make" in keepm.said
    assert "keepm verdict lift" in keepm.said


def test_keys_at_the_terminal_reject_with_and_without_a_verdict(
    vault: Vault, machine: Machine
) -> None:
    propose(vault, "first", body=BODY)
    propose(vault, "second", body="Run the linter before each commit.")
    with reviewing(machine) as terminal:
        for key in "rf":
            terminal.until(KEYS)
            terminal.key(key)
            terminal.until("Reason")
            terminal.type("\n")
        assert terminal.ended() == 0

    assert "0 approved, 2 rejected, 0 left." in terminal.shown
    rejections = [event for event in events(vault) if event.operation == "reject"]
    assert [event.extra.get("ruling") for event in rejections] == ["rejected", None]
    assert "Rejected for good" in terminal.shown
    assert "it may be proposed again" in terminal.shown


def test_two_notes_are_told_apart_by_name(keepm: CommandLine, vault: Vault) -> None:
    for name in ("one", "other"):
        memories.create(vault, AGENT, claim(name))

    made = keepm.json("verdict", "add", "not-conflict", "one", "other", OWNER)

    assert (made["kind"], made["applies"]) == ("not_conflict", True)
    _, text = keepm.run("verdict", "list")
    assert "one / other" in text
    keepm.json("verdict", "add", "not-conflict", "other", "one", OWNER, code=2)
    event = events(vault)[-1]
    assert (event.operation, event.channel) == ("verdict", Channel.OWNER_CLI)
    assert event.extra["terminal"] == "none"
    made = next(each for each in events(vault) if each.operation == "verdict")
    plan = keepm.json("undo", made.transaction_id[:8])
    keepm.json("undo", "--confirm", "--token", plan["token"])
    assert keepm.json("verdict", "list")["items"] == []


@pytest.mark.parametrize(
    "words", [("add", "not-conflict", "one", "other"), ("lift", "00000000")], ids=["add", "lift"]
)
def test_without_a_terminal_nobody_rules_unsaid(
    keepm: CommandLine, vault: Vault, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keepm.json("verdict", *words, code=2)["error"]["code"] == "approval_required"
    keepm.typing("")
    monkeypatch.setenv(MARKS[0], "1")
    assert keepm.json("verdict", *words, OWNER, code=2)["error"]["code"] == "approval_required"
    assert events(vault) == []


def test_verdicts_of_other_projects_are_listed_with_all_only(
    keepm: CommandLine, vault: Vault, machine: Machine
) -> None:
    reject(keepm, vault)
    gadgets = machine.project("gadgets")
    folder = ("--project", "gadgets")

    assert keepm.json("verdict", "list", *folder)["items"] == []
    assert len(keepm.json("verdict", "list", "--all")["items"]) == 1
    assert gadgets.is_dir()


def test_what_is_gone_is_listed_by_its_id(keepm: CommandLine, vault: Vault) -> None:
    made = inbox.propose(vault, AGENT, Suggestion(claim(body=BODY, scope=GLOBAL), "seen"))
    identifier = made.document.content.id
    keepm.json("review", "reject", f"{identifier}@{version(vault, identifier)}", "--yes", OWNER)
    for path in (vault.settings.root / "Memory/Inbox/archive").rglob("*.md"):
        path.unlink()

    _, text = keepm.run("verdict", "list")
    assert f"{identifier} (gone)" in text
    assert json.loads(keepm.run("verdict", "list", "--format", "json")[1])["total"] == 1
