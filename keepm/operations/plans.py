"""Plans that are confirmed in a second call: a file of this machine that holds what was shown.

Mode 0600, ten minutes, spent on use. It keeps the request and the plan's digest, not the plan:
the second call makes the plan anew and carries it out only if it is still the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from keepm.errors import ConfigurationError, ConfirmationRequired
from keepm.operations.places import vault_id
from keepm.operations.vault import Vault

LIFETIME = timedelta(minutes=10)
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """What a plan's file says: what was asked for, and the digest of what was shown."""

    request: Mapping[str, str]
    digest: str


def keep(vault: Vault, operation: str, request: Mapping[str, str], *, digest: str) -> str:
    """Keep a plan and return the token that confirms it.

    Raises:
        ConfigurationError: the data folder can't be written.
    """
    token = vault.new_token().replace("-", "_")  # at its beginning a shell's flag would begin
    record = {
        "format": _FORMAT,
        "operation": operation,
        "request": dict(request),
        "digest": digest,
        "expires": (vault.clock.now() + LIFETIME).isoformat(),
    }
    path = _path(vault, token)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _clear(vault, path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(record, file)
    except OSError as error:
        raise ConfigurationError(
            f"the plan can't be kept in the data folder: {error.strerror}",
            hint="Restore write access to it, or confirm on a terminal.",
        ) from error
    return token


def read(vault: Vault, operation: str, token: str) -> Kept:
    """Return the plan that a token stands for, without spending it.

    Raises:
        ConfirmationRequired: unknown, spent, over ten minutes old, or of another command or vault.
    """
    try:
        record = json.loads(_path(vault, token).read_bytes())
        fits = record["format"] == _FORMAT and record["operation"] == operation
        if fits and _is_valid(vault, record["expires"]):
            return Kept({str(k): str(v) for k, v in record["request"].items()}, record["digest"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # said below in one sentence, whatever is wrong with it
    raise ConfirmationRequired(
        "the token is unknown here, spent, over ten minutes old, or of another command",
        hint="Run the command without --confirm, look at its plan, and use the token it prints.",
    )


def spend(vault: Vault, token: str) -> None:
    """Use a token up."""
    with contextlib.suppress(OSError):
        _path(vault, token).unlink()


def _clear(vault: Vault, folder: Path) -> None:
    """Remove plans that expired."""
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            expires = json.loads(path.read_bytes())["expires"]
            if not _is_valid(vault, expires):
                path.unlink()


def _is_valid(vault: Vault, expires: str) -> bool:
    left = datetime.fromisoformat(expires) - vault.clock.now()
    return timedelta() < left <= LIFETIME  # more is left only where the clock was set back


def _path(vault: Vault, token: str) -> Path:
    # The name tells nothing of the token, and one vault's token means nothing to another.
    name = hashlib.sha256(f"{vault_id(vault.settings)} {token.strip()}".encode()).hexdigest()
    return vault.settings.data_dir / "plans" / f"{name}.json"
