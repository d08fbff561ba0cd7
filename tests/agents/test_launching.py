"""Which command is registered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from keepm.agents import launching
from keepm.agents.handshake import HandshakeFailed, Spoken
from keepm.agents.launching import Candidate, Installation
from keepm.agents.merging import Program
from keepm.errors import ConfigurationError

VERSION = Spoken("keepm", "4.0.0.dev0")


def script(folder: Path, name: str = "keepm") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def ways(prefix: Path, environ: Mapping[str, str], data: Path) -> list[Candidate]:
    installation = Installation(prefix, prefix / "bin/python", ("keepm==4.0.0",))
    return list(launching.candidates(installation, environ, data))


def test_the_script_of_a_lasting_environment_comes_first(tmp_path: Path) -> None:
    own = script(tmp_path / "venv" / "bin")
    other = script(tmp_path / "bin")

    found = ways(tmp_path / "venv", {"PATH": str(other.parent)}, tmp_path / "data")

    assert [each.program.command for each in found] == [str(own), str(other)]
    assert all(each.prepare is None for each in found)


@pytest.mark.parametrize("mark", ["CACHEDIR.TAG", None])
def test_a_tool_runners_cache_does_not_last(tmp_path: Path, mark: str | None) -> None:
    """Fault 63: each session began in a cache that may be empty by then."""
    cache = tmp_path / ("uv-cache" if mark else ".cache")
    script(cache / "archive" / "x" / "bin")
    if mark:
        (cache / mark).write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    uv = script(tmp_path / "tools", "uv")

    found = ways(cache / "archive" / "x", {"UV": str(uv), "PATH": ""}, tmp_path / "data")

    assert [Path(each.program.command).parent.parent for each in found] == [
        tmp_path / "data" / "program"
    ]
    assert found[0].prepare is not None


def test_an_environments_own_cache_tag_does_not_count(tmp_path: Path) -> None:
    own = script(tmp_path / "venv" / "bin")
    (tmp_path / "venv" / "CACHEDIR.TAG").write_text("")

    found = ways(tmp_path / "venv", {"PATH": ""}, tmp_path / "data")

    assert [each.program.command for each in found] == [str(own)]


@pytest.mark.parametrize(
    ("noted", "source"),
    [
        ({}, ("keepm==4.0.0.dev0",)),
        ({"url": "file:///a%20b/keepm", "dir_info": {}}, ("/a b/keepm",)),
        ({"url": "file:///w/keepm.whl", "archive_info": {}}, ("/w/keepm.whl",)),
        (
            {"url": "https://x.test/k", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            ("keepm @ git+https://x.test/k@abc",),
        ),
        ({"url": "https://x.test/k.whl", "archive_info": {}}, ("keepm @ https://x.test/k.whl",)),
    ],
)
def test_the_same_keepm_is_installed_again(
    noted: Mapping[str, object], source: tuple[str, ...]
) -> None:
    assert launching._source(noted) == source


def test_a_candidate_that_is_another_program_is_passed_over() -> None:
    old, new = Candidate(Program("/old"), ""), Candidate(Program("/new"), "")

    def greet(program: Program) -> Spoken:
        if program.command == "/old":
            raise HandshakeFailed("it calls itself keepm 3.6.0")
        return VERSION

    assert launching.choose(iter([old, new]), greet, prepare=True) is new
    with pytest.raises(ConfigurationError, match=r"3\.6\.0"):
        launching.choose(iter([old]), greet, prepare=True)


def test_nothing_is_installed_for_a_dry_run() -> None:
    installed = []
    way = Candidate(Program("/new"), "", prepare=lambda: installed.append(1))

    assert launching.choose(iter([way]), lambda _: VERSION, prepare=False) is way
    assert not installed
    assert launching.choose(iter([way]), lambda _: VERSION, prepare=True) is way
    assert installed


def test_an_installer_that_fails_is_no_candidate(tmp_path: Path) -> None:
    installer = script(tmp_path, "uv")
    installer.write_text("#!/bin/sh\necho no such package >&2\nexit 1\n")
    installation = Installation(tmp_path, tmp_path / "python", ("keepm==4",))

    with pytest.raises(launching.InstallFailed, match="no such package"):
        launching.install(
            installation, tmp_path / "data" / "program", uv=str(installer), environ={}
        )
