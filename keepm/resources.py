"""Where `web/` and `policies/` are, in a wheel, an editable install and a checkout alike."""

from __future__ import annotations

from pathlib import Path

from keepm.errors import ConfigurationError

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return the folder of data files called `name` (`web` or `policies`).

    A wheel carries it as `keepm/_<name>`; a checkout has it beside the package.

    Raises:
        ConfigurationError: this installation lacks it.
    """
    packaged = _PACKAGE / f"_{name}"
    if packaged.is_dir():
        return packaged
    beside = _PACKAGE.parent / name
    if beside.is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return beside
    raise ConfigurationError(
        f"this installation of KeepM lacks its {name} files", hint="Install KeepM again."
    )


LANGUAGES = ("en", "zh")
"""The languages in which agents are told what to do."""


def policy_text(language: str, name: str) -> str:
    """Return one text of `policies/<language>/`, such as `instructions`, as it is written.

    Raises:
        ConfigurationError: there is no such language or text in this installation.
    """
    if language not in LANGUAGES:
        raise ConfigurationError(
            f"there is no policy in the language '{language}'",
            hint=f"The languages are: {', '.join(LANGUAGES)}.",
        )
    try:
        return (folder("policies") / language / f"{name}.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"this installation of KeepM lacks the policy text '{language}/{name}'",
            hint="Install KeepM again.",
        ) from error
