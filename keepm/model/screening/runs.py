"""Where a token or an encoded run can stand: in a run of characters without a blank.

Looking through these few characters tells of most texts that no shape of a key can be in them,
at a fraction of what looking through the whole text costs.
"""

from __future__ import annotations

import re

LEAST = 16
"""No shape of a key that is looked for in runs alone is shorter than this."""

# What those shapes are made of: ASCII without blanks, and what `\\d` stands for in other scripts.
_RUN = re.compile(rf"[!-~\d]{{{LEAST},}}")


def runs(text: str) -> str:
    """Return the long runs of a text, one a line; empty for none."""
    if text.isascii():
        return "\n".join([run for run in text.split() if len(run) >= LEAST])
    return "\n".join(_RUN.findall(text))
