"""`memory_doctor`: what an agent is told, in which form, and what its token is good for."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from keepm.model import rules
from keepm.model.diagnosis import Rule
from keepm.operations.diagnosis import survey
from tests import docs
from tests.mcp.client import Answer, Tools
from tests.operations.diagnosis.support import note
from tests.operations.support import Machine

WIDGETS = "Memory/projects/widgets"


def test_findings_come_with_place_way_out_and_token(machine: Machine, agent: Tools) -> None:
    machine.put(f"{WIDGETS}/a.md", "---\nname: a: b\n---\n")

    answer = agent.done("doctor")

    (only,) = answer["findings"]
    assert set(only) == {"id", "code", "severity", "path", "line", "subject", "reason", "fix"}
    assert (only["id"], only["path"], only["line"]) == ("KM102", f"{WIDGETS}/a.md", 2)
    assert answer["summary"] == {"error": 1, "warning": 0, "info": 0}
    assert answer["repair_token"]


def test_a_sound_vault_has_no_findings_and_a_token_all_the_same(agent: Tools) -> None:
    answer = agent.done("doctor")

    assert answer["findings"] == []
    assert agent.call("sync", full=True, repair_token=answer["repair_token"])["next_step"]


def test_others_are_answered_while_doctor_is_at_work(
    machine: Machine, agent: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault 49: doctor took 15 s for a thousand notes, on the thread that everybody waits for."""
    machine.put(f"{WIDGETS}/a.md", note(1, "lighthouse"))
    reached, go, take = threading.Event(), threading.Event(), survey.take

    def slow(*args: Any, **more: Any) -> survey.Survey:
        reached.set()
        assert go.wait(30)
        return take(*args, **more)

    monkeypatch.setattr(survey, "take", slow)
    answers: list[Answer] = []
    doctor = threading.Thread(target=lambda: answers.append(agent.done("doctor")))
    doctor.start()
    assert reached.wait(30)

    assert agent.done("search", query="lighthouse")["total"] == 1
    assert agent.done("status")["notes"] == 1
    assert answers == []

    go.set()
    doctor.join(30)
    assert answers[0]["summary"] == {"error": 0, "warning": 0, "info": 0}


def test_the_token_is_of_this_server_and_of_this_diagnosis(agent: Tools) -> None:
    agent.call("doctor")

    refused = agent.call("sync", full=True, repair_token="other")

    assert refused.code == "confirmation_required"


def test_what_repair_can_mend_is_marked(machine: Machine, agent: Tools) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, id=""))

    (only,) = agent.call("doctor")["findings"]

    assert (only["code"], only["repairable"]) == ("missing_id", True)


def test_json_is_the_published_report_and_no_text_in_a_text(machine: Machine, agent: Tools) -> None:
    """Fault 56 of KeepM 3."""
    machine.put(f"{WIDGETS}/a.md", note(1, kind="decision"))

    answer = agent.done("doctor", report_format="json")

    jsonschema = importlib.import_module("jsonschema")
    schema = json.loads((docs.DOCS / "schemas/doctor.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(answer["report"])
    assert "findings" not in answer.data and "markdown" not in answer.data
    assert answer["repair_token"] not in json.dumps(answer["report"])


def test_markdown_is_a_page_without_the_token(machine: Machine, agent: Tools) -> None:
    machine.put(f"{WIDGETS}/a.md", note(1, kind="decision"))

    answer = agent.done("doctor", report_format="markdown")

    assert answer["markdown"].startswith("# KeepM doctor")
    assert answer["repair_token"] not in answer["markdown"]


def test_many_findings_are_cut_to_the_gravest_and_the_rest_is_counted(
    machine: Machine, agent: Tools
) -> None:
    for number in range(60):
        machine.put(f"{WIDGETS}/a{number:02}.md", note(number, created=""))
    machine.put(f"{WIDGETS}/z.md", "---\nname: a: b\n---\n")

    answer = agent.done("doctor")

    assert answer["findings"][0]["severity"] == "error"
    assert answer["omitted"] + len(answer["findings"]) == sum(answer["summary"].values()) == 61
    assert "keepm doctor" in answer["next_step"]
    agent.call("sync", full=True, repair_token=answer["repair_token"])


def test_another_projects_faults_are_not_told(machine: Machine, agent: Tools) -> None:
    """Fault 45 of KeepM 3."""
    machine.project("quokka")
    machine.put("Memory/projects/quokka/quokka.md", "---\nquokka: a: b\n---\n")
    machine.put("Memory/global/a.md", "---\nname: a: b\n---\n")

    for report_format in ("structured", "json", "markdown"):
        said = agent.call("doctor", report_format=report_format).whole
        assert "quokka" not in said and "global/a.md" in said


def test_without_a_project_global_memory_is_looked_at(
    machine: Machine, connect: Callable[..., Tools]
) -> None:
    machine.put("Memory/global/a.md", "---\nname: a: b\n---\n")
    machine.put(f"{WIDGETS}/a.md", "---\nname: a: b\n---\n")

    (only,) = connect(None).call("doctor")["findings"]

    assert only["path"] == "Memory/global/a.md"


def test_a_form_that_isnt_there_is_refused(agent: Tools) -> None:
    assert agent.call("doctor", report_format="xml").code == "invalid_input"


@pytest.mark.parametrize("rule", rules.RULES.values(), ids=lambda rule: rule.code)
def test_a_rule_tells_its_way_out_in_one_line(rule: Rule) -> None:
    assert rule.fix.endswith(".") and "\n" not in rule.fix
    assert len(rule.means) < 100 and not rule.means.endswith(".")
