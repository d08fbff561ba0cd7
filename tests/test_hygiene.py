"""What holds for every file of the repository: where bytes are written, sizes, names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

_TOP = Path(__file__).resolve().parents[1]
_LONGEST_MODULE = 400

# Bytes reach the vault through `store/disk` alone. Beside it, each module that changes files
# says here which files those are; none of them is a note, a proposal, a handoff or a record.
_WRITERS = {
    "keepm/store/disk.py": "the seam itself",
    "keepm/store/lock.py": "the lock's own file, which tells waiters who holds it",
    "keepm/index/files.py": "the index, outside the vault",
    "keepm/index/database.py": "the folder it lies in",
    "keepm/operations/vault.py": "this machine's writer id, in the data folder",
    "keepm/operations/anchoring.py": "where each ledger ended when last seen, in the data folder",
    "keepm/operations/plans.py": "plans that wait for a confirmation, in the data folder",
    "keepm/operations/settings_file.py": "the folder of the user's settings",
    "keepm/agents/installing.py": "files of hosts in a project",
    "keepm/agents/onboarding.py": "what setup made outside the vault, taken out again",
    "keepm/agents/record.py": "what a project's files were before setup, in the data folder",
    "keepm/agents/launching.py": "KeepM's own environment, in the data folder",
    "keepm/agents/handshake.py": "a scratch folder for a server on trial",
    "keepm/cli/editing.py": "the copy that the owner's editor works on, in the data folder",
    "keepm/cli/demo.py": "the throw-away vault of the demo",
}

_METHODS = (
    "write_text write_bytes touch unlink rename rmdir mkdir symlink_to hardlink_to link_to chmod"
    " lchmod"
)
_OS = (
    "write pwrite writev sendfile truncate ftruncate rename renames replace remove unlink rmdir"
    " removedirs mkdir makedirs mkfifo mknod link symlink chmod fchmod lchmod chown utime"
    " copy_file_range"
)
_CHANGING_METHODS = frozenset(_METHODS.split())
_CHANGING_OS = frozenset(_OS.split())
_CHANGING_MODULES = frozenset({"shutil", "tempfile"})
_HARMLESS = frozenset({"which", "get_terminal_size", "disk_usage", "gettempdir"})
_WRITING_MODE = re.compile("[wax+]")


# ---- bytes are written in one place ------------------------------------------------------------


def test_files_are_changed_only_where_it_was_agreed() -> None:
    found = {
        module: changes
        for module in _modules()
        if (changes := sorted(set(_changes(ast.parse((_TOP / module).read_text("utf-8"))))))
    }

    assert {module: found[module] for module in found if module not in _WRITERS} == {}


def test_every_module_that_may_change_files_does() -> None:
    idle = {
        module
        for module in _WRITERS
        if (_TOP / module).exists()
        and not list(_changes(ast.parse((_TOP / module).read_text("utf-8"))))
    }

    assert idle == set()


@pytest.mark.parametrize(
    "source",
    [
        "open(p, 'w')",
        "open(p, mode='ab')",
        "open(p, mode)",
        "p.open('x')",
        "io.open(p, 'r+')",
        "p.write_bytes(b'')",
        "p.with_name('x').replace(q)",
        "p.unlink(missing_ok=True)",
        "os.replace(p, q)",
        "os.open(p, os.O_RDWR | os.O_CREAT)",
        "os.open(p, _FLAGS)",
        "os.write(1, b'')",
        "shutil.rmtree(p)",
        "tempfile.mkstemp()",
        "from os import replace",
        "from shutil import copyfile",
        "getattr(p, 'write_text')('')",
    ],
)
def test_a_change_is_recognised(source: str) -> None:
    assert list(_changes(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "open(p)",
        "open(p, 'rb')",
        "p.open()",
        "p.open('r', encoding='utf-8')",
        "os.open(p, os.O_RDONLY | _CLOSE)",
        "text.replace('a', 'b')",
        "text.replace('a', 'b', 1)",
        "moment.replace(tzinfo=UTC)",
        "dataclasses.replace(x, y=1)",
        "root.disk.unlink(p)",
        "disk.rename_over(p, q)",
        "self.disk.create(p, b'', mode=None)",
        "shutil.which('git')",
        "Database.open(p, vault_id='x')",
    ],
)
def test_what_changes_nothing_is_left_alone(source: str) -> None:
    assert list(_changes(ast.parse(source))) == []


def _changes(tree: ast.AST) -> Iterator[str]:
    """Yield every call that can change a file, other than by the seam."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from _smuggled(node)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield from _builtin(node, node.func.id)
            elif isinstance(node.func, ast.Attribute):
                yield from _method(node, node.func)


def _smuggled(node: ast.ImportFrom) -> Iterator[str]:
    """Yield changing functions that are imported by name, so that no call shows their module."""
    for alias in node.names:
        if (node.module == "os" and alias.name in _CHANGING_OS | {"open"}) or (
            node.module in _CHANGING_MODULES and alias.name not in _HARMLESS
        ):
            yield f"from {node.module} import {alias.name}"


def _builtin(node: ast.Call, name: str) -> Iterator[str]:
    if name == "open" and _opens_for_writing(node, position=1):
        yield "open"
    if name == "getattr" and len(node.args) > 1:
        asked = node.args[1]
        if isinstance(asked, ast.Constant) and asked.value in _CHANGING_METHODS:
            yield f"getattr {asked.value}"


def _method(node: ast.Call, function: ast.Attribute) -> Iterator[str]:
    name, owner = function.attr, _last_name(function.value)
    if owner == "disk":
        return  # the seam
    if owner == "os":
        if name in _CHANGING_OS or (name == "open" and not _is_reading(node)):
            yield f"os.{name}"
    elif owner in _CHANGING_MODULES:
        if name not in _HARMLESS:
            yield f"{owner}.{name}"
    elif name == "open" and owner is not None and owner[:1].isupper():
        return  # a class's own constructor
    elif name == "open":
        if _opens_for_writing(node, position=1 if owner in ("io", "codecs") else 0):
            yield ".open"
    elif name == "replace":
        # Path.replace takes one path; str.replace takes two texts, a time's only keywords.
        if owner != "dataclasses" and len(node.args) == 1 and not node.keywords:
            yield ".replace"
    elif name in _CHANGING_METHODS:
        yield f".{name}"


def _opens_for_writing(node: ast.Call, *, position: int) -> bool:
    """Tell whether a mode is given that writes, or that can't be read off the source."""
    given = [k.value for k in node.keywords if k.arg == "mode"] or node.args[position:][:1]
    if not given:
        return False
    (mode,) = given
    if not isinstance(mode, ast.Constant) or not isinstance(mode.value, str):
        return True
    return bool(_WRITING_MODE.search(mode.value))


def _is_reading(node: ast.Call) -> bool:
    """Tell whether `os.open` says itself that it only reads."""
    names = {
        inner.attr
        for each in node.args[1:]
        for inner in ast.walk(each)
        if isinstance(inner, ast.Attribute)
    }
    return "O_RDONLY" in names and not names & {"O_CREAT", "O_TRUNC", "O_APPEND"}


def _last_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None


# ---- sizes and names ---------------------------------------------------------------------------


def test_no_module_holds_two_ideas() -> None:
    lengths = {
        module: len((_TOP / module).read_text("utf-8").splitlines()) for module in _modules()
    }

    assert {name: n for name, n in lengths.items() if n > _LONGEST_MODULE} == {}


# What a declared library brings and gives its users as a part of its own interface.
_BROUGHT_ALONG = {
    "anyio": "fastmcp",
    "jsonschema": "fastmcp",
    "mcp": "fastmcp",
    "mcp_types": "fastmcp",
    "prompt_toolkit": "questionary",
}
_NAMES_OF_PACKAGES = {"yaml": "pyyaml"}


def test_every_library_that_is_imported_is_declared() -> None:
    project = tomllib.loads((_TOP / "pyproject.toml").read_text("utf-8"))
    ours = project["project"]["dependencies"]
    declared = {
        "keepm": _distributions(ours),
        "tests": _distributions([*ours, *project["dependency-groups"]["dev"]]),
    }
    assert {"fastmcp", "tomlkit"} <= declared["keepm"]

    undeclared = {
        f"{path.relative_to(_TOP)}: {name}"
        for top, known in declared.items()
        for path in (_TOP / top).rglob("*.py")
        for name in _libraries(ast.parse(path.read_text("utf-8")))
        if _BROUGHT_ALONG.get(name, _NAMES_OF_PACKAGES.get(name, name)) not in known
    }

    assert not undeclared


def test_links_are_followed_by_what_never_raises() -> None:
    """`Path.resolve` ends with a RuntimeError on a loop of links, which nobody expects of it."""
    assert list(_calls("Path(x).resolve()", "resolve")) == [1]

    found = [
        f"{path.relative_to(_TOP)}:{line}"
        for path in (_TOP / "keepm").rglob("*.py")
        if path.name != "resources.py"  # our own files, which are there
        for line in _calls(path.read_text("utf-8"), "resolve")
    ]

    assert not found, f"use os.path.realpath: {found}"


_EXPECT_REFUSALS = (
    "resources.py",  # our own files, which are there
    "store/disk.py",
    "index/files.py",
    "operations/settings_file.py",
    "operations/vault.py",
    "operations/worktree.py",
)


def test_what_is_there_is_asked_by_what_never_raises() -> None:
    """`Path.exists` and its like raise a PermissionError, which nobody expects of a question."""
    found = [
        f"{path.relative_to(_TOP)}:{line}"
        for path in (_TOP / "keepm").rglob("*.py")
        if path.relative_to(_TOP / "keepm").as_posix() not in _EXPECT_REFUSALS
        for method in ("exists", "is_dir", "is_file")
        for line in _calls(path.read_text("utf-8"), method)
    ]

    assert not found, f"use os.path: {found}"


def _calls(source: str, method: str) -> Iterator[int]:
    """Yield the lines where a method without arguments is called on something."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == method
            and not node.args
        ):
            yield node.lineno


def _distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=~!\[; ]", each)[0].lower() for each in requirements}


def _libraries(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for top in {name.partition(".")[0] for name in names}:
            if top not in sys.stdlib_module_names and top not in ("keepm", "tests"):
                yield top


def test_no_lock_file_and_nothing_built_is_tracked() -> None:
    unwanted = re.compile(r"(^|/)(uv\.lock|dist|build|__pycache__|\.venv|[^/]+\.egg-info)(/|$)")

    assert [name for name in _tracked() if unwanted.search(name)] == []


def test_no_file_names_a_package_host_or_this_machine() -> None:
    # Spelled in pieces, so that this file doesn't name them either.
    hosts = [".".join(parts) for parts in (
        ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"),
        ("proxy", "golang", "org"), ("crates", "io"), ("debian", "org"),
    )]  # fmt: skip
    # A home or checkout right below the root (`/src`) is too common a word to look for.
    places = [
        f"{p.as_posix()}/" for p in (Path.home(), _TOP) if len(p.parts) > 2 or p.name == "root"
    ]
    named = {
        (name, word)
        for name in _tracked()
        for word in (*hosts, *places)
        if word.encode() in _bytes(name)
    }

    assert named == set()


def test_no_file_outside_the_tests_shows_somebodys_home() -> None:
    home = re.compile(rb"(?<![\w.])/(?:home|Users)/(?!you\b)\w|[A-Za-z]:\\Users\\\w")

    shown = [n for n in _tracked() if not n.startswith("tests/") and home.search(_bytes(n))]

    assert shown == []


def test_tracked_text_ends_its_lines_as_unix_does() -> None:
    # The cases keep their bytes: line endings are what some of them are about.
    text = [n for n in _tracked() if n.endswith((".py", ".md", ".toml")) and "/cases/" not in n]

    assert [name for name in text if b"\r" in _bytes(name)] == []


def _modules() -> list[str]:
    return sorted(path.relative_to(_TOP).as_posix() for path in (_TOP / "keepm").rglob("*.py"))


def _bytes(name: str) -> bytes:
    path = _TOP / name
    return path.read_bytes() if path.is_file() else b""  # deleted, not yet committed


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=_TOP, capture_output=True, check=True, encoding="utf-8"
    )
    return [name for name in listed.stdout.split("\0") if name]
