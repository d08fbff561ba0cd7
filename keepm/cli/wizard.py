"""The questions of `keepm setup` on a terminal, each with what setup would do by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import questionary

from keepm import config
from keepm.agents import hosts
from keepm.agents.hosts import Host
from keepm.agents.installing import FileChange
from keepm.config import Settings
from keepm.errors import InvalidIdentifier, KeepMError
from keepm.model import identity
from keepm.operations import projects


@dataclass(frozen=True, slots=True)
class Answers:
    """What the owner said; `chosen` are settings to be kept."""

    settings: Settings
    hosts: tuple[Host, ...]
    project_id: str
    hooks: bool
    chosen: dict[str, str]


class _Stopped(Exception):
    """The owner ended the questions."""


def ask(
    settings: Settings,
    top: Path,
    wanted: Sequence[Host],
    *,
    project_id: str | None,
    hooks: bool,
) -> Answers | None:
    """Ask everything; return nothing when the owner stops."""
    questionary.print(f"Setting up KeepM for {top}")
    try:
        root = _text("Vault (a folder of Markdown notes)", str(settings.root), check=_check_root)
        told = replace(settings, root=_root(root))
        own = _text(
            "Project id" if project_id else _explained(told),
            project_id or _proposed(told).project_id,
            check=check_id,
        )
        names = _answer(
            questionary.checkbox(
                "Hosts",
                instruction="(arrows move, space picks, enter ends)",
                choices=[
                    questionary.Choice(host.title, value=host.name, checked=host in wanted)
                    for host in hosts.ALL
                ],
                validate=lambda picked: bool(picked) or "Pick at least one (space bar)",
            )
        )
        language = _answer(
            questionary.select(
                "Language of what agents are told",
                choices=[
                    questionary.Choice("English", value="en"),
                    questionary.Choice("中文", value="zh"),
                ],
                default=settings.language,
            )
        )
        wants_hooks = bool(
            _answer(questionary.confirm("Hooks that begin each session with a digest?", hooks))
        )
    except _Stopped:
        return None
    chosen = {}
    if told.root != settings.root:
        chosen["root"] = str(told.root)
    if language != settings.language:
        chosen["language"] = str(language)
    return Answers(
        settings=replace(told, language=str(language)),
        hosts=tuple(host for host in hosts.ALL if host.name in (names or ())),  # type: ignore[operator]  # a checkbox answers a list
        project_id=identity.parse_project_id(own),
        hooks=wants_hooks,
        chosen=chosen,
    )


def confirm(changes: Sequence[FileChange]) -> bool:
    """Show which files change, and ask for the last word."""
    for change in changes:
        if change.is_one:
            questionary.print(f"  {'new   ' if change.before is None else 'change'} {change.path}")
    try:
        return bool(_answer(questionary.confirm("Write this?", default=True)))
    except _Stopped:
        return False


def _explained(settings: Settings) -> str:
    proposed = _proposed(settings)
    if proposed.note:
        questionary.print(proposed.note)
    if proposed.known:
        return f"Project id ('{proposed.project_id}' is in use: the same project, or another id?)"
    return f"Project id (proposed from: {proposed.source})"


def _proposed(settings: Settings) -> projects.Proposed:
    return projects.propose(settings, vault_projects=projects.in_vault(settings.root))


def _root(text: str) -> Path:
    return config.parse_root(text, home=Path.home(), base=Path.cwd())


def _check_root(text: str) -> bool | str:
    try:
        _root(text)
    except KeepMError as error:
        return error.message
    return True


def check_id(text: str) -> bool | str:
    """Tell whether text may be a project's id; if not, why, in a terminal's line."""
    try:
        identity.parse_project_id(text)
    except InvalidIdentifier as error:
        # Without the field's name: a terminal of 80 columns shows one line of it.
        return "; ".join(problem.message for problem in error.problems)
    return True


def _text(question: str, default: str, *, check: object) -> str:
    return str(_answer(questionary.text(question, default=default, validate=check)))


def _answer(question: questionary.Question) -> object:
    answer = question.ask(kbi_msg="")  # that nothing was changed is said once, by setup
    if answer is None:
        raise _Stopped
    return answer
