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
        raise ConfigurationError(
            "the folder is empty", hint="Give a folder, such as --root ~/keepm"
        )
    if sys.platform != "win32":
        if right := from_windows(spelled):
            raise ConfigurationError(
                f"'{spelled}' is a Windows path", hint=f"Under WSL that folder is {right}"
            )
        if spelled.startswith("\\\\"):
            raise ConfigurationError(
                f"'{spelled}' is a Windows network path",
                hint="Mount the share and give the folder it is mounted on.",
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


def from_windows(text: str) -> str | None:
    """Return how WSL spells a folder that Windows calls `C:\\…` or `\\\\wsl$\\…`, else nothing."""
    if len(text) > 2 and text[1] == ":" and text[0].isalpha() and text[2] in "\\/":
        return f"/mnt/{text[0].lower()}/" + text[3:].replace("\\", "/").lstrip("/")
    parts = [part for part in text.split("\\") if part] if text.startswith("\\\\") else []
    if len(parts) > 1 and parts[0].lower() in ("wsl$", "wsl.localhost"):
        return f"/{'/'.join(parts[2:])}"
    return None


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
        ConfigurationError: there is none, as for a user without an entry and without HOME, or
            HOME would make another folder the home at each place.
    """
    given = os.environ.get("HOME")  # noqa: TID251 - only to see why Path.home says what it says
    if sys.platform != "win32" and given is not None and not given.startswith("/"):
        raise ConfigurationError(
            "HOME is empty" if not given else f"HOME is '{given}', which is no absolute path",
            hint="Set HOME to a folder for KeepM's settings and data, or unset it.",
        )
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigurationError(
            "this user has no home folder",
            hint="Set HOME to a folder for KeepM's settings and data.",
        ) from error
