"""What a project's files were before setup: the means to restore them byte for byte.

One small JSON file for each project, in the data folder, readable by its owner only (the files
it remembers may be private).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from keepm.errors import ConfigurationError, InvalidInput
from keepm.model.checksum import Checksum
from keepm.store.disk import Disk


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file: its bytes before us (none: it wasn't there), and its checksum after us."""

    original: bytes | None
    written: Checksum


@dataclass(frozen=True, slots=True)
class SetupRecord:
    """Everything setup changed for one project. Paths are relative to its top folder.

    `settings` is KeepM's own settings file, which setup may have made.
    """

    top: str
    root: str
    files: dict[str, FileRecord]
    folders: tuple[str, ...] = ()  # made by setup, outermost first
    settings: FileRecord | None = None
    project_id: str | None = None


def record_path(data_dir: Path, top: Path) -> Path:
    """Return where the record of a project is."""
    digest = hashlib.sha256(str(top).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return data_dir / "setup" / f"{digest}.json"


def load(data_dir: Path, top: Path) -> SetupRecord | None:
    """Return the record of a project, or nothing where setup never ran.

    Raises:
        ConfigurationError: the record is there and can't be read.
    """
    path = record_path(data_dir, top)
    try:
        raw = json.loads(path.read_bytes())
        return SetupRecord(
            top=raw["top"],
            root=raw["root"],
            files={name: _read(entry) for name, entry in raw["files"].items()},
            folders=tuple(raw["folders"]),
            settings=_read(raw["settings"]) if raw["settings"] else None,
            project_id=raw["project_id"],
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, InvalidInput) as error:
        raise ConfigurationError(
            f"{path} can't be read: it says what the project's files were before setup",
            hint="Restore that file, or delete it and remove KeepM's parts without it.",
        ) from error


def save(data_dir: Path, top: Path, record: SetupRecord, *, disk: Disk) -> None:
    """Write the record durably; a crash leaves the old one or the new one.

    Raises:
        ConfigurationError: the file system refuses.
    """
    path = record_path(data_dir, top)
    raw = {
        "top": record.top,
        "root": record.root,
        "files": {name: _shown(entry) for name, entry in record.files.items()},
        "folders": list(record.folders),
        "settings": _shown(record.settings) if record.settings else None,
        "project_id": record.project_id,
    }
    fresh = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh.unlink(missing_ok=True)
        disk.create(fresh, json.dumps(raw, indent=1).encode(), mode=0o600)
        disk.rename_over(fresh, path)
        disk.sync_folder(path.parent)
    except OSError as error:
        raise ConfigurationError(
            f"{path.parent} can't be written: {error.strerror or error}",
            hint="Restore write access to that folder; without it setup could not be taken back.",
        ) from error


def forget(data_dir: Path, top: Path) -> None:
    """Delete the record of a project."""
    path = record_path(data_dir, top)
    if os.path.exists(path):  # a read-only place refuses even to delete what isn't there
        path.unlink(missing_ok=True)


def roots(data_dir: Path) -> frozenset[str]:
    """Return the vaults of all projects that are set up on this machine."""
    found = set()
    for path in (data_dir / "setup").glob("*.json"):
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            found.add(str(json.loads(path.read_bytes())["root"]))
    return frozenset(found)


def _read(entry: dict[str, str | None]) -> FileRecord:
    original, written = entry["original"], entry["written"]
    if not isinstance(written, str):
        raise ValueError("no checksum")
    data = None if original is None else base64.b64decode(original, validate=True)
    return FileRecord(data, Checksum.parse(written))


def _shown(entry: FileRecord) -> dict[str, str | None]:
    original = None if entry.original is None else base64.b64encode(entry.original).decode("ascii")
    return {"original": original, "written": entry.written.hex}
