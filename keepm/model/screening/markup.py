"""Markdown and HTML outside code that hides text from whoever reads the rendered note.

Comments, elements that swallow or load something, attributes that can hide or run, links that
run, definitions that nothing shows. In code everything is shown as it stands, and passes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from keepm.config import MarkupRules
from keepm.model.screening.blocks import Leaf, Sort, leaves
from keepm.model.screening.hit import Hit

_SIGNS = ("<", "](", "]:", "%%")
_SIGN = re.compile(
    r"\\[!-/:-@\[-`{-~]|(?P<ticks>`+)|(?P<angle><)|(?P<percent>%%)|(?P<link>\]\(\s*)"
)
_TICKS = re.compile(r"`+")
_COMMENT = re.compile(r"<!--(?:.*?(?:--!?>|\Z))?", re.DOTALL)
_DECLARATIONS = (("<?", "?>"), ("<![CDATA[", "]]>"))
_DOCTYPE = re.compile(r"<![A-Za-z][^<>]*>?")
_ATTRIBUTE = re.compile(
    r"\s++(?P<name>[A-Za-z_:@][\w.:\-]*+)"
    r"(?:\s*+=\s*+(?P<value>[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?"
)
_TAG = re.compile(
    rf"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9\-]*+)"
    rf"(?P<rest>(?:{_ATTRIBUTE.pattern.replace('?P<name>', '?:').replace('?P<value>', '?:')})*+)"
    r"\s*+/?>"
)
_LOOSE_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9\-]*+)(?P<rest>[^<>]*)")
_AUTOLINK = re.compile(r"<(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]{1,31}):[^\s<>]*>")
# The first characters of a link's target are enough for its scheme.
_TARGET = re.compile(r"<(?P<angled>[^<>\n]{0,200})|(?P<plain>[^\s)<>]{0,200})")
_TABLE_RULE = re.compile(r"^[ ]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$", re.M)
_CELL_END = re.compile(r"(?<!\\)\||\n")
_DEFINITION = re.compile(
    r"[ \t]*\[(?P<label>(?:\\.|[^\[\]\\]){1,999}+)\]:[ \t]*+(?:\n[ \t]*+)?"
    r"(?P<target><[^<>\n]*>|[^\s<]\S*)"
    r"(?:(?:[ \t]++(?:\n[ \t]*+)?|\n[ \t]*+)"
    r"(?:\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|\((?:\\.|[^()\\])*+\)))?"
    r"[ \t]*\r?(?:\n|\Z)",
    re.DOTALL,
)
_FOOTNOTE = re.compile(r"^[ \t]*\[(?P<label>\^[^\[\]\s]{1,200})\]:", re.M)
_LABEL = re.compile(r"\[((?:\\.|[^\[\]\\]){1,999}+)\]", re.DOTALL)
_CHARACTER_REFERENCE = re.compile(r"&(?:#\w{1,8}|\w{1,31});")


def hits(text: str, rules: MarkupRules) -> Iterator[Hit]:
    """Yield what hides or runs, outside code."""
    if not any(sign in text for sign in _SIGNS):
        return
    read = tuple(leaves(text))
    percents: list[int] = []
    for leaf in read:
        yield from _in_leaf(leaf, rules, percents)
    if len(percents) > 1:  # Obsidian shows nothing of what stands between two of them
        yield Hit("html_comment", percents[0])
    yield from _definitions(read, rules)


def _in_leaf(leaf: Leaf, rules: MarkupRules, percents: list[int]) -> Iterator[Hit]:
    text = leaf.text
    table = leaf.sort is Sort.TEXT and "|" in text and _TABLE_RULE.search(text) is not None
    position = 0
    while sign := _SIGN.search(text, position):
        position = sign.end()
        if sign["ticks"] and leaf.sort is Sort.TEXT:
            position = _behind_span(text, sign, table=table)
        elif sign["percent"]:
            percents.append(leaf.start + sign.start())
        elif sign["link"]:
            target = _TARGET.match(text, position)
            if target and _runs(target["angled"] or target["plain"] or "", rules):
                yield Hit("unsafe_link", leaf.start + position)
        elif sign["angle"]:
            rule, position = _angle(text, sign.start(), leaf.sort, rules)
            if rule:
                yield Hit(rule, leaf.start + sign.start())
        elif leaf.sort is Sort.HTML and sign.group().startswith("\\"):
            position = sign.start() + 1  # nothing is escaped in HTML


def _behind_span(text: str, opening: re.Match[str], *, table: bool) -> int:
    """Return where a code span ends, or where its unmatched ticks do.

    In a table a span ends with its cell: cells are parted before spans are read.
    """
    limit = len(text)
    if table and (cell := _CELL_END.search(text, opening.end())):
        limit = cell.start()
    for run in _TICKS.finditer(text, opening.end(), limit):
        if len(run.group()) == len(opening.group()):
            return run.end()
    return opening.end()


def _angle(text: str, start: int, sort: Sort, rules: MarkupRules) -> tuple[str, int]:
    """Return which rule the text at a `<` breaks ("" for none), and where to read on."""
    if text.startswith("<!--", start):
        for own in rules.own_comments:
            if text.startswith(own, start):
                return "", start + len(own)
        comment = _COMMENT.match(text, start)
        return "html_comment", comment.end() if comment else start + 4
    for begin, close in _DECLARATIONS:
        if text.startswith(begin, start):
            end = text.find(close, start + len(begin))
            if end >= 0 or sort is Sort.HTML:
                return "html_comment", end + len(close) if end >= 0 else len(text)
            return "", start + len(begin)
    if doctype := _DOCTYPE.match(text, start):
        return "html_comment", doctype.end()
    if link := _AUTOLINK.match(text, start):
        unsafe = link["scheme"].lower() in rules.schemes
        return ("unsafe_link" if unsafe else ""), link.end()
    # A browser takes for a tag what CommonMark wouldn't, but only within an HTML block.
    tag = (_LOOSE_TAG if sort is Sort.HTML else _TAG).match(text, start)
    if not tag:
        return "", start + 1
    return _tag_rule(tag, rules), tag.end()


def _tag_rule(tag: re.Match[str], rules: MarkupRules) -> str:
    name, rest = tag["name"].lower(), tag["rest"].strip().rstrip("/")
    if name in rules.refused:
        return "hiding_html"
    if not rest:
        return ""
    if name not in rules.plain:
        # `<branch>`, `<your name>`: a placeholder that people write without thinking of HTML.
        is_placeholder = "=" not in rest and len(rest) <= rules.placeholder_characters
        return "" if is_placeholder else "hiding_html"
    for attribute in _ATTRIBUTE.finditer(tag["rest"]):
        if attribute["name"].lower() not in rules.attributes:
            return "hiding_html"
        if _runs((attribute["value"] or "").strip("\"'"), rules):
            return "unsafe_link"
    # What no attribute explains is something that a browser reads in its own way.
    return "hiding_html" if _ATTRIBUTE.sub("", tag["rest"]).strip(" \t\r\n/") else ""


def _runs(target: str, rules: MarkupRules) -> bool:
    """Tell whether a link's target has a scheme that runs or carries something."""
    plain = target[:200]
    if _CHARACTER_REFERENCE.search(plain):
        import html  # its table of names is large, and hardly ever needed

        plain = html.unescape(plain)
    plain = re.sub(r"\\([!-/:-@\[-`{-~])|[\s\x00-\x20]", r"\1", plain)
    return plain.partition(":")[0].lower() in rules.schemes if ":" in plain else False


# ---- definitions ---------------------------------------------------------------------------------


def _definitions(read: tuple[Leaf, ...], rules: MarkupRules) -> Iterator[Hit]:
    """Yield definitions that no link or footnote uses, that come twice, or whose target runs."""
    found: list[tuple[str, int]] = []
    rest: list[str] = []
    for leaf in read:
        if leaf.sort is not Sort.TEXT or "[" not in leaf.text:
            continue
        position = 0
        while definition := _DEFINITION.match(leaf.text, position):
            if definition["label"].startswith("^") or not definition["label"].strip():
                break
            found.append((_label(definition["label"]), leaf.start + position))
            if _runs(definition["target"].strip("<>"), rules):
                yield Hit("unsafe_link", leaf.start + definition.start("target"))
            position = definition.end()
        for footnote in _FOOTNOTE.finditer(leaf.text, position):
            found.append((_label(footnote["label"]), leaf.start + footnote.start()))
        rest.append(_FOOTNOTE.sub("", leaf.text[position:]))
    if not found:
        return
    uses = {_label(use) for text in rest for use in _LABEL.findall(text)}
    count: Counter[str] = Counter()
    for label, start in found:
        count[label] += 1
        if label not in uses or count[label] > 1:
            yield Hit("hidden_definition", start)


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()
