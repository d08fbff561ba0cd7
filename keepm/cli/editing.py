"""A copy of a document in the owner's editor; the vault's own file isn't touched."""

from __future__ import annotations

import contextlib
import os
import shlex
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
    folder = vault.settings.data_dir / "editing"
    path = folder / f"{vault.new_id()}.md"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        try:
            code = subprocess.run([*_editor(), str(path)], check=False).returncode  # noqa: S603 - the owner's own editor
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                "the editor can't be started",
                hint="Set VISUAL or EDITOR to a program that waits until you close the file.",
            ) from error
        if code:
            raise ConfigurationError("the editor ended with an error; nothing was changed")
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"the copy for the editor can't be kept in the data folder: {error.strerror}",
            hint="Restore write access to it.",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


def _editor() -> list[str]:
    environ = config.environment()
    given = environ.get("VISUAL") or environ.get("EDITOR")
    if given:
        return shlex.split(given, posix=sys.platform != "win32")
    return ["notepad" if sys.platform == "win32" else "vi"]
