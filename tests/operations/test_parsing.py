"""Many documents are parsed in a process of their own, and parsed all the same without it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keepm.index.writing import FileRow
from keepm.model.checksum import Checksum
from keepm.operations import entering, intake, parsing, sync
from keepm.operations.entering import Source
from keepm.operations.parsing import Parser
from keepm.operations.vault import Vault
from tests.index.test_writing import contents
from tests.operations.support import Machine

posix = pytest.mark.skipif(os.name == "nt", reason="a script as a program, and waiting for any")


def source(path: str, text: str) -> Source:
    data = text.encode("utf-8", "surrogatepass")
    return Source(data, FileRow(path, len(data), 1, Checksum.of(data).hex, 2))


PORTIONS = [
    [
        source(f"Memory/global/first-{n}.md", f"---\nname: first-{n}\n---\n\n{n} 部署文档\n")
        for n in (1, 2)
    ],
    [
        source(
            "Memory/projects/widgets/sound.md", "---\nname: sound\ntags: [a]\n---\n\n[[first-1]]\n"
        ),
        source("Memory/projects/widgets/broken.md", "---\nname: [\n---\n\nwords\n"),
        source("Memory/projects/widgets/odd.md", '---\nname: "odd \\ud800"\n---\n\nHalf a pair.\n'),
    ],
    [],
    [source("Memory/Inbox/pending/global/idea.md", "---\nid: i\nname: idea\n---\n\nAn idea.\n")],
    [source("Memory/.handoffs/pending/projects/widgets/h.md", "---\nid: h\n---\n\nHalf.\n")],
]


class Started:
    """Which processes were started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all: list[subprocess.Popen[bytes]] = []
        real = subprocess.Popen

        def start(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
            self.all.append(real(*given, **options))
            return self.all[-1]

        monkeypatch.setattr(subprocess, "Popen", start)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    return Started(monkeypatch)


def parsed(portions: Sequence[Sequence[Source]], *, apart: bool) -> list[object]:
    found: list[object] = []
    with Parser(apart=apart) as parser:
        for portion in portions:
            parser.give(portion)
            if parser.is_full:
                found.append(parser.take())
        while len(found) < len(portions):
            found.append(parser.take())
    return found


def wait(parser: Parser) -> None:
    """Let the other process parse all that was given."""
    for portion in (portion for group in parser._groups for portion in group):
        assert portion.settled.wait(30)


HERE = [entering.parse(portion) for portion in PORTIONS]


def test_a_process_of_its_own_gives_back_the_same_in_the_same_order(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "_PORTION", 2)
    with Parser(apart=True) as parser:
        for portion in PORTIONS:
            parser.give(portion)
        wait(parser)
        with monkeypatch.context() as context:
            context.setattr(parsing, "parse", None)  # nothing is left to do here
            assert [parser.take() for _ in PORTIONS] == HERE
    (process,) = started.all
    assert process.returncode is not None
    assert not any(pipe and not pipe.closed for pipe in (process.stdin, process.stdout))


def test_until_it_has_begun_nobody_waits_for_it(started: Started) -> None:
    with Parser(apart=True) as parser:
        os.kill(started.all[0].pid, signal.SIGSTOP)
        parser.give(PORTIONS[0])
        assert parser.take() == HERE[0]
    assert started.all[0].returncode is not None


def test_a_group_is_parsed_from_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_PORTION", 1)
    real = entering.parse
    here: list[str] = []

    def slow(sources: Sequence[Source]) -> Any:
        here.extend(each.file.path for each in sources)
        time.sleep(0.05)
        return real(sources)

    group = [source(f"Memory/global/note-{n}.md", f"Word {n}.\n") for n in range(20)]
    with Parser(apart=True) as parser:
        parser.give(group[:1])
        wait(parser)
        parser.give(group)
        monkeypatch.setattr(parsing, "parse", slow)
        assert [parser.take(), parser.take()] == [real(group[:1]), real(group)]
    assert group[-1].file.path in here
    assert group[0].file.path not in here


def test_without_need_there_is_none(started: Started) -> None:
    assert parsed(PORTIONS, apart=False) == HERE
    assert not started.all


def test_large_portions_wait_for_nobody_s_pipe(started: Started) -> None:
    text = "---\nname: long\n---\n\n" + "Many words. " * 8_000
    portions = [[source(f"Memory/global/{n}-{m}.md", text) for m in range(3)] for n in range(5)]
    assert parsed(portions, apart=True) == [entering.parse(portion) for portion in portions]
    assert len(started.all) == 1


BEGUN = r"printf '\0\0\0\0\0\0\0\0'"


@posix
@pytest.mark.parametrize(
    "program",
    [
        pytest.param("exit 0", id="ends at once"),
        pytest.param("exec cat", id="gives back what it gets"),
        pytest.param("head -c 9 >/dev/null; printf '\\200\\005X'", id="ends in the middle"),
        pytest.param("echo Traceback", id="says something else"),
        pytest.param(f"{BEGUN}; exit 0", id="ends when it has begun"),
        pytest.param(f"{BEGUN}; exec cat", id="has begun and gives back what it gets"),
        pytest.param(f"{BEGUN}; head -c 9 >/dev/null; {BEGUN}", id="answers with nothing"),
        pytest.param(
            f"{BEGUN}; head -c 9 >/dev/null; printf '\\0\\0\\0\\0\\0\\0\\0\\7\\200\\005X'",
            id="answers by half",
        ),
    ],
)
def test_where_the_process_fails_documents_are_parsed_here(
    program: str, tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    assert parsed(PORTIONS, apart=True) == HERE
    assert [process.returncode is not None for process in started.all] == [True]


@pytest.mark.parametrize("program", ["", "/nowhere/python"])
def test_where_none_can_be_started_documents_are_parsed_here(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert parsed(PORTIONS, apart=True) == HERE


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a pipe's size can't be chosen")
def test_where_no_larger_pipe_is_granted_the_process_begins_all_the_same(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fs.pipe-max-size` may be smaller, or this user may have too many pipes."""

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr("fcntl.fcntl", refused)
    with Parser(apart=True) as parser:
        parser.give(PORTIONS[0])
        wait(parser)
        assert parser.take() == HERE[0]
    assert len(started.all) == 1


def test_where_no_thread_can_be_had_no_process_is_left_behind(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert parsed(PORTIONS, apart=True) == HERE
    assert [process.returncode is not None for process in started.all] == [True]


def test_where_it_is_killed_on_the_way_the_rest_is_parsed_here(started: Started) -> None:
    found: list[object] = []
    with Parser(apart=True) as parser:
        for portion in PORTIONS[:3]:
            parser.give(portion)
        wait(parser)
        found += [parser.take(), parser.take()]
        started.all[0].kill()
        started.all[0].wait()
        for portion in PORTIONS[3:]:
            parser.give(portion)
        found += [parser.take() for _ in PORTIONS[2:]]
    assert found == HERE


@posix
@pytest.mark.parametrize("claims", [0, 1])
def test_where_it_takes_nothing_and_gives_nothing_documents_are_parsed_here(
    claims: int, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "---\nname: long\n---\n\n" + "Many words. " * 8_000  # more than a pipe takes
    portions = [[source(f"Memory/global/{n}-{m}.md", text) for m in range(9)] for n in range(3)]
    monkeypatch.setattr(parsing, "_PATIENCE_SECONDS", 0.1)
    with Parser(apart=True) as parser:
        for portion in PORTIONS[:claims]:
            parser.give(portion)
        wait(parser)
        started.all[0].send_signal(signal.SIGSTOP)
        for portion in portions:
            parser.give(portion)
        time.sleep(0.1 * claims)  # until the first of them is on its way
        found = [parser.take() for _ in (*PORTIONS[:claims], *portions)]
    assert found == [*HERE[:claims], *map(entering.parse, portions)]
    assert started.all[0].returncode is not None


@posix
def test_leaving_midway_leaves_no_process_behind(started: Started) -> None:
    with pytest.raises(KeyboardInterrupt), Parser(apart=True) as parser:
        for portion in PORTIONS:
            parser.give(portion)
        raise KeyboardInterrupt
    assert started.all[0].returncode is not None


def notes(machine: Machine, count: int) -> None:
    for n in range(count):
        machine.put(f"Memory/global/note-{n}.md", f"---\nname: note-{n}\n---\n\nWord {n}.\n")
    machine.put("Memory/global/note-1 (1).md", "---\nid: x\nname: other\n---\n\nA note.\n")
    machine.put("Memory/global/broken.md", "---\nname: [\n---\n\nwords\n")
    machine.put("Memory/Inbox/pending/global/idea.md", "---\nid: i\nname: idea\n---\n\nIdea.\n")


def test_a_large_vault_fills_its_index_with_the_same(
    vault: Vault, machine: Machine, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_FEW", 0)
    monkeypatch.setattr(intake, "_FIRST_BATCH", 4)
    monkeypatch.setattr(intake, "_BATCH", 16)
    notes(machine, 60)
    assert sync.reconcile(vault).read == 63
    here = contents(vault.database)
    times = ("meta", "files")
    assert not started.all
    monkeypatch.setattr(parsing, "pays_apart", lambda documents: documents >= 50)
    sync.rebuild(vault)
    assert started.all
    there = contents(vault.database)
    for table in here:
        assert table in times or there[table] == here[table], table


@pytest.mark.parametrize(("processors", "documents", "pays"), [(2, 50, 1), (2, 49, 0), (1, 50, 0)])
def test_few_documents_or_one_processor_need_no_second_process(
    processors: int, documents: int, pays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "LEAST_APART", 50)
    monkeypatch.setattr(parsing, "_processors", lambda: processors)
    assert parsing.pays_apart(documents) == bool(pays)


def test_a_filling_that_is_stopped_ends_its_process(
    vault: Vault, machine: Machine, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "_FEW", 0)
    monkeypatch.setattr(intake, "_FIRST_BATCH", 4)
    monkeypatch.setattr(intake, "_BATCH", 16)
    monkeypatch.setattr(parsing, "pays_apart", lambda documents: documents >= 50)
    notes(machine, 60)
    take = Parser.take

    def stopping(parser: Parser) -> Any:
        vault.progress.stopping.set()
        return take(parser)

    monkeypatch.setattr(Parser, "take", stopping)
    assert sync.reconcile(vault).read == 0
    assert vault.database.get_meta("filled") is None
    assert [process.returncode is not None for process in started.all] == [True]
