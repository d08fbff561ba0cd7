"""Settings, resolved once, and the policy data that the rules are made of.

The only reader of the environment. Flags come before `KEEPM_*` variables, these before the
user's file, this before the defaults; each value remembers which of them it came from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepm.config.folders import (
    home_folder,
    parse_root,
)
from keepm.config.settings import (
    ProjectEntry,
    Settings,
    config_file,
    data_dir,
    environment,
    isolate_sdk,
    load,
    read_file,
)
from keepm.config.values import (
    BY_KIND,
    GATE,
    NAMES,
    check_value,
    parse_setting,
    variable,
)

if TYPE_CHECKING:
    from keepm.config.policy import (
        HandoffLimits,
        KindContract,
        MemoryLimits,
        Policy,
        ProposalLimits,
        load_policy,
    )
    from keepm.config.screening import (
        Assignment,
        Judged,
        MarkupRules,
        Pattern,
        Rule,
        ScreeningRules,
        compiled,
    )

__all__ = [
    "BY_KIND",
    "GATE",
    "NAMES",
    "Assignment",
    "HandoffLimits",
    "Judged",
    "KindContract",
    "MarkupRules",
    "MemoryLimits",
    "Pattern",
    "Policy",
    "ProjectEntry",
    "ProposalLimits",
    "Rule",
    "ScreeningRules",
    "Settings",
    "check_value",
    "compiled",
    "config_file",
    "data_dir",
    "environment",
    "home_folder",
    "isolate_sdk",
    "load",
    "load_policy",
    "parse_root",
    "parse_setting",
    "read_file",
    "variable",
]


def __getattr__(name: str) -> object:
    """Import the policy data when it is asked for: a hook, which needs settings only, runs often.

    Raises:
        AttributeError: there is no such name.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from keepm.config import policy, screening

    return getattr(policy if hasattr(policy, name) else screening, name)
