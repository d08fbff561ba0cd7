"""How a folder may be spelled in a flag, a variable or the settings file."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from keepm.errors import ConfigurationError

# `~name`, `$NAME`, `${NAME}`, `%NAME%`: a host passes on what it doesn't know as it stands, and
# it must not become a folder's name. `$HOME` is ours.
_UNEXPANDED = re.compile(r"^~[^/\\]|^\$(?!HOME(?:[/\\]|$))(?!\{HOME\})|(?!^)\$\{|^%\w+%")


def parse_root(text: str, *, home: Path, base: Path) -> Path:
    """Turn the spelling of a vault's folder into an absolute path.

    `~` and `$HOME` are expanded; a Windows spelling on another system is refused with the right
    one (it would make a folder of that very name); the file system's root is refused.

    Raises:
        ConfigurationError: the folder can't be a vault.
    """
    spelled = text.strip()
    if not spelled or "\x00" in spelled:
        raise ConfigurationError("the root is empty", hint="Give a folder: --root ~/keepm")
    if sys.platform != "win32":
        if len(spelled) > 2 and spelled[1] == ":" and spelled[0].isalpha() and spelled[2] in "\\/":
            right = f"/mnt/{spelled[0].lower()}/" + spelled[3:].replace("\\", "/").lstrip("/")
            raise ConfigurationError(
                f"'{spelled}' is a Windows path", hint=f"Under WSL that folder is {right}"
            )
        if spelled.startswith("\\\\"):
            parts = [part for part in spelled.split("\\") if part]
            inside = len(parts) > 1 and parts[0].lower() in ("wsl$", "wsl.localhost")
            raise ConfigurationError(
                f"'{spelled}' is a Windows network path",
                hint=f"Here that folder is /{'/'.join(parts[2:])}"
                if inside
                else "Mount the share and give the folder it is mounted on.",
            )
    if _UNEXPANDED.search(spelled):
        raise ConfigurationError(
            f"'{spelled}' has a variable or a user's name in it, which is not expanded",
            hint="Give the folder in full, or from ~ or $HOME on.",
        )
    path = expand(spelled, home, base=base)
    if path == Path(path.anchor):
        raise ConfigurationError(
            f"'{spelled}' is the root of the file system", hint="Give a folder of its own."
        )
    return path


def expand(text: str, home: Path, *, base: Path) -> Path:
    """Expand `~` and `$HOME`, make absolute, without resolving links."""
    for mark in ("~", "$HOME", "${HOME}"):
        if text == mark or text.startswith((f"{mark}/", f"{mark}\\")):
            return Path(os.path.normpath(home / text[len(mark) :].lstrip("/\\")))
    return Path(os.path.normpath(base / text))


def current_folder() -> Path:
    """Return the working directory, or the file system's root when there is none any more."""
    try:
        return Path.cwd()
    except OSError:  # it was deleted, or can't be looked at: nothing there can be a project
        return Path(os.path.abspath(os.sep))  # noqa: PTH100 - Path.absolute would look at it


def home_folder() -> Path:
    """Return the user's home folder.

    Raises:
        ConfigurationError: there is none, as for a user without an entry and without HOME.
    """
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigurationError(
            "this user has no home folder",
            hint="Set HOME to a folder for KeepM's settings and data.",
        ) from error
