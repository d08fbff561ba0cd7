"""Changing the user's settings file: under a lock, whole or not at all, other content kept."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from keepm import config
from keepm.errors import ConfigurationError
from keepm.store.disk import RECORD_MODE, OSDisk

_LOCK_SECONDS = 10.0
Table = MutableMapping[str, Any]
"""A table of the file as tomlkit hands it out: assigning keeps comments and order."""


def write_settings(path: Path, values: Mapping[str, str]) -> None:
    """Write settings (by name) into the user's file, all of them or none.

    Raises:
        ConfigurationError: there is no such setting, it can't have this value, or the file can't
            be read or written.
    """
    checked = {name: config.parse_setting(name, value) for name, value in values.items()}

    def change(document: Table) -> None:
        for name, value in checked.items():
            *tables, key = name.split(".")
            place = document
            for table in tables:
                place = subtable(place, table)
            if place.get(key) != value:
                place[key] = value

    edit(path, change)


def subtable(table: Table, key: str) -> Table:
    """Return the table under a key, made if need be.

    Raises:
        ConfigurationError: something else is there.
    """
    import tomlkit

    if key not in table:
        table[key] = tomlkit.table()
    found = table[key]
    if not isinstance(found, MutableMapping):
        raise ConfigurationError(f"'{key}' in the settings file must be a table")
    return found


def edit(path: Path, change: Callable[[Table], None]) -> None:
    """Let `change` work on the settings file, then put the result in its place.

    Nothing is written when nothing changed. What `change` raises leaves the file as it was.

    Raises:
        ConfigurationError: the file is malformed, busy, or can't be written.
    """
    import filelock

    target = Path(os.path.realpath(path))  # a linked file is changed, not the link
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with filelock.FileLock(
            target.with_name(f"{target.name}.lock"), timeout=_LOCK_SECONDS, mode=RECORD_MODE
        ):
            _edit_locked(target, change)
    except filelock.Timeout as error:
        raise ConfigurationError(
            f"{path} is being changed by another process", hint="Try again shortly."
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{path} can't be written: {error.strerror}",
            hint="Restore write access to the file and its folder; it was left as it is.",
        ) from error


def _edit_locked(target: Path, change: Callable[[Table], None]) -> None:
    import tomllib

    import tomlkit

    config.read_file(target)  # refuses a malformed file in our own words
    before = target.read_bytes() if target.exists() else b""
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    document = tomlkit.parse(before.removeprefix(mark).decode("utf-8"))
    change(document)
    text = tomlkit.dumps(document)
    # The file is the person's: what can't be written faithfully is not written.
    if tomllib.loads(text) != document.unwrap():
        raise ConfigurationError(
            "the settings file is laid out in a way that can't be changed safely",
            hint="Make the change in an editor; `keepm config path` names the file.",
        )
    after = mark + text.encode("utf-8")
    if after == before:
        return
    disk = OSDisk()
    fresh = target.with_name(f".{target.name}.new")
    if disk.state(fresh) is not None:
        disk.unlink(fresh)  # left by a crash: whoever holds the lock is alone here
    disk.create(fresh, after, mode=RECORD_MODE)
    disk.rename_over(fresh, target)
    disk.sync_folder(target.parent)
