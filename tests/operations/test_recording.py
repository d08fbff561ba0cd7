"""Hand edits on record: one event for what a person did, whoever looks and whoever dies."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepm.index import handmade, versions
from keepm.model.checksum import Checksum
from keepm.operations import (
    auditing,
    diagnosis,
    memories,
    news,
    provenance,
    recording,
    sync,
    undoing,
)
from keepm.operations.auditing import Wanted
from keepm.operations.history import history as history_of
from keepm.operations.undoing import UndoRequest
from keepm.operations.vault import Vault
from keepm.store import history, ledger, lock
from keepm.store.disk import OSDisk
from keepm.store.event import Digests, LedgerEvent
from tests.operations import support
from tests.operations.support import AGENT, OWNER, Machine, claim, edit, events, proof

NOTE = "Memory/projects/widgets/build-command.md"
Open = Callable[[Path | None], Vault]


def look(vault: Vault) -> None:
    sync.reconcile(vault)
    recording.record(vault)


def operations(vault: Vault) -> list[str]:
    return [event.operation for event in events(vault)]


def digest(data: str | bytes) -> str:
    return Checksum.of(data.encode() if isinstance(data, str) else data).hex


def made(machine: Machine, vault: Vault, name: str = "build-command") -> tuple[Path, str]:
    """Create a note through the tools; return its file and text."""
    sync.reconcile(vault)
    written = memories.create(vault, AGENT, claim(name))
    place = machine.root / written.document.path
    return place, place.read_text("utf-8")


def test_a_hand_edit_gets_one_event_with_both_digests(machine: Machine, vault: Vault) -> None:
    place, old = made(machine, vault)
    new = old + "\nBy hand.\n"
    place.write_text(new, "utf-8")
    look(vault)
    look(vault)

    event = events(vault)[-1]
    assert operations(vault) == ["create", "external-edit"]
    assert event.changes == (Digests(digest(old), digest(new)),)
    assert (event.channel, event.surface, event.scope) == ("owner-edit", "edit", "widgets")
    assert event.object_id == memories.read(vault, "build-command", max_chars=9).document.content.id
    assert history.get(vault.root, Checksum(digest(new))) == new.encode()
    read = memories.read(vault, "build-command", max_chars=9999)
    assert read.approved_via == "owner-edit"
    assert handmade.pending(vault.database) == []


def test_an_edit_back_to_an_older_version_is_on_record_too(machine: Machine, vault: Vault) -> None:
    place, old = made(machine, vault)
    memories.update(
        vault, AGENT, "build-command", edit(body="New.\n"), proof(vault, "build-command")
    )
    place.write_text(old, "utf-8")
    look(vault)

    assert operations(vault) == ["create", "update", "external-edit"]
    assert events(vault)[-1].changes[0].after == digest(old)


def test_a_removed_note_and_a_new_one_are_on_record(machine: Machine, vault: Vault) -> None:
    place, old = made(machine, vault)
    place.unlink()
    machine.put("Memory/global/by-hand.md", "A note without metadata.\n")
    look(vault)

    changes = {event.changes[0] for event in events(vault)[1:]}
    assert changes == {
        Digests(digest(old), None),
        Digests(None, digest("A note without metadata.\n")),
    }


def test_the_first_look_at_a_vault_records_nothing(machine: Machine, vault: Vault) -> None:
    for number in range(20):
        machine.put(f"Memory/global/n{number}.md", f"Note {number}.\n")
    look(vault)
    assert events(vault) == []

    machine.put("Memory/global/n3.md", "Note 3, changed.\n")
    look(vault)
    (event,) = events(vault)
    assert event.changes == (Digests(digest("Note 3.\n"), digest("Note 3, changed.\n")),)


def test_what_is_seen_is_kept_as_a_version(machine: Machine, vault: Vault) -> None:
    machine.put("Memory/global/old.md", "From long ago.\n")
    sync.reconcile(vault)
    recording.keep_seen(vault)
    recording.keep_seen(vault)

    assert history.get(vault.root, Checksum.of(b"From long ago.\n")) == b"From long ago.\n"
    assert [each.digest for each in history.objects(vault.root)] == [digest("From long ago.\n")]


def test_a_changed_version_that_was_cut_short_is_kept_again(machine: Machine, vault: Vault) -> None:
    machine.put("Memory/global/old.md", "From long ago.\n")
    sync.reconcile(vault)
    recording.keep_seen(vault)
    (kept,) = history.objects(vault.root)
    (machine.root / kept.path).write_bytes(b"")
    recording.keep_seen(vault)

    assert history.get(vault.root, Checksum.of(b"From long ago.\n")) == b"From long ago.\n"


def test_our_own_changes_are_no_hand_edits(machine: Machine, vault: Vault, opened: Open) -> None:
    other = opened(machine.folder / "work/widgets")
    made(machine, vault)
    look(other)
    memories.update(
        vault, AGENT, "build-command", edit(name="renamed"), proof(vault, "build-command")
    )
    look(other)
    memories.delete(vault, AGENT, "renamed", proof(vault, "renamed"))
    look(other)
    look(vault)

    assert operations(vault) == ["create", "update", "delete"]


def test_a_second_index_of_the_vault_tells_nothing_twice(machine: Machine) -> None:
    """Two data folders on one vault (known fault 4): each decides by the ledger."""
    other = machine.beside()
    first = machine.open(machine.folder / "work/widgets")
    place, old = made(machine, first)
    second = other.open(other.folder / "work/widgets")
    sync.reconcile(second)
    place.write_text(old + "\nBy hand.\n", "utf-8")
    for _ in range(2):
        look(first)
        look(second)
    place.unlink()
    for each in (machine, other):
        each.clock.forward(seconds=60)
    for _ in range(2):
        look(second)
        look(first)

    assert sorted(operations(first)) == ["create", "external-edit", "external-edit"]
    first.close()
    second.close()


def test_an_edit_is_from_the_version_that_was_there_though_the_ledger_has_it_gone(
    machine: Machine,
) -> None:
    """Away and back went unseen here; what it was made of must not get lost."""
    other = machine.beside()
    first = machine.open(machine.folder / "work/widgets")
    place, old = made(machine, first)
    second = other.open(other.folder / "work/widgets")
    sync.reconcile(second)
    place.unlink()
    machine.clock.forward(seconds=60)
    for _ in range(2):
        look(first)
    assert events(first)[-1].changes == (Digests(digest(old), None),)
    new = old.replace("---\n", "--\n", 1)  # its id can't be read any more
    place.write_text(new, "utf-8")
    other.clock.forward(seconds=120)
    look(second)

    told = {change for event in events(second) for change in event.changes}
    assert Digests(digest(old), digest(new)) in told
    assert Digests(None, digest(new)) not in told
    first.close()
    second.close()


def test_many_that_look_at_once_tell_it_once(machine: Machine, opened: Open) -> None:
    folder = machine.folder / "work/widgets"
    vaults = [opened(folder) for _ in range(4)]
    place, old = made(machine, vaults[0])
    for each in vaults:
        sync.reconcile(each)
    place.write_text(old + "\nBy hand.\n", "utf-8")
    threads = [threading.Thread(target=look, args=(each,)) for each in vaults]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    look(vaults[0])

    assert operations(vaults[0]) == ["create", "external-edit"]


def test_a_busy_lock_leaves_it_for_the_next_look(machine: Machine, vault: Vault) -> None:
    place, old = made(machine, vault)
    place.write_text(old + "\nBy hand.\n", "utf-8")
    with lock.hold(vault.root.paths, surface="test", timeout=1, now=vault.now()):
        look(vault)
        assert len(memories.read(vault, "build-command", max_chars=9).part.text) == 9
    assert operations(vault) == ["create"]

    place.write_text(old + "\nBy hand, twice.\n", "utf-8")
    look(vault)
    assert operations(vault) == ["create", "external-edit"]
    assert events(vault)[-1].changes[0].before == digest(old)


def test_a_change_on_top_of_an_unseen_edit_comes_after_it(machine: Machine, vault: Vault) -> None:
    place, old = made(machine, vault)
    place.write_text(old + "\nBy hand.\n", "utf-8")
    memories.update(
        vault, AGENT, "build-command", edit(tags=("new",)), proof(vault, "build-command")
    )

    assert operations(vault) == ["create", "external-edit", "update"]
    first, second, third = events(vault)
    assert second.changes[0].before == first.changes[0].after
    assert third.changes[0].before == second.changes[0].after


def test_an_edit_made_while_no_index_was_there_is_found_by_the_ledger(
    machine: Machine, opened: Open
) -> None:
    folder = machine.folder / "work/widgets"
    vault = machine.open(folder)
    place, old = made(machine, vault)
    vault.close()
    for each in machine.index_files():
        each.unlink()
    place.write_text(old + "\nBy hand.\n", "utf-8")
    vault = opened(folder)
    look(vault)

    assert operations(vault) == ["create", "external-edit"]
    assert events(vault)[-1].changes[0].before == digest(old)


@pytest.mark.parametrize("target", ["projects/widgets/sorted/b.md", "global/build-command.md"])
def test_a_note_moved_by_hand_is_on_record_when_its_scope_changed(
    target: str, machine: Machine, vault: Vault
) -> None:
    place, old = made(machine, vault)
    (machine.root / "Memory" / target).parent.mkdir(parents=True, exist_ok=True)
    place.rename(machine.root / "Memory" / target)
    look(vault)
    look(vault)

    moved = [event for event in events(vault) if event.operation == "external-edit"]
    assert [(event.scope, event.changes) for event in moved] == (
        [("", (Digests(digest(old), digest(old)),))] if target.startswith("global") else []
    )


def test_a_note_renamed_and_edited_at_once_is_one_edit(machine: Machine, vault: Vault) -> None:
    place, old = made(machine, vault)
    place.unlink()
    machine.put("Memory/projects/widgets/other.md", old + "\nBy hand.\n")
    look(vault)

    (event,) = [event for event in events(vault) if event.operation == "external-edit"]
    assert event.changes == (Digests(digest(old), digest(old + "\nBy hand.\n")),)


@pytest.mark.parametrize("to", ["z", "a"])
def test_many_renamed_and_edited_at_once_are_one_edit_each_however_few_are_taken_at_a_time(
    machine: Machine, vault: Vault, to: str
) -> None:
    for number, (place, text) in enumerate([made(machine, vault, f"m{n}") for n in range(6)]):
        place.unlink()
        place.with_name(f"{to}{number}.md").write_text(text + "\nBy hand.\n", "utf-8")
    sync.reconcile(vault)

    while recording.record(vault, most=2):
        pass

    edits = events(vault)[6:]
    assert [event.operation for event in edits] == ["external-edit"] * 6
    assert all(change.before and change.after for event in edits for change in event.changes)


def test_a_look_beside_the_answers_puts_all_on_record(machine: Machine, vault: Vault) -> None:
    """An answer waited for fifty of them at every look, for minutes."""
    made(machine, vault)
    vault.progress.took, vault.progress.ended = 0.0, None
    for number in range(120):
        machine.put(f"Memory/global/n{number}.md", f"---\nid: n-{number}\n---\ntext {number}\n")

    sync.refresh(vault)

    assert len(events(vault)) < 60
    assert vault.progress.recorder is not None
    vault.progress.recorder.join()
    assert len(events(vault)) == 121
    assert handmade.pending(vault.database) == []


def test_a_lock_that_is_held_ends_the_recording_for_now(machine: Machine, vault: Vault) -> None:
    place, text = made(machine, vault)
    place.write_text(text + "\nBy hand.\n", "utf-8")
    sync.reconcile(vault)
    with lock.hold(vault.root.paths, surface="test", timeout=1, now=vault.now()):
        recording.record_all(vault)
    assert len(handmade.pending(vault.database)) == 1
    while recording.record(vault):
        pass  # who waited in vain may hold the lock for a moment yet
    assert operations(vault) == ["create", "external-edit"]


@pytest.mark.parametrize("call", ["read", "state"])
def test_an_edit_that_access_is_denied_to_keeps_nobody_waiting(
    machine: Machine, vault: Vault, call: str
) -> None:
    """One file without access stopped every change of the vault."""
    place, text = made(machine, vault)
    place.write_text(text + "\nBy hand.\n", "utf-8")
    sync.reconcile(vault)

    class Closed(OSDisk):
        def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
            if path == place:
                raise PermissionError(errno.EACCES, "no")
            return super().read(path, limit=limit)

        def state(self, path: Path) -> os.stat_result | None:
            if path == place and call == "state":
                raise PermissionError(errno.EACCES, "no")
            return super().state(path)

    closed = dataclasses.replace(vault, root=dataclasses.replace(vault.root, disk=Closed()))
    recording.record(closed)
    memories.create(closed, AGENT, claim("another"))
    assert operations(vault) == ["create", "create"]
    assert len(handmade.pending(vault.database)) == 1

    recording.record(vault)
    assert operations(vault) == ["create", "create", "external-edit"]


def test_edits_that_access_is_denied_to_take_no_other_one_s_turn(
    machine: Machine, vault: Vault
) -> None:
    """As many of them as are recorded at once kept all others off the record."""
    places = [made(machine, vault, name)[0] for name in ("a", "b", "c")]
    for place in places:
        place.write_text(place.read_text("utf-8") + "\nBy hand.\n", "utf-8")
    sync.reconcile(vault)
    pending = {each.path for each in handmade.pending(vault.database)}
    assert len(pending) == 3

    class Closed(OSDisk):
        def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
            if path in places[:2]:
                raise PermissionError(errno.EACCES, "no")
            return super().read(path, limit=limit)

    closed = dataclasses.replace(vault, root=dataclasses.replace(vault.root, disk=Closed()))
    recording.record(closed, most=1)

    left = {each.path for each in handmade.pending(vault.database)}
    assert pending - left == {"Memory/projects/widgets/c.md"}


def test_a_restored_backup_makes_the_index_read_the_ledgers_anew(
    machine: Machine, vault: Vault
) -> None:
    made(machine, vault)
    place = machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"
    backup = place.read_bytes()
    second = memories.create(vault, AGENT, claim("second"))
    place.write_bytes(backup)
    support.look(vault)

    assert provenance.channel(vault, second.document) == "owner-edit"


def test_another_branch_s_longer_ledger_is_read_anew(machine: Machine, vault: Vault) -> None:
    """A vault in git: a checkout puts another continuation of the ledger there."""
    made(machine, vault)
    place = machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"
    fork = place.read_bytes()
    memories.create(vault, AGENT, claim("two"))
    for number in range(4):
        change = edit(body=f"{number}\n")
        two = memories.update(vault, AGENT, "two", change, proof(vault, "two"))
    longer, theirs = place.read_bytes(), (machine.root / two.document.path).read_bytes()
    place.write_bytes(fork)
    (machine.root / two.document.path).unlink()
    support.look(vault)
    other = memories.create(vault, AGENT, claim("other"))
    assert len(place.read_bytes()) < len(longer)

    place.write_bytes(longer)
    (machine.root / two.document.path).write_bytes(theirs)
    support.look(vault)

    assert provenance.channel(vault, two.document) == "relayed"
    assert provenance.channel(vault, other.document) == "owner-edit"


def test_a_line_that_is_no_event_makes_another_ledger_of_none(
    machine: Machine, vault: Vault
) -> None:
    """All ledgers were read anew whenever one had grown."""
    made(machine, vault)
    place = machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"
    with place.open("ab") as file:
        file.write(b"no event\n")
    support.look(vault)
    with place.with_name("another.jsonl").open("ab") as file:
        file.write(place.read_bytes().splitlines(keepends=True)[0])

    told = news.read(vault)
    assert (told.anew, len(told.versions)) == (False, 1)
    assert {*(told.marks or {})} == {"ledger:another"}


def test_a_deep_pass_sees_another_ledger_of_the_same_size(machine: Machine, vault: Vault) -> None:
    made(machine, vault)
    place = machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"
    other = dataclasses.replace(LedgerEvent.parse(place.read_bytes()), client="TESTER").rehashed()
    assert len(other.line()) == len(place.read_bytes())
    place.write_bytes(other.line())

    sync.reconcile(vault, deep=True)

    assert history_of(vault, "build-command").versions[0].client == "TESTER"


@pytest.mark.parametrize(
    "spoilt",
    [
        {"channel": 5},
        {"channel": "unheard-of"},
        {"client": ["x"]},
        {"operation": None},
        {"sequence": 10**30},
        {"sequence": -1},
        {"sequence": True},
        {"client": "\ud800"},
        {"extra": ["x"]},
        {"extra": {"undoes": 5}},
        {"changes": [{"before": 5, "after": ["x"]}]},
        {"changes": [{"before": None, "after": "\ud800"}]},
        {"scope": 7},
        {"session": 1.5},
        {"time": "9999-99-99"},
    ],
    ids=str,
)
def test_a_line_that_no_keepm_wrote_harms_nothing_but_itself(
    spoilt: dict[str, object], machine: Machine, vault: Vault
) -> None:
    """A ledger of another machine comes by a sync program: one such line ended every command."""
    made(machine, vault)
    own = machine.root / "Memory/.keepm/ledger" / f"{vault.root.writer_id}.jsonl"
    line = json.dumps({**json.loads(own.read_bytes()), **spoilt})
    machine.put("Memory/.keepm/ledger/another.jsonl", line + "\n")
    vault.database.renew(discard=True)

    look(vault)
    assert memories.read(vault, "build-command", max_chars=99).part.complete
    assert {each.writer for each in auditing.events(vault, Wanted())} >= {vault.root.writer_id}
    assert undoing.plan(vault, OWNER, UndoRequest("1")).events
    assert history_of(vault, "build-command").versions
    codes = [each.rule.code for each in diagnosis.examine(vault, OWNER).findings]
    assert "ledger_broken" in codes
    memories.create(vault, AGENT, claim("another"))


def test_hand_edits_of_proposals_and_handoffs_name_their_kind(
    machine: Machine, vault: Vault
) -> None:
    made(machine, vault)
    machine.put("Memory/Inbox/pending/global/p.md", "not a proposal\n")
    machine.put("Memory/.handoffs/pending/projects/widgets/h.md", "not a handoff\n")
    look(vault)

    kinds = {(event.object_kind, event.scope) for event in events(vault)[1:]}
    assert kinds == {("proposal", ""), ("handoff", "widgets")}


@pytest.mark.parametrize("asked", ["sizes", "marks"])
def test_what_is_written_while_the_ledgers_are_looked_at_makes_them_no_others(
    asked: str,
    machine: Machine,
    vault: Vault,
    opened: support.Opening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Servers that share an index read all ledgers anew whenever two of them met so."""
    made(machine, vault)
    beside = opened(machine.folder / "work/widgets")
    sync.reconcile(beside)
    source: Any = ledger if asked == "sizes" else versions
    real = getattr(source, asked)

    def slow(of: object) -> object:
        found = real(of)
        monkeypatch.setattr(source, asked, real)
        memories.create(beside, AGENT, claim("written-meanwhile"))
        return found

    monkeypatch.setattr(source, asked, slow)
    told = news.read(vault, deep=True)
    assert getattr(source, asked) is real, "asked"
    assert not told.anew
