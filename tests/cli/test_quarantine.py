"""`keepm quarantine`: preview, confirmation, list and lift, for the owner alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keepm.operations import inbox, memories, retrieval
from keepm.operations.inbox import Suggestion
from keepm.operations.vault import Vault
from tests.cli.support import CommandLine
from tests.operations.support import AGENT, Machine, claim, events, look

BAD = replace(AGENT, client="bad", session="bad-session")


@pytest.fixture
def poisoned(vault: Vault) -> Vault:
    memories.create(vault, AGENT, claim("fine"))
    memories.create(vault, BAD, claim("poison"))
    inbox.propose(vault, BAD, Suggestion(claim("idea"), reason="because"))
    return vault


def names(vault: Vault) -> set[str]:
    look(vault)
    return {item.name for item in retrieval.catalog(vault, limit=100).items}


def test_a_dry_run_shows_what_would_be_withheld_and_changes_nothing(
    poisoned: Vault, machine: Machine, keepm: CommandLine
) -> None:
    before, told = machine.files(), len(events(poisoned))
    plan = keepm.json("quarantine", "add", "--client", "bad", "--dry-run")["plan"]
    assert [(each["object_kind"], each["name"]) for each in plan["withheld"]] == [
        ("memory", "poison"),
        ("proposal", "idea"),
    ]
    assert (plan["client"], plan["owner_approved"]) == ("bad", [])
    code, out = keepm.run("quarantine", "add", "--client", "bad", "--dry-run")
    assert code == 0
    assert "Would be withheld: 2" in out
    assert (machine.files(), len(events(poisoned))) == (before, told)
    assert names(poisoned) == {"fine", "poison"}


def test_without_a_terminal_a_token_confirms_it(poisoned: Vault, keepm: CommandLine) -> None:
    shown = keepm.json("quarantine", "add", "--client", "bad")
    assert shown["confirm"].startswith("keepm quarantine add --confirm --token ")
    assert names(poisoned) == {"fine", "poison"}
    done = keepm.json("quarantine", "add", "--confirm", "--token", shown["token"])
    assert names(poisoned) == {"fine"}
    assert keepm.run("read", "poison") == (2, "")
    assert "keepm search" in keepm.said
    assert "1 here can't be read now" in keepm.said
    assert "memory_" not in keepm.said, "a person is told commands, not tools"

    listed = keepm.json("quarantine", "list")
    assert listed["total"] == 1
    assert listed["items"][0]["id"] == done["id"]
    assert [each["name"] for each in listed["items"][0]["withheld"]] == ["poison", "idea"]
    assert keepm.json("status")["withheld"] == 2
    code, out = keepm.run("status")
    assert code == 0
    assert "2 (keepm quarantine list, keepm review --edits)" in out

    # Without a terminal nobody lets it back but whoever says to be the owner.
    token = keepm.json("quarantine", "lift", done["id"][:8])["token"]
    words = ("quarantine", "lift", done["id"][:8], "--confirm", "--token", token)
    assert keepm.json(*words, code=2)["error"]["code"] == "approval_required"
    assert names(poisoned) == {"fine"}
    lifted = keepm.json(*words, "--as-owner")
    assert [each["name"] for each in lifted["back"]] == ["poison", "idea"]
    assert names(poisoned) == {"fine", "poison"}


def test_on_a_terminal_a_plain_yes_confirms_each(poisoned: Vault, keepm: CommandLine) -> None:
    keepm.typing("n\n")
    keepm.run("quarantine", "add", "--between", "2026-11-29", "2026-11-29")
    assert names(poisoned) == {"fine", "poison"}
    keepm.typing("y\n")
    code, out = keepm.run("quarantine", "add", "--session", "bad-session")
    assert code == 0
    assert out.startswith("Withheld: 2, as quarantine ")
    assert names(poisoned) == {"fine"}
    short = out.split()[4].rstrip(".")
    code, out = keepm.run("quarantine", "list")
    assert f"{short}" in out and "session bad-session" in out
    keepm.typing("y\n")
    code, out = keepm.run("quarantine", "lift", short)
    assert (code, out) == (0, "Lifted; read again: 2.\n")
    assert keepm.json("quarantine", "list") == {"items": [], "total": 0}


def test_a_span_in_which_nothing_was_written_is_nothing_to_do(
    poisoned: Vault, keepm: CommandLine
) -> None:
    shown = keepm.json("quarantine", "add", "--between", "2001-01-01", "2001-01-02")
    assert shown["token"] is None
    # A client that hasn't written yet may do so later.
    assert keepm.json("quarantine", "add", "--client", "nobody yet")["token"]


@pytest.mark.parametrize(
    "words",
    [
        ("add", "--client", "bad"),
        ("add", "--client", "bad", "--dry-run"),
        ("list",),
        ("lift", "0123abcd"),
    ],
)
def test_a_shell_that_an_agents_host_started_gets_nothing_out(
    poisoned: Vault, keepm: CommandLine, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = keepm.json("quarantine", *words, code=2)
    assert refused["error"]["code"] == "approval_required"
    assert "poison" not in str(refused) + keepm.said


def test_origins_are_named_exactly_once(poisoned: Vault, keepm: CommandLine) -> None:
    for words in ((), ("--client", ""), ("--client", "a", "--session", "b")):
        refused = keepm.json("quarantine", "add", *words, code=2)
        assert refused["error"]["code"] == "invalid_input"


def test_an_approved_note_goes_along_when_it_is_included(
    poisoned: Vault, keepm: CommandLine
) -> None:
    keepm.typing("")
    assert keepm.run("review", "approve", "idea", "--yes")[0] == 0
    keepm.typing(None)
    plan = keepm.json("quarantine", "add", "--client", "bad", "--dry-run")["plan"]
    assert [each["name"] for each in plan["owner_approved"]] == ["idea"]
    keepm.typing("y\n")
    keepm.run("quarantine", "add", "--client", "bad", "--include", "idea")
    assert names(poisoned) == {"fine"}
