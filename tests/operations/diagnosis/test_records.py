"""KeepM's own records: an interrupted change, a ledger that was touched, an index that is wrong."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from keepm.model.document import Severity
from keepm.operations import diagnosis, memories, sync
from keepm.operations.vault import Vault
from keepm.store import journal, ledger
from tests.operations.diagnosis.support import found, look, note
from tests.operations.support import AGENT, OWNER, FixedClock, Machine, claim

PATH = "Memory/projects/widgets/a.md"


def codes(vault: Vault) -> list[str]:
    return [each.rule.code for each in diagnosis.examine(vault, OWNER).findings]


def test_a_version_that_only_its_bytes_tell_is_read_again(machine: Machine, vault: Vault) -> None:
    """The same size and time with other bytes: only a deep pass meets it."""
    place = machine.put(PATH, note(1, "port 8080"))
    os.utime(place, ns=(1, 1))
    sync.reconcile(vault)
    place.write_text(note(1, "port 9090"), "utf-8")
    os.utime(place, ns=(1, 1))

    assert codes(vault) == ["index_stale"]
    assert codes(vault) == []
    assert memories.read(vault, "note-1", max_chars=99).part.text.strip() == "port 9090"


def test_a_note_that_went_since_the_last_look_is_no_links_target(
    machine: Machine, vault: Vault
) -> None:
    machine.put(PATH, note(1, "See [[note-2]]."))
    target = machine.put(PATH.replace("a.md", "b.md"), note(2))
    sync.reconcile(vault)
    target.unlink()

    assert codes(vault) == ["unresolved_link"]


def test_doctor_is_a_comparison_of_all_checksums(
    machine: Machine, vault: Vault, clock: FixedClock
) -> None:
    machine.put(PATH, note(1))
    sync.reconcile(vault, deep=True)
    clock.forward(days=1)
    assert sync.deep_due(vault)

    assert codes(vault) == []
    assert vault.database.get_meta("last_checksum_scan") == vault.now()
    assert not sync.deep_due(vault)


def test_what_is_held_back_waits_for_a_deep_pass_all_the_same(
    machine: Machine, vault: Vault, clock: FixedClock
) -> None:
    paths = [machine.put(PATH.replace("a.md", f"n{n}.md"), note(n)) for n in range(1, 31)]
    sync.reconcile(vault, deep=True)
    clock.forward(days=1)
    for path in paths[:15]:
        path.unlink()

    assert codes(vault) == ["deletions_held"]
    assert sync.deep_due(vault)


def test_what_a_sync_program_left_beside_a_ledger_is_named(machine: Machine, vault: Vault) -> None:
    memories.create(vault, AGENT, claim())
    own = f"Memory/.keepm/ledger/{vault.root.writer_id}"
    data = (machine.root / f"{own}.jsonl").read_bytes()
    for name in (f"{own} (1).jsonl", f"{own}.sync-conflict-20261101-101500-K7QWERT.jsonl"):
        machine.put(name, data)
    machine.put("Memory/.keepm/ledger/.DS_Store", b"x")

    told = diagnosis.examine(vault, OWNER).findings

    assert [each.rule.code for each in told] == ["ledger_copy"] * 2
    assert {each.path for each in told} == {
        f"{own} (1).jsonl",
        f"{own}.sync-conflict-20261101-101500-K7QWERT.jsonl",
    }


def test_an_ordinary_edit_since_the_last_look_is_no_finding(machine: Machine, vault: Vault) -> None:
    machine.put(PATH, note(1))
    sync.reconcile(vault)
    machine.put(PATH, note(1, "Another, longer text."))

    assert codes(vault) == []


def test_a_document_that_the_index_lost_is_an_error(machine: Machine, vault: Vault) -> None:
    machine.put(PATH, note(1))
    sync.reconcile(vault)
    (index,) = [each for each in machine.index_files() if each.suffix == ".sqlite3"]
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute("DELETE FROM all_notes")

    (only,) = diagnosis.examine(vault, OWNER).findings

    assert (only.rule.code, only.path, only.severity) == ("index_incomplete", PATH, Severity.ERROR)


@pytest.mark.parametrize(
    ("spoil", "code", "severity"),
    [
        (lambda lines: lines[1:], "ledger_broken", Severity.ERROR),
        (lambda lines: lines[:-1], "ledger_broken", Severity.ERROR),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "ledger_broken", Severity.ERROR),
        (lambda lines: [*lines, b'{"torn'], "ledger_torn", Severity.INFO),
    ],
)
def test_a_ledger_that_was_touched_is_told(
    machine: Machine, vault: Vault, spoil: object, code: str, severity: Severity
) -> None:
    for name in ("one", "two", "three"):
        memories.create(vault, AGENT, claim(name))
    assert codes(vault) == []
    (file,) = (machine.root / ledger.FOLDER).iterdir()

    assert callable(spoil)
    file.write_bytes(b"".join(spoil(file.read_bytes().splitlines(keepends=True))))

    said = [each for each in look(vault) if each.rule.code.startswith("ledger")]
    assert {(each.rule.code, each.severity) for each in said} == {(code, severity)}


def test_an_interrupted_change_that_nobody_can_read_is_an_error(
    machine: Machine, vault: Vault
) -> None:
    """Fault 17 of KeepM 3: it was only warned of, for ever, and nothing cleared it."""
    record = machine.root / journal.FOLDER / "11111111-1111-4111-8111-111111111111.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_bytes(b"torn")

    (only,) = look(vault)

    assert (only.rule.code, only.severity) == ("transaction_recovery_pending", Severity.ERROR)
    assert "keepm repair" in only.fix


def test_what_cant_be_read_is_told_by_its_sort(machine: Machine, vault: Vault) -> None:
    machine.put("Memory/projects/widgets/ok.md", note(1))
    (machine.root / "Memory/projects/widgets/away.md").symlink_to(os.devnull)
    (machine.root / "Memory/projects/widgets/folder.md").mkdir()
    os.mkfifo(machine.root / "Memory/projects/widgets/pipe.md")
    machine.put("Memory/projects/widgets/con.md", note(2))

    assert found(vault) == [
        "symlink away.md",
        "unusable_name con.md",
        "folder_like_note folder.md",
        "not_a_file pipe.md",
    ]
