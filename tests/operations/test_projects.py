"""Which project a folder is: only this machine's settings grant an id."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from keepm import config
from keepm.config import ProjectEntry, Settings
from keepm.errors import ConfigurationError, InvalidIdentifier
from keepm.operations import projects
from tests.fakes import marks
from tests.operations import git

WIDGETS = "https://git.example.org/acme/widgets.git"
CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))


def at(folder: Path, home: Path) -> Settings:
    return config.load(environ={}, home=home, working_dir=folder)


def resolved(folder: Path, home: Path) -> str | None:
    return projects.resolve(at(folder, home)).project_id


def bind(folder: Path, home: Path, project_id: str) -> ProjectEntry:
    return projects.bind(at(folder, home), project_id)


# ---- the folder ------------------------------------------------------------------------------


def test_each_folder_of_the_scope_case_sees_its_own_project(work: Path, home: Path) -> None:
    folders = json.loads((CASES / "71-scope/input/projects.json").read_text("utf-8"))
    assert set(folders) == {"A", "A-wt", "B", "C", "A-sub"}
    a, b = git.repository(work / "a"), git.repository(work / "b")
    git.run(a, "worktree", "add", "-q", str(work / "a-feature"))
    (a / "pkg/x").mkdir(parents=True)
    (work / "plain").mkdir()
    bind(a, home, "a")
    bind(b, home, "b")

    assert resolved(a, home) == "a"
    assert resolved(work / "a-feature", home) == "a"
    assert resolved(a / "pkg/x", home) == "a"
    assert resolved(b, home) == "b"
    assert resolved(work / "plain", home) is None
    assert resolved(work / "gone", home) is None


def test_the_top_is_the_work_tree_the_agent_is_in(work: Path, home: Path) -> None:
    a = git.repository(work / "a")
    git.run(a, "worktree", "add", "-q", str(work / "a-feature"))
    (work / "a-feature/deep").mkdir()
    bind(a, home, "a")

    found = projects.resolve(at(work / "a-feature/deep", home))

    assert (found.project_id, found.top) == ("a", work / "a-feature")


def test_binding_from_a_worktree_binds_the_repository(work: Path, home: Path) -> None:
    a = git.repository(work / "a")
    git.run(a, "worktree", "add", "-q", str(work / "a-feature"))

    entry = bind(work / "a-feature", home, "a")

    assert entry.roots == (str(a),)
    assert resolved(a, home) == "a"


def test_worktrees_of_a_bare_repository_are_one_project(work: Path, home: Path) -> None:
    source = git.repository(work / "source")
    git.run(work, "clone", "-q", "--bare", str(source), str(work / "bare.git"))
    for name in ("one", "two"):
        git.run(work / "bare.git", "worktree", "add", "-q", str(work / name), "-b", name)
    bind(work / "one", home, "bare")

    assert resolved(work / "two", home) == "bare"


def test_a_folder_without_git_covers_what_is_below_it(work: Path, home: Path) -> None:
    (work / "我的项目/深/处").mkdir(parents=True)
    git.repository(work / "我的项目/vendored")
    bind(work / "我的项目", home, "我的项目")

    assert resolved(work / "我的项目/深/处", home) == "我的项目"
    assert resolved(work / "我的项目/vendored", home) is None


def test_a_symlink_to_the_folder_is_the_folder(work: Path, home: Path) -> None:
    bind(git.repository(work / "a"), home, "a")
    (work / "link").symlink_to(work / "a")

    assert resolved(work / "link", home) == "a"


def test_an_entry_written_by_hand_may_go_through_a_symlink(work: Path, home: Path) -> None:
    git.repository(work / "a")
    (work / "link").symlink_to(work / "a")
    settings = replace(
        at(work / "a", home), projects=(ProjectEntry("a", roots=(str(work / "link"),)),)
    )

    assert projects.resolve(settings).project_id == "a"


def test_a_changed_remote_keeps_the_memory(work: Path, home: Path) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    bind(a, home, "a")
    git.run(a, "remote", "set-url", "origin", "https://git.example.org/new/place")

    assert resolved(a, home) == "a"


def test_a_folder_claimed_by_two_projects_has_none(work: Path, home: Path) -> None:
    a = git.repository(work / "a")
    settings = replace(
        at(a, home), projects=tuple(ProjectEntry(name, roots=(str(a),)) for name in "xy")
    )

    assert projects.resolve(settings).project_id is None


def test_another_repository_in_the_place_of_a_renamed_one_sees_nothing(
    work: Path, home: Path
) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    bind(a, home, "a")
    a.rename(work / "a-old")
    git.repository(work / "a", remote="https://git.example.org/evil/widgets.git")

    assert resolved(work / "a", home) is None
    assert resolved(work / "a-old", home) == "a"

    bind(work / "a", home, "a-new")
    assert resolved(work / "a", home) == "a-new"
    assert resolved(work / "a-old", home) == "a"


def test_packed_history_is_still_recognised(work: Path, home: Path) -> None:
    a = git.repository(work / "a", commits=3)
    bind(a, home, "a")
    git.run(a, "gc", "-q", "--aggressive", "--prune=now")

    assert resolved(a, home) == "a"


def test_a_new_shallow_clone_in_the_same_place_is_the_same_project(work: Path, home: Path) -> None:
    origin = git.repository(work / "origin", commits=3)
    a = git.clone(origin, work / "a", remote=WIDGETS)
    bind(a, home, "a")
    shutil.rmtree(a)
    git.clone(origin, work / "a", "--depth=1", remote=WIDGETS)

    assert resolved(work / "a", home) == "a"


def test_a_missing_or_impossible_folder_is_no_project(home: Path) -> None:
    for folder in ("/nowhere/at/all", "/", "/dev/null", "/nul\0byte"):
        assert (
            projects.resolve(replace(at(home, home), project_dir=Path(folder))).project_id is None
        )


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use can't be deleted there")
def test_a_deleted_working_folder_is_no_project(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "gone").mkdir()
    monkeypatch.chdir(work / "gone")
    (work / "gone").rmdir()

    assert projects.resolve(config.load(environ={}, home=home)).project_id is None


# ---- the same repository elsewhere -------------------------------------------------------------


def test_a_renamed_folder_keeps_its_memory(work: Path, home: Path) -> None:
    for name, remote in (("a", WIDGETS), ("b", None)):
        bind(git.repository(work / name, remote=remote), home, name)
        (work / name).rename(work / f"{name}-renamed")

        assert resolved(work / f"{name}-renamed", home) == name


def test_a_second_clone_shares_the_memory(work: Path, home: Path) -> None:
    origin = git.repository(work / "origin")
    bind(git.clone(origin, work / "a", remote=WIDGETS), home, "a")
    git.clone(origin, work / "again", remote="git@git.example.org:acme/widgets.git")

    assert resolved(work / "again", home) == "a"


def test_the_remote_alone_grants_nothing(work: Path, home: Path) -> None:
    bind(git.repository(work / "a", remote=WIDGETS), home, "a")

    assert resolved(git.repository(work / "evil", remote=WIDGETS), home) is None


def test_the_first_commit_alone_grants_nothing(work: Path, home: Path) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    bind(a, home, "a")
    fork = git.clone(a, work / "fork", remote="https://git.example.org/evil/widgets")
    bare = git.clone(a, work / "no-remote")
    git.run(bare, "remote", "remove", "origin")

    assert resolved(fork, home) is None
    assert resolved(bare, home) is None


def test_a_copy_without_remote_gets_nothing_while_the_original_is_there(
    work: Path, home: Path
) -> None:
    a = git.repository(work / "a")
    bind(a, home, "a")
    shutil.copytree(a, work / "copy")

    assert resolved(work / "copy", home) is None


def test_a_declaration_and_a_folders_name_grant_nothing(work: Path, home: Path) -> None:
    bind(git.repository(work / "victim"), home, "victim")
    evil = git.repository(work / "other/victim")
    (evil / ".keepm.toml").write_text('project = "victim"\n', "utf-8")

    assert resolved(evil, home) is None


def test_what_an_archive_can_hold_leads_to_nobodys_memory(work: Path, home: Path) -> None:
    victim = git.repository(work / "victim", remote=WIDGETS)
    bind(victim, home, "victim")
    git.run(victim, "worktree", "add", "-q", str(work / "feature"))
    file, link, forged, twin = (work / name for name in ("file", "link", "forged", "twin"))
    for folder in (file, link, forged / "wt/worktrees/x", twin):
        folder.mkdir(parents=True)
    (file / ".git").write_text(f"gitdir: {victim}/.git\n", "utf-8")
    (link / ".git").symlink_to(victim / ".git")
    (forged / ".git").write_text("gitdir: wt/worktrees/x\n", "utf-8")
    (forged / "wt/worktrees/x/gitdir").write_text("../../../.git\n", "utf-8")
    (forged / "wt/worktrees/x/commondir").write_text(f"{victim}/.git\n", "utf-8")

    shutil.copy2(work / "feature/.git", twin)

    for folder in (file, link, forged, twin):
        found = projects.resolve(at(folder, home))
        assert (found.project_id, found.top) == (None, folder)


def test_a_junction_to_somebodys_git_folder_leads_to_nobodys_memory(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows calls a junction a folder, and no privilege is needed to make one."""
    bind(git.repository(work / "victim", remote=WIDGETS), home, "victim")
    git.clone(work / "victim", work / "evil")
    git.run(work / "evil", "remote", "set-url", "origin", WIDGETS)
    assert resolved(work / "evil", home) == "victim"

    marks.install(monkeypatch, {".git": {"st_reparse_tag": 0xA000_0003}})
    found = projects.resolve(at(work / "evil", home))
    assert (found.project_id, found.top) == (None, work / "evil")


def test_a_bare_repository_inside_a_clone_is_no_top(work: Path, home: Path) -> None:
    a = git.repository(work / "a")
    git.run(a, "init", "-q", "--bare", "inner")

    assert projects.resolve(at(a / "inner", home)).top == a


def test_a_fifo_or_folder_named_like_git_stops_nothing(work: Path, home: Path) -> None:
    (work / "a/.git").mkdir(parents=True)
    os.mkfifo(work / "a/.keepm.toml")

    assert resolved(work / "a", home) is None
    assert projects.propose(at(work / "a", home), vault_projects=()).project_id == "a"


def test_no_program_of_the_repository_runs(work: Path, home: Path) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    trap, sprung = work / "trap", work / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{sprung}'\n", "utf-8")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand"):
        git.run(a, "config", key, str(trap))
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc"):
        shutil.copy2(trap, a / ".git/hooks" / hook)
    sprung.unlink(missing_ok=True)

    bind(a, home, "a")
    a.rename(work / "moved")
    assert resolved(work / "moved", home) == "a"

    assert not sprung.exists()


def test_a_git_inside_the_repository_is_not_ours(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    (a / "git").write_text(f"#!/bin/sh\ntouch '{work}/sprung'\n", "utf-8")
    (a / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{a}{os.pathsep}{os.environ['PATH']}")

    assert bind(a, home, "a").remotes == ()
    assert not (work / "sprung").exists()


def test_without_git_the_folder_still_counts(
    work: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    monkeypatch.setenv("PATH", str(work))

    assert bind(a, home, "a").first_commits == ()
    assert resolved(a, home) == "a"
    assert projects.propose(at(a, home), vault_projects=()).source == "entry"


# ---- proposals -----------------------------------------------------------------------------------


def proposed(folder: Path, home: Path, *vault: str) -> tuple[str, str, bool]:
    found = projects.propose(at(folder, home), vault_projects=vault)
    return found.project_id, found.source, found.known


def test_the_declaration_comes_before_remote_and_folder(work: Path, home: Path) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    (a / "sub").mkdir()
    assert proposed(a / "sub", home) == ("widgets", "remote", False)

    (a / ".keepm.toml").write_text('project = "工具"\n', "utf-8")
    assert proposed(a / "sub", home) == ("工具", ".keepm.toml", False)

    bind(a, home, "mine")
    assert proposed(a / "sub", home) == ("mine", "entry", False)


def test_without_remote_the_top_folders_name_is_proposed(work: Path, home: Path) -> None:
    """Faults 19 and 20: names in any script, and never the sub-folder one happens to be in."""
    (git.repository(work / "проект") / "sub").mkdir()
    (work / "我的 项目").mkdir()

    assert proposed(work / "проект/sub", home) == ("проект", "folder", False)
    assert proposed(work / "我的 项目", home) == ("我的-项目", "folder", False)


def test_a_known_id_is_said_to_be_known(work: Path, home: Path) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    assert proposed(a, home, "Widgets") == ("widgets", "remote", True)

    (a / ".keepm.toml").write_text('project = "victim"\n', "utf-8")
    assert proposed(a, home, "victim") == ("victim", ".keepm.toml", True)
    bind(git.repository(work / "v"), home, "victim")
    assert proposed(a, home) == ("victim", ".keepm.toml", True)


def test_an_id_of_another_repository_here_is_told_apart_by_the_owner(
    work: Path, home: Path
) -> None:
    bind(git.repository(work / "a", remote=WIDGETS), home, "widgets")
    other = git.repository(work / "b", remote="git@git.example.org:zeta/widgets.git")

    assert proposed(other, home) == ("widgets-zeta", "remote", False)
    assert proposed(other, home, "widgets-zeta") == ("widgets-zeta", "remote", True)


def test_a_fork_is_not_told_apart_but_asked_about(work: Path, home: Path) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    bind(a, home, "widgets")
    fork = git.clone(a, work / "fork", remote="https://git.example.org/zeta/widgets")

    assert proposed(fork, home) == ("widgets", "remote", True)


@pytest.mark.parametrize(
    "text", ["project = ", "project = 3\n", 'project = "../x"\n', "\udcff", 'project = "CON"\n']
)
def test_a_bad_declaration_is_left_out_and_said(work: Path, home: Path, text: str) -> None:
    a = git.repository(work / "a")
    (a / ".keepm.toml").write_bytes(text.encode("utf-8", "surrogateescape"))

    found = projects.propose(at(a, home), vault_projects=())

    assert (found.project_id, found.source) == ("a", "folder")
    assert found.note


def test_the_vault_tells_the_ids_it_has_folders_for(tmp_path: Path) -> None:
    for folder in ("projects/a", "Inbox/pending/projects/b", ".handoffs/archive/projects/项目"):
        (tmp_path / "Memory" / folder).mkdir(parents=True)
    (tmp_path / "Memory/projects/note.md").write_text("x", "utf-8")

    assert projects.in_vault(tmp_path) == {"a", "b", "项目"}
    assert projects.in_vault(tmp_path / "nowhere") == frozenset()


# ---- setting up ----------------------------------------------------------------------------------


def test_binding_keeps_what_else_the_file_says(work: Path, home: Path) -> None:
    file = at(work, home).config_file
    file.parent.mkdir(parents=True)
    file.write_text('# mine\nlanguage = "zh" # yes\nfuture = [1, 2]\n\n[unknown]\nx = 1\n', "utf-8")

    bind(git.repository(work / "a", remote=WIDGETS), home, "a b".replace(" ", "."))

    text = file.read_text("utf-8")
    assert text.startswith('# mine\nlanguage = "zh" # yes\nfuture = [1, 2]\n\n[unknown]\nx = 1\n')
    assert tomllib.loads(text)["projects"]["a.b"]["remotes"] == ["git.example.org/acme/widgets"]
    assert resolved(work / "a", home) == "a.b"


def test_binding_again_changes_nothing(work: Path, home: Path) -> None:
    a = git.repository(work / "a", remote=WIDGETS)
    entry = bind(a, home, "a")
    before = at(a, home).config_file.read_bytes()

    assert bind(a, home, "a") == entry
    assert at(a, home).config_file.read_bytes() == before
    assert at(a, home).projects == (entry,)


def test_one_id_can_be_given_to_two_repositories(work: Path, home: Path) -> None:
    for name in "ab":
        bind(git.repository(work / name), home, "both")

    assert [resolved(work / name, home) for name in "ab"] == ["both", "both"]


def test_a_folder_belongs_to_the_project_it_was_bound_to_last(work: Path, home: Path) -> None:
    a = git.repository(work / "a")
    bind(a, home, "one")
    bind(a, home, "two")

    assert resolved(a, home) == "two"
    assert [entry.project_id for entry in at(a, home).projects] == ["two"]


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_the_file_and_its_folder_are_the_owners_alone(work: Path, home: Path) -> None:
    bind(git.repository(work / "a"), home, "a")
    file = at(work, home).config_file

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_linked_settings_file_stays_a_link(work: Path, home: Path) -> None:
    file = at(work, home).config_file
    file.parent.mkdir(parents=True)
    (work / "dotfiles.toml").write_text('language = "zh"\n', "utf-8")
    file.symlink_to(work / "dotfiles.toml")

    bind(git.repository(work / "a"), home, "a")

    assert file.is_symlink()
    assert "projects" in tomllib.loads((work / "dotfiles.toml").read_text("utf-8"))


def test_bindings_at_the_same_time_lose_none(work: Path, home: Path) -> None:
    names = [f"p{number}" for number in range(8)]
    for name in names:
        (work / name).mkdir()
    settings = {name: at(work / name, home) for name in names}
    threads = [
        threading.Thread(target=projects.bind, args=(settings[name], name)) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {entry.project_id for entry in at(work, home).projects} == set(names)


def test_what_cannot_be_a_project_is_refused(work: Path, home: Path) -> None:
    bind(git.repository(work / "a"), home, "widgets")
    with pytest.raises(InvalidIdentifier):
        bind(git.repository(work / "b"), home, "../widgets")
    with pytest.raises(ConfigurationError):
        bind(work / "b", home, "Widgets")
    with pytest.raises(ConfigurationError):
        bind(work / "gone", home, "gone")
    with pytest.raises(ConfigurationError):
        bind(Path("/"), home, "all")
    assert [entry.project_id for entry in at(work, home).projects] == ["widgets"]


def test_a_malformed_settings_file_is_refused_and_untouched(work: Path, home: Path) -> None:
    a = git.repository(work / "a")
    settings = at(a, home)
    settings.config_file.parent.mkdir(parents=True)
    settings.config_file.write_text("projects = ", "utf-8")

    with pytest.raises(ConfigurationError):
        projects.bind(settings, "a")
    assert settings.config_file.read_text("utf-8") == "projects = "


def test_unbinding_takes_the_folder_out(work: Path, home: Path) -> None:
    a, b = (git.repository(work / name) for name in "ab")
    bind(a, home, "both")
    bind(b, home, "both")

    assert projects.unbind(at(a, home))
    assert not projects.unbind(at(a, home))
    assert (resolved(a, home), resolved(b, home)) == (None, "both")
    assert projects.unbind(at(b, home), "both")
    assert at(b, home).config_file.read_text("utf-8").strip() == ""
