"""Settings: where each comes from, which values are refused, and how a folder may be spelled."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepm import config
from keepm.errors import ConfigurationError

CASES = Path(__file__).parent / "cases"
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="these spellings are right there")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def load(
    home: Path, *, text: str = "", environ: dict[str, str] | None = None, **flags: str
) -> config.Settings:
    file = home / ".config/keepm/config.toml"
    if text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    variables = {"KEEPM_CONFIG": str(file)} | (environ or {})
    return config.load(flags, variables, home, working_dir=home / "work")


# ---- where a value comes from ------------------------------------------------------------------


def test_nothing_given_means_the_defaults(home: Path) -> None:
    settings = load(home)

    assert settings.root == home / "keepm"
    assert settings.project_dir == home / "work"
    assert (settings.language, settings.approval_minimum) == ("en", "relayed")
    assert set(settings.origins) == {*config.NAMES, "project_dir"}
    assert settings.origins["root"] == "default"


def test_a_flag_comes_before_a_variable_before_the_file(home: Path) -> None:
    text, environ = "inbox_review_days = 1\n", {"KEEPM_INBOX_REVIEW_DAYS": "2"}

    assert load(home, text=text).inbox_review_days == 1
    assert load(home, text=text, environ=environ).inbox_review_days == 2
    settings = load(home, text=text, environ=environ, inbox_review_days="3")
    assert settings.inbox_review_days == 3
    assert settings.origins["inbox_review_days"] == "flag --inbox-review-days"


def test_the_project_folder_is_the_most_explicit_one(home: Path) -> None:
    environ = {"CLAUDE_PROJECT_DIR": str(home / "c")}
    assert load(home, environ=environ).project_dir == home / "c"

    environ["KEEPM_PROJECT_DIR"] = "k"
    assert load(home, environ=environ).project_dir == home / "work/k"

    settings = load(home, environ=environ, project_dir="~/f")
    assert settings.project_dir == home / "f"
    assert settings.origins["project_dir"] == "flag --project-dir"


def test_an_empty_variable_is_no_value(home: Path) -> None:
    assert load(home, environ={"KEEPM_ROOT": "", "KEEPM_LANGUAGE": ""}).language == "en"


@posix_only
def test_a_relative_xdg_folder_is_ignored(home: Path) -> None:
    place = config.config_file({"XDG_CONFIG_HOME": "here"}, home)
    if sys.platform == "linux":
        assert place == home / ".config/keepm/config.toml"
        assert config.data_dir({"XDG_DATA_HOME": "/d"}, home) == Path("/d/keepm")


def test_a_deleted_working_folder_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    if sys.platform != "win32":
        gone.rmdir()
        settings = config.load({}, {"KEEPM_DATA_DIR": "d"}, tmp_path)
        assert settings.root == tmp_path / "keepm"


# ---- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'language = "fr"',
        "language = true",
        "root = 5",
        'root = ""',
        "inbox_review_days = true",
        "inbox_review_days = 0",
        "inbox_review_days = 3651",
        'sqlite_journal_mode = "off"',
        '[approval]\nminimum = "anybody"',
        '[approval]\nkinds = "owner"',
        '[approval.kinds]\nfix = "anybody"',
        '[approval.kinds]\nfixes = "owner"',
        '[approval]\nminumum = "owner"',
        '[approval]\nkind = {fix = "owner"}',
        'approval = "owner"',
        "projects = 1",
        "[projects]\na = 1",
        "[projects.a]\nroots = 1",
        "[projects.a]\nroots = [1]",
        "language = ",
    ],
)
def test_a_wrong_file_is_refused_with_a_next_step(home: Path, text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(home, text=text)
    assert refused.value.next_step


def test_what_is_no_setting_is_told_and_hinders_nothing(home: Path) -> None:
    text = 'languege = "zh"\nhistory = 3\n[projects.a]\nroots = []\n[project.b]\nx = 1\n'
    settings = load(home, text=f"inbox_review_days = 7\n{text}")

    assert settings.unknown == ("languege", "history", "project")
    assert (settings.language, settings.inbox_review_days) == ("en", 7)


def test_a_file_that_is_not_utf_8_is_refused(home: Path) -> None:
    load(home, text="#")
    (home / ".config/keepm/config.toml").write_bytes(b'language = "\xff"')

    with pytest.raises(ConfigurationError):
        load(home)


@pytest.mark.parametrize(("value", "fits"), [("0", True), ("604800", True), ("604801", False)])
def test_a_figure_is_held_to_its_bounds(home: Path, value: str, *, fits: bool) -> None:
    environ = {"KEEPM_DEEP_RECONCILE_SECONDS": value}
    if fits:
        assert load(home, environ=environ).deep_reconcile_seconds == int(value)
    else:
        with pytest.raises(ConfigurationError):
            load(home, environ=environ)


@given(st.text(max_size=30), st.sampled_from([*config.NAMES, "approval.kinds.fix", "x"]))
def test_a_value_is_taken_or_refused_in_our_own_words(text: str, name: str) -> None:
    try:
        config.parse_setting(name, text)
    except ConfigurationError as error:
        assert error.next_step


def test_the_projects_of_this_machine_are_read(home: Path) -> None:
    text = '[projects."工具"]\nroots = ["~/w/a", "rel"]\nremotes = ["h/x"]\nextra = 1\n'

    (entry,) = load(home, text=text).projects

    assert entry.project_id == "工具"
    assert entry.roots == (str(home / "w/a"), str(home / ".config/keepm/rel"))
    assert (entry.remotes, entry.first_commits) == (("h/x",), ())


def test_each_kind_can_have_a_minimum_of_its_own(home: Path) -> None:
    settings = load(home, text='[approval.kinds]\nfix = "owner"\n')

    assert settings.approval_by_kind == {"fix": "owner"}
    assert "approval.kinds.fix" in settings.origins


# ---- spellings of the root (case 23) -------------------------------------------------------------


def spelling(number: int) -> str:
    cases = json.loads((CASES / "23-windows-roots/input/roots.json").read_text("utf-8"))
    return str(cases[number - 1]["root"])


@posix_only
@pytest.mark.parametrize("number", [1, 3, 9])
@pytest.mark.parametrize("way", ["flag", "variable", "file"])
def test_a_root_of_another_system_is_refused_however_it_comes(
    home: Path, number: int, way: str
) -> None:
    root = spelling(number)
    with pytest.raises(ConfigurationError) as refused:
        match way:
            case "flag":
                load(home, root=root)
            case "variable":
                load(home, environ={"KEEPM_ROOT": root})
            case _:
                load(home, text=f"root = {json.dumps(root)}\n")
    if number == 1:
        assert "/mnt/c/Users/Sam Example/Vault" in refused.value.next_step
    if number == 3:
        assert "/home/sam/vault" in refused.value.next_step
    assert not [path for path in home.rglob("*") if ":" in path.name]


@posix_only
@pytest.mark.parametrize("name", ["KEEPM_DATA_DIR", "KEEPM_CONFIG"])
def test_a_windows_spelling_makes_no_folder_of_that_name_anywhere(home: Path, name: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        config.load({}, {name: "C:\\Users\\Sam\\keepm"}, home)
    assert "/mnt/c/Users/Sam/keepm" in refused.value.next_step


@posix_only
def test_a_project_that_a_host_on_windows_names_is_found_where_it_is_mounted(home: Path) -> None:
    environ = {"CLAUDE_PROJECT_DIR": "D:\\code\\widgets"}
    assert config.load({}, environ, home).project_dir == Path("/mnt/d/code/widgets")
    environ = {"CLAUDE_PROJECT_DIR": "\\\\wsl.localhost\\Ubuntu\\home\\sam\\widgets"}
    assert config.load({}, environ, home).project_dir == Path("/home/sam/widgets")


@posix_only
def test_a_mounted_root_is_accepted_and_a_windows_one_only_on_windows(home: Path) -> None:
    assert load(home, root=spelling(2)).root == Path("/mnt/c/Users/Sam Example/Vault")
    for number in (4, 5):
        with pytest.raises(ConfigurationError):
            load(home, root=spelling(number))


@pytest.mark.skipif(sys.platform != "win32", reason="a Windows spelling")
@pytest.mark.parametrize("number", [4, 5])
def test_a_windows_root_is_accepted_on_windows(home: Path, number: int) -> None:
    assert load(home, root=spelling(number)).root == Path(spelling(number))


@pytest.mark.parametrize("root", [spelling(6), spelling(7), "${HOME}/vault"])
def test_the_home_folder_is_expanded_however_it_comes(home: Path, root: str) -> None:
    assert load(home, root=root).root == home / "vault"
    assert load(home, environ={"KEEPM_ROOT": root}).root == home / "vault"
    assert load(home, text=f"root = {json.dumps(root)}\n").root == home / "vault"


def test_a_relative_root_starts_where_it_is_written(home: Path) -> None:
    assert load(home, root=spelling(8)).root == home / "work/relative/vault"
    assert load(home, text=f'root = "{spelling(8)}"\n').root == (
        home / ".config/keepm/relative/vault"
    )


@pytest.mark.parametrize("root", ["~somebody/vault", "${NOTES}", "$NOTES/x", "%USERPROFILE%/x"])
def test_a_variable_nobody_expanded_makes_no_folder_of_that_name(home: Path, root: str) -> None:
    with pytest.raises(ConfigurationError):
        load(home, root=root)


@pytest.mark.parametrize("root", ["", "  ", "a\0b", "/", "/a/.."])
def test_what_can_be_no_vault_is_refused(home: Path, root: str) -> None:
    with pytest.raises(ConfigurationError):
        load(home, root=root)


# ---- policy data -----------------------------------------------------------------------------


def test_the_policy_data_of_this_installation_can_be_read() -> None:
    policy = config.load_policy()

    assert next(iter(policy.kinds)) == "constraint"
    assert policy.memory.body_bytes == 16_384


def test_damaged_policy_data_is_a_damaged_installation(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        config.load_policy(tmp_path)
    (tmp_path / "kinds.toml").write_text("[fix]\n", "utf-8")
    (tmp_path / "limits.toml").write_text("", "utf-8")
    with pytest.raises(ConfigurationError):
        config.load_policy(tmp_path)


# ---- the gate ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "given", "holds"),
    [
        ("host", "relayed", "host"),
        ("host", "owner", "owner"),
        ("relayed", "host", "host"),
        (None, "host", "host"),
    ],
)
def test_the_environment_may_tighten_the_gate_and_never_loosen_it(
    home: Path, kept: str | None, given: str, holds: str
) -> None:
    """A server's registration, and with it the environment, can come from a repository."""
    text = f'[approval]\nminimum = "{kept}"\nexternal_edits = "review"\n' if kept else ""
    settings = load(
        home,
        text=text,
        environ={
            "KEEPM_APPROVAL_MINIMUM": given,
            "KEEPM_APPROVAL_EXTERNAL_EDITS": "owner-edit",
            "KEEPM_LANGUAGE": "zh",
        },
    )

    assert settings.approval_minimum == holds
    assert settings.approval_external_edits == ("review" if kept else "owner-edit")
    assert settings.language == "zh"
    from_file = holds == kept != given
    assert (settings.origins["approval.minimum"] == str(settings.config_file)) is from_file
