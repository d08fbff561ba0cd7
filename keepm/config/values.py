"""The settings by name, and which values each can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from keepm import resources
from keepm.config.folders import current_folder, home_folder, parse_root
from keepm.errors import ConfigurationError

MINIMA = ("relayed", "host", "owner")
CHOICES: dict[str, tuple[str, ...]] = {
    "language": resources.LANGUAGES,
    "approval.minimum": MINIMA,
    "approval.ask_host": ("destructive", "all"),
    "approval.external_edits": ("owner-edit", "review"),
    "sqlite_journal_mode": ("wal", "delete"),
}
INTEGERS: dict[str, tuple[int, int, int]] = {  # default, least, most
    "deep_reconcile_seconds": (1800, 0, 604_800),
    "verification_review_days": (180, 1, 3650),
    "inbox_review_days": (30, 1, 3650),
    "inbox_reminder_count": (5, 1, 1000),
    "lock_timeout_seconds": (10, 1, 600),
    "history.keep_days": (0, 0, 36_500),
}
NAMES = ("root", *CHOICES, *INTEGERS)
"""The settings with one value each; `approval.kinds.<kind>` comes on top, one for each kind."""

BY_KIND = "approval.kinds."
"""What the name of a kind's own minimum of approval begins with."""

GATE = "approval."
"""What the name of each setting begins with that says who may let text into memory."""


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return "KEEPM_" + name.replace(".", "_").upper()


def parse_setting(name: str, text: str) -> str | int:
    """Return what `keepm config set` writes for a setting; a folder comes back in full.

    Raises:
        ConfigurationError: the setting is unknown or can't have this value.
    """
    if name == "root":
        return str(parse_root(text, home=home_folder(), base=current_folder()))
    if name.startswith(BY_KIND):
        refuse_unknown_kinds([name.removeprefix(BY_KIND)])
    return check_value(name, text, where="given")


def check_value(name: str, raw: object, *, where: str) -> str | int:
    """Check one value against its setting.

    Raises:
        ConfigurationError: the setting is unknown or the value not one of its values.
    """
    allowed = MINIMA if name.startswith(BY_KIND) else CHOICES.get(name)
    if allowed is not None:
        value = str(raw).strip().lower()
        if value not in allowed:
            choices = ", ".join(allowed)
            raise ConfigurationError(f"{name} is '{raw}' ({where}); it must be one of {choices}")
        return value
    if name in INTEGERS:
        _, least, most = INTEGERS[name]
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


def unknown(table: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Yield what a settings file says that is no setting, as dotted names."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        holds = any(each.startswith(f"{name}.") for each in (*NAMES, BY_KIND))
        if name in (*NAMES, "projects", BY_KIND.rstrip(".")):
            continue
        if holds and isinstance(value, Mapping):
            yield from unknown(value, f"{name}.")
        else:
            yield name


def refuse_unknown_kinds(given: Iterable[str]) -> None:
    # A misspelt kind would leave the gate lower than its owner thinks.
    from keepm.config.policy import load_policy

    kinds = load_policy().kinds
    if unknown := [kind for kind in given if kind not in kinds]:
        raise ConfigurationError(
            f"there is no kind '{unknown[0]}' ({BY_KIND}{unknown[0]})",
            hint=f"The kinds are: {', '.join(kinds)}.",
        )
