"""A copy of a document in the owner's editor; the vault's own file isn't touched."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

from keepm import config
from keepm.errors import ConfigurationError
from keepm.operations.vault import Vault


def edited(vault: Vault, data: bytes) -> bytes:
    """Let the owner's editor work on these bytes and return what it left.

    Raises:
        ConfigurationError: the editor can't be started or failed, or the copy can't be kept.
    """
    # A folder of its own, gone afterwards with whatever the editor leaves beside the copy.
    folder = vault.settings.data_dir / "editing" / vault.new_id()
    path = folder / "proposal.md"
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        code = _run(str(path))
        if code:
            raise ConfigurationError("the editor ended with an error; nothing was changed")
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"the copy for the editor can't be kept in the data folder: {error.strerror}",
            hint="Restore write access to it.",
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(path: str) -> int:
    try:
        return subprocess.run([*_editor(), path], check=False).returncode  # noqa: S603 - the owner's own editor
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            "the editor can't be started",
            hint="Set VISUAL or EDITOR to a program that waits until you close the file.",
        ) from error


def _editor() -> list[str]:
    environ = config.environment()
    given = environ.get("VISUAL") or environ.get("EDITOR")
    if given:
        return shlex.split(given, posix=sys.platform != "win32")
    return ["notepad" if sys.platform == "win32" else "vi"]
