"""A diagnosis as a report: JSON by the published schema, Markdown, lines for a terminal.

`docs/schemas/doctor.json` describes the JSON. A report holds no token and no path of this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepm import __version__
from keepm.model import diagnosis, visible
from keepm.model.diagnosis import Finding
from keepm.model.document import Severity
from keepm.operations.diagnosis import Diagnosis

SCHEMA = "keepm-doctor/1"
"""Additions keep the number; what goes or changes its meaning raises it."""


def as_json(found: Diagnosis) -> dict[str, Any]:
    """Return the report as JSON-like data."""
    return {
        "schema": SCHEMA,
        "keepm": __version__,
        "project": found.project,
        "all": found.everything,
        "files": found.files,
        "summary": summary(found.findings),
        "findings": [item(each) for each in found.findings],
    }


def item(each: Finding) -> dict[str, Any]:
    """Return one finding with all that a script may ask for; what it doesn't have is null."""
    return {
        "id": each.rule.id,
        "code": each.rule.code,
        "severity": str(each.severity),
        "area": str(each.rule.area),
        "path": None if each.path is None else _clean(each.path),
        "line": each.line,
        "subject": None if each.subject is None else _clean(each.subject),
        "reason": _clean(each.reason),
        "fix": each.fix,
        "repairable": each.repairable,
        "fingerprint": each.fingerprint,
    }


def summary(findings: Sequence[Finding]) -> dict[str, int]:
    """Return how many findings there are of each severity."""
    return {str(severity): number for severity, number in diagnosis.counted(findings).items()}


def in_words(findings: Sequence[Finding]) -> str:
    """Return the summary as a person says it."""
    parts = []
    for severity, number in diagnosis.counted(findings).items():
        if number:
            # By the very word that stands before each: a note is what memory consists of.
            parts.append(f"{number} {severity}{'s' if number > 1 else ''}")
    return ", ".join(parts) or "nothing found"


def as_text(found: Diagnosis) -> str:
    """Return the report for a terminal: the place, what is wrong, what to do."""
    return "\n".join(
        f"{each.severity:<7} {each.rule.id} {each.rule.code}  {place(each)}\n"
        f"        {shown(each.reason)}\n"
        f"        → {each.fix}"
        for each in found.findings
    )


def as_markdown(found: Diagnosis) -> str:
    """Return the report as a page."""
    whose = "all projects" if found.everything else f"project {found.project or '–'} and global"
    lines = [
        "# KeepM doctor",
        "",
        f"{in_words(found.findings)} in {found.files} files ({whose}).",
    ]
    for severity in Severity:
        group = [each for each in found.findings if each.severity is severity]
        if group:
            lines += ["", f"## {str(severity).capitalize()} ({len(group)})", ""]
            lines += [
                f"- **{each.rule.id}** `{each.rule.code}` {_code(place(each))}: "
                f"{_escaped(shown(each.reason))}. {_escaped(each.fix)}"
                for each in group
            ]
    return "\n".join(lines) + "\n"


def place(each: Finding) -> str:
    """Return where a finding is: the file with its line, else what it is about."""
    if each.path is None:
        return shown(each.subject or str(each.rule.area))
    return shown(each.path) + (f":{each.line}" if each.line else "")


def shown(text: str) -> str:
    """Return text with what nobody sees written out, on one line."""
    return visible.shown(" ".join(text.splitlines()))


def _clean(text: str) -> str:
    """Return text that any encoder takes: a file's name may be no Unicode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if fence == "``" else f"{fence}{text}{fence}"


def _escaped(text: str) -> str:
    for sign in ("\\", "<", "[", "*", "_", "`"):
        text = text.replace(sign, f"\\{sign}")
    return text
