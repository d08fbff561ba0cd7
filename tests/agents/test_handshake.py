"""Speaking to a server: believed by what it answers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from keepm.agents import handshake
from keepm.agents.handshake import HandshakeFailed, Spoken

FAKE = Path(__file__).parent.parent / "fakes" / "mcp_server.py"


def speak(*arguments: str, cwd: Path, seconds: float = 20) -> Spoken:
    return handshake.converse(
        (sys.executable, str(FAKE), *arguments), os.environ, cwd=cwd, seconds=seconds
    )


@pytest.mark.parametrize("fault", ["none", "asks"])
def test_a_server_says_who_it_is_and_what_it_serves(tmp_path: Path, fault: str) -> None:
    spoken = speak("keepm", "4.0.0.dev0", "widgets", fault, cwd=tmp_path)

    assert (spoken.name, spoken.version) == ("keepm", "4.0.0.dev0")
    assert spoken.tools == ("memory_status", "memory_search")
    assert spoken.status["project"] == "widgets"


@pytest.mark.parametrize(
    ("name", "version"), [("keepm", "3.6.0"), ("keepm", "1.2"), ("other", "4.0"), ("keepm", "x")]
)
def test_another_program_is_no_candidate(tmp_path: Path, name: str, version: str) -> None:
    with pytest.raises(HandshakeFailed):
        speak(name, version, "p", cwd=tmp_path)


@pytest.mark.parametrize("fault", ["noise", "dies", "fails"])
def test_a_server_that_does_not_work_is_told_apart(tmp_path: Path, fault: str) -> None:
    with pytest.raises(HandshakeFailed):
        speak("keepm", "4.0", "p", fault, cwd=tmp_path)


def test_the_last_words_of_a_server_that_dies_are_passed_on(tmp_path: Path) -> None:
    with pytest.raises(HandshakeFailed, match="no such vault"):
        speak("keepm", "4.0", "p", "dies", cwd=tmp_path)


def test_a_silent_server_does_not_hold_up_setup(tmp_path: Path) -> None:
    with pytest.raises(HandshakeFailed, match="in time"):
        handshake.converse(
            (sys.executable, "-c", "import sys; sys.stdin.read()"),
            os.environ,
            cwd=tmp_path,
            seconds=0.3,
        )


def test_a_command_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(HandshakeFailed):
        handshake.converse((str(tmp_path / "none"),), os.environ, cwd=tmp_path)


def test_a_server_gets_only_what_a_strict_host_passes_on() -> None:
    given = {"PATH": "/bin", "SECRET": "x", "KEEPM_ROOT": "/r", "XDG_DATA_HOME": "/d"}

    assert handshake.host_environment(given) == {"PATH": "/bin", "XDG_DATA_HOME": "/d"}
