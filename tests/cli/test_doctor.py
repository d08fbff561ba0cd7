"""`keepm doctor`: reports, choices, exit codes, and where there is nothing to look at."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from keepm.cli import main
from keepm.model import rules
from keepm.operations import diagnosis, memories
from keepm.operations.vault import Vault
from tests import docs
from tests.cli.support import CommandLine
from tests.operations.diagnosis.support import note
from tests.operations.support import AGENT, Machine, claim

WIDGETS = "Memory/projects/widgets"
FORMATS = ("text", "json", "markdown", "github", "sarif", "junit")


@pytest.fixture
def ill(keepm: CommandLine, vault: Vault) -> CommandLine:
    """A vault with one finding of each severity, in files whose names are hard to write down."""
    machine = keepm.machine
    machine.put(f"{WIDGETS}/中文, 100%.md", "---\nname: a: b\n---\n")
    machine.put(f"{WIDGETS}/b `c`.md", note(2, kind="decision").replace("\ncreated", "\nx"))
    return keepm


def schema(path: Path, value: Any) -> None:
    """Hold a value against a JSON schema."""
    jsonschema = importlib.import_module("jsonschema")
    jsonschema.Draft202012Validator(json.loads(path.read_text("utf-8"))).validate(value)


# ---- exit codes ----------------------------------------------------------------------------------


def test_a_sound_vault_ends_with_0_and_says_so(keepm: CommandLine, vault: Vault) -> None:
    memories.create(vault, AGENT, claim("port"))

    assert keepm.run("doctor") == (0, "")
    assert keepm.said == "nothing found (1 files)\n"


@pytest.mark.parametrize(
    ("path", "least"),
    [("error", "error"), ("warning", "warning"), ("info", "info")],
)
def test_the_exit_code_is_1_from_the_chosen_severity_on(
    keepm: CommandLine, vault: Vault, path: str, least: str
) -> None:
    """Fault 41 of KeepM 3: doctor ended with 0 whatever it found."""
    texts = {
        "error": "---\nname: a: b\n---\n",
        "warning": note(2, description=""),
        "info": note(2, created=""),
    }
    keepm.machine.put(f"{WIDGETS}/a.md", texts[path])
    order = ("info", "warning", "error")

    for fail_on in order:
        code, _ = keepm.run("doctor", "--fail-on", fail_on)
        assert code == int(order.index(path) >= order.index(fail_on)), fail_on
    assert keepm.run("doctor", "--fail-on", "never")[0] == 0
    assert keepm.run("doctor")[0] == int(least == "error")


def test_select_and_ignore_choose_what_counts(ill: CommandLine) -> None:
    def codes(*words: str) -> set[str]:
        _, out = ill.run("doctor", "--format", "json", "--fail-on", "never", *words)
        return {each["code"] for each in json.loads(out)["findings"]}

    assert codes() == {"invalid_yaml", "contract_missing", "missing_date"}
    assert codes("--select", "KM1") == {"invalid_yaml", "missing_date"}
    assert codes("--select", "KM1", "--ignore", "km102") == {"missing_date"}
    assert codes("--select", "KM102,contract_missing") == {"invalid_yaml", "contract_missing"}
    assert codes("--select", "KM203", "--ignore", "KM2") == {"contract_missing"}
    assert codes("--ignore", "invalid_yaml", "--ignore", "KM203") == {"missing_date"}
    assert ill.run("doctor", "--ignore", "KM102")[0] == 0


def test_the_summary_counts_no_findings_as_notes(ill: CommandLine) -> None:
    """It said "2 notes (143 files)", as if memory held two notes."""
    ill.run("doctor")

    assert "1 error, 2 warnings, 1 info (2 files)" in ill.said


@pytest.mark.parametrize("words", [("--select", "KM999"), ("--ignore", "typo"), ("--select", "K")])
def test_a_rule_that_isnt_there_is_wrong_usage(ill: CommandLine, words: tuple[str, ...]) -> None:
    code, out = ill.run("doctor", *words)

    assert (code, out) == (2, "")
    assert "no rule is called" in ill.said


# ---- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_no_report_holds_a_text_a_secret_or_a_path_of_this_machine(
    ill: CommandLine, name: str
) -> None:
    secret = "AKIA" + "IOSFODNN7" + "QWERTYU"
    ill.machine.put(
        f"{WIDGETS}/s.md", note(7, f"platypus {secret} [[wombat]]", sources="numbat.py")
    )

    _, out = ill.run("doctor", "--all", "--format", name)

    assert "KM201" in out
    for word in (secret, "platypus", "wombat", "numbat", str(ill.machine.folder)):
        assert word not in out + ill.said


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_the_same_each_time(ill: CommandLine, name: str) -> None:
    assert ill.run("doctor", "--format", name) == ill.run("doctor", "--format", name)


def test_the_json_report_keeps_to_the_published_schema(ill: CommandLine) -> None:
    """Fault 56 of KeepM 3: JSON in a JSON string, and everything twice."""
    data = ill.json("doctor", code=1)

    schema(docs.DOCS / "schemas/doctor.json", data)
    assert data["summary"] == {"error": 1, "warning": 2, "info": 1}
    assert len({each["fingerprint"] for each in data["findings"]}) == len(data["findings"])


def test_the_sarif_log_keeps_to_the_subset_that_is_used(ill: CommandLine) -> None:
    _, out = ill.run("doctor", "--format", "sarif")
    log = json.loads(out)

    schema(Path(__file__).with_name("sarif-subset.json"), log)
    (run,) = log["runs"]
    ids = [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert [ids[each["ruleIndex"]] for each in run["results"]] == [
        each["ruleId"] for each in run["results"]
    ]
    uris = {
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in run["results"]
    }
    assert f"{WIDGETS}/%E4%B8%AD%E6%96%87%2C%20100%25.md" in uris


def test_github_commands_are_escaped(ill: CommandLine) -> None:
    _, out = ill.run("doctor", "--format", "github")
    lines = out.splitlines()

    assert all(re.fullmatch(r"::(error|warning|notice) [^:]*::\S.*", line) for line in lines)
    assert any("/中文, 100%25.md:2: " in line for line in lines)


def test_paths_are_those_of_the_repository_where_the_vault_lies_in_it(
    keepm: CommandLine, vault: Vault, machine: Machine, tmp_path: Path
) -> None:
    inside = machine.folder / "work/widgets/docs/vault"
    inside.parent.mkdir(parents=True)
    machine.put(f"{WIDGETS}/a.md", "---\nname: a: b\n---\n")
    machine.root.rename(inside)
    project = ("--project-dir", str(machine.folder / "work/widgets"))

    code = main.run(["doctor", "--format", "github", "--root", str(inside), *project])

    out = keepm._capsys.readouterr().out
    assert code == 1
    assert f"::error file=docs/vault/{WIDGETS}/a.md,line=2,title=KM102 invalid_yaml::" in out


def test_the_junit_report_has_a_case_for_each_rule_and_fails_what_fails_the_run(
    ill: CommandLine,
) -> None:
    _, out = ill.run("doctor", "--format", "junit", "--fail-on", "warning")
    (suite,) = ElementTree.fromstring(out)
    cases = {case.attrib["name"].split()[1]: case for case in suite}

    assert set(cases) == set(rules.RULES)
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"invalid_yaml", "contract_missing"}
    assert suite.attrib["failures"] == "2"
    assert cases["missing_date"].find("system-out") is not None


def test_the_markdown_report_shows_names_as_they_are(ill: CommandLine) -> None:
    _, out = ill.run("doctor", "--format", "markdown")

    assert "## Error (1)" in out
    assert f"`` {WIDGETS}/b `c`.md:7 ``" in out
    assert f"`{WIDGETS}/中文, 100%.md:2`" in out


def test_a_name_that_would_drive_a_terminal_is_written_out(
    keepm: CommandLine, vault: Vault
) -> None:
    keepm.machine.put(f"{WIDGETS}/x\u202ey.md", "---\nname: a: b\n---\n")

    _, out = keepm.run("doctor")

    assert "\u202e" not in out and "<U+202E>" in out


# ---- a file --------------------------------------------------------------------------------------


def test_a_report_goes_into_a_file_whole(ill: CommandLine, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old", "utf-8")

    code, out = ill.run("doctor", "--format", "json", "--output", str(target))

    assert (code, out) == (1, "")
    schema(docs.DOCS / "schemas/doctor.json", json.loads(target.read_text("utf-8")))
    assert [each.name for each in tmp_path.iterdir() if "report" in each.name] == ["report.json"]


def test_a_file_that_cant_be_written_is_wrong_usage_and_leaves_nothing(
    ill: CommandLine, tmp_path: Path
) -> None:
    code, out = ill.run("doctor", "--output", str(tmp_path / "absent/report.txt"))

    assert (code, out) == (2, "")
    assert "can't be written" in ill.said


def test_what_fails_inside_ends_with_3_and_no_report(
    ill: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def examine(*_: object, **__: object) -> None:
        raise RuntimeError("canary of a note's text")

    monkeypatch.setattr(diagnosis, "examine", examine)
    place = tmp_path / "report"

    code, out = ill.run("doctor", "--output", str(place))
    assert (code, out) == (3, "")
    assert "internal error" in ill.said
    assert "canary" not in ill.said and "Traceback" not in ill.said
    assert not place.exists()


# ---- where there is nothing to look at -----------------------------------------------------------


def started(
    environ: dict[str, str], *words: str, cwd: Path, command: tuple[str, ...] = ("doctor",)
) -> subprocess.CompletedProcess[str]:
    """Start the program afresh, with only these variables."""
    return subprocess.run(
        [sys.executable, "-m", "keepm", *command, *words],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(docs.ROOT), **environ},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_vault_doctor_says_so_and_ends_with_2(tmp_path: Path) -> None:
    done = started({"HOME": str(tmp_path)}, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no vault" in done.stderr and "keepm setup" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_with_broken_settings_doctor_names_the_line_and_ends_with_2(
    tmp_path: Path, machine: Machine, vault: Vault
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("language = [\n", "utf-8")

    done = started({**machine.environ, "KEEPM_CONFIG": str(broken)}, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert "is not valid TOML" in done.stderr and "Traceback" not in done.stderr


def test_without_home_doctor_goes_by_the_password_file(
    tmp_path: Path, machine: Machine, vault: Vault
) -> None:
    done = started(machine.environ, "--root", str(machine.root), cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows doesn't go by HOME")
@pytest.mark.parametrize(
    "words", [("doctor",), ("config", "show"), ("config", "set", "root", "~/x")]
)
@pytest.mark.parametrize(("home", "said"), [("", "HOME is empty"), ("here", "no absolute path")])
def test_a_home_that_would_be_another_at_each_place_is_refused(
    tmp_path: Path, words: tuple[str, ...], home: str, said: str
) -> None:
    """An empty HOME made the file system's root the home, and settings were looked for there."""
    done = started({"HOME": home}, cwd=tmp_path, command=words)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no password file")
def test_a_user_without_any_home_is_told_what_to_set(
    keepm: CommandLine, monkeypatch: pytest.MonkeyPatch, vault: Vault
) -> None:
    import pwd

    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)

    assert keepm.run("doctor") == (2, "")
    assert "no home folder" in keepm.said and "Set HOME" in keepm.said
