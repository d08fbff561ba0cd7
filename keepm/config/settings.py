"""The settings, resolved from flags, environment and the user's file."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepm.config.folders import (
    current_folder,
    expand,
    from_windows,
    home_folder,
    parse_root,
)
from keepm.config.values import (
    BY_KIND,
    CHOICES,
    GATE,
    INTEGERS,
    check_value,
    refuse_unknown_kinds,
    unknown,
    variable,
)
from keepm.errors import ConfigurationError

_OF_GATE = tuple(name for name in CHOICES if name.startswith(GATE))


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """A project this machine knows: which folders and repositories have its id."""

    project_id: str
    roots: tuple[str, ...] = ()  # absolute paths of git top levels (or folders without git)
    remotes: tuple[str, ...] = ()  # normalised remote addresses, without credentials
    first_commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything KeepM was told, resolved. Paths are absolute."""

    root: Path
    project_dir: Path
    config_file: Path
    data_dir: Path
    language: str = "en"
    approval_minimum: str = "relayed"
    approval_by_kind: Mapping[str, str] = field(default_factory=dict)
    approval_ask_host: str = "destructive"
    approval_external_edits: str = "owner-edit"
    deep_reconcile_seconds: int = 1800
    verification_review_days: int = 180
    inbox_review_days: int = 30
    inbox_reminder_count: int = 5
    sqlite_journal_mode: str = "wal"
    lock_timeout_seconds: float = 10.0
    history_keep_days: int = 0  # for ever
    projects: tuple[ProjectEntry, ...] = ()
    origins: Mapping[str, str] = field(
        default_factory=dict
    )  # setting → flag | KEEPM_X | file | default
    unknown: tuple[str, ...] = ()  # what the settings file says that is no setting


def config_file(environ: Mapping[str, str], home: Path) -> Path:
    """Return where the user's settings are.

    Raises:
        ConfigurationError: `KEEPM_CONFIG` is spelled in a way that would make an odd folder.
    """
    if given := environ.get("KEEPM_CONFIG"):
        return parse_root(given, home=home, base=current_folder())
    return _platform_dir("config", environ, home) / "config.toml"


def data_dir(environ: Mapping[str, str], home: Path) -> Path:
    """Return the folder of the index and other things that can be made again.

    Raises:
        ConfigurationError: `KEEPM_DATA_DIR` is spelled in a way that would make an odd folder.
    """
    if given := environ.get("KEEPM_DATA_DIR"):
        return parse_root(given, home=home, base=current_folder())
    return _platform_dir("data", environ, home)


def _platform_dir(kind: str, environ: Mapping[str, str], home: Path) -> Path:
    if sys.platform not in ("darwin", "win32"):
        given = environ.get(f"XDG_{kind.upper()}_HOME", "")
        # XDG Base Directory: a relative path is to be ignored.
        fallback = ".config" if kind == "config" else ".local/share"
        return (Path(given) if given.startswith("/") else home / fallback) / "keepm"
    import platformdirs

    if kind == "config":
        return platformdirs.user_config_path("keepm", appauthor=False, roaming=True)
    return platformdirs.user_data_path("keepm", appauthor=False)


def environment() -> Mapping[str, str]:
    """Return the process's environment; faces pass it on, nobody else reads it."""
    return os.environ  # noqa: TID251 - the one place


def isolate_sdk() -> None:
    """Tell the MCP SDK, before it is imported, to read no project's `.env` and to keep quiet."""
    os.environ.update(  # noqa: TID251 - the one place
        FASTMCP_ENV_FILE=os.devnull,
        FASTMCP_SHOW_SERVER_BANNER="false",
        FASTMCP_CHECK_FOR_UPDATES="off",
        FASTMCP_ENABLE_RICH_LOGGING="false",
        FASTMCP_ENABLE_RICH_TRACEBACKS="false",
        FASTMCP_LOG_ENABLED="false",
    )


def load(
    overrides: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    *,
    working_dir: Path | None = None,
) -> Settings:
    """Resolve all settings.

    Args:
        overrides: flags by setting name (`root`, `project_dir`, `approval.minimum`, …).
        environ: the environment; the process's by default.
        home: the user's home folder.
        working_dir: the folder that relative flags are resolved against.

    Raises:
        ConfigurationError: a value is wrong or the file is malformed; it names file and key.
    """
    flags = dict(overrides or {})
    variables = environment() if environ is None else environ
    user_home = home or home_folder()
    here = working_dir or current_folder()
    path = config_file(variables, user_home)
    document = read_file(path)
    odd = tuple(unknown(document))
    if gate := [name for name in odd if f"{name}.".startswith(GATE)]:
        # Whoever misspells a setting of the gate wants it tighter than it would stay.
        raise ConfigurationError(
            f"there is no setting '{gate[0]}' ({path})",
            hint=f"Correct it: there are {', '.join(_OF_GATE)} and {BY_KIND}<kind>.",
        )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}

    def pick(name: str, default: Any) -> tuple[Any, str]:
        if flags.get(name) is not None:
            return flags[name], f"flag --{name.replace('_', '-').replace('.', '-')}"
        if variables.get(variable(name)):
            return variables[variable(name)], variable(name)
        found = _lookup(document, name)
        return (found, str(path)) if found is not None else (default, "default")

    raw_root, origins["root"] = pick("root", str(user_home / "keepm"))
    if not isinstance(raw_root, str):
        raise ConfigurationError(f"root in {path} must be a string")
    base = path.parent if origins["root"] == str(path) else here
    values["root"] = parse_root(raw_root, home=user_home, base=base)
    for name, choices in CHOICES.items():
        raw, origins[name] = pick(name, choices[0])
        values[name] = check_value(name, raw, where=origins[name])
        kept = _lookup(document, name)
        if name.startswith(GATE) and kept is not None:
            # The choices go from the loosest on. Whoever writes a server's registration gives it
            # its environment: that may tighten the gate the owner set, never loosen it.
            kept = check_value(name, kept, where=str(path))
            if choices.index(kept) > choices.index(values[name]):
                values[name], origins[name] = kept, str(path)
    for name, (default, _, _) in INTEGERS.items():
        raw, origins[name] = pick(name, default)
        values[name] = check_value(name, raw, where=origins[name])

    by_kind = _by_kind(document, path)
    origins.update({f"{BY_KIND}{kind}": str(path) for kind in by_kind})
    project_dir, origins["project_dir"] = _project_dir(flags, variables, user_home, here=here)
    return Settings(
        root=values["root"],
        project_dir=project_dir,
        config_file=path,
        data_dir=data_dir(variables, user_home),
        language=values["language"],
        approval_minimum=values["approval.minimum"],
        approval_by_kind=by_kind,
        approval_ask_host=values["approval.ask_host"],
        approval_external_edits=values["approval.external_edits"],
        deep_reconcile_seconds=values["deep_reconcile_seconds"],
        verification_review_days=values["verification_review_days"],
        inbox_review_days=values["inbox_review_days"],
        inbox_reminder_count=values["inbox_reminder_count"],
        sqlite_journal_mode=values["sqlite_journal_mode"],
        lock_timeout_seconds=float(values["lock_timeout_seconds"]),
        history_keep_days=values["history.keep_days"],
        projects=_projects(document, path, user_home),
        origins=origins,
        unknown=odd,
    )


def _project_dir(
    flags: Mapping[str, str], variables: Mapping[str, str], home: Path, *, here: Path
) -> tuple[Path, str]:
    """Return the folder that decides on the project, and what named it.

    A folder that isn't there is no error: the server then serves global memory only.
    """
    for value, origin in (
        (flags.get("project_dir"), "flag --project-dir"),
        (variables.get("KEEPM_PROJECT_DIR"), "KEEPM_PROJECT_DIR"),
        (variables.get("CLAUDE_PROJECT_DIR"), "CLAUDE_PROJECT_DIR"),
    ):
        if value:
            # A host on the Windows side names the folder as it sees it.
            native = from_windows(value) if sys.platform != "win32" else None
            return expand(native or value, home, base=here), origin
    return here, "working directory"


def read_file(path: Path) -> dict[str, Any]:
    """Read the user's settings file; a missing one is empty.

    Raises:
        ConfigurationError: it isn't valid TOML or can't be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}") from error
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} is not valid TOML: {error}", hint="Mend the named line, or move the file away."
        ) from error


def _lookup(document: Mapping[str, Any], name: str) -> Any:
    value: Any = document
    for part in name.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _by_kind(document: Mapping[str, Any], path: Path) -> dict[str, str]:
    table = _lookup(document, "approval.kinds") or {}
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"[approval] kinds in {path} must be a table of kind = minimum")
    if table:
        refuse_unknown_kinds(table)
    return {
        kind: str(check_value(f"{BY_KIND}{kind}", value, where=str(path)))
        for kind, value in table.items()
    }


def _projects(document: Mapping[str, Any], path: Path, home: Path) -> tuple[ProjectEntry, ...]:
    table = document.get("projects", {})
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"'projects' in {path} must be a table")
    entries = []
    for project_id, entry in table.items():
        if not isinstance(entry, Mapping):
            raise ConfigurationError(f"projects.{project_id} in {path} must be a table")
        entries.append(
            ProjectEntry(
                project_id=unicodedata.normalize("NFC", project_id),
                roots=tuple(
                    str(expand(root, home, base=path.parent))
                    for root in _strings(entry, "roots", project_id, path)
                ),
                remotes=_strings(entry, "remotes", project_id, path),
                first_commits=_strings(entry, "first_commits", project_id, path),
            )
        )
    return tuple(entries)


def _strings(entry: Mapping[str, Any], key: str, project_id: str, path: Path) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigurationError(f"projects.{project_id}.{key} in {path} must be a list of strings")
    return tuple(value)
