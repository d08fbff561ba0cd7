"""The parts of the documentation that are made from the code: tools, commands, settings, limits.

python -m tests.docs        writes them anew; `tests/test_docs.py` compares them
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from keepm import config
from keepm.cli import main as command_line
from keepm.config import values
from keepm.errors import ConfigurationError
from keepm.model import rules

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end of generated -->)", re.DOTALL
)


def rendered(text: str) -> str:
    """Return a page with each of its generated parts as the code says it now."""

    def one(found: re.Match[str]) -> str:
        return f"{found[1]}{_PARTS[found['name']]()}\n{found[3]}"

    return _BLOCK.sub(one, text)


def pages() -> list[Path]:
    """Return the pages with a generated part."""
    return [page for page in sorted(DOCS.glob("*.md")) if _BLOCK.search(page.read_text("utf-8"))]


def tools() -> list[dict[str, Any]]:
    """Return the tools as a client sees them, in the server's order."""
    return asyncio.run(_tools())


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command and of each of its actions, by its words."""
    found: dict[str, argparse.ArgumentParser] = {}
    for name, parser, _ in _below(command_line._parser(command_line._VERBS)):
        found[name] = parser
        for action, inner, says in _below(parser):
            inner.description = inner.description or f"{says[:1].upper()}{says[1:]}."
            found[f"{name} {action}"] = inner
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# ---- tools -------------------------------------------------------------------------------------


async def _tools() -> list[dict[str, Any]]:
    config.isolate_sdk()
    from fastmcp import Client

    from keepm.mcp import server as face

    def no_vault() -> Any:
        raise ConfigurationError("listing the tools needs no vault")

    server, _ = face.build(no_vault, language="en", session_id="docs")
    async with Client(server) as client:
        listed = await client.list_tools()
    return [tool.model_dump() for tool in listed]


def _tool_pages() -> str:
    return "\n\n".join(_tool(tool) for tool in tools())


def _tool(tool: dict[str, Any]) -> str:
    schema = tool["input_schema"]
    required = schema.get("required", [])
    hints = tool["annotations"]
    marks = [
        "only reads" if hints["read_only_hint"] else "changes the vault",
        *(["destructive"] if hints["destructive_hint"] else []),
        *(["idempotent"] if hints["idempotent_hint"] else []),
    ]
    answer = [name for name in tool["output_schema"]["properties"] if name != "error"]
    parts = [
        f"### {tool['name']}",
        " ".join(tool["description"].split()),
        f"*{tool['title']}; {', '.join(marks)}.*",
        table(
            ("parameter", "type", "given", "meaning"),
            (
                (
                    f"`{name}`",
                    _type(rule),
                    "required" if name in required else _default(rule),
                    rule["description"],
                )
                for name, rule in schema["properties"].items()
            ),
        )
        if schema["properties"]
        else "No parameters.",
        "Answer: " + ", ".join(f"`{name}`" for name in answer) + ".",
    ]
    return "\n\n".join(parts)


_PLAIN = {"string": "text"}


def _type(rule: dict[str, Any]) -> str:
    if "enum" in rule:
        return " or ".join(f"`{value}`" for value in rule["enum"])
    if rule["type"] == "array":
        return f"list, at most {rule['maxItems']}, each {_type(rule['items'])}"
    if rule["type"] == "integer":
        return f"integer {rule['minimum']} to {rule['maximum']}"
    if "pattern" in rule:
        return f"text like `{rule['pattern']}`"
    least = "1 to " if rule.get("minLength") == 1 else "at most "
    return (
        f"text, {least}{rule['maxLength']}"
        if "maxLength" in rule
        else _PLAIN.get(rule["type"], rule["type"])
    )


def _default(rule: dict[str, Any]) -> str:
    if "default" not in rule:
        return "optional"
    value = rule["default"]
    return f"default `{str(value).lower() if isinstance(value, bool) else value}`"


# ---- the command line --------------------------------------------------------------------------


def _below(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Yield the sub-commands of a parser: name, parser, and the line its list has for it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            says = {each.dest: each.help or "" for each in action._choices_actions}
            for name, inner in action.choices.items():
                yield name, inner, says[name]


def _command_pages() -> str:
    return "\n\n".join(_command(name, parser) for name, parser in commands().items())


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    own = [
        action
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
        and not {"--root", "--project-dir"}.intersection(action.option_strings)
    ]
    heading = "####" if " " in name else "###"
    says = (parser.description or "").strip()
    parts = [f"{heading} keepm {name}", *([says] if says else [])]
    if own:
        parts.append(table(("argument", "meaning"), ((_argument(a), a.help or "") for a in own)))
    return "\n\n".join(parts)


def _argument(action: argparse.Action) -> str:
    value = ""
    if action.choices is not None and action.metavar is None:
        value = "{" + ",".join(str(choice) for choice in action.choices) + "}"
    elif action.nargs != 0:
        named = action.metavar or action.dest.upper()
        value = named if isinstance(named, str) else " ".join(named)
    if not action.option_strings:
        return f"`{value}`" + (" (optional)" if action.nargs == "?" else "")
    last = f"{action.option_strings[-1]} {value}".strip()
    return ", ".join(f"`{flag}`" for flag in (*action.option_strings[:-1], last))


def _settings() -> str:
    rows = [("`root`", "`~/keepm`", "a folder", f"`{values.variable('root')}`")]
    for name, choices in values.CHOICES.items():
        allowed = ", ".join(f"`{choice}`" for choice in choices)
        rows.append((f"`{name}`", f"`{choices[0]}`", allowed, f"`{values.variable(name)}`"))
    for name, (default, least, most) in values.INTEGERS.items():
        bounds = f"{least} to {most}"
        rows.append((f"`{name}`", f"`{default}`", bounds, f"`{values.variable(name)}`"))
    minima = ", ".join(f"`{choice}`" for choice in values.MINIMA)
    rows.append((f"`{values.BY_KIND}<kind>`", "as `approval.minimum`", minima, "none"))
    return table(("setting", "default", "values", "variable"), rows)


# ---- the policy data ---------------------------------------------------------------------------


def _kinds() -> str:
    def must(contract: config.KindContract) -> str:
        parts = [f"`## {heading}`" for heading in contract.headings]
        parts += [f"`{label}:`" for label in contract.labels]
        parts += ["at least one of `sources`"] * contract.needs_source
        return ", ".join(parts) or "–"

    return table(
        ("kind", "what it is", "must hold", "becomes stale"),
        (
            (f"`{name}`", each.purpose["en"], must(each), "yes" if each.verification else "no")
            for name, each in config.load_policy().kinds.items()
        ),
    )


def _limits() -> str:
    limits = tomllib.loads((ROOT / "policies" / "limits.toml").read_text("utf-8"))
    return table(
        ("of", "limit", "at most"),
        (
            (part, name.replace("_", " "), f"{most:,}")
            for part, names in limits.items()
            for name, most in names.items()
        ),
    )


def _screening() -> str:
    rules = config.load_policy().screening
    named = {**rules.rules, **{each.rule.name: each.rule for each in rules.advice}}
    marked = {each.rule.name for each in rules.advice}
    return table(
        ("rule", "what it finds", "中文", "then"),
        (
            (
                f"`{name}`",
                rule.words["en"],
                rule.words["zh"],
                "marked for the reviewer" if name in marked else "refused",
            )
            for name, rule in named.items()
        ),
    )


def _findings() -> str:
    parts = []
    for number, heading in enumerate(_HUNDREDS):
        own = [rule for rule in rules.RULES.values() if rule.id.startswith(f"KM{number}")]
        rows = (
            (f"`{each.id}`", f"`{each.code}`", str(each.severity), each.means, each.fix)
            for each in own
        )
        parts += [f"## {heading}", table(("id", "code", "severity", "means", "fix"), rows)]
    return "\n\n".join(parts)


_HUNDREDS = (
    "Files",
    "Front matter",
    "Content",
    "Names and links",
    "The Inbox and the gate",
    "Sources and verification",
    "KeepM's own records",
    "This machine and its hosts",
    "A pull request",
)


_PARTS: dict[str, Callable[[], str]] = {
    "tools": _tool_pages,
    "commands": _command_pages,
    "settings": _settings,
    "kinds": _kinds,
    "limits": _limits,
    "screening": _screening,
    "findings": _findings,
}


def main() -> None:
    """Write every generated part anew."""
    for page in pages():
        page.write_text(rendered(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
