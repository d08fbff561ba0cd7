"""The tool that says what is wrong: doctor, for this project and global memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from fastmcp import FastMCP
from pydantic import Field

from keepm.mcp.session import Session
from keepm.mcp.tools import tool
from keepm.model import diagnosis as model
from keepm.operations import diagnosis, reports, sync
from keepm.operations.diagnosis import Diagnosis

_MOST = 40  # findings in one answer; each costs the model about sixty tokens
_FOR_SCRIPTS = ("area", "fingerprint")


@dataclass(frozen=True, slots=True)
class DoctorAnswer:
    """What doctor found, in the form that was asked for; `omitted` are the least grave."""

    repair_token: str
    summary: dict[str, int]
    findings: list[dict[str, Any]] | None = None
    report: dict[str, Any] | None = None
    markdown: str | None = None
    omitted: int | None = None
    next_step: str | None = None


def register(server: FastMCP[Any], session: Session) -> None:
    """Put doctor on the server."""

    @tool(server, session, "Doctor", reads=True)
    def memory_doctor(
        report_format: Annotated[
            Literal["structured", "json", "markdown"], Field(description="Of the findings.")
        ] = "structured",
    ) -> DoctorAnswer:
        """Read every note and say what is wrong. Slow: only when asked or something is odd."""
        vault = session.vault()
        sync.refresh(vault)
        whole = diagnosis.examine(vault, session.caller(), beside_answers=True)
        found = replace(whole, findings=model.gravest(whole.findings, most=_MOST))
        omitted = len(whole.findings) - len(found.findings)
        answer = DoctorAnswer(
            repair_token=diagnosis.repair_token(vault, whole.findings),
            summary=reports.summary(whole.findings),
            omitted=omitted or None,
            next_step="Tell the user to run `keepm doctor` for all of them." if omitted else None,
        )
        return _in_form(answer, found, report_format)


def _in_form(answer: DoctorAnswer, found: Diagnosis, report_format: str) -> DoctorAnswer:
    match report_format:
        case "json":
            return replace(answer, report=reports.as_json(found))
        case "markdown":
            return replace(answer, markdown=reports.as_markdown(found))
        case _:
            items = (reports.item(each) for each in found.findings)
            return replace(answer, findings=[_short(each) for each in items])


def _short(item: dict[str, Any]) -> dict[str, Any]:
    """Leave out what only scripts ask for, and what a finding doesn't have."""
    return {key: value for key, value in item.items() if value and key not in _FOR_SCRIPTS}
