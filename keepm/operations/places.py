"""Where a vault's index is on this machine: light, for the hooks import it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from keepm.config import Settings


def vault_id(settings: Settings) -> str:
    """Return the index's name for a vault: a hash of its resolved root."""
    resolved = os.path.realpath(settings.root)
    return hashlib.sha256(resolved.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def index_path(settings: Settings) -> Path:
    """Return the index's file, outside the vault."""
    return settings.data_dir / "indexes" / f"{vault_id(settings)}.sqlite3"
