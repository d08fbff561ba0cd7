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
from keepm.cli import wording
from keepm.cli.wording import Words
from keepm.config import Settings, shells
from keepm.config.values import MINIMA
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
    """Ask everything, in the language that is asked for first; return nothing when the owner stops.

    Raises:
        ConfigurationError: this installation lacks the questions.
    """
    try:
        language = _pick("Language / 语言", [("English", "en"), ("中文", "zh")], settings.language)
        say = wording.words(language, of="setup")
        questionary.print(say("begin", top=str(top)))
        root = _text(say("vault"), str(settings.root), check=_check_root)
        told = replace(settings, root=_root(root), language=language)
        own = _text(
            say("project_given") if project_id else _explained(told, say),
            project_id or _proposed(told).project_id,
            check=check_id,
        )
        names = _answer(
            questionary.checkbox(
                say("hosts"),
                instruction=say("hosts_how"),
                choices=[
                    questionary.Choice(host.title, value=host.name, checked=host in wanted)
                    for host in hosts.ALL
                ],
                validate=lambda picked: bool(picked) or say("hosts_none"),
            )
        )
        minimum = settings.approval_minimum
        if shells.agent_shell() is None:  # what opens the gate is no question for an agent
            minimum = _pick(
                say("approval"), [(say(f"approval_{each}"), each) for each in MINIMA], minimum
            )
        wants_hooks = bool(_answer(questionary.confirm(say("hooks"), hooks)))
    except _Stopped:
        return None
    asked = {
        "root": (str(settings.root), str(told.root)),
        "language": (settings.language, language),
        "approval.minimum": (settings.approval_minimum, minimum),
    }
    return Answers(
        settings=replace(told, approval_minimum=minimum),
        hosts=tuple(host for host in hosts.ALL if host.name in (names or ())),  # type: ignore[operator]  # a checkbox answers a list
        project_id=identity.parse_project_id(own),
        hooks=wants_hooks,
        chosen={name: new for name, (old, new) in asked.items() if new != old},
    )


def confirm(changes: Sequence[FileChange], language: str) -> bool:
    """Show which files change, and ask for the last word."""
    say = wording.words(language, of="setup")
    for change in changes:
        if change.is_one:
            questionary.print(
                f"  {say('new' if change.before is None else 'change')} {change.path}"
            )
    try:
        return bool(_answer(questionary.confirm(say("write"), default=True)))
    except _Stopped:
        return False


def _explained(settings: Settings, say: Words) -> str:
    proposed = _proposed(settings)
    if proposed.note:
        questionary.print(proposed.note)
    if proposed.known:
        return say("project_known", id=proposed.project_id)
    return say("project", source=proposed.source)


def _proposed(settings: Settings) -> projects.Proposed:
    return projects.propose(settings, vault_projects=projects.in_vault(settings.root))


def _root(text: str) -> Path:
    return config.parse_root(text, home=config.home_folder(), base=Path.cwd())


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


def _pick(question: str, choices: Sequence[tuple[str, str]], default: str) -> str:
    """Return the value of the choice that is taken; a choice is its title and its value."""
    return str(
        _answer(
            questionary.select(
                question,
                choices=[questionary.Choice(title, value=value) for title, value in choices],
                default=default,
            )
        )
    )


def _text(question: str, default: str, *, check: object) -> str:
    return str(_answer(questionary.text(question, default=default, validate=check)))


def _answer(question: questionary.Question) -> object:
    answer = question.ask(kbi_msg="")  # that nothing was changed is said once, by setup
    if answer is None:
        raise _Stopped
    return answer
