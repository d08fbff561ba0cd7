"""Which command starts this very KeepM next week, from a host that has no shell and no uvx.

In order: the script of the environment that runs now, if that lasts (a tool runner's cache does
not); an environment of KeepM's own, made in its data folder from where this KeepM came from (a
checkout, a wheel, a repository, the published version); a `keepm` on the search path. Each must
prove by its handshake that it is KeepM 4 or later.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from keepm import __version__
from keepm.agents.handshake import HandshakeFailed, Spoken
from keepm.agents.merging import Program
from keepm.errors import ConfigurationError

_SCRIPT = Path("Scripts/keepm.exe" if sys.platform == "win32" else "bin/keepm")
_PYTHON = Path("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
_INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to start KeepM; `prepare` makes it startable, where it isn't yet."""

    program: Program
    origin: str
    prepare: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Installation:
    """The KeepM that runs now: its environment, and what to install to get the same again."""

    prefix: Path
    python: Path
    source: tuple[str, ...]  # arguments of an installer

    @classmethod
    def current(cls) -> Installation:
        """Describe the running program."""
        return cls(Path(sys.prefix), Path(sys.executable), _source(_direct_url()))

    @property
    def lasts(self) -> bool:
        """Tell whether the environment is no tool runner's cache, which may be swept away."""
        resolved = Path(os.path.realpath(self.prefix))
        return not any(
            os.path.isfile(parent / "CACHEDIR.TAG") or parent.name in (".cache", "Caches")
            for parent in resolved.parents
        )


def own_environment(data_dir: Path) -> Path:
    """Return where KeepM's own environment is, if one is needed."""
    return data_dir / "program"


def candidates(
    installation: Installation, environ: Mapping[str, str], data_dir: Path
) -> Iterator[Candidate]:
    """Return the ways to start this KeepM, the best first."""
    script = installation.prefix / _SCRIPT
    if installation.lasts and os.path.isfile(script):
        yield Candidate(Program(str(script)), "the environment that runs setup")
    uv = environ.get("UV") or shutil.which("uv", path=environ.get("PATH"))
    if not installation.lasts and uv:
        place = own_environment(data_dir)
        yield Candidate(
            Program(str(place / _SCRIPT)),
            "an environment of its own in the data folder",
            prepare=lambda: install(installation, place, uv=uv, environ=environ),
        )
    found = shutil.which("keepm", path=environ.get("PATH"))
    if found and Path(found) != script:
        yield Candidate(Program(str(Path(found).absolute())), "the `keepm` on the search path")


def choose(
    ways: Iterator[Candidate], greet: Callable[[Program], Spoken], *, prepare: bool
) -> Candidate:
    """Return the first way that proves to be KeepM 4 or later.

    Without `prepare` nothing is installed: a way that would have to be is believed.

    Raises:
        ConfigurationError: none does; the message says why for each.
    """
    failures = []
    for candidate in ways:
        try:
            if candidate.prepare is not None:
                if not prepare:
                    return candidate
                candidate.prepare()
            greet(candidate.program)
        except (HandshakeFailed, InstallFailed) as error:
            failures.append(f"{candidate.program.command}: {error}")
        else:
            return candidate
    raise ConfigurationError(
        "no command was found that starts this KeepM and lasts"
        + "".join(f"\n  {failure}" for failure in failures),
        hint="Install KeepM (for example: uv tool install keepm) and run setup from there.",
    )


class InstallFailed(Exception):
    """KeepM's own environment can't be made."""


def install(
    installation: Installation, place: Path, *, uv: str, environ: Mapping[str, str]
) -> None:
    """Make, or bring up to date, KeepM's own environment.

    First without the network: the packages that run now are in the installer's cache.

    Raises:
        InstallFailed: the installer fails; the message holds its last line.
    """
    variables = {
        key: value for key, value in environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")
    }
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    is_new = not os.path.exists(place / _PYTHON)
    if is_new:
        python = os.path.realpath(installation.python)
        _run([uv, "venv", "--quiet", "--clear", "--python", python, str(place)], variables)
    command = [uv, "pip", "install", "--quiet", "--python", str(place / _PYTHON)]
    command += ["--compile-bytecode", "--reinstall-package", "keepm", *installation.source]
    try:
        try:
            _run([*command, "--offline"], variables)
        except InstallFailed:
            _run(command, variables)
    except InstallFailed:
        if is_new:
            shutil.rmtree(place, ignore_errors=True)
        raise


def _run(command: list[str], environ: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own installer
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallFailed(f"{Path(command[0]).name} {command[1]} doesn't run") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise InstallFailed(f"{Path(command[0]).name} {command[1]}: {lines[-1].strip()[:300]}")


def _direct_url() -> dict[str, object]:
    """Return what the installer noted about a KeepM that isn't from a package index."""
    try:
        noted = json.loads(metadata.distribution("keepm").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _source(noted: Mapping[str, object]) -> tuple[str, ...]:
    """Turn an installer's note (PEP 610) into what installs the same again."""
    url = str(noted.get("url", ""))
    version_control = noted.get("vcs_info")
    if isinstance(version_control, dict):
        kind, commit = version_control.get("vcs"), version_control.get("commit_id")
        return (f"keepm @ {kind}+{url}@{commit}",)
    if url.startswith("file:"):
        # A copy, of a checkout too: a server that ran from there would leave compiled modules
        # in it, and stop when it is moved. Setup run again brings the copy up to date.
        return (url2pathname(unquote(urlsplit(url).path)),)
    return (f"keepm @ {url}",) if url else (f"keepm=={__version__}",)
