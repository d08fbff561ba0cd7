"""Files of a project: planned, written all or none, and restored."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from keepm.agents import installing, record
from keepm.agents.hosts import ALL, Context, Part, Role
from keepm.agents.installing import FileChange
from keepm.agents.merging import JsonServer, MarkdownBlock, Program
from keepm.agents.record import FileRecord, SetupRecord
from keepm.errors import ConfigurationError
from keepm.model.checksum import Checksum
from keepm.store.disk import OSDisk

CONTEXT = Context(Program("/abs/keepm"), root="/abs/root", block="text", policy="rules\n")
PARTS = tuple(dict.fromkeys(part for host in ALL for part in host.parts(CONTEXT)))


def tree(top: Path) -> dict[str, bytes | str | None]:
    return {
        path.relative_to(top).as_posix(): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(top.rglob("*"))
    }


def fill(top: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data)


def install(
    top: Path, parts: tuple[Part, ...] = PARTS, known: SetupRecord | None = None
) -> SetupRecord:
    plan = installing.plan(top, parts, known.files if known else {})
    folders = installing.missing_folders(top, plan.changes)
    installing.write(top, plan.changes, disk=OSDisk())
    files = {
        change.path: FileRecord(plan.originals[change.path], Checksum.of(change.after or b""))
        for change in plan.changes
    }
    old = known.folders if known else ()
    return SetupRecord(str(top), "/abs/root", files, (*old, *folders))


def uninstall(top: Path, known: SetupRecord | None) -> None:
    changes = installing.plan_removal(top, PARTS, known.files if known else {})
    installing.write(top, changes, disk=OSDisk())
    installing.remove_folders(top, (*(known.folders if known else ()), ".keepm"))


USERS: tuple[Mapping[str, bytes], ...] = (
    {},
    {"AGENTS.md": b"", ".mcp.json": b"", ".codex/config.toml": b""},
    {
        "AGENTS.md": b"\xef\xbb\xbf# Rules\r\n\r\nours\r\n",
        "CLAUDE.md": b"no end of line",
        ".mcp.json": b'{"mcpServers": {"other": {"command": "x"}}}',
        ".claude/settings.json": b'{\n\t// mine\n\t"hooks": {"Stop": []},\n}\n',
        ".codex/config.toml": b"# top\r\nmodel = 'm'\r\n",
        ".codex/hooks.json": b'{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}\n',
        ".keepm/other.md": b"theirs",
    },
    {".mcp.json": b'{"mcpServers": {"keepm": {"command": "uvx", "args": ["keepm==3.6"]}}}'},
)


@pytest.mark.parametrize("files", USERS)
def test_removing_restores_the_tree_byte_for_byte(
    tmp_path: Path, files: Mapping[str, bytes]
) -> None:
    """Fault 64: nothing took it out again."""
    fill(tmp_path, files)
    before = tree(tmp_path)

    known = install(tmp_path)
    after = tree(tmp_path)
    again = install(tmp_path, known=known)

    assert tree(tmp_path) == after != before
    uninstall(tmp_path, again)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("files", USERS[:3])
def test_without_a_record_only_our_parts_go(tmp_path: Path, files: Mapping[str, bytes]) -> None:
    fill(tmp_path, files)
    before = tree(tmp_path)
    install(tmp_path)

    uninstall(tmp_path, None)

    left = tree(tmp_path)
    # Without a record nobody knows whether an empty list or file was there before.
    empty = {name for name, data in before.items() if not data or b'"Stop": []' in data}
    assert {name: left[name] for name in before if name not in empty} == {
        name: data for name, data in before.items() if name not in empty
    }
    assert not [name for name in left if name not in before and left[name]]


def test_what_the_user_wrote_since_stays(tmp_path: Path) -> None:
    fill(tmp_path, {"AGENTS.md": b"# T\n\nold\n"})
    known = install(tmp_path)
    for name in ("AGENTS.md", "CLAUDE.md"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes() + b"new\n")
    again = install(tmp_path, known=known)

    uninstall(tmp_path, again)

    assert tree(tmp_path) == {"AGENTS.md": b"# T\n\nold\nnew\n", "CLAUDE.md": b"new\n"}


def test_a_claude_file_that_imports_the_shared_one_gets_no_second_block(tmp_path: Path) -> None:
    fill(tmp_path, {"CLAUDE.md": b"@AGENTS.md\n"})

    plan = installing.plan(tmp_path, PARTS, {})

    assert "CLAUDE.md" in plan.elsewhere
    assert "CLAUDE.md" not in {change.path for change in plan.changes}


def test_one_file_under_two_names_gets_one_block(tmp_path: Path) -> None:
    fill(tmp_path, {"AGENTS.md": b"# T\n"})
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    before = tree(tmp_path)

    known = install(tmp_path)

    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert (tmp_path / "AGENTS.md").read_bytes().count(b"keepm:begin") == 1
    uninstall(tmp_path, known)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("target", ["../outside.json", "/etc/hosts", ".git/config", "."])
def test_a_link_out_of_the_project_is_refused(tmp_path: Path, target: str) -> None:
    top = tmp_path / "top"
    fill(top, {".git/config": b"[core]\n"})
    (tmp_path / "outside.json").write_bytes(b"{}")
    (top / ".mcp.json").symlink_to(target)
    before = tree(tmp_path)

    with pytest.raises(ConfigurationError, match=r"\.mcp\.json"):
        installing.plan(top, PARTS, {})

    assert tree(tmp_path) == before


def test_a_linked_folder_out_of_the_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "top" / ".codex").symlink_to("../elsewhere")

    with pytest.raises(ConfigurationError):
        installing.plan(tmp_path / "top", PARTS, {})


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    os.mkfifo(tmp_path / ".mcp.json")
    (tmp_path / "CLAUDE.md").symlink_to("CLAUDE.md")

    with pytest.raises(ConfigurationError) as caught:
        installing.plan(tmp_path, PARTS, {})

    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    assert {row["path"] for row in problems if isinstance(row, dict)} >= {"AGENTS.md", ".mcp.json"}


def test_every_bad_file_is_named_and_none_is_changed(tmp_path: Path) -> None:
    fill(tmp_path, {".mcp.json": b"[]", ".codex/config.toml": b"a = \n", "AGENTS.md": b"# T\n"})
    before = tree(tmp_path)

    with pytest.raises(ConfigurationError) as caught:
        installing.plan(tmp_path, PARTS, {})

    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    assert [(row["path"], row["line"]) for row in problems if isinstance(row, dict)] == [
        (".mcp.json", 1),
        (".codex/config.toml", 1),
    ]
    assert tree(tmp_path) == before


class FullDisk(OSDisk):
    """A disk that refuses its nth new file."""

    def __init__(self, fail_at: int) -> None:
        self.left = fail_at

    def create(self, path: Path, data: bytes, *, mode: int | None, sync: bool = True) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        super().create(path, data, mode=mode, sync=sync)


@pytest.mark.parametrize("fail_at", range(1, 8))
def test_a_failure_half_way_puts_everything_back(tmp_path: Path, fail_at: int) -> None:
    fill(tmp_path, USERS[2])
    before = tree(tmp_path)
    plan = installing.plan(tmp_path, PARTS, {})

    with pytest.raises(ConfigurationError):
        installing.write(tmp_path, plan.changes, disk=FullDisk(fail_at))

    assert tree(tmp_path) == before


def test_a_file_that_changed_since_the_plan_is_left(tmp_path: Path) -> None:
    fill(tmp_path, {"AGENTS.md": b"# T\n"})
    plan = installing.plan(tmp_path, PARTS, {})
    fill(tmp_path, {"AGENTS.md": b"# newer\n"})
    before = tree(tmp_path)

    with pytest.raises(ConfigurationError):
        installing.write(tmp_path, plan.changes, disk=OSDisk())

    assert tree(tmp_path) == before


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    fill(tmp_path, {".mcp.json": b"{}"})
    (tmp_path / ".mcp.json").chmod(0o600)

    install(tmp_path)

    assert stat.S_IMODE((tmp_path / ".mcp.json").stat().st_mode) == 0o600


def test_the_diff_is_that_of_the_files() -> None:
    old, new = b"a\r\nb\x0cc", b"a\r\nb\x0cc\n"
    text = installing.diff([FileChange("x", old, new), FileChange("y", None, b"n\n")])

    assert "--- a/x\n+++ b/x\n" in text
    assert "-b\x0cc\n\\ No newline at end of file\n+b\x0cc\n" in text
    assert "--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+n\n" in text
    assert installing.diff([FileChange("x", old, old)]) == ""


def test_a_record_survives_being_written_and_read(tmp_path: Path) -> None:
    entry = FileRecord(b"\xff\x00", Checksum.of(b"x"))
    known = SetupRecord("/top", "/root", {"a": entry, "b": FileRecord(None, entry.written)}, ("f",))

    record.save(tmp_path, Path("/top"), known, disk=OSDisk())

    assert record.load(tmp_path, Path("/top")) == known
    assert record.roots(tmp_path) == {"/root"}
    path = record.record_path(tmp_path, Path("/top"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text('{"top": 1}')
    with pytest.raises(ConfigurationError):
        record.load(tmp_path, Path("/top"))


def test_each_hosts_files_are_its_own() -> None:
    files = {host.name: {part.path for part in host.parts(CONTEXT)} for host in ALL}
    policy = ".keepm/agent-policy.md"

    assert files == {
        "claude-code": {".mcp.json", "CLAUDE.md", ".claude/settings.json", policy},
        "codex": {".codex/config.toml", "AGENTS.md", ".codex/hooks.json", policy},
        "pi": {".mcp.json", "AGENTS.md", policy},
    }
    assert all(
        isinstance(part.merge, JsonServer | MarkdownBlock) or part.role is not Role.REGISTRATION
        for part in ALL[2].parts(CONTEXT)
    )
