from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from keepm.errors import IndexUnavailable
from keepm.index.database import Database, open_read_only
from keepm.index.schema import VERSION
from keepm.index.search import Query, search
from keepm.index.writing import Batch, apply, files, rebuild
from keepm.model.memory import Visibility
from tests.index.building import note

CASES = Path(__file__).parent.parent / "cases"
NOTES = tuple(note(f"note {n}", "word " * 30 + f"n{n}") for n in range(60))


def opened(path: Path, *, vault_id: str = "vault", journal_mode: str = "wal") -> Database:
    return Database.open(path, vault_id=vault_id, journal_mode=journal_mode, busy_seconds=0.2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with notes in it, closed."""
    at = tmp_path / "data" / "index.sqlite3"
    db = opened(at)
    apply(db, Batch(NOTES))
    db.close()
    return at


def total(db: Database) -> int:
    return search(db, Query("word", Visibility())).total


def asides(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir() if ".damaged-" in p.name)


# ---- damage (case 37) ------------------------------------------------------------------------


def overwrite(path: Path) -> None:
    """Every page but the first, so that the damage lies in the way of any query."""
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 100)


def truncate(path: Path) -> None:
    os.truncate(path, 1000)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def make_text(path: Path) -> None:
    path.write_text("Not a database at all.\n" * 100, "utf-8")


def drop_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE links")


def drop_shadow_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'terms_docsize'")
        connection.commit()


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_link_to_nowhere(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "unmounted" / "index.sqlite3")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "overwrite 100 bytes at page 3": overwrite,
    "truncate to 1000 bytes": truncate,
    "zero-length file": empty,
    "replace by a text file": make_text,
    "drop table in a copy": drop_table,
}
ELSEWHERE = {  # the tests below, by name
    "delete -wal only": "test_a_log_deleted_after_a_crash_leaves_a_usable_index",
    "read-only index folder": "test_a_folder_that_cannot_be_made_is_an_error_that_says_so",
    "disk full during rebuild": "test_a_full_disk_undoes_the_batch_and_says_so",
    "newer schema version": "test_a_newer_index_is_refused_and_left_alone",
    "database belongs to another root": "test_another_vault_s_index_is_set_aside",
}


def test_every_fault_of_the_case_is_tried_here() -> None:
    listed = json.loads((CASES / "37-index-damage/faults.json").read_text("utf-8"))
    assert set(listed) == set(DAMAGE) | set(ELSEWHERE)
    assert all(callable(globals()[name]) for name in ELSEWHERE.values())


NO_FILE = [make_folder, make_link_to_nowhere]


@pytest.mark.parametrize(
    "damage", [*DAMAGE.values(), drop_shadow_table, *NO_FILE], ids=lambda f: f.__name__
)
def test_damage_is_met_at_opening_or_first_use_and_the_file_set_aside(
    path: Path, damage: Callable[[Path], None]
) -> None:
    damage(path)
    db = opened(path)
    if not db.fresh:
        with pytest.raises(IndexUnavailable) as caught:
            db.check()
        assert caught.value.details["damaged"] is True
        db.renew()
    assert db.fresh
    assert asides(path) == ["index.sqlite3.damaged-1"]
    rebuild(db, [Batch(NOTES)])
    assert total(db) == len(NOTES)
    db.check()
    db.close()


def test_damage_met_by_a_search_is_named(path: Path) -> None:
    db = opened(path)
    overwrite(path)
    with pytest.raises(IndexUnavailable) as caught:
        total(db)
    assert caught.value.details["damaged"] is True
    db.close()


def test_the_last_two_damaged_files_are_kept(path: Path) -> None:
    for _ in range(4):
        make_text(path)
        opened(path).close()
    assert asides(path) == ["index.sqlite3.damaged-3", "index.sqlite3.damaged-4"]


def test_a_log_deleted_after_a_crash_leaves_a_usable_index(path: Path, tmp_path: Path) -> None:
    db = opened(path)
    apply(db, Batch((note("late", "word"),)))
    copied = tmp_path / "crashed.sqlite3"
    copied.write_bytes(path.read_bytes())  # as a crash leaves it, without its log
    db.close()
    after = opened(copied)
    assert not after.fresh
    assert total(after) == len(NOTES) == len(files(after))
    after.check()
    after.close()


def test_a_newer_index_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(IndexUnavailable):
        opened(path)
    assert path.read_bytes() == before
    assert open_read_only(path, "vault") is None


def test_an_older_index_makes_room(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION - 1}")
    db = opened(path)
    assert db.fresh
    assert total(db) == 0
    assert asides(path) == []
    db.close()


def test_another_vault_s_index_is_set_aside(path: Path) -> None:
    db = opened(path, vault_id="another")
    assert db.fresh
    assert total(db) == 0
    assert asides(path) == ["index.sqlite3.damaged-1"]
    db.close()


def test_a_folder_that_cannot_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(IndexUnavailable):
        opened(tmp_path / "file" / "index.sqlite3")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions bind no root user")
def test_a_read_only_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(IndexUnavailable):
        opened(tmp_path / "index.sqlite3")
    tmp_path.chmod(0o700)


def test_a_full_disk_undoes_the_batch_and_says_so(path: Path) -> None:
    db = opened(path)
    with db.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    large = tuple(note(f"large {n}", f"unlike{n} " * 900) for n in range(60))
    with pytest.raises(IndexUnavailable) as caught:
        apply(db, Batch(large))
    assert "damaged" not in caught.value.details
    assert len(files(db)) == len(NOTES)
    assert total(db) == len(NOTES)
    db.close()


# ---- opening ---------------------------------------------------------------------------------


def test_a_new_index_is_fresh_private_and_alone_in_its_folder(tmp_path: Path) -> None:
    db = opened(tmp_path / "data" / "数据 index.sqlite3")
    assert db.fresh
    db.close()
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["数据 index.sqlite3"]
    if os.name != "nt":
        assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
        assert stat.S_IMODE(db.path.stat().st_mode) == 0o600


def test_a_fit_index_is_taken_as_it_is(path: Path) -> None:
    db = opened(path)
    assert not db.fresh
    assert total(db) == len(NOTES)
    db.close()


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_the_journal_mode_is_the_one_asked_for(path: Path, mode: str) -> None:
    db = opened(path, journal_mode=mode)
    with db.reading() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == (mode,)
    db.close()


def test_a_read_only_index_answers_and_refuses_to_write(path: Path) -> None:
    db = open_read_only(path, "vault")
    assert db is not None
    assert total(db) == len(NOTES)
    with pytest.raises(IndexUnavailable):
        apply(db, Batch())
    db.close()


def test_where_writing_is_apart_no_read_can_change_the_file(path: Path) -> None:
    db = Database.open(path, vault_id="vault", apart=True)
    with pytest.raises(IndexUnavailable, match="read-only"), db.asking() as connection:
        connection.execute("DELETE FROM meta")
    apply(db, Batch(meta={"written": "yes"}))
    assert db.get_meta("written") == "yes"
    db.renew()
    assert db.get_meta("written") is None
    db.close()


@pytest.mark.parametrize("vault_id", ["vault", "another"])
def test_where_no_fit_index_is_nothing_is_opened_and_nothing_made(
    tmp_path: Path, path: Path, vault_id: str
) -> None:
    absent = tmp_path / "absent.sqlite3"
    assert open_read_only(absent, vault_id) is None
    assert not absent.exists()
    assert (open_read_only(path, "another")) is None
    assert asides(path) == []


# ---- sharing ---------------------------------------------------------------------------------


def test_an_index_renewed_by_another_process_is_taken_over(path: Path) -> None:
    ours, theirs = opened(path), opened(path)
    assert total(ours) == len(NOTES)
    theirs.renew()
    apply(theirs, Batch(NOTES[:3]))
    assert total(ours) == 3
    theirs.renew()
    apply(theirs, Batch(NOTES[:4]))
    ours.renew()  # for damage met in the file before: nothing of theirs is thrown away
    assert not ours.fresh
    assert total(ours) == 4
    ours.close()
    theirs.close()


def test_an_index_deleted_in_use_is_built_again(path: Path) -> None:
    db = opened(path)
    path.unlink()
    with pytest.raises(IndexUnavailable) as caught:
        total(db)
    assert caught.value.details["damaged"] is True
    db.renew()
    rebuild(db, [Batch(NOTES)])
    assert total(db) == len(NOTES)
    db.close()


@pytest.mark.parametrize("replace", NO_FILE, ids=lambda f: f.__name__)
def test_an_index_that_gave_way_to_no_file_is_built_again(
    path: Path, replace: Callable[[Path], None]
) -> None:
    db = opened(path)
    for _ in range(4):  # more often than damaged files are kept
        replace(path)
        with pytest.raises(IndexUnavailable) as caught:
            total(db)
        assert caught.value.details["damaged"] is True
        db.renew()
        assert total(db) == 0
    db.close()


def test_a_writer_waits_for_another_and_gives_up_in_time(path: Path) -> None:
    first, second = opened(path), opened(path)
    with first.writing(), pytest.raises(IndexUnavailable) as caught:
        apply(second, Batch(NOTES[:1]))
    assert "damaged" not in caught.value.details
    apply(second, Batch(NOTES[:1]))
    first.close()
    second.close()


def test_an_answer_waits_for_no_writer_however_patient_the_index_is(path: Path) -> None:
    first, second = opened(path), Database.open(path, vault_id="vault", busy_seconds=3600)
    with first.writing(), second.hurried(), pytest.raises(IndexUnavailable) as caught:
        apply(second, Batch(NOTES[:1]))
    assert caught.value.details == {"busy": True}
    apply(second, Batch(NOTES[:1]))
    first.close()
    second.close()


def test_an_answer_waits_for_no_other_thread_that_writes(path: Path) -> None:
    db = opened(path)
    caught: list[IndexUnavailable] = []

    def answer() -> None:
        with db.hurried():
            try:
                apply(db, Batch(NOTES[:1]))
            except IndexUnavailable as error:
                caught.append(error)

    with db.writing():
        thread = threading.Thread(target=answer)
        thread.start()
        thread.join(timeout=60)
    assert [error.details for error in caught] == [{"busy": True}]
    db.close()


def test_threads_read_and_write_at_once(path: Path) -> None:
    db = Database.open(path, vault_id="vault")
    seen: list[int] = []

    def read() -> None:
        seen.extend(total(db) for _ in range(20))

    def write(part: int) -> None:
        for n in range(10):
            apply(db, Batch((note(f"new {part} {n}", "word"),)))

    threads = [threading.Thread(target=read) for _ in range(3)]
    threads += [threading.Thread(target=write, args=(part,)) for part in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 60
    assert total(db) == len(NOTES) + 20
    db.close()


def test_reads_of_one_answer_see_one_state_until_they_move_on(path: Path) -> None:
    db, other = opened(path), opened(path)
    with db.steady():
        assert total(db) == 60
        apply(other, Batch((note("new", "word"),)))
        with db.steady(), db.reading() as connection:
            assert connection.execute("SELECT count(*) FROM notes").fetchone() == (60,)
        assert total(db) == 60
        db.move_on()
        assert total(db) == 61
        apply(other, Batch((note("newer", "word"),)))
        assert total(db) == 61
    assert total(db) == 62
    db.move_on()
    db.close()
    other.close()


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_an_answer_sees_what_it_writes_itself(tmp_path: Path, mode: str) -> None:
    """Without a log a reader keeps writers waiting: an answer mustn't wait for itself."""
    db = opened(tmp_path / "index.sqlite3", journal_mode=mode)
    apply(db, Batch(NOTES))
    with db.steady():
        assert total(db) == 60
        apply(db, Batch((note("new", "word"),)))
        assert total(db) == 61
    db.close()


def test_another_thread_s_answer_sees_its_own_state(path: Path) -> None:
    db = opened(path)
    seen: list[int] = []

    def write_and_look() -> None:
        apply(db, Batch((note("new", "word"),)))
        seen.append(total(db))

    with db.steady():
        assert total(db) == 60
        thread = threading.Thread(target=write_and_look)
        thread.start()
        thread.join()
        assert (total(db), seen) == (60, [61])
    assert total(db) == 61
    db.close()


def test_an_error_within_an_answer_leaves_the_index_usable(path: Path) -> None:
    db = opened(path)
    with pytest.raises(IndexUnavailable), db.steady(), db.reading() as connection:
        connection.execute("SELECT * FROM nowhere_at_all")
    assert total(db) == 60
    db.close()


def test_a_closed_index_says_so(path: Path) -> None:
    db = opened(path)
    db.close()
    with pytest.raises(IndexUnavailable):
        total(db)
