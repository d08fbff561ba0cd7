"""`keepm ledger`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from keepm.operations import memories
from keepm.operations.vault import Vault
from keepm.store.event import canonical
from tests.cli.support import CommandLine
from tests.operations.support import AGENT, Machine, claim, events


@pytest.fixture
def chain(machine: Machine, vault: Vault) -> Path:
    for name in ("a", "b", "c"):
        memories.create(vault, AGENT, claim(name))
    return machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"


def test_show_lists_the_newest_first(keepm: CommandLine, chain: Path) -> None:
    code, out = keepm.run("ledger", "show", "--limit", "2")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["3", "2"]
    assert "1 more" in keepm.said

    data = keepm.json("ledger", "show", "--since", "2026-11-29", "--client", "tester")
    assert [event["sequence"] for event in data["events"]] == [3, 2, 1]
    assert data["total"] == 3


def test_a_session_is_shown_by_its_beginning_and_found_by_it(
    keepm: CommandLine, vault: Vault
) -> None:
    for name, session in (("a", "5f3a2b1c0d"), ("b", "5f3a9999aa"), ("c", "77777777bb")):
        memories.create(vault, replace(AGENT, session=session), claim(name))

    _, out = keepm.run("ledger", "show")
    assert [line.rsplit("session ")[1] for line in out.splitlines()] == [
        "77777777",
        "5f3a9999",
        "5f3a2b1c",
    ]
    for beginning in ("5f3a2b1c", "5f3a2b1c0d"):
        told = keepm.json("ledger", "show", "--session", beginning)["events"]
        assert [event["session"] for event in told] == ["5f3a2b1c0d"]
    for words in (("ledger", "show"), ("undo",), ("quarantine", "add", "--dry-run")):
        error = keepm.json(*words, "--session", "5f3a", code=2)["error"]
        assert error["code"] == "ambiguous_identifier"
    plan = keepm.json("undo", "--session", "7777")["plan"]
    assert [event["session"] for event in plan["events"]] == ["77777777bb"]
    assert keepm.json("undo", "--session", "777", code=2)["error"]["code"] == "not_found"


def test_verify_ends_with_one_when_something_is_wrong(keepm: CommandLine, chain: Path) -> None:
    assert keepm.json("ledger", "verify")["ok"] is True
    whole = chain.read_bytes()

    chain.write_bytes(whole.replace(b'"relayed"', b'"owner-cli"', 1))
    assert keepm.json("ledger", "verify", code=1)["problems"][0]["code"] == "edited"
    chain.write_bytes(whole[: whole.index(b"\n") + 1])
    assert keepm.json("ledger", "verify", code=1)["problems"][0]["code"] == "cut"
    code, out = keepm.run("ledger", "verify")
    assert code == 1
    assert "missing now" in out
    assert "ledger accept" in keepm.said


def test_an_export_can_be_verified_by_itself(keepm: CommandLine, chain: Path, vault: Vault) -> None:
    _, out = keepm.run("ledger", "export")

    records = [json.loads(line) for line in out.splitlines()]
    assert [record["hash"] for record in records] == [event.hash for event in events(vault)]
    for record in records:
        assert record.pop("writer") == vault.root.writer_id
        claimed = record.pop("hash")
        assert hashlib.sha256(canonical(record)).hexdigest() == claimed


def test_accept_wants_the_owner_s_word(
    keepm: CommandLine, machine: Machine, vault: Vault, chain: Path
) -> None:
    chain.write_bytes(chain.read_bytes().split(b"\n")[0] + b"\n")

    assert keepm.json("ledger", "accept", code=2)["error"]["code"] == "confirmation_required"
    keepm.typing("n\n")
    assert keepm.run("ledger", "accept")[0] == 0
    assert keepm.json("ledger", "verify", code=1)["ok"] is False
    keepm.typing("yes\n")
    assert keepm.run("ledger", "accept")[0] == 0
    assert keepm.json("ledger", "verify")["ok"] is True
    assert keepm.json("ledger", "accept", "--yes", code=2)["error"]["code"] == "wrong_state"


def test_status_prints_the_last_known_head(keepm: CommandLine, chain: Path) -> None:
    chain.write_bytes(chain.read_bytes().split(b"\n")[0] + b"\n")

    code, out = keepm.run("status")
    assert code == 1
    assert "ledger last known" in out
    assert keepm.json("status", code=1)["ledger_last_known"]["sequence"] == 3
