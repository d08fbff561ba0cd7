"""Doctor where nobody has run setup: the workflow and the hooks of the docs, and pull requests."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import docs
from tests.operations import git
from tests.operations.diagnosis.support import note

PAGE = (docs.DOCS / "ci.md").read_text("utf-8")
NOTE = "Memory/projects/widgets/build.md"


@dataclass(frozen=True)
class Checkout:
    """A repository that holds its vault, on a machine without any settings of KeepM."""

    top: Path
    home: Path

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script as a step of a job does."""
        place = self.home / "step.sh"
        place.write_text(script, "utf-8")
        return subprocess.run(
            ["sh", "-e", str(place)],
            cwd=self.top,
            env={
                "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": str(docs.ROOT),
                "HOME": str(self.home),
                "GIT_CONFIG_NOSYSTEM": "1",
                **variables,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def put(self, path: str, text: str) -> None:
        place = self.top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")

    def commit(self, *paths: str) -> None:
        git.run(self.top, "add", "--", *paths)
        git.run(self.top, "commit", "-q", "-m", "Change")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """On a branch that parted from `origin/main`, with a note that documents `build.py`."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    program = home / "bin/keepm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m keepm "$@"\n', "utf-8")
    program.chmod(0o755)
    made = Checkout(git.repository(tmp_path / "repository"), home)
    made.put("build.py", "x = 1\n")
    made.put(NOTE, note(1, sources="build.py"))
    made.commit("build.py", "Memory")
    git.run(made.top, "update-ref", "refs/remotes/origin/main", "HEAD")
    git.run(made.top, "checkout", "-q", "-b", "change")
    return made


def steps() -> list[str]:
    """Return the steps of the workflow that run KeepM."""
    (workflow, _) = (yaml.safe_load(text) for text in fences("yaml"))
    (job,) = workflow["jobs"].values()
    checkout: dict[str, Any] = job["steps"][0]
    assert checkout["with"]["fetch-depth"] == 0
    return [step["run"] for step in job["steps"] if step.get("run", "").startswith("keepm")]


def fences(language: str) -> list[str]:
    _, *parts = PAGE.split(f"```{language}\n")
    return [part.split("```")[0] for part in parts]


def test_the_workflow_of_the_docs_passes_what_is_whole_and_verified(checkout: Checkout) -> None:
    for step in steps():
        done = checkout.run(step, GITHUB_BASE_REF="main")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_workflow_of_the_docs_annotates_a_broken_note(checkout: Checkout) -> None:
    checkout.put("Memory/global/a.md", "---\nname: a: b\n---\n")

    done = checkout.run(steps()[0])

    assert done.returncode == 1
    assert done.stdout.startswith("::error file=Memory/global/a.md,line=2,title=KM102")


def test_a_change_of_what_a_note_documents_fails_until_the_note_is_verified(
    checkout: Checkout,
) -> None:
    checkout.put("build.py", "x = 2\n")
    checkout.commit("build.py")

    failed = checkout.run(steps()[1], GITHUB_BASE_REF="main")
    assert failed.returncode == 1
    assert failed.stdout.startswith(f"::error file={NOTE},line=11,title=KM801")
    assert "build.py" in failed.stdout

    checkout.put(NOTE, note(1, sources="build.py", verified_at="'2026-01-01'"))
    checkout.commit("Memory")
    passed = checkout.run(steps()[1], GITHUB_BASE_REF="main")
    assert (passed.returncode, passed.stdout) == (0, "")


def test_a_note_with_a_digest_is_judged_by_it_alone(checkout: Checkout) -> None:
    """Git's blob id of `x = 2`, and of nothing else, says that the note was verified."""
    checkout.put("build.py", "x = 2\n")
    now = git.run(checkout.top, "hash-object", "build.py")[:12]
    step = "keepm doctor --root . --project widgets --changed-since main"
    for digest, code in (("0" * 12, 1), (now, 0)):
        text = note(1, sources="build.py", source_digests=f"{{build.py: '{digest}'}}")
        checkout.put(NOTE, text.replace("sources:", "verified_at: '2026-01-01'\nsources:"))
        done = checkout.run(step)
        assert done.returncode == code, digest
        assert ("memory_update" in done.stdout) == bool(code)  # a hand edit wouldn't do


def test_what_was_changed_on_the_other_branch_is_not_this_ones_matter(
    checkout: Checkout,
) -> None:
    git.run(checkout.top, "checkout", "-q", "main")
    checkout.put("build.py", "x = 3\n")
    checkout.commit("build.py")
    git.run(checkout.top, "update-ref", "refs/remotes/origin/main", "HEAD")
    git.run(checkout.top, "checkout", "-q", "change")

    done = checkout.run(steps()[1], GITHUB_BASE_REF="main")

    assert (done.returncode, done.stdout) == (0, "")


def test_a_source_that_was_moved_away_fails_too(checkout: Checkout) -> None:
    git.run(checkout.top, "mv", "build.py", "make.py")

    assert checkout.run(steps()[1], GITHUB_BASE_REF="main").returncode == 1


def test_an_archived_note_and_another_projects_note_dont_hinder(checkout: Checkout) -> None:
    checkout.put(NOTE, note(1, sources="build.py", status="archived"))
    other = note(2, sources="build.py", project_id="gadgets")
    checkout.put("Memory/projects/gadgets/build.md", other)
    checkout.put("build.py", "x = 2\n")

    done = checkout.run(steps()[1], GITHUB_BASE_REF="main")

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("revision", ["absent", "--output=/tmp/x", ""])
def test_a_revision_that_isnt_there_is_wrong_usage(checkout: Checkout, revision: str) -> None:
    done = checkout.run(f"keepm doctor --root . --project widgets --changed-since={revision!r}")

    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_without_a_project_there_is_nothing_to_compare(checkout: Checkout) -> None:
    done = checkout.run("keepm doctor --root . --changed-since main")

    assert done.returncode == 2
    assert "--project" in done.stderr


def test_the_hook_of_the_docs_stops_a_commit_of_a_broken_note(checkout: Checkout) -> None:
    (script,) = fences("sh")
    hook = checkout.top / ".git/hooks/pre-commit"
    hook.write_text(script, "utf-8")
    hook.chmod(0o755)
    commit = "git -c user.name=A -c user.email=a@example.org commit -q -m Change"

    checkout.put("other.py", "y = 1\n")
    assert checkout.run(f"git add other.py && {commit}").returncode == 0
    checkout.put("Memory/global/a.md", "---\nname: a: b\n---\n")
    stopped = checkout.run(f"git add Memory && {commit}")
    assert stopped.returncode == 1
    assert "KM102" in stopped.stdout + stopped.stderr
    checkout.put("Memory/global/a.md", note(3, scope="global", project_id=""))
    assert checkout.run(f"git add Memory && {commit}").returncode == 0


def test_the_configuration_for_pre_commit_runs_the_same_command(checkout: Checkout) -> None:
    (_, configuration) = (yaml.safe_load(text) for text in fences("yaml"))
    ((hook,),) = (repo["hooks"] for repo in configuration["repos"])

    assert hook["pass_filenames"] is False and hook["language"] == "system"
    assert checkout.run(hook["entry"]).returncode == 0
    checkout.put("Memory/global/a.md", "---\nname: a: b\n---\n")
    assert checkout.run(hook["entry"]).returncode == 1
