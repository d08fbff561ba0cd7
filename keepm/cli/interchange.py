"""Doctor's findings as other programs take them: GitHub's annotations, SARIF, JUnit.

Paths are relative to the repository where the vault lies in it, else to the vault. A finding
without a place stands at the report itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from keepm import __version__
from keepm.model import diagnosis, rules
from keepm.model.diagnosis import Area, Finding
from keepm.model.document import Severity
from keepm.operations import reports

_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

Prefix = str | None
"""The vault's folder as seen from the repository (`""`: the same); None: it lies elsewhere."""


def github(findings: Sequence[Finding], *, prefix: Prefix) -> str:
    """Return one workflow command for each finding."""
    return "\n".join(_command(each, prefix) for each in findings)


def _command(each: Finding, prefix: Prefix) -> str:
    properties = {"title": f"{each.rule.id} {each.rule.code}"}
    path = path_in_repository(each, prefix)
    if path is not None:
        properties = {"file": path, **({"line": str(each.line)} if each.line else {}), **properties}
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    where = "" if path is not None or not each.path else f"{reports.place(each)}: "
    message = _message(f"{where}{reports.shown(each.reason)}. {each.fix}")
    return f"::{_GITHUB[each.severity]} {told}::{message}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def path_in_repository(each: Finding, prefix: Prefix) -> str | None:
    """Return a finding's path from the repository's top, or nothing when it isn't in there."""
    if each.path is None:
        return None
    if each.rule.area is Area.PROJECT:
        return each.path
    if prefix is None:
        return None
    return f"{prefix}/{each.path}" if prefix else each.path


def sarif(findings: Sequence[Finding], *, prefix: Prefix) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log with every rule that speaks."""
    spoken = sorted({each.rule.id: each.rule for each in findings}.items())
    places = {rule_id: number for number, (rule_id, _) in enumerate(spoken)}
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "keepm",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for _, rule in spoken],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(each, places, prefix) for each in findings],
            }
        ],
    }


def _rule(rule: diagnosis.Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.code,
        "shortDescription": {"text": rule.means},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _SARIF[rule.severity]},
    }


def _result(each: Finding, places: Mapping[str, int], prefix: Prefix) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": each.rule.id,
        "ruleIndex": places[each.rule.id],
        "level": _SARIF[each.severity],
        "message": {"text": f"{reports.shown(each.reason)}. {each.fix}"},
        "partialFingerprints": {"keepm/1": each.fingerprint},
    }
    path = path_in_repository(each, prefix) or each.path
    if path is not None:
        inside = path_in_repository(each, prefix) is not None
        location: dict[str, Any] = {
            "artifactLocation": {
                "uri": quote(path, safe="/", errors="surrogatepass"),
                "uriBaseId": "%SRCROOT%" if inside else "VAULT",
            }
        }
        if each.line:
            location["region"] = {"startLine": each.line}
        result["locations"] = [{"physicalLocation": location}]
    return result


def junit(findings: Sequence[Finding], *, fails: Callable[[Finding], bool]) -> str:
    """Return a test case for each rule, failed where a finding of it `fails` the run."""
    by_rule: dict[str, list[Finding]] = {}
    for each in findings:
        by_rule.setdefault(each.rule.code, []).append(each)
    failed = sum(1 for group in by_rule.values() if any(fails(each) for each in group))
    suite = ElementTree.Element(
        "testsuite",
        name="keepm doctor",
        tests=str(len(rules.RULES)),
        failures=str(failed),
        errors="0",
        skipped="0",
    )
    for rule in rules.RULES.values():
        case = ElementTree.SubElement(
            suite, "testcase", classname="keepm.doctor", name=f"{rule.id} {rule.code}"
        )
        group = by_rule.get(rule.code, [])
        bad = [each for each in group if fails(each)]
        if bad:
            failure = ElementTree.SubElement(
                case, "failure", type=rule.code, message=_xml(f"{len(bad)} × {rule.means}")
            )
            failure.text = _xml("\n".join(_told(each) for each in bad))
        beside = [each for each in group if not fails(each)]
        if beside:
            output = ElementTree.SubElement(case, "system-out")
            output.text = _xml("\n".join(_told(each) for each in beside))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(
        suites, encoding="unicode"
    )


def _told(each: Finding) -> str:
    return f"{each.severity} {reports.place(each)}: {reports.shown(each.reason)}"


def _xml(text: str) -> str:
    """Leave out what XML 1.0 can't hold."""
    return _NOT_XML.sub("�", text)
