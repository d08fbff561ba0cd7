"""What doctor finds in a project's files of the hosts: registration, hooks, texts, sizes.

Only what setup wrote is looked for, by its record. A registration is started only if it is still
what setup wrote or starts this very program: a file that came with a repository must not decide
what doctor runs.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keepm import config
from keepm.agents import blocks, handshake, hooks, installing, policy, record
from keepm.agents.handshake import HandshakeFailed
from keepm.agents.hosts.codex import DOC_BYTES
from keepm.agents.hosts.host import POLICY_PATH
from keepm.agents.launching import own_environment
from keepm.agents.merging import SERVER, Program
from keepm.agents.record import SetupRecord
from keepm.agents.textfile import TextFile
from keepm.config import Settings
from keepm.errors import KeepMError
from keepm.model import rules
from keepm.model.checksum import Checksum
from keepm.model.diagnosis import Finding

_JSON_REGISTRATION, _TOML_REGISTRATION = ".mcp.json", ".codex/config.toml"
_HOOKS = {".claude/settings.json": True, ".codex/hooks.json": False}
"""The files of hooks, and whether the host starts a program with arguments itself."""
_INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md")
_AGENTS = "AGENTS.md"


def findings(
    settings: Settings, top: Path, project_id: str | None, environ: Mapping[str, str], home: Path
) -> Iterator[Finding]:
    """Yield what is wrong with a project's host files; a registration takes seconds to start.

    Raises:
        ConfigurationError: setup's record can't be read.
    """
    yield from _sizes(settings.project_dir, top, environ, home)
    known = record.load(settings.data_dir, top)
    if known is None or known.root != str(settings.root):
        return
    program: Program | None = None
    for path in (_JSON_REGISTRATION, _TOML_REGISTRATION):
        if path in known.files:
            line = _registered(top, path)
            if line is None:
                yield rules.finding("registration_missing", path=path)
                continue
            program = program or _program(line)
            yield from _registration(settings, top, path, line, known, project_id, environ)
    for path, exec_form in _HOOKS.items():
        if path in known.files:
            yield from _hooks(top, path, program, settings, exec_form=exec_form)
    if ".codex/hooks.json" in known.files and not _trusts(top, environ, home):
        reason = "Codex doesn't trust this project, so it loads neither the server nor the hooks"
        yield rules.finding("hooks_untrusted", reason, path=".codex/hooks.json")
    yield from _texts(settings, top, known)


# ---- registration --------------------------------------------------------------------------------


def _registration(
    settings: Settings,
    top: Path,
    path: str,
    line: tuple[str, ...],
    known: SetupRecord,
    project_id: str | None,
    environ: Mapping[str, str],
) -> Iterator[Finding]:
    data = _read(top, path) or b""
    is_as_written = Checksum.of(data) == known.files[path].written
    if not is_as_written and not _is_ours(line[0], settings, top):
        yield rules.finding("registration_changed", path=path)
        return
    try:
        spoken = handshake.converse(line, handshake.host_environment(environ), cwd=top)
    except HandshakeFailed as error:
        # What the program wrote itself may hold paths of this machine.
        reason = str(error).partition(" (its last words")[0]
        yield rules.finding("registration_broken", reason, path=path)
        return
    served = spoken.status.get("project")
    if served != project_id:
        reason = "the server that it starts serves another project, or none"
        yield rules.finding("registration_broken", reason, path=path)


def _is_ours(command: str, settings: Settings, top: Path) -> bool:
    """Tell whether a command lies in the environment that runs now, or in KeepM's own."""
    place = Path(command)
    if not place.is_absolute() or place.is_relative_to(top):
        return False
    own = (Path(sys.prefix), own_environment(settings.data_dir))
    return any(place.is_relative_to(each) for each in own)


def _program(line: tuple[str, ...]) -> Program | None:
    """Return what starts KeepM, of a whole registered line."""
    if "serve" not in line:
        return None
    command, *rest = line[: line.index("serve")]
    return Program(command, tuple(rest))


def _registered(top: Path, path: str) -> tuple[str, ...] | None:
    """Return the argument vector that a file registers our server with."""
    data = _read(top, path)
    try:
        text = "" if data is None else data.decode("utf-8-sig")
        if path == _TOML_REGISTRATION:
            entry = tomllib.loads(text).get("mcp_servers", {}).get(SERVER)
        else:
            entry = json.loads(text).get("mcpServers", {}).get(SERVER)
        words = [entry["command"], *entry.get("args", [])]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return tuple(words) if all(isinstance(word, str) for word in words) else None


# ---- hooks, texts --------------------------------------------------------------------------------


def _hooks(
    top: Path, path: str, program: Program | None, settings: Settings, *, exec_form: bool
) -> Iterator[Finding]:
    found = _handlers(_read(top, path))
    wanted = hooks.JsonHooks(
        program or Program(SERVER), str(settings.root), matcher="", exec_form=exec_form
    )
    missing, outdated = [], []
    for event, verb in hooks.EVENTS:
        ours = [each for each in found.get(event, ()) if hooks.is_ours(each, verb)]
        if not ours:
            missing.append(event)
        elif program is not None and wanted.handler(verb) not in ours:
            outdated.append(event)
    if missing:
        yield rules.finding("hooks_missing", f"absent: {', '.join(missing)}", path=path)
    if outdated:
        reason = f"not as this version writes it: {', '.join(outdated)}"
        yield rules.finding("hooks_outdated", reason, path=path)


def _handlers(data: bytes | None) -> dict[str, list[Any]]:
    """Return all handlers of a hooks file by event; nothing of a file that can't be read."""
    try:
        events = json.loads((data or b"{}").decode("utf-8-sig")).get("hooks", {})
        return {
            event: [each for group in groups for each in group.get("hooks", [])]
            for event, groups in events.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


def _trusts(top: Path, environ: Mapping[str, str], home: Path) -> bool:
    """Tell whether Codex's own settings trust this folder."""
    try:
        entry = _codex_settings(environ, home).get("projects", {}).get(str(top), {})
        return bool(entry.get("trust_level") == "trusted")
    except AttributeError:
        return False


def _texts(settings: Settings, top: Path, known: SetupRecord) -> Iterator[Finding]:
    """Yield instruction files whose block or rules aren't this version's."""
    wanted = policy.block(settings.language, policy_path=POLICY_PATH).strip("\n")
    for path in _INSTRUCTIONS:
        if path not in known.files:
            continue
        file = TextFile.parse(_read(top, path) or b"")
        try:
            is_current = blocks.add(file.text, wanted, newline=file.newline) == file.text
        except KeepMError:
            is_current = False
        if not is_current:
            yield rules.finding("policy_outdated", path=path)
    if POLICY_PATH in known.files:
        full = policy.full(settings.language, config.load_policy())
        if TextFile.parse(_read(top, POLICY_PATH) or b"").text != full:
            yield rules.finding("policy_outdated", path=POLICY_PATH)


# ---- sizes ---------------------------------------------------------------------------------------


def _sizes(folder: Path, top: Path, environ: Mapping[str, str], home: Path) -> Iterator[Finding]:
    """Yield agent files of which something doesn't reach Codex: it reads the outermost first."""
    left = limit = _limit(top, environ, home)
    for place in _down_to(folder, top):
        path = (place / _AGENTS).relative_to(top).as_posix()
        size = len(_read(top, path) or b"")
        lost = max(0, size - left)
        left = max(0, left - size)
        if lost:
            what = (
                "nothing of it reaches" if lost == size else f"its last {lost:,} bytes don't reach"
            )
            reason = f"{what} Codex, which reads {limit:,} bytes of such files together"
            yield rules.finding("agent_file_over_limit", reason, path=path)


def _down_to(folder: Path, top: Path) -> list[Path]:
    """Return the folders from the top of the work tree to this one."""
    here, top = Path(os.path.realpath(folder)), Path(os.path.realpath(top))
    if not here.is_relative_to(top):
        return [top]
    parts = here.relative_to(top).parts
    return [top.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]


def _limit(top: Path, environ: Mapping[str, str], home: Path) -> int:
    own = _toml(_read(top, _TOML_REGISTRATION))
    for settings in (own, _codex_settings(environ, home)):
        value = settings.get("project_doc_max_bytes")
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return DOC_BYTES


def _codex_settings(environ: Mapping[str, str], home: Path) -> dict[str, Any]:
    place = Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
    try:
        return _toml(place.read_bytes())
    except OSError:
        return {}


def _toml(data: bytes | None) -> dict[str, Any]:
    try:
        return tomllib.loads((data or b"").decode("utf-8-sig"))
    except ValueError:
        return {}


def _read(top: Path, path: str) -> bytes | None:
    """Return a file of the project; nothing when it isn't there or leads out of it."""
    try:
        return installing.read(top, installing.locate(top, path))
    except KeepMError:
        return None
