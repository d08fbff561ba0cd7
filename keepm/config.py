"""Settings, resolved once, and the policy data that the rules are made of.

The only reader of the environment. Flags come before `KEEPM_*` variables, these before the
user's file, this before the defaults; each value remembers which of them it came from.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepm import resources
from keepm.errors import ConfigurationError

_MINIMA = ("relayed", "host", "owner")


# ---- policy data ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KindContract:
    """What the body of one kind of memory must hold."""

    name: str
    purpose: Mapping[str, str]  # by language
    labels: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    needs_source: bool = False
    verification: bool = False  # active notes of this kind become stale


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    body_bytes: int
    name_characters: int
    description_characters: int
    tags: int
    tag_characters: int
    aliases: int
    alias_characters: int
    sources: int
    source_characters: int


@dataclass(frozen=True, slots=True)
class ProposalLimits:
    reason_characters: int
    client_characters: int
    reference_characters: int


@dataclass(frozen=True, slots=True)
class HandoffLimits:
    file_bytes: int
    title_characters: int
    text_characters: int
    items: int
    item_characters: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What the gate enforces: kinds with their contracts (in catalog order) and limits."""

    kinds: Mapping[str, KindContract]
    memory: MemoryLimits
    proposal: ProposalLimits
    handoff: HandoffLimits
    document_bytes: int
    query_characters: int


def load_policy(directory: Path | None = None) -> Policy:
    """Read `policies/kinds.toml` and `policies/limits.toml`.

    Raises:
        ConfigurationError: a file is missing or malformed.
    """
    import tomllib

    place = directory or resources.folder("policies")
    try:
        kinds = tomllib.loads((place / "kinds.toml").read_text("utf-8"))
        limits = tomllib.loads((place / "limits.toml").read_text("utf-8"))
        return Policy(
            kinds={
                name: KindContract(
                    name=name,
                    purpose={"en": entry["en"], "zh": entry["zh"]},
                    labels=tuple(entry.get("labels", ())),
                    headings=tuple(entry.get("headings", ())),
                    needs_source=entry.get("needs_source", False),
                    verification=entry.get("verification", False),
                )
                for name, entry in kinds.items()
            },
            memory=MemoryLimits(**limits["memory"]),
            proposal=ProposalLimits(**limits["proposal"]),
            handoff=HandoffLimits(**limits["handoff"]),
            document_bytes=limits["document"]["file_bytes"],
            query_characters=limits["query"]["characters"],
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            "the policy files of this installation can't be read", hint="Install KeepM again."
        ) from error


# ---- settings --------------------------------------------------------------------------------


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
    deep_reconcile_seconds: int = 1800
    verification_review_days: int = 180
    inbox_review_days: int = 30
    inbox_reminder_count: int = 5
    sqlite_journal_mode: str = "wal"
    lock_timeout_seconds: float = 10.0
    projects: tuple[ProjectEntry, ...] = ()
    origins: Mapping[str, str] = field(
        default_factory=dict
    )  # setting → flag | KEEPM_X | file | default


# Setting → (default, environment variable, place in the file, parser).
_CHOICES: dict[str, tuple[str, ...]] = {
    "language": resources.LANGUAGES,
    "approval.minimum": _MINIMA,
    "sqlite_journal_mode": ("wal", "delete"),
}
_INTEGERS: dict[str, tuple[int, int, int]] = {  # default, least, most
    "deep_reconcile_seconds": (1800, 0, 604_800),
    "verification_review_days": (180, 1, 3650),
    "inbox_review_days": (30, 1, 3650),
    "inbox_reminder_count": (5, 1, 1000),
    "lock_timeout_seconds": (10, 1, 600),
}
NAMES = ("root", *_CHOICES, *_INTEGERS)
"""The settings with one value each; `approval.kinds.<kind>` comes on top, one for each kind."""

BY_KIND = "approval.kinds."
"""What the name of a kind's own minimum of approval begins with."""


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return "KEEPM_" + name.replace(".", "_").upper()


def config_file(environ: Mapping[str, str], home: Path) -> Path:
    """Return where the user's settings are."""
    if given := environ.get("KEEPM_CONFIG"):
        return _expand(given, home, base=_working_dir())
    return _platform_dir("config", environ, home) / "config.toml"


def data_dir(environ: Mapping[str, str], home: Path) -> Path:
    """Return the folder of the index and other things that can be made again."""
    if given := environ.get("KEEPM_DATA_DIR"):
        return _expand(given, home, base=_working_dir())
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
    user_home = home or Path.home()
    here = working_dir or _working_dir()
    path = config_file(variables, user_home)
    document = read_file(path)
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
    for name, choices in _CHOICES.items():
        raw, origins[name] = pick(name, choices[0])
        values[name] = check_value(name, raw, where=origins[name])
    for name, (default, _, _) in _INTEGERS.items():
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
        deep_reconcile_seconds=values["deep_reconcile_seconds"],
        verification_review_days=values["verification_review_days"],
        inbox_review_days=values["inbox_review_days"],
        inbox_reminder_count=values["inbox_reminder_count"],
        sqlite_journal_mode=values["sqlite_journal_mode"],
        lock_timeout_seconds=float(values["lock_timeout_seconds"]),
        projects=_projects(document, path, user_home),
        origins=origins,
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
            return _expand(value, home, base=here), origin
    return here, "working directory"


def _working_dir() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was deleted, or can't be looked at: nothing there can be a project
        return Path(os.path.abspath(os.sep))  # noqa: PTH100 - Path.absolute would look at it


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
    plain = spelled.replace("\\", "/")
    if re.match(r"~[^/]", plain) or re.search(
        r"\$\{|^\$(?!HOME(/|$))|^%\w+%", spelled.replace("${HOME}", "", 1)
    ):
        # A host passes ${NAME} on as it stands when it doesn't know the variable.
        raise ConfigurationError(
            f"'{spelled}' has a variable or a user's name in it, which is not expanded",
            hint="Give the folder in full, or from ~ or $HOME on.",
        )
    path = _expand(spelled, home, base=base)
    if path == Path(path.anchor):
        raise ConfigurationError(
            f"'{spelled}' is the root of the file system", hint="Give a folder of its own."
        )
    return path


def parse_setting(name: str, text: str) -> str | int:
    """Return what `keepm config set` writes for a setting; a folder comes back in full.

    Raises:
        ConfigurationError: the setting is unknown or can't have this value.
    """
    if name == "root":
        return str(parse_root(text, home=Path.home(), base=_working_dir()))
    if name.startswith(BY_KIND):
        _refuse_unknown_kinds([name.removeprefix(BY_KIND)])
    return check_value(name, text, where="given")


def check_value(name: str, raw: object, *, where: str) -> str | int:
    """Check one value against its setting.

    Raises:
        ConfigurationError: the setting is unknown or the value not one of its values.
    """
    allowed = _MINIMA if name.startswith(BY_KIND) else _CHOICES.get(name)
    if allowed is not None:
        value = str(raw).strip().lower()
        if value not in allowed:
            choices = ", ".join(allowed)
            raise ConfigurationError(f"{name} is '{raw}' ({where}); it must be one of {choices}")
        return value
    if name in _INTEGERS:
        _, least, most = _INTEGERS[name]
        try:
            number = int(str(raw)) if not isinstance(raw, bool) else None
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise ConfigurationError(
                f"{name} is '{raw}' ({where}); it must be a whole number from {least} to {most}"
            )
        return number
    raise ConfigurationError(
        f"there is no setting '{name}'",
        hint=f"The settings are: {', '.join(NAMES)} and {BY_KIND}<kind>.",
    )


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
        _refuse_unknown_kinds(table)
    return {
        kind: str(check_value(f"{BY_KIND}{kind}", value, where=str(path)))
        for kind, value in table.items()
    }


def _refuse_unknown_kinds(given: Iterable[str]) -> None:
    # A misspelt kind would leave the gate lower than its owner thinks.
    kinds = load_policy().kinds
    if unknown := [kind for kind in given if kind not in kinds]:
        raise ConfigurationError(
            f"there is no kind '{unknown[0]}' ({BY_KIND}{unknown[0]})",
            hint=f"The kinds are: {', '.join(kinds)}.",
        )


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
                    str(_expand(root, home, base=path.parent))
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


def _expand(text: str, home: Path, *, base: Path) -> Path:
    """Expand `~` and `$HOME`, make absolute, without resolving links."""
    for mark in ("~", "$HOME", "${HOME}"):
        if text == mark or text.startswith((f"{mark}/", f"{mark}\\")):
            return Path(os.path.normpath(home / text[len(mark) :].lstrip("/\\")))
    return Path(os.path.normpath(base / text))
