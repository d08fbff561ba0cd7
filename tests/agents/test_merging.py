"""Our parts of other programs' files, in every dialect they come in."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable

import pytest

from keepm.agents.codextoml import TomlServer
from keepm.agents.hooks import JsonHooks, is_ours
from keepm.agents.merging import JsonServer, MarkdownBlock, Merge, Program, WholeText
from keepm.agents.textfile import Refused, TextFile
from tests.agents.support import case_bytes

PROGRAM = Program("/abs/path/to/our-cli/keepm")
SERVE = ("serve", "--root", "/abs/root")
SERVER = JsonServer(PROGRAM, SERVE)
CLAUDE_HOOKS = JsonHooks(PROGRAM, root="/abs/root", matcher="startup", exec_form=True)
CODEX_HOOKS = JsonHooks(PROGRAM, root="/abs/root", matcher="startup", exec_form=False)
TOML = TomlServer(PROGRAM, SERVE)


def added(merge: Merge, data: bytes) -> bytes:
    file = TextFile.parse(data)
    return file.with_text(merge.add(file)).encode()


def taken_out(merge: Merge, data: bytes, original: bytes | None) -> bytes:
    file = TextFile.parse(data)
    before = None if original is None else TextFile.parse(original).text
    return file.with_text(merge.take_out(file, before)).encode()


def test_the_entry_has_the_shape_that_works_everywhere() -> None:
    expected = json.loads(case_bytes("58-entry-shape/expected-entry.json"))["mcpServers"][
        "OUR-NAME"
    ]

    entry = json.loads(added(SERVER, b""))["mcpServers"]["keepm"]

    assert entry == expected | {"command": PROGRAM.command}


def test_a_byte_order_mark_stays() -> None:
    data = case_bytes("56-config-dialects/bom.mcp.json")

    changed = added(SERVER, data)

    assert changed.startswith(b"\xef\xbb\xbf{")
    assert set(json.loads(changed.decode("utf-8-sig"))["mcpServers"]) == {"other", "keepm"}
    assert taken_out(SERVER, changed, data) == data


def test_comments_in_settings_stay() -> None:
    data = case_bytes("56-config-dialects/comments.settings.json")

    changed = added(CLAUDE_HOOKS, data)

    assert b"// keep me" in changed and b"/* and me */" in changed
    assert taken_out(CLAUDE_HOOKS, changed, data) == data
    assert taken_out(CLAUDE_HOOKS, changed + b"// new\n", data) == data + b"// new\n"


@pytest.mark.parametrize(
    ("name", "merge"),
    [
        ("truncated.settings.json", CLAUDE_HOOKS),
        ("array.mcp.json", SERVER),
        ("wrongtype.mcp.json", SERVER),
        ("dup.mcp.json", SERVER),
    ],
)
def test_a_broken_dialect_is_refused_with_its_place(name: str, merge: Merge) -> None:
    with pytest.raises(Refused) as caught:
        added(merge, case_bytes(f"56-config-dialects/{name}"))

    assert caught.value.line == 1
    assert caught.value.column >= 1


@pytest.mark.parametrize("merge", [SERVER, CLAUDE_HOOKS, CODEX_HOOKS, TOML, MarkdownBlock("x")])
def test_an_empty_file_is_treated_as_new_and_is_empty_again(merge: Merge) -> None:
    changed = added(merge, case_bytes("56-config-dialects/empty.json"))

    assert changed
    assert added(merge, changed) == changed
    assert taken_out(merge, changed, b"") == b""
    assert taken_out(merge, changed, None) == b""


@pytest.mark.parametrize(
    "data",
    [
        b'{"hooks": []}',
        b'{"hooks": {"Stop": {}}}',
        b'{"hooks": null}',
        b"[]",
    ],
)
def test_hooks_of_another_type_are_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        added(CLAUDE_HOOKS, data)


def test_not_utf8_is_refused_with_its_place() -> None:
    with pytest.raises(Refused) as caught:
        added(SERVER, b'{\n "a": "\xff"}')

    assert (caught.value.line, caught.value.column) == (2, 8)


def test_another_registration_under_our_name_is_replaced_and_comes_back() -> None:
    data = b'{"mcpServers": {"keepm": {"command": "uvx", "args": ["keepm"], "env": {"A": "1"}}}}\n'

    changed = added(SERVER, data)

    assert json.loads(changed)["mcpServers"]["keepm"]["command"] == PROGRAM.command
    assert b"env" not in changed
    assert json.loads(taken_out(SERVER, changed + b"\n", data)) == json.loads(data)


def test_a_timeout_that_the_user_gave_our_entry_stays() -> None:
    entry = json.loads(added(SERVER, b""))
    entry["mcpServers"]["keepm"]["timeout"] = 60000
    data = json.dumps(entry).encode()

    assert added(SERVER, data) == data


# ---- hooks -------------------------------------------------------------------------------------

FOREIGN = b"""{
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "npm run lint"}]}
    ]
  }
}
"""


@pytest.mark.parametrize("merge", [CLAUDE_HOOKS, CODEX_HOOKS])
def test_other_hooks_stay_and_ours_come_once(merge: JsonHooks) -> None:
    changed = added(merge, FOREIGN)

    hooks = json.loads(changed)["hooks"]
    assert [len(hooks["Stop"]), len(hooks["SessionStart"])] == [2, 1]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "npm run lint"
    assert added(merge, changed) == changed
    assert taken_out(merge, changed, None) == FOREIGN


def test_the_commands_are_short_and_constant() -> None:
    for verb in ("session-start", "stop"):
        command = CODEX_HOOKS.handler(verb)["command"]
        assert isinstance(command, str)
        assert len(command) < 120
        assert f"hook {verb}" in command


def test_an_outdated_hook_is_replaced_in_its_place() -> None:
    other = JsonHooks(Program("/old/keepm"), root="/r", matcher="startup", exec_form=True)
    old = added(other, FOREIGN)

    assert json.loads(added(CLAUDE_HOOKS, old)) == json.loads(added(CLAUDE_HOOKS, FOREIGN))


def test_a_hook_that_the_user_deleted_leaves_no_husk_behind() -> None:
    changed = json.loads(added(CLAUDE_HOOKS, b"{}\n"))
    changed["hooks"]["Stop"] = []

    assert taken_out(CLAUDE_HOOKS, json.dumps(changed).encode(), b"{}\n") == b"{}\n"


@pytest.mark.parametrize(
    ("handler", "ours"),
    [
        ({"command": "/a b/keepm", "args": ["hook", "stop"]}, True),
        ({"command": "'/a b/keepm' hook stop"}, True),
        ({"command": "C:\\x\\keepm.exe hook stop"}, True),
        ({"command": "uvx --from keepm==4.1 keepm hook stop"}, True),
        ({"command": "uvx", "args": ["keepm@4", "hook", "stop"]}, True),
        ({"command": "bookkeepm hook stop"}, False),
        ({"command": "keepm hook session-start"}, False),
        ({"command": "keepm search hook"}, False),
        ({"command": "'unclosed"}, False),
        ({"url": "x"}, False),
        ("keepm hook stop", False),
    ],
)
def test_only_our_own_hooks_are_taken_for_ours(handler: object, ours: bool) -> None:
    assert is_ours(handler, "stop") is ours  # type: ignore[arg-type]  # any JSON value


# ---- TOML --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["config.toml", "crlf.toml"])
def test_the_table_is_appended_in_the_files_own_line_ending(name: str) -> None:
    data = case_bytes(f"59-codex-toml/{name}")

    changed = added(TOML, data)

    assert changed.startswith(data)
    tail = changed[len(data) :]
    assert (tail.count(b"\r\n") == tail.count(b"\n")) is (name == "crlf.toml")
    assert tomllib.loads(changed.decode())["mcp_servers"]["keepm"] == {
        "command": PROGRAM.command,
        "args": list(SERVE),
        "startup_timeout_sec": 30,
        "tool_timeout_sec": 600,
    }
    assert added(TOML, changed) == changed
    assert taken_out(TOML, changed, None) == data


@pytest.mark.parametrize(("name", "place"), [("smart.toml", (1, 9)), ("dup.toml", (3, None))])
def test_broken_toml_is_refused_with_its_place(name: str, place: tuple[int, int | None]) -> None:
    with pytest.raises(Refused) as caught:
        added(TOML, case_bytes(f"59-codex-toml/{name}"))

    assert caught.value.line == place[0]
    assert caught.value.column == (place[1] or caught.value.column) >= 1


@pytest.mark.parametrize(
    "data",
    [
        case_bytes("59-codex-toml/inline.toml"),
        b'mcp_servers.other.command = "x"\n',
        b'[mcp_servers]\nother = { command = "x" }\n',
        b'model = "m"',
        b'\xef\xbb\xbfmodel = "m"\n',
        b'a = """\n[mcp_servers.keepm]\n"""\n',
        b'[mcp_servers.other]\ncommand = "x"\n[[list]]\na = 1\n',
    ],
)
def test_servers_are_never_defined_twice(data: bytes) -> None:
    changed = added(TOML, data)

    old = tomllib.loads(data.decode("utf-8-sig"))
    new = tomllib.loads(changed.decode("utf-8-sig"))
    assert new["mcp_servers"].pop("keepm")["command"] == PROGRAM.command
    assert new == {"mcp_servers": {}} | old
    assert taken_out(TOML, changed, data) == data


def test_tool_approvals_and_comments_in_our_table_stay() -> None:
    data = (
        b"# top\n[mcp_servers.keepm]\ncommand = 'old' # mine\nargs = []\ntool_timeout_sec = 9\n"
        b'[mcp_servers.keepm.tools.memory_delete]\napproval_mode = "prompt"\n\n[x]\na = 1\n'
    )

    changed = added(TOML, data)

    entry = tomllib.loads(changed.decode())["mcp_servers"]["keepm"]
    assert entry["command"] == PROGRAM.command
    assert entry["tool_timeout_sec"] == 9
    assert entry["tools"] == {"memory_delete": {"approval_mode": "prompt"}}
    assert b"# mine" in changed and changed.endswith(b"[x]\na = 1\n")
    assert added(TOML, changed) == changed


def test_an_entry_with_tool_approvals_goes_as_a_whole() -> None:
    data = b'# top\nmodel = "m"\n'
    approved = added(TOML, data) + b'[mcp_servers.keepm.tools.a]\napproval_mode = "approve"\n'

    left = taken_out(TOML, approved, data)

    assert tomllib.loads(left.decode()) == {"model": "m"}
    assert left.startswith(b"# top\n")


def test_variables_are_forwarded_by_name() -> None:
    merge = TomlServer(PROGRAM, SERVE, forwarded=("XDG_DATA_HOME",))

    entry = tomllib.loads(added(merge, b"").decode())["mcp_servers"]["keepm"]

    assert entry["env_vars"] == ["XDG_DATA_HOME"]


@pytest.mark.parametrize("data", [b"mcp_servers = 1\n", b"[mcp_servers]\nkeepm = 1\n"])
def test_servers_of_another_type_are_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        added(TOML, data)


# ---- whole files -------------------------------------------------------------------------------


def test_a_file_of_ours_that_someone_rewrote_is_left() -> None:
    ours = WholeText("ours\n")

    assert ours.take_out(TextFile("ours\n"), None) == ""
    assert ours.take_out(TextFile("theirs\n"), None) == "theirs\n"


Change = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("merge", "data"),
    [
        (SERVER, b'{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n'),
        (CLAUDE_HOOKS, FOREIGN),
        (TOML, b'# top\nmodel = "m"\n'),
        (MarkdownBlock("text"), b"# T\n\nrules\n"),
    ],
)
def test_what_was_changed_meanwhile_stays(merge: Merge, data: bytes) -> None:
    changed = added(merge, data)
    edits: list[Change] = [
        lambda text: text.replace(b"x", b"y").replace(b"npm", b"pnpm").replace(b"rules", b"more"),
        lambda text: text.replace(b"# top", b"# new"),
    ]
    for edit in edits:
        assert taken_out(merge, edit(changed), data) == edit(data)
