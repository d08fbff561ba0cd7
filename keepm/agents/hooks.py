"""Our hooks in a host's JSON: which commands they are, how they are added and found again.

The event shape is the same for Claude Code and Codex. The command strings hold nothing that
changes between versions, because Codex trusts a hook by its hash.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

from keepm.agents import jsonedit, jsontext
from keepm.agents.merging import Program, earlier, tidied
from keepm.agents.textfile import Refused, TextFile

EVENTS: tuple[tuple[str, str], ...] = (("SessionStart", "session-start"), ("Stop", "stop"))
"""The host's event and our verb for it."""
TIMEOUT = 20
"""Seconds; far more than a hook takes, far less than the host's default of ten minutes."""

_Spot = tuple[str, str, int, str, int]


@dataclass(frozen=True, slots=True)
class JsonHooks:
    """Our handlers under `hooks`.

    `matcher` is which beginnings of a session count; `exec_form` says that the host starts a
    program with arguments itself, without a shell in between.
    """

    program: Program
    root: str
    matcher: str
    exec_form: bool

    def add(self, file: TextFile) -> str:
        text = file.text
        for event, verb in EVENTS:
            handler = self.handler(verb)
            spots = _ours(text, event, verb)
            if not spots:
                group: dict[str, jsontext.Value] = {"hooks": [handler]}
                if event == "SessionStart":
                    group = {"matcher": self.matcher, **group}
                text = jsonedit.append(text, ("hooks", event), group, newline=file.newline)
                continue
            for spot in reversed(spots[1:]):
                text = _drop(text, spot)
            node = jsonedit.find_node(text, spots[0])
            assert node is not None
            text = jsonedit.replace(text, node, handler, newline=file.newline)
        return text

    def take_out(self, file: TextFile, original: str | None) -> str:
        text = file.text
        if not text.strip():
            return text
        if original is None and not any(_ours(text, *each) for each in EVENTS):
            return text
        for event, verb in EVENTS:
            if original is not None and original.strip() and _ours(original, event, verb):
                node = earlier(original, "hooks", event)
                assert node is not None
                text = jsonedit.put(text, ("hooks", event), node.value, newline=file.newline)
                continue
            for spot in reversed(_ours(text, event, verb)):
                text = _drop(text, spot)
        containers = [*(("hooks", event) for event, _ in EVENTS), ("hooks",)]
        return tidied(text, original, containers)

    def handler(self, verb: str) -> dict[str, jsontext.Value]:
        """Return the host's entry for one of our verbs."""
        command, *rest = self.line(verb)
        if self.exec_form:
            return {"type": "command", "command": command, "args": [*rest], "timeout": TIMEOUT}
        line = [command, *rest]
        text = subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)
        return {"type": "command", "command": text, "timeout": TIMEOUT}

    def line(self, verb: str) -> tuple[str, ...]:
        """Return the argument vector of one of our verbs; only the digest needs the root."""
        where = ("--root", self.root) if verb == "session-start" else ()
        return self.program.line("hook", verb, *where)


def is_ours(handler: jsontext.Value, verb: str) -> bool:
    """Tell whether a handler calls `keepm hook <verb>`, whatever starts it."""
    if not isinstance(handler, dict) or not isinstance(command := handler.get("command"), str):
        return False
    arguments = handler.get("args")
    if isinstance(arguments, list):
        words = [command, *(each for each in arguments if isinstance(each, str))]
    else:
        try:
            words = shlex.split(command.replace("\\", "/"))
        except ValueError:
            return False
    called = any(words[i : i + 2] == ["hook", verb] for i in range(1, len(words)))
    return called and any(re.search(r"(?:^|[\\/])keepm(?:\.exe|@.*|[=<>~!].*)?$", w) for w in words)


def _ours(text: str, event: str, verb: str) -> list[_Spot]:
    """Return where our handlers for an event are: group and position in it."""
    if not text.strip():
        return []
    hooks = jsonedit.find_node(text, ("hooks",))
    if hooks is not None and not hooks.is_object:
        raise Refused("'hooks' must be an object", text=text, at=hooks.start)
    node = jsonedit.find_node(text, ("hooks", event))
    if node is None:
        return []
    if not node.is_array:
        raise Refused(f"'{event}' must be a list", text=text, at=node.start)
    found: list[_Spot] = []
    for place, group in enumerate(node.elements):
        inner = group.node.member("hooks")
        if inner is not None and inner.node.is_array:
            found += [
                ("hooks", event, place, "hooks", index)
                for index, each in enumerate(inner.node.elements)
                if is_ours(each.node.value, verb)
            ]
    return found


def _drop(text: str, spot: _Spot) -> str:
    """Remove a handler, and its group when nothing else is in it."""
    text = jsonedit.remove(text, spot)
    left = jsonedit.find_node(text, spot[:4])
    return jsonedit.remove(text, spot[:3]) if left is not None and not left.elements else text
