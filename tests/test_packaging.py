"""The wheel: what is in it, and that it runs where nothing else of ours is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest

from keepm import __version__
from keepm.agents import handshake
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.transaction import initialise

_TOP = Path(__file__).resolve().parents[1]
_INSIDE = {"keepm": "keepm", "web": "keepm/_web", "policies": "keepm/_policies"}
_SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment that holds the wheel and what it depends on."""

    folder: Path

    def program(self, name: str) -> str:
        return str(self.folder / _SCRIPTS / name)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    _uv("build", "--wheel", "--quiet", "--out-dir", str(out), str(_TOP))
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("environment") / "venv"
    _uv("venv", "--quiet", "--python", sys.executable, str(folder))
    _uv("pip", "install", "--quiet", "--python", str(folder), str(wheel))
    return Environment(folder)


def test_the_wheel_holds_the_tree_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    packed = {name for name in names if ".dist-info/" not in name}

    assert packed == {
        f"{inside}/{name.removeprefix(f'{folder}/')}"
        for folder, inside in _INSIDE.items()
        for name in _files(folder)
    }
    assert {"keepm/py.typed", "keepm/_policies/kinds.toml"} <= packed
    assert any(name.endswith("/licenses/LICENSE") for name in names - packed)


def test_the_wheels_metadata_are_the_projects(wheel: Path) -> None:
    project = _project()
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(archive.read(name))

    assert metadata["Name"] == "keepm"
    assert metadata["Version"] == project["version"] == __version__
    assert metadata["Requires-Python"] == project["requires-python"]
    assert len(metadata.get_all("Requires-Dist", [])) == len(project["dependencies"])


def test_the_installed_program_tells_its_version(installed: Environment, tmp_path: Path) -> None:
    done = _run([installed.program("keepm"), "--version"], cwd=tmp_path)

    assert done.stdout == f"keepm {__version__}\n"


def test_the_installed_package_has_its_data_with_it(installed: Environment, tmp_path: Path) -> None:
    code = "from keepm import resources; print(resources.folder('policies'))"

    done = _run([installed.program("python"), "-c", code], cwd=tmp_path)

    policies = Path(done.stdout.strip())
    assert policies.is_relative_to(installed.folder)
    assert policies.name == "_policies"


def test_the_installed_server_answers_a_host(installed: Environment, tmp_path: Path) -> None:
    root = tmp_path / "vault"
    initialise(VaultPaths(root), OSDisk())
    apart = {"KEEPM_CONFIG": f"{tmp_path}/config.toml", "KEEPM_DATA_DIR": f"{tmp_path}/data"}

    spoken = handshake.converse(
        (installed.program("keepm"), "serve", "--root", str(root)),
        {**_outside(), **apart},
        cwd=tmp_path,
    )

    assert (spoken.name, spoken.version) == ("keepm", __version__)
    assert {"memory_status", "memory_context", "memory_create"} <= set(spoken.tools)
    assert spoken.status["version"] == __version__


def _project() -> dict[str, Any]:
    document = tomllib.loads((_TOP / "pyproject.toml").read_text("utf-8"))
    project: dict[str, Any] = document["project"]
    return project


def _files(folder: str) -> list[str]:
    """Return the files of a folder as git sees them, new ones too, ignored ones not."""
    listed = _run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder], cwd=_TOP
    )
    return [name for name in set(listed.stdout.split("\0")) if name and (_TOP / name).is_file()]


def _uv(*arguments: str) -> None:
    """Run uv, without the network if its cache has everything."""
    # `uv run` names itself; elsewhere it is on the path, as README.md has it installed.
    program = os.environ.get("UV") or shutil.which("uv")
    assert program, "uv is needed to build the wheel: python3 -m pip install uv"
    try:
        _run([program, *arguments, "--offline"], cwd=_TOP)
    except AssertionError:
        _run([program, *arguments], cwd=_TOP)


def _run(line: Sequence[str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        line, cwd=cwd, env=_outside(), capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


def _outside() -> Mapping[str, str]:
    """Return the environment without what would lead back into this checkout."""
    ours = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ours and not name.startswith("KEEPM_")
    }
