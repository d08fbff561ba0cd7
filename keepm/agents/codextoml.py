"""Our table in Codex's `config.toml`: appended as text, so that nothing else can change.

Only where the table is there already, or all servers stand in one inline table, is the document
edited in place. Either way the result is parsed again and must be the old settings and ours.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from keepm.agents.merging import SERVER, Program
from keepm.agents.textfile import Refused, TextFile

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_FOREIGN = ("url", "env", "cwd", "bearer_token_env_var", "http_headers", "env_http_headers")
"""Keys of another registration under our name that would start something else."""


@dataclass(frozen=True, slots=True)
class TomlServer:
    """Our `[mcp_servers.keepm]`; `forwarded` are variables the server needs from its parent."""

    program: Program
    arguments: tuple[str, ...]
    forwarded: tuple[str, ...] = ()

    def add(self, file: TextFile) -> str:
        old = parse(file.text)
        servers = old.get("mcp_servers", {})
        if not isinstance(servers, dict):
            raise Refused("'mcp_servers' must be a table")
        present = servers.get(SERVER)
        if present is not None and not isinstance(present, dict):
            raise Refused(f"'mcp_servers.{SERVER}' must be a table")
        wanted = self._entry(present or {})
        if present == wanted:
            return file.text
        changed = "" if present is not None else _appended(file, wanted)
        if not _is(changed, old, wanted):
            changed = _edited(file, wanted)
        if not _is(changed, old, wanted):
            raise Refused("its servers are written in a way that can't be extended safely")
        return changed

    def take_out(self, file: TextFile, original: str | None) -> str:
        old = parse(file.text)
        present = old.get("mcp_servers", {}).get(SERVER)
        if present is None:
            return file.text
        before = parse(original or "").get("mcp_servers", {}).get(SERVER)
        if before is not None:
            changed = _edited(file, before)
        else:
            ours = _table(present, file.newline)
            open_ended = bool(original) and not (original or "").endswith("\n")
            gaps = [file.newline * 2] if open_ended else []
            for chunk in (gap + ours for gap in (*gaps, file.newline, "")):
                if file.text.endswith(chunk):
                    changed = file.text[: -len(chunk)]
                    break
            else:
                changed = _edited(file, None)
        if not _is(changed, old, before):
            raise Refused(f"'mcp_servers.{SERVER}' can't be taken out safely")
        return changed

    def _entry(self, present: dict[str, Any]) -> dict[str, Any]:
        command, *rest = self.program.line(*self.arguments)
        entry = {key: value for key, value in present.items() if key not in _FOREIGN}
        entry |= {"command": command, "args": rest}
        entry.setdefault("startup_timeout_sec", 30)
        # A call that asks its person waits for them; see `mcp/session`, PATIENCE_SECONDS.
        entry.setdefault("tool_timeout_sec", 600)
        if self.forwarded:
            kept = [each for each in entry.get("env_vars", []) if each not in self.forwarded]
            entry["env_vars"] = [*kept, *self.forwarded]
        return entry


def parse(text: str) -> dict[str, Any]:
    """Parse a document.

    Raises:
        Refused: it isn't valid TOML; names line and column.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        message = str(error)
        match = _PLACE.search(message)
        if match is None:
            raise Refused(f"it is not valid TOML: {message}", text=text, at=len(text)) from error
        line, column = int(match.group(1)), int(match.group(2))
        start = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
        what = _PLACE.sub("", message).strip()
        raise Refused(f"it is not valid TOML: {what}", text=text, at=start + column - 1) from error


def _is(text: str, old: dict[str, Any], entry: dict[str, Any] | None) -> bool:
    """Tell whether a text means the old settings, with this entry for our server."""
    try:
        found = parse(text)
    except Refused:
        return False
    others = [
        {
            **{key: value for key, value in document.items() if key != "mcp_servers"},
            "mcp_servers": {
                key: value
                for key, value in document.get("mcp_servers", {}).items()
                if key != SERVER
            },
        }
        for document in (old, found)
    ]
    return others[0] == others[1] and found.get("mcp_servers", {}).get(SERVER) == entry


def _appended(file: TextFile, entry: dict[str, Any]) -> str:
    gap = "" if not file.text else file.newline
    if file.text and not file.text.endswith("\n"):
        gap = file.newline * 2
    return file.text + gap + _table(entry, file.newline)


def _table(entry: dict[str, Any], newline: str) -> str:
    import tomlkit

    table = tomlkit.table()
    table.update(entry)
    text = tomlkit.dumps({"mcp_servers": {SERVER: table}})
    return text.removeprefix("[mcp_servers]\n").replace("\n", newline)


def _edited(file: TextFile, entry: dict[str, Any] | None) -> str:
    """Change the document in place: our table gets this content, or goes."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    windows = file.newline == "\r\n" and file.text.count("\n") == file.text.count("\r\n")
    text = file.text.replace("\r\n", "\n") if windows else file.text
    try:
        document: Any = tomlkit.parse(text)
        if tomlkit.dumps(document) != text:
            raise Refused("it is written in a way that can't be changed without loss")
        servers = document.setdefault("mcp_servers", tomlkit.table(is_super_table=True))
        if entry is None:
            del servers[SERVER]
            if not servers:
                del document["mcp_servers"]
        else:
            table = servers.setdefault(SERVER, {})
            for key in [key for key in table if key not in entry]:
                del table[key]
            for key, value in entry.items():
                if table.get(key) != value:
                    table[key] = value
        changed: str = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError) as error:
        raise Refused("its servers are written in a way that can't be changed safely") from error
    return changed.replace("\n", "\r\n") if windows else changed
