"""Setting up a project: plan, carry out, and check by starting what was registered.

The order makes every refusal free: all files are planned before the vault or a setting is
touched, and what can fail comes before what is hard to take back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from keepm import config
from keepm.agents import checking, handshake, installing, policy, record
from keepm.agents.hosts import ALL, Context, Host, Part
from keepm.agents.hosts.host import POLICY_PATH
from keepm.agents.installing import FileChange, Plan
from keepm.agents.launching import own_environment
from keepm.agents.merging import Program
from keepm.agents.record import FileRecord, SetupRecord
from keepm.agents.report import Report, Row, State
from keepm.config import Settings
from keepm.errors import ConfigurationError, KeepMError
from keepm.model import layout
from keepm.model.checksum import Checksum
from keepm.operations import places, projects, settings_file
from keepm.store.disk import OSDisk
from keepm.store.paths import VaultPaths
from keepm.store.root import initialise


@dataclass(frozen=True, slots=True)
class Wish:
    """What the owner decided on. `chosen` are settings to be kept in the settings file."""

    settings: Settings
    top: Path  # of the work tree whose files are written
    hosts: tuple[Host, ...]
    project_id: str
    program: Program
    hooks: bool = True
    chosen: tuple[tuple[str, str], ...] = ()


def prepare(wish: Wish, environ: Mapping[str, str]) -> Plan:
    """Plan every file of a setup; nothing is written.

    Raises:
        ConfigurationError: a file can't be changed safely, or the vault can't be used.
    """
    _refuse_lost_vault(wish.settings)
    known = record.load(wish.settings.data_dir, wish.top)
    return installing.plan(wish.top, _parts(wish, environ), known.files if known else {})


def settings_change(wish: Wish) -> FileChange:
    """Return what a setup would change in KeepM's own settings file; nothing is written.

    Raises:
        ConfigurationError: the file is malformed, or the id can't be bound.
    """
    path = wish.settings.config_file
    before = _bytes(path)
    with tempfile.TemporaryDirectory(prefix="keepm-setup-") as scratch:
        copy = Path(scratch) / path.name
        if before is not None:
            copy.write_bytes(before)
        _keep_settings(replace(wish, settings=replace(wish.settings, config_file=copy)))
        return FileChange(str(path), before, _bytes(copy))


def carry_out(wish: Wish, plan: Plan, environ: Mapping[str, str]) -> Report:
    """Make the vault, bind the project, write the files, and check what was registered.

    Raises:
        KeepMError: the vault can't be made, or a file can't be written; what was written is put
            back.
    """
    settings, disk = wish.settings, OSDisk()
    is_new = not os.path.isdir(VaultPaths(settings.root).memory)
    initialise(VaultPaths(settings.root), disk)
    before = _bytes(settings.config_file)
    known = record.load(settings.data_dir, wish.top)
    try:
        _keep_settings(wish)
        record.save(settings.data_dir, wish.top, _record(wish, plan, known, before), disk=disk)
        installing.write(wish.top, plan.changes, disk=disk)
    except (KeepMError, OSError):
        _restore(settings.config_file, before)
        if known is not None:
            record.save(settings.data_dir, wish.top, known, disk=disk)
        else:
            record.forget(settings.data_dir, wish.top)
        raise
    rows, checked = checking.check(
        wish.hosts,
        plan,
        _context(wish, environ),
        top=wish.top,
        project_id=wish.project_id,
        environ=handshake.host_environment(environ),
    )
    vault = Row("vault", State.OK, f"{'made' if is_new else 'used'}: {settings.root}")
    return Report(
        rows=(vault, *rows),
        project_id=wish.project_id,
        project_dir=str(wish.top),
        root=str(settings.root),
        command=wish.program.line(*_context(wish, environ).server_arguments),
        written=(
            *((str(settings.config_file),) if _bytes(settings.config_file) != before else ()),
            *(change.path for change in plan.changes if change.is_one),
        ),
        checked=checked,
        next_steps=_next_steps(wish),
    )


def removal(settings: Settings, top: Path) -> tuple[FileChange, ...]:
    """Plan the removal of everything setup put into a project.

    Raises:
        ConfigurationError: a file can't be changed safely.
    """
    known = record.load(settings.data_dir, top)
    parts: list[Part] = []
    # Without the record, either language's text may be ours.
    for language in ("en", "zh"):
        told = replace(settings, language=language)
        wish = Wish(told, top, ALL, project_id="", program=Program("keepm"))
        parts += [part for part in _parts(wish, {}) if part not in parts]
    return installing.plan_removal(top, parts, known.files if known else {})


def remove(settings: Settings, top: Path, changes: Sequence[FileChange]) -> bool:
    """Take everything out again: files, folders, the project's entry, the record.

    Returns whether the settings file held something of this project.

    The vault stays. The index and KeepM's own environment go with the last project that uses
    them.

    Raises:
        KeepMError: a file can't be written; what was written is put back.
    """
    known = record.load(settings.data_dir, top)
    installing.write(top, changes, disk=OSDisk())
    folders = [*(known.folders if known else ()), str(Path(POLICY_PATH).parent)]
    installing.remove_folders(top, folders)
    had_settings = _forget_settings(settings, known)
    record.forget(settings.data_dir, top)
    left = record.roots(settings.data_dir)
    vault = replace(settings, root=Path(known.root)) if known else settings
    if known is not None and known.root not in left:
        index = places.index_path(vault)
        for tail in ("", "-wal", "-shm", "-journal"):
            Path(f"{index}{tail}").unlink(missing_ok=True)
    if not left:
        shutil.rmtree(own_environment(settings.data_dir), ignore_errors=True)
        if not _has_unfinished(vault):
            (settings.data_dir / "writer-id").unlink(missing_ok=True)
    for folder in (
        settings.data_dir / "setup",
        settings.data_dir / "indexes",
        settings.data_dir,
        settings.config_file.parent,
    ):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return had_settings


def _has_unfinished(settings: Settings) -> bool:
    """Tell whether the vault holds a transaction that only this machine's id may finish."""
    with contextlib.suppress(OSError, KeepMError):
        journal = VaultPaths(settings.root).locate(f"{layout.RECORDS}/journal")
        return bool(OSDisk().names(journal))
    return False


# ---- parts -------------------------------------------------------------------------------------


def _context(wish: Wish, environ: Mapping[str, str]) -> Context:
    language = wish.settings.language
    return Context(
        program=wish.program,
        root=str(wish.settings.root),
        block=policy.block(language, policy_path=POLICY_PATH).strip("\n"),
        policy=policy.full(language, config.load_policy()),
        forwarded=tuple(name for name in handshake.FORWARDED if environ.get(name)),
        hooks=wish.hooks,
    )


def _parts(wish: Wish, environ: Mapping[str, str]) -> tuple[Part, ...]:
    context = _context(wish, environ)
    parts: dict[Part, None] = {}
    for host in wish.hosts:
        parts |= dict.fromkeys(host.parts(context))
    return tuple(parts)


_APPROVAL = {
    "relayed": "An agent's word that you agreed lets its text become memory. To demand the host's "
    "own dialog: `keepm config set approval.minimum host`; your own terminal: `… owner`.",
    "host": "Text becomes memory by the host's own dialog or by you: a host without one proposes, "
    "and you decide with `keepm review` (`keepm config set approval.minimum relayed | owner`).",
    "owner": "Text becomes memory only by you: decide with `keepm review` in a terminal of your "
    "own (`keepm config set approval.minimum relayed | host` for less).",
}


def _next_steps(wish: Wish) -> tuple[str, ...]:
    steps = [step for host in wish.hosts for step in host.next_steps]
    return (*steps, _APPROVAL[wish.settings.approval_minimum], "Ask the agent: call memory_status.")


# ---- settings, record --------------------------------------------------------------------------


def _refuse_lost_vault(settings: Settings) -> None:
    """Refuse to make a new vault where one was set up before and now nothing is."""
    is_known = str(settings.root) in record.roots(settings.data_dir)
    if is_known and not os.path.isdir(VaultPaths(settings.root).memory):
        raise ConfigurationError(
            f"{settings.root} was set up as a vault and holds none now; is it mounted?",
            hint="Mount it, or run `keepm setup --remove` first to start with a new one.",
        )


def _keep_settings(wish: Wish) -> None:
    if wish.chosen:
        settings_file.write_settings(wish.settings.config_file, dict(wish.chosen))
    projects.bind(wish.settings, wish.project_id)


def _forget_settings(settings: Settings, known: SetupRecord | None) -> bool:
    """Take this project's part out of the settings file; tell whether it had one."""
    present = _bytes(settings.config_file)
    if present is None:
        return False
    entry = known.settings if known else None
    if entry is not None and Checksum.of(present) == entry.written:
        _restore(settings.config_file, entry.original)
    else:
        projects.unbind(settings)
        left = _bytes(settings.config_file)
        if left is not None and not left.strip():
            settings.config_file.unlink()
    if not os.path.exists(settings.config_file):
        settings.config_file.with_name(f"{settings.config_file.name}.lock").unlink(missing_ok=True)
    return _bytes(settings.config_file) != present


def _record(
    wish: Wish, plan: Plan, known: SetupRecord | None, settings_before: bytes | None
) -> SetupRecord:
    files = dict(known.files) if known else {}
    for change in plan.changes:
        assert change.after is not None
        files[change.path] = FileRecord(plan.originals[change.path], Checksum.of(change.after))
    folders = dict.fromkeys(known.folders if known else ())
    folders |= dict.fromkeys(installing.missing_folders(wish.top, plan.changes))
    after = _bytes(wish.settings.config_file)
    settings_entry = known.settings if known else None
    if after is not None and after != settings_before:
        original = settings_before
        if settings_entry and settings_before is not None:
            unchanged = Checksum.of(settings_before) == settings_entry.written
            original = settings_entry.original if unchanged else settings_before
        settings_entry = FileRecord(original, Checksum.of(after))
    return SetupRecord(
        top=str(wish.top),
        root=str(wish.settings.root),
        files=files,
        folders=tuple(folders),
        settings=settings_entry,
        project_id=wish.project_id,
    )


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _restore(path: Path, data: bytes | None) -> None:
    if _bytes(path) == data:
        return
    if data is None:
        path.unlink(missing_ok=True)
        return
    disk = OSDisk()
    fresh = path.with_name(f".{path.name}.keepm-new")
    fresh.unlink(missing_ok=True)
    disk.create(fresh, data, mode=0o600)
    disk.rename_over(fresh, path)
