"""The documentation says what the code does: names, parameters, codes, keys, examples, links."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepm import __version__, errors
from keepm.cli import output
from keepm.markdown import documents, handoffs, memories, proposals
from keepm.model import rules
from keepm.model.document import Document
from keepm.model.handoff import Handoff
from keepm.model.memory import Memory
from keepm.model.proposal import Proposal
from keepm.operations import recording
from keepm.store.event import LedgerEvent, canonical
from keepm.store.journal import FileIntent, Intent
from tests import docs

READMES = ("README.md", "README.zh.md")
COMMANDS = (
    "python3 -m pip install -q uv && uvx --from . keepm setup",
    "python3 -m pip install -q uv && uv run pytest",
)
PAGES = sorted(
    page.relative_to(docs.ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "changelog.d/*.md", "web/*.md")
    for page in docs.ROOT.glob(pattern)
)


def page(name: str) -> str:
    return (docs.ROOT / name).read_text("utf-8")


def section(text: str, heading: str) -> str:
    """Return what stands under a heading, up to the next one of its level or above."""
    level = heading.partition(" ")[0]
    _, _, rest = text.partition(f"\n{heading}\n")
    assert rest, heading
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def first_cells(text: str) -> list[str]:
    """Return the code spans in the first column of every table."""
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    return [span for row in rows for span in re.findall(r"`([^`]+)`", row)]


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


# ---- what is made from the code ------------------------------------------------------------------


def test_each_part_that_is_made_from_the_code_has_its_place() -> None:
    found = [name for each in docs.pages() for name in docs._BLOCK.findall(each.read_text("utf-8"))]

    assert sorted(name for _, name, _ in found) == sorted(docs._PARTS)


@pytest.mark.parametrize("name", [each.name for each in docs.pages()])
def test_what_is_made_from_the_code_is_up_to_date(name: str) -> None:
    text = page(f"docs/{name}")

    assert docs.rendered(text) == text, "run: python -m tests.docs"


def test_every_tool_of_the_server_has_its_parameters_in_the_docs() -> None:
    text = page("docs/tools.md")

    for tool in docs.tools():
        own = section(text, f"### {tool['name']}")
        assert first_cells(own) == list(tool["input_schema"]["properties"])
        required = re.findall(r"^\| `(\w+)` \|.*\| required \|", own, re.MULTILINE)
        assert required == tool["input_schema"].get("required", [])


@pytest.mark.parametrize("name", READMES)
def test_the_readme_names_every_tool_and_no_other(name: str) -> None:
    named = set(re.findall(r"`(memory_\w+)`", page(name)))

    assert named == {tool["name"] for tool in docs.tools()}


def test_every_command_stands_in_the_docs() -> None:
    text = page("docs/cli.md")
    headings = re.findall(r"^####? keepm (.+)$", text, re.MULTILINE)

    assert headings == list(docs.commands())


def test_the_exit_codes_in_the_docs_are_those_of_the_program() -> None:
    codes = re.findall(r"^\| (\d) \| (\w+)", page("docs/cli.md"), re.MULTILINE)

    assert codes == [
        (str(output.OK), "fine"),
        (str(output.FINDINGS), "findings"),
        (str(output.USAGE), "usage"),
        (str(output.INTERNAL), "internal"),
    ]


# ---- errors and findings -------------------------------------------------------------------------


def subclasses(kind: type[errors.KeepMError]) -> Iterator[type[errors.KeepMError]]:
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from subclasses(each)


def test_every_error_code_has_its_line() -> None:
    documented = first_cells(section(page("docs/errors.md"), "## Errors"))

    assert sorted(documented) == sorted(
        {each.code for each in subclasses(errors.KeepMError)} | {errors.KeepMError.code}
    )


def test_every_finding_has_its_line() -> None:
    documented = first_cells(section(page("docs/errors.md"), "## Findings"))

    assert sorted(documented) == sorted(set(finding_codes()))


def test_every_finding_of_a_codec_is_one_that_doctor_knows() -> None:
    assert set(finding_codes()) <= set(rules.RULES)


def test_the_ids_of_findings_are_given_out_once_and_in_order() -> None:
    ids = [rule.id for rule in rules.RULES.values()]

    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"KM\d{3}", each) for each in ids)


def finding_codes() -> Iterator[str]:
    """Yield the codes that the codecs can find, from their syntax trees."""
    folder = docs.ROOT / "keepm" / "markdown"
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(folder.glob("*.py"))]
    constants = {
        target.id: node.value.value
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    position = {"Finding": 0, "note": 0, "_broken": 0, "_refused": 2}
    chosen = {"choice": "unknown_{}", "optional_choice": "unknown_{}"}
    for call in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name in chosen and isinstance(call.args[0], ast.Constant):
            yield chosen[name].format(call.args[0].value)
        elif name in position and len(call.args) > position[name]:
            code = call.args[position[name]]
            if isinstance(code, ast.Constant):
                yield str(code.value)
            elif isinstance(code, ast.Name) and code.id in constants:
                yield str(constants[code.id])


# ---- the file format -----------------------------------------------------------------------------


def test_the_keys_of_each_document_are_those_of_its_codec() -> None:
    text = page("docs/file-format.md")
    claim = section(text, "### Proposal").splitlines()
    listed = next(line for line in claim if line.startswith("| `id` …"))
    below = first_cells("\n".join(line for line in claim if line != listed))
    keys = section(text, "### Handoff").split("Keys: ")[1].split("\n")[0]

    assert tuple(first_cells(section(text, "### Formal memory"))) == memories.KEYS
    in_order = re.findall(r"`(\w+)`", listed.split("in this order:")[1])
    assert (*in_order, *below) == proposals.KEYS
    without_values = re.sub(r"\([^)]*\)", "", keys)
    assert tuple(re.findall(r"`(\w+)`", without_values)) == handoffs.KEYS


def test_the_sections_of_a_handoff_are_those_of_its_codec() -> None:
    own = section(page("docs/file-format.md"), "### Handoff")
    line = next(line for line in own.splitlines() if line.startswith("The rest is said once"))

    assert re.findall(r"`## ([^`]+)`", line) == list(handoffs.TITLES.values())


EXAMPLES = {
    "Memory/projects/widgets/project-package-manager.md": Memory,
    "Memory/Inbox/pending/projects/widgets/test-command-8314ea86.md": Proposal,
    "Memory/.handoffs/pending/projects/widgets/Move the build to pnpm-397eaba9.md": Handoff,
}


@pytest.mark.parametrize(("number", "path"), list(enumerate(EXAMPLES)))
def test_an_example_reads_without_a_finding_and_is_written_just_so(number: int, path: str) -> None:
    data = fenced(page("docs/file-format.md"), "markdown")[number].encode()
    document: Document[Memory] | Document[Proposal] | Document[Handoff]
    document = documents.read(path, data)  # type: ignore[assignment]  # checked on the next line

    assert isinstance(document.content, EXAMPLES[path])
    assert document.findings == ()
    match document.content:
        case Memory():
            assert memories.render(document.content) == data
        case Proposal():
            assert proposals.render(document.content) == data
        case Handoff():
            assert handoffs.render(document.content) == data


def test_the_marker_line_is_that_of_the_codec() -> None:
    assert f"`{proposals.MARKER}`" in page("docs/file-format.md")


def test_the_example_of_an_event_is_canonical_and_hashed_as_the_page_says() -> None:
    (line,) = fenced(page("docs/file-format.md"), "json")
    event = LedgerEvent.parse(line)

    assert event.line() == line.encode()
    assert event.rehashed() == event


def test_the_keys_of_records_are_those_of_the_code() -> None:
    text = page("docs/file-format.md")
    (line,) = fenced(text, "json")
    event = LedgerEvent.parse(line)
    digest = event.changes[0].after or ""
    file = FileIntent("Memory/global/a.md", None, None, digest)
    record = json.loads(Intent("t", "w", (file,), event).encode())
    listed = re.search(r"list of `\{([^}]+)\}`: `to`", text)

    assert set(first_cells(section(text, "### Ledger"))) == {"object_kind", *event.as_record()}
    assert set(first_cells(section(text, "### Transactions"))) == set(record)
    assert listed and listed[1].split(", ") == [f.name for f in dataclasses.fields(FileIntent)]
    assert canonical({"b": "é", "a": 1}) == '{"a":1,"b":"é"}'.encode()


def test_the_operations_of_the_ledger_are_those_of_the_code() -> None:
    own = section(page("docs/file-format.md"), "### Ledger")
    row = next(line for line in own.splitlines() if line.startswith("| `operation` |"))
    used = {recording.OPERATION}
    for path in (docs.ROOT / "keepm" / "operations").glob("*.py"):
        module = ast.parse(path.read_text("utf-8"))
        constants = {
            target.id: node.value
            for node in module.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(module):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "draft":
                given = call.args[1]
                value = constants.get(given.id) if isinstance(given, ast.Name) else given
                if isinstance(value, ast.Constant):
                    used.add(str(value.value))

    assert set(re.findall(r"`([\w-]+)`", row)) - {"operation"} == used


# ---- the house -----------------------------------------------------------------------------------


def test_every_module_that_the_architecture_names_is_there() -> None:
    text = page("docs/architecture.md")
    planned = re.search(r"^- Not there yet:.*$", text, re.MULTILINE)
    assert planned
    named = re.findall(
        r"`(?!policies/)([a-z]+/[a-z_]+)(?:\.[a-z_]+)?`", text.replace(planned[0], "")
    )

    def is_there(name: str) -> bool:
        module = docs.ROOT / "keepm" / name
        return module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()

    assert [each for each in named if not is_there(each)] == []
    assert len(named) > 30


def test_what_the_architecture_calls_missing_is_not_there() -> None:
    planned = re.search(r"^- Not there yet:.*$", page("docs/architecture.md"), re.MULTILINE)
    assert planned
    names = re.findall(r"`([a-z]+/[a-z_]+)`", planned[0])

    assert names
    assert [each for each in names if (docs.ROOT / "keepm" / f"{each}.py").exists()] == []


def test_the_layers_in_the_architecture_are_those_that_are_enforced() -> None:
    enforced = tomllib.loads(page("pyproject.toml"))["tool"]["importlinter"]["contracts"][0]
    drawn = fenced(page("docs/architecture.md"), "")[0].split("\n")[:-1]

    assert drawn == enforced["layers"]


def test_every_room_has_its_line_in_the_architecture() -> None:
    rooms = {
        path.stem
        for path in (docs.ROOT / "keepm").iterdir()
        if (path.suffix == ".py" and not path.stem.startswith("__"))
        or (path / "__init__.py").is_file()
    }

    assert set(first_cells(section(page("docs/architecture.md"), "## Rooms"))) == rooms


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("docs/adr/")])
def test_a_decision_has_context_decision_and_consequences(name: str) -> None:
    parts = re.findall(r"^\*\*(\w+)\.\*\*", page(name), re.MULTILINE)

    assert parts == ["Context", "Decision", "Consequences"]
    assert int(Path(name).name[:4]) == int(page(name).removeprefix("# ").partition(".")[0])


# ---- README and links ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", READMES)
def test_the_quick_start_is_the_two_commands(name: str) -> None:
    assert fenced(page(name), "bash") == [f"{command}\n" for command in COMMANDS]


def test_both_readmes_have_the_same_parts() -> None:
    english, chinese = (page(name) for name in READMES)

    def shape(text: str) -> list[str]:
        return re.findall(r"^(#+ |- |\| )", text, re.MULTILINE)

    assert shape(english) == shape(chinese)
    targets = [sorted(set(re.findall(r"\]\(([^)]+)\)", text))) for text in (english, chinese)]
    assert [t for t in targets[0] if t not in READMES] == [
        t for t in targets[1] if t not in READMES
    ]


def test_the_commands_a_readme_names_are_there() -> None:
    known = set(docs.commands())

    for name in READMES:
        named = re.findall(r"keepm ([a-z]+)\b", page(name))
        assert set(named) <= known


def test_the_changelog_has_this_version() -> None:
    assert f"\n## {__version__}" in page("CHANGELOG.md")


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    text = re.sub(r"^```.*?^```$", "", page(name), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"(?<!\!)\[[^\]\[]+\]\(([^)#]+)(?:#[^)]*)?\)", text)
    here = (docs.ROOT / name).parent

    assert [t for t in targets if "://" in t or not (here / t).exists()] == []
