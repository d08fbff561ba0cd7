"""Where vault and index lie: read-only, networked, synced, or nowhere good."""

from __future__ import annotations

import dataclasses
import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from keepm.errors import ConfigurationError, StorageFailed
from keepm.operations import memories, placement, recording, retrieval, status, sync
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault, open_vault
from keepm.store import mounts
from keepm.store.disk import OSDisk
from tests.operations.support import AGENT, Machine, Opening, claim, events, look, proof

HERE = "Memory/projects/widgets"


def note(name: str) -> str:
    return f"---\nid: id-{name}\nname: {name}\n---\nThe text of {name}.\n"


# ---- what can't be written -----------------------------------------------------------------------


class ReadOnly(OSDisk):
    """A disk that refuses every change, as one mounted read-only does."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    make_folders = create = rename_over = rename_new = write_at = unlink = sync_folder = _refuse


def mounted_read_only(vault: Vault) -> Vault:
    """Return the vault on such a disk. The lock's file is opened past the seam, so it goes."""
    lock = vault.root.paths.records / "lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
    return dataclasses.replace(vault, root=dataclasses.replace(vault.root, disk=ReadOnly()))


def test_a_read_only_vault_is_read(vault: Vault, machine: Machine) -> None:
    memories.create(vault, AGENT, claim("first"))
    machine.put(f"{HERE}/second.md", note("second"))
    there = mounted_read_only(vault)
    known = len(events(vault))

    sync.recover(there)
    sync.reconcile(there, deep=True)
    recording.record(there)
    recording.keep_seen(there)
    assert retrieval.search(there, Wanted("text")).total == 2
    reading = memories.read(there, "first", max_chars=99)
    assert (reading.part.complete, reading.approved_via) == (True, "relayed")
    assert status.status(there).index_state == "current"
    with pytest.raises(StorageFailed):
        memories.delete(there, AGENT, "first", proof(there, "first"))
    assert len(events(vault)) == known


def test_status_says_that_the_vault_cannot_be_written(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status.status(vault).read_only is None
    allowed = os.access

    def refuses(path: Path, mode: int) -> bool:
        return path.name != "journal" and allowed(path, mode)

    monkeypatch.setattr(os, "access", refuses)  # permissions bind no root, who may run the tests
    assert status.status(vault).read_only == "Memory/.keepm/journal can't be written"


def test_a_data_folder_that_cannot_be_written_leaves_a_vault_to_read(
    machine: Machine, opened: Opening
) -> None:
    """It stopped every tool; now the index is this process's own, and only changes are refused."""
    machine.put(f"{HERE}/note.md", note("note"))
    (machine.folder / "data").write_text("no folder")
    vault = opened(machine.folder / "work/widgets")
    look(vault)
    assert retrieval.search(vault, Wanted("text")).total == 1
    assert memories.read(vault, "note", max_chars=99).part.complete
    told = status.status(vault)
    assert "temporary" in told.filesystem.index
    assert "data folder" in (told.read_only or "")
    for change in (
        lambda: memories.create(vault, AGENT, claim("another")),
        lambda: memories.delete(vault, AGENT, "note", proof(vault, "note")),
    ):
        with pytest.raises(ConfigurationError) as caught:
            change()
        assert "data folder" in caught.value.message
        assert str(machine.folder) not in caught.value.message
    assert events(vault) == []
    assert not recording.record(vault)

    temporary = vault.temporary
    assert temporary is not None
    assert temporary.is_dir()
    vault.close()
    assert not temporary.exists()


def test_hand_edits_wait_until_the_data_folder_can_be_written_again(
    machine: Machine, opened: Opening
) -> None:
    """An event under an id that no later process has would be nobody's."""
    vault = opened(machine.folder / "work/widgets")
    made = memories.create(vault, AGENT, claim("note"))
    vault.close()
    data = machine.folder / "data"
    data.rename(machine.folder / "aside")
    data.write_text("no folder")
    path = machine.root / made.document.path
    path.write_bytes(path.read_bytes() + b"By hand.\n")
    blind = opened(machine.folder / "work/widgets")
    look(blind)
    recording.record(blind)
    blind.close()
    data.unlink()
    (machine.folder / "aside").rename(data)

    again = opened(machine.folder / "work/widgets")
    assert len(events(again)) == 1
    look(again)
    recording.record(again)
    assert [event.operation for event in events(again)] == ["create", "external-edit"]


# ---- where an index may be -----------------------------------------------------------------------


def settled(machine: Machine, data: Path) -> Callable[[], Vault]:
    settings = dataclasses.replace(machine.settings(), data_dir=data)
    return lambda: open_vault(settings, clock=machine.clock)


@pytest.mark.parametrize("place", ["vault/Memory/data", "Dropbox/data", "OneDrive - X/data"])
def test_an_index_in_the_vault_or_in_a_synced_folder_is_refused(
    machine: Machine, vault: Vault, place: str
) -> None:
    """Case 29."""
    with pytest.raises(ConfigurationError) as caught:
        settled(machine, machine.folder / place)()
    assert "KEEPM_DATA_DIR" in caught.value.next_step
    assert not (machine.folder / place).exists()


def test_an_index_on_a_network_keeps_no_wal_and_says_so(
    machine: Machine, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 29: WAL needs memory that the processes of one machine share."""
    table = machine.folder / "mountinfo"
    table.write_text(
        f"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:1 / {machine.folder}/net rw - nfs4 s:/x rw\n"
    )
    monkeypatch.setattr(mounts, "_MOUNTINFO", table)
    there = settled(machine, machine.folder / "net/data")()
    look(there)
    told = status.status(there).filesystem
    assert (told.index, told.journal_mode) == ("nfs4 (network)", "delete")
    assert told.warnings
    with closing(sqlite3.connect(there.database.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    there.close()


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_the_journal_mode_is_the_settings(machine: Machine, opened: Opening, mode: str) -> None:
    machine.configure({"sqlite_journal_mode": mode})
    vault = opened(machine.folder / "work/widgets")
    look(vault)
    assert status.status(vault).filesystem.journal_mode == mode
    with closing(sqlite3.connect(vault.database.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == (mode,)


def test_a_vault_in_a_synced_folder_is_warned_of(machine: Machine) -> None:
    (machine.folder / ".stfolder").mkdir()
    where = placement.look(
        dataclasses.replace(machine.settings(), data_dir=machine.folder.parent / "elsewhere")
    )
    assert where.vault.synced_by == "Syncthing"
    (warning,) = where.warnings
    assert "one of them write at a time" in warning
