from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import assume, given

from keepm.markdown import frontmatter, header, tree
from keepm.model.document import Finding, Standing
from tests import strategies
from tests.strategies import Written

CASES = sorted((Path(__file__).parent.parent / "cases").glob("[0-4]*/**/*.md"))

Answer = tuple[object, ...]


def without_libyaml() -> ModuleType:
    """Load the module as it is where PyYAML was built without its C library."""
    spec = importlib.util.spec_from_file_location("slow_tree", tree.__file__)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "yaml.cyaml", None)
        patch.setitem(sys.modules, "slow_tree", module)
        spec.loader.exec_module(module)
    return module


SLOW = without_libyaml()


def answer(module: ModuleType, source: str) -> Answer:
    try:
        top = module.read(source)
    except module.Broken as broken:
        return ("broken", broken.standing, [(f.code, f.line) for f in broken.findings])
    places = [(e.line, e.value.start_mark.index) for e in top.entries.values()]
    return (top.fields, top.block, top.findings, places)


def front_matter(data: bytes) -> str:
    try:
        read = header.read(data)
    except frontmatter.Broken:
        text = data.decode("utf-8", "replace").split("---\n")
        return text[1] if len(text) > 1 else ""
    return read.text[read.start : read.end]


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_with_and_without_libyaml_the_answer_is_the_same(path: Path) -> None:
    source = front_matter(path.read_bytes())
    assert answer(SLOW, source) == answer(tree, source)


@given(strategies.written_files())
def test_any_written_file_reads_the_same_without_libyaml(written: Written) -> None:
    source = front_matter(written.data)
    # PyYAML's own scanner ends a plain item of a flow list at a question mark; libyaml, as YAML
    # says, doesn't. Such a list is then reported, never guessed at.
    assume(not re.search(r"\[[^\]\n]*\?", source))
    assert answer(SLOW, source) == answer(tree, source)


@pytest.mark.parametrize("text", ["[" * 3000, "- " * 3000, "a: &x 1", "a: !t 1", "a: \ufffe"])
def test_hostile_front_matter_is_refused_without_libyaml(text: str) -> None:
    with pytest.raises(SLOW.Broken):
        SLOW.read(f"{text}\n")


def test_a_broken_file_says_all_it_knows() -> None:
    one, two = Finding("a", "first", 1), Finding("b", "second", 2)
    broken = tree.Broken(one, two, standing=Standing.WITHHELD)
    assert (broken.findings, str(broken)) == ((one, two), "first")
