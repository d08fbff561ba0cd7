"""Whether a coding agent's host started this shell, by the marks of `policies/hosts.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keepm import resources
from keepm.config.settings import environment
from keepm.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class AgentShell:
    """The host that started a shell, and the variable that tells."""

    host: str
    variable: str


def agent_shell(environ: Mapping[str, str] | None = None) -> AgentShell | None:
    """Return the host that started the shell of this process, as far as it can be told.

    Raises:
        ConfigurationError: this installation lacks the list of marks.
    """
    given = environment() if environ is None else environ
    for host, names in shell_marks().items():
        for name in names:
            if given.get(name):
                return AgentShell(host, name)
    return None


def shell_marks() -> Mapping[str, tuple[str, ...]]:
    """Return the variables that mark a shell, by host.

    Raises:
        ConfigurationError: the file is missing or malformed.
    """
    import tomllib

    try:
        text = (resources.folder("policies") / "hosts.toml").read_text("utf-8")
        return {host: tuple(names) for host, names in tomllib.loads(text)["shells"].items()}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            "the policy files of this installation can't be read", hint="Install KeepM again."
        ) from error
