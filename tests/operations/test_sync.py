"""The index follows the files: hand edits, poison among good notes, and rebuilding it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keepm.errors import KeepMError, NotFound, RootUnavailable, StorageFailed
from keepm.index.database import Database
from keepm.model.document import Damaged
from keepm.model.proposal import TargetAction
from keepm.operations import (
    answers,
    context,
    inbox,
    intake,
    memories,
    news,
    promotion,
    retrieval,
    status,
    sync,
    waiting,
)
from keepm.operations.inbox import Suggestion
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.store import reader
from keepm.store.disk import OSDisk
from keepm.tokens import WriteProof
from tests.operations.support import (
    AGENT,
    Machine,
    Opening,
    claim,
    edit,
    events,
    look,
    proof,
    written_proof,
)

CASES = Path(__file__).parents[1] / "cases"
HERE = "Memory/projects/widgets"


def place(machine: Machine, case: str, path: str = "", *, folder: str = HERE) -> None:
    """Copy a case's notes into the vault; what the cases call a title is our name."""
    for source in (CASES / case / path).glob("*.md"):
        data = source.read_bytes().replace(b"\ntitle: ", b"\nname: ")
        machine.put(f"{folder}/{source.name}", data)


def found(vault: Vault, query: str) -> set[str]:
    return {item.name for item in retrieval.search(vault, Wanted(query, limit=100)).items}


def found_ids(vault: Vault, query: str) -> set[str]:
    return {item.id for item in retrieval.search(vault, Wanted(query, limit=100)).items}


def test_bad_notes_among_good_ones_hold_nothing_back(vault: Vault, machine: Machine) -> None:
    """Case 04: one file must never hold back others, nor be retried for ever."""
    place(machine, "04-poison-among-good", "good")
    place(machine, "04-poison-among-good", "bad")
    machine.put(f"{HERE}/big.md", b"x" * (50 * 1024 * 1024))
    machine.put(f"{HERE}/zero.md", b"---\nname: zero\n---\nsome\x00thing\n")
    machine.put(f"{HERE}/latin.md", (CASES / "49-fail-open/latin.md").read_bytes())
    machine.put(f"{HERE}/dup.md", "---\nname: a\nname: b\n---\nBody.\n")
    machine.put(f"{HERE}/anchor.md", "---\na: &x 1\nb: *x\n---\nAnchored body.\n")
    machine.put(f"{HERE}/date.md", "---\nname: date\ncreated: 2026-02-30\n---\nDated body.\n")
    folder = machine.root / HERE
    os.mkfifo(folder / "pipe.md")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling.md").symlink_to("nowhere")
    (folder / "dir.md").mkdir()
    before = machine.files()
    first = sync.reconcile(vault)

    assert {f"mem-04{number}" for number in range(5)} <= found_ids(vault, "healthy body")
    for number in range(5):
        good = memories.read(vault, f"Good {number}", max_chars=99)
        assert good.part.text == f"Healthy body {number}."
    for word, name in (
        ("Path", "path"),
        ("horizontal", "rule"),
        ("Star", "star"),
        ("List", "list"),
    ):
        assert name in found(vault, f"{word} note")
    assert "latin" in found(vault, "caf")
    assert "anchor" in found(vault, "anchored")
    assert "date" in found(vault, "dated")
    assert "empty" in {item.name for item in retrieval.catalog(vault, limit=100).items}

    assert first.skipped >= 4
    health = status.status(vault).health
    assert (health.state, health.problems >= 9) == ("degraded", True)
    assert sync.reconcile(vault, deep=True).skipped <= first.skipped
    assert machine.files() == before
    assert events(vault) == []


@pytest.mark.parametrize("name", ["path", "star", "list", "zero", "latin"])
def test_a_bad_note_is_readable_raw_and_refused_for_change(
    vault: Vault, machine: Machine, name: str
) -> None:
    """Case 49: reading nothing and writing it back wiped a memory file elsewhere."""
    place(machine, "04-poison-among-good", "bad")
    machine.put(f"{HERE}/zero.md", b"---\nname: zero\n---\nsome\x00thing\n")
    machine.put(f"{HERE}/latin.md", (CASES / "49-fail-open/latin.md").read_bytes())
    look(vault)
    before = machine.files()
    reading = memories.read(vault, name, max_chars=9999)
    content = reading.document.content
    assert isinstance(content, Damaged)
    assert reading.token is None
    assert reading.document.findings
    forged = WriteProof(
        vault.tokens.issue(content.id, reading.document.checksum), reading.document.checksum
    )
    with pytest.raises(KeepMError) as caught:
        memories.update(vault, AGENT, name, edit(body="x"), forged)
    assert caught.value.code == "malformed_document"
    with pytest.raises(KeepMError) as caught:
        memories.delete(vault, AGENT, name, forged)
    assert caught.value.code == "malformed_document"
    assert machine.files() == before


def test_a_file_that_became_a_folder_is_gone_and_harmless(vault: Vault, machine: Machine) -> None:
    """Case 49, its last fault."""
    made = memories.create(vault, AGENT, claim())
    token = WriteProof(made.token, made.document.checksum)
    place = machine.root / made.document.path
    place.unlink()
    place.mkdir()
    with pytest.raises(KeepMError):
        memories.update(vault, AGENT, "build-command", edit(body="x"), token)
    assert list(place.iterdir()) == []
    look(vault)
    assert found(vault, "text") == set()


class Unreadable(OSDisk):
    """A disk on which notes can't be read."""

    def __init__(self, error: int) -> None:
        self.error = error

    def read(self, path: Path, *, limit: int) -> tuple[bytes, os.stat_result]:
        if path.suffix == ".md":
            raise OSError(self.error, os.strerror(self.error), str(path))
        return super().read(path, limit=limit)


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES], ids=["EIO", "EACCES"])
def test_what_cannot_be_read_is_neither_changed_nor_approved(
    vault: Vault, machine: Machine, error: int
) -> None:
    """Case 49: a read that fails during an approval writes nothing."""
    note = memories.create(vault, AGENT, claim())
    made = inbox.propose(vault, AGENT, Suggestion(claim("idea"), reason="seen"))
    before, seen = machine.files(), len(events(vault))
    broken = replace(vault, root=replace(vault.root, disk=Unreadable(error)))
    token = WriteProof(made.token, made.document.checksum)
    with pytest.raises(StorageFailed):
        memories.read(broken, "build-command", max_chars=9)
    with pytest.raises(StorageFailed):
        promotion.promote(broken, AGENT, "idea", token)
    with pytest.raises(StorageFailed):
        inbox.reject(broken, AGENT, "idea", token)
    with pytest.raises(StorageFailed):
        memories.update(broken, AGENT, "build-command", edit(body="x"), written_proof(note))
    assert machine.files() == before
    assert len(events(vault)) == seen
    promotion.promote(vault, AGENT, "idea", token)  # and no token was spent


def test_derived_fields_follow_a_changed_file(vault: Vault, machine: Machine) -> None:
    """Case 17: a date that came later was never taken up."""
    case = CASES / "17-late-date"
    path = machine.put(f"{HERE}/foo.md", (case / "before.md").read_bytes())
    look(vault)
    path.write_bytes((case / "after.md").read_bytes())
    look(vault)
    content = memories.read(vault, "foo", max_chars=9).document.content
    assert not isinstance(content, Damaged)
    assert content.created.startswith("2020-01-01")
    assert_rebuilds_alike(vault, machine)


def test_only_the_valid_note_is_the_answer(vault: Vault, machine: Machine) -> None:
    """Case 70: a proposal with `supersedes` has no effect; a superseded note is read by id."""
    place(machine, "70-supersede")
    old = f"{HERE}/old.md"
    text = machine.files()[old].decode().replace("status: active", "status: superseded")
    machine.put(old, text)
    look(vault)
    assert found_ids(vault, "API port 9443 8080") == {"mem-7002"}
    assert memories.read(vault, "mem-7001", max_chars=99).part.text == "The API port is 8080."
    suggestion = Suggestion(
        claim("API port", body="The API port is 1."),
        reason="seen",
        target_identifier="mem-7002",
        target_action=TargetAction.SUPERSEDE,
    )
    inbox.propose(vault, AGENT, suggestion)
    assert found_ids(vault, "API port 9443 8080") == {"mem-7002"}


def test_every_query_of_the_table_is_answered(vault: Vault, machine: Machine) -> None:
    """Case 40, faults 37 and 48: operators, quotes and blanks raised inside SQLite."""
    place(machine, "40-query-table", "notes")
    look(vault)
    for query in json.loads((CASES / "40-query-table/queries.json").read_text("utf-8")):
        answer = retrieval.search(vault, Wanted(query))
        if not answer.items:
            assert answer.reason in {"no_match", "no_usable_words"}, query
        told = context.context(vault, query=query)
        assert told.reason in {None, "no_match", "no_usable_words"}
    for query in (
        "pre-edit",
        "gpt-4o",
        "src/main.py",
        "C++",
        "rm -rf",
        "GB/s",
        "CLAUDE.md",
        "it's",
        "session-rec",
        "database migration",
        "50%",
        "e=mc2",
        "@team #tag",
    ):
        assert found_ids(vault, query) == {"mem-4001"}, query
    for query in ("", "   ", "\x00", "*"):
        assert retrieval.search(vault, Wanted(query)).reason == "no_usable_words", query


def test_words_of_every_script_are_found(vault: Vault, machine: Machine) -> None:
    """Case 41."""
    place(machine, "41-cjk")
    look(vault)
    for query, ids in json.loads((CASES / "41-cjk/queries.json").read_text("utf-8")).items():
        assert found_ids(vault, query) == set(ids), query
    assert retrieval.search(vault, Wanted("zebra")).searched == 5


# ---- the index is disposable ---------------------------------------------------------------------


def said(vault: Vault) -> list[Any]:
    """Return what recall answers, without what depends on the moment."""
    return [
        answers.plain(each)
        for each in (
            *(
                retrieval.search(vault, Wanted(query, explain=True, limit=100))
                for query in ("text", "build command", "部署", "ghost", "deleted")
            ),
            retrieval.catalog(vault, limit=100, max_chars=100_000),
            context.context(vault, max_chars=100_000),
            context.context(vault, query="text build", max_chars=100_000),
            retrieval.links(vault, "build-command"),
            waiting.summary(vault),
            status.status(vault).health,
            memories.read(vault, "build-command", max_chars=9).approved_via,
        )
    ]


def assert_rebuilds_alike(vault: Vault, machine: Machine) -> None:
    """Throw the index away; a new server must say the same."""
    query = Wanted("test", explain=True)
    before = answers.plain(retrieval.search(vault, query))
    vault.close()
    for path in machine.index_files():
        path.unlink()
    again = machine.open(machine.folder / "work/widgets")
    look(again)
    assert answers.plain(retrieval.search(again, query)) == before
    again.close()


def test_a_rebuilt_index_gives_the_same_answers(
    vault: Vault, machine: Machine, opened: Opening
) -> None:
    """Invariant 1: the index can be deleted at any moment."""
    memories.create(vault, AGENT, claim(pinned=True, aliases=("make",)))
    memories.create(vault, AGENT, claim("部署方案", body="See [[make]] and [[ghost]]. 部署 text"))
    gone = memories.create(vault, AGENT, claim("deleted"))
    memories.delete(vault, AGENT, "deleted", WriteProof(gone.token, gone.document.checksum))
    memories.update(vault, AGENT, "部署方案", edit(name="rollout plan"), proof(vault, "部署方案"))
    inbox.propose(vault, AGENT, Suggestion(claim("idea"), reason="seen"))
    machine.put(f"{HERE}/by-hand.md", "---\nname: by hand\n---\nSome text by hand.\n")
    machine.put(f"{HERE}/broken.md", "---\nname: [\n---\nbroken text\n")
    look(vault)
    shutil.move(machine.root / HERE / "by-hand.md", machine.root / HERE / "moved.md")
    look(vault)
    before = said(vault)
    vault.close()
    for path in machine.index_files():
        path.unlink()

    again = opened(machine.folder / "work/widgets")
    look(again)
    assert said(again) == before


def test_a_vault_out_of_sight_is_not_taken_for_deleted(vault: Vault, machine: Machine) -> None:
    """Fault 5: an unmounted folder was taken for a deletion of everything, and written anew."""
    memories.create(vault, AGENT, claim())
    away = machine.folder / "unmounted"
    (machine.root / "Memory").rename(away)
    with pytest.raises(RootUnavailable):
        sync.reconcile(vault)
    assert found(vault, "text") == {"build-command"}
    assert status.status(vault).index_state == "root_unavailable"
    with pytest.raises(RootUnavailable):
        memories.create(vault, AGENT, claim("another"))
    assert not (machine.root / "Memory").exists()
    away.rename(machine.root / "Memory")
    look(vault)
    assert memories.read(vault, "build-command", max_chars=99).part.complete
    with pytest.raises(NotFound):
        memories.read(vault, "another", max_chars=9)


def test_reading_goes_on_when_the_index_has_no_space_to_grow(
    vault: Vault, machine: Machine
) -> None:
    """A full disk of the data folder: what the index knows is answered, and how fresh it is."""
    memories.create(vault, AGENT, claim("before", body="a lighthouse"))
    with vault.database.reading() as connection:
        connection.execute("PRAGMA max_page_count = 1")  # SQLite takes the size it has now
    words = " ".join(f"word{number}" for number in range(20_000))
    machine.put("Memory/projects/widgets/after.md", f"---\nname: after\n---\n{words}\n")
    vault.progress.ended = None

    answer = retrieval.search(vault, Wanted("lighthouse"))
    assert [item.name for item in answer.items] == ["before"]
    assert answer.index_state == "catching_up"
    assert memories.read(vault, "before", max_chars=100).part.text == "a lighthouse"
    told = status.status(vault)
    assert (told.index_state, told.health) == ("catching_up", status.Health("degraded", 0))
    assert "the disk is full" in (told.index_trouble or "")

    with vault.database.reading() as connection:
        connection.execute("PRAGMA max_page_count = 1073741823")
    vault.progress.ended = None
    assert retrieval.search(vault, Wanted("word19999")).total == 1
    assert status.status(vault).index_trouble is None


def test_answers_of_an_index_that_is_behind_say_by_how_many_files(
    vault: Vault, machine: Machine
) -> None:
    memories.create(vault, AGENT, claim("before", body="a lighthouse"))
    with vault.database.reading() as connection:
        connection.execute("PRAGMA max_page_count = 1")
    for number in range(450):
        machine.put(f"Memory/global/n{number}.md", f"---\nname: n{number}\n---\nlighthouse\n")
    vault.progress.ended = None

    told = {
        (each.index_state, (each.files_left or 0) >= 200)
        for each in (
            retrieval.search(vault, Wanted("lighthouse")),
            retrieval.catalog(vault),
            retrieval.links(vault, "before"),
        )
    }
    brief, state = context.context(vault), status.status(vault)
    told.add((brief.index_state, (brief.files_left or 0) >= 200))
    told.add((state.index_state, (state.files_left or 0) >= 200))
    assert told == {("catching_up", True)}

    with vault.database.reading() as connection:
        connection.execute("PRAGMA max_page_count = 1073741823")
    vault.progress.ended = None
    answer = retrieval.search(vault, Wanted("lighthouse"))
    assert (answer.total, answer.index_state, answer.files_left) == (451, "current", None)


class Held:
    """In place of the lock of passes: whoever looks at the files stays at it until `opened`."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def locked(self) -> bool:
        return False

    def __enter__(self) -> None:
        self.opened.wait(10)

    def __exit__(self, *_: object) -> None:
        pass


def test_answers_wait_for_no_look_that_is_only_due_again(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 100,000 notes a look takes a second, and one call in ten waited for it."""
    progress, waited = vault.progress, []
    monkeypatch.setattr(sync, "_FRESH_SECONDS", 0.0)
    monkeypatch.setattr(sync, "_wait", lambda vault: waited.append("a moment"))
    retrieval.search(vault, Wanted("word"))
    progress.took = 2.0  # so that the next one runs beside

    for awaited, begin in (
        ([], lambda: retrieval.search(vault, Wanted("word"))),
        (["a moment"], lambda: sync.look_soon(vault)),  # something did change
    ):
        held = Held()
        monkeypatch.setattr(progress, "passing", held)
        begin()
        retrieval.search(vault, Wanted("word"))
        assert waited == awaited
        held.opened.set()
        assert progress.worker is not None
        progress.worker.join()


def test_an_answer_beside_a_look_is_the_same_until_the_look_finds_something(
    vault: Vault, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a large vault a look is on half of the time, and nearly all find nothing."""
    progress = vault.progress
    memories.create(vault, AGENT, claim("before", body="a lighthouse"))
    monkeypatch.setattr(sync, "_FRESH_SECONDS", 0.0)
    before = context.context(vault)
    progress.took = 2.0  # so that the next one runs beside

    walk, walking, go_on = reader.stretches, threading.Event(), threading.Event()

    def held_walk(*given: Any, **options: Any) -> Any:
        walking.set()
        go_on.wait(10)
        return walk(*given, **options)

    monkeypatch.setattr(reader, "stretches", held_walk)
    retrieval.search(vault, Wanted("word"))
    walking.wait(10)
    assert context.context(vault) == before
    go_on.set()
    assert progress.worker is not None
    progress.worker.join()

    take, reading, read_on = intake.batches, threading.Event(), threading.Event()

    def held_batches(*given: Any, **options: Any) -> Any:
        reading.set()
        read_on.wait(10)
        return take(*given, **options)

    monkeypatch.setattr(intake, "batches", held_batches)
    machine.put("Memory/projects/widgets/after.md", "A lighthouse, by hand.\n")
    progress.took = 2.0
    retrieval.search(vault, Wanted("word"))
    reading.wait(10)
    assert context.context(vault).index_state == "catching_up"
    read_on.set()
    progress.worker.join()
    assert retrieval.search(vault, Wanted("lighthouse")).total == 2


def test_an_answer_says_that_a_ledger_has_news_and_the_next_one_that_it_has_none(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who wrote takes it up as well, often before a look beside the answer has."""
    memories.create(vault, AGENT, claim("before", body="a lighthouse"))
    retrieval.search(vault, Wanted("word"))
    vault.progress.took = 2.0  # so that the next look runs beside
    held = Held()
    monkeypatch.setattr(vault.progress, "passing", held)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(news, "waiting", lambda vault: True)
        assert retrieval.search(vault, Wanted("word")).index_state == "catching_up"
    assert retrieval.search(vault, Wanted("word")).index_state == "current"
    held.opened.set()
    assert vault.progress.worker is not None
    vault.progress.worker.join()


def test_an_index_that_somebody_renewed_since_the_last_look_is_not_called_current(
    vault: Vault, machine: Machine
) -> None:
    """Another process does that: here the last look is young, and its result was good."""
    machine.put("Memory/global/note.md", "---\nname: note\n---\n\nlighthouse\n")
    look(vault)
    assert retrieval.search(vault, Wanted("lighthouse")).index_state == "current"
    with closing(Database.open(vault.database.path, vault_id=vault.database.vault_id)) as other:
        other.renew(discard=True)

    with vault.progress.passing:  # whatever else is on
        answer = retrieval.search(vault, Wanted("lighthouse"))
    assert (answer.total, answer.index_state) == (0, "rebuilding")

    look(vault)
    assert retrieval.search(vault, Wanted("lighthouse")).index_state == "current"
