"""Answers fit their budget, say when they are cut, and are the same while nothing changes."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepm.markdown import handoffs as handoff_codec
from keepm.markdown import memories as memory_codec
from keepm.model.memory import GLOBAL, Scope
from keepm.operations import (
    answers,
    context,
    handoffs,
    memories,
    rendering,
    retrieval,
    waiting,
)
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.operations.waiting import InboxFilter
from tests import strategies
from tests.operations.support import AGENT, HANDOFF, Machine, claim, look

_WIDGETS = Scope("widgets")
notes = st.lists(st.one_of(strategies.memories(GLOBAL), strategies.memories(_WIDGETS)), max_size=6)
long_texts = st.one_of(
    st.text(st.sampled_from('ab "\\\n部🚀'), min_size=1, max_size=400).map(str.strip).filter(bool),
    st.sampled_from(("x" * 2000, '"' * 600, "\\" * 120, "x\n" * 300, "x\n" + "`" * 900)),
)


def compact(answer: Any) -> int:
    """Return the size of an answer's larger half."""
    data = answers.plain(answer)
    structured = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return max(len(structured), len(rendering.text(data)))


@st.composite
def vaults(draw: st.DrawFn) -> dict[str, bytes]:
    """Files of a vault: notes with long texts, and perhaps long handoffs."""
    files: dict[str, bytes] = {}
    for number, note in enumerate(draw(notes)):
        fuller = replace(
            note.claim,
            description=draw(long_texts).replace("\n", " "),
            body=draw(long_texts),
            pinned=draw(st.booleans()),
        )
        folder = "global" if note.claim.scope == GLOBAL else "projects/widgets"
        path = f"Memory/{folder}/n{number}.md"
        files[path] = memory_codec.render(replace(note, claim=fuller))
    for number in range(draw(st.integers(0, 2))):
        handoff = replace(
            draw(strategies.handoffs()),
            title=draw(long_texts).replace("\n", " ")[:120].strip() or "t",
            goal=draw(long_texts),
            next_steps=tuple(draw(st.lists(long_texts, max_size=3))),
        )
        path = f"Memory/.handoffs/pending/projects/widgets/h{number}.md"
        files[path] = handoff_codec.render(handoff)
    return files


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    files=vaults(),
    query=st.one_of(st.none(), long_texts, st.sampled_from(("部署", "x", "a b"))),
    max_chars=st.sampled_from((500, 501, 640, 1000, 2500, 6000)),
    limit=st.sampled_from((1, 5, 100)),
)
def test_no_answer_is_larger_than_asked(
    files: dict[str, bytes], query: str | None, max_chars: int, limit: int
) -> None:
    """Fault 39: max_chars was no bound on the reply."""
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        vault = machine.open(machine.project("widgets"))
        for path, data in files.items():
            machine.put(path, data)
        look(vault)
        told = context.context(vault, query=query, max_chars=max_chars, limit=limit)
        again = context.context(vault, query=query, max_chars=max_chars, limit=limit)
        listed = retrieval.catalog(vault, max_chars=max_chars, limit=limit)
        vault.close()
    assert compact(told) <= max_chars
    assert told == again
    assert compact(listed) <= max_chars
    assert len(listed.items) == listed.count
    assert listed.truncated or listed.count == min(listed.total, limit)


def test_hints_make_room_for_a_handoff_s_handle(vault: Vault, machine: Machine) -> None:
    """Each fitted by itself, and both together went over."""
    made = memories.create(vault, AGENT, claim("[[Note|alias]]", pinned=True)).document
    text = (machine.root / made.path).read_text("utf-8")
    other = text.replace(made.content.id, "e3e70682-c209-4cac-829f-6fbed82c07cd")
    machine.put(made.path.replace(".md", "-2.md"), other)
    handoffs.create(vault, AGENT, replace(HANDOFF, title="t" * 60))
    look(vault)
    told = [context.context(vault, query="-", max_chars=most, limit=1) for most in range(500, 700)]
    assert [most for most, each in enumerate(told, 500) if compact(each) > most] == []
    assert all(each.handoff for each in told)
    assert told[0].conflict_hints is None
    assert told[-1].conflict_hints


@pytest.mark.parametrize("max_chars", [500, 2500, 6000])
@pytest.mark.parametrize("query", [None, "goodword"])
@pytest.mark.parametrize(
    "filling", ["`" * 3000, "~`" * 1500, "x\n" * 900, "- \n" * 900, '"' * 3000]
)
def test_the_text_half_is_within_the_budget_too(
    vault: Vault, machine: Machine, filling: str, query: str | None, max_chars: int
) -> None:
    """A fence longer than a note's backticks made the text half two and a half times as long."""
    for number in range(8):
        text = f"---\nid: {str(number) * 8}\nname: n{number}\n---\ngoodword\n{filling}\nend\n"
        machine.put(f"Memory/projects/widgets/n{number}.md", text)
    items = tuple("a\nb" * 30 for _ in range(12))
    handoffs.create(vault, AGENT, replace(HANDOFF, goal="g\n" * 300, next_steps=items))
    look(vault)

    told = context.context(vault, query=query, max_chars=max_chars)

    assert compact(told) <= max_chars
    assert told.items
    assert max_chars == 500 or len(told.items) == 8
    assert compact(retrieval.catalog(vault, max_chars=max_chars)) <= max_chars


def test_a_small_context_says_what_it_left_out(vault: Vault) -> None:
    """Fault 40: lists were cut silently."""
    for number in range(6):
        memories.create(vault, AGENT, claim(f"note-{number}", body=f"{number} " + "word " * 99))
    whole = context.context(vault, max_chars=20_000)
    assert (len(whole.items), whole.omitted) == (6, None)
    assert [item.text for item in whole.items] == [f"{n} {'word ' * 99}".strip() for n in range(6)]
    small = context.context(vault, max_chars=800)
    assert small.omitted is not None
    assert len(small.items) + small.omitted == 6
    shown = context.context(vault, max_chars=3000)
    assert [item.cut for item in shown.items] == [True] * 6


def test_a_best_hit_is_shown_with_its_text(vault: Vault) -> None:
    """Fault 36: snippets of forty characters made every note be read."""
    memories.create(vault, AGENT, claim("port", body="The port is 9721. " + "More of it. " * 60))
    (item,) = context.context(vault, query="port").items
    assert item.text is not None
    assert len(item.text) > 600


def test_a_long_handoff_starves_nothing(vault: Vault) -> None:
    """Fault 38: a long handoff left no room for memories."""
    for number in range(3):
        memories.create(vault, AGENT, claim(f"note-{number}"))
    handoffs.create(vault, AGENT, replace(HANDOFF, goal="g" * 2000, current_state="s" * 2000))
    told = context.context(vault, max_chars=2500)
    assert len(told.items) == 3
    assert told.handoff is not None
    assert told.handoff.cut


def test_an_unchanged_vault_answers_byte_for_byte_the_same(vault: Vault) -> None:
    for number in range(4):
        memories.create(vault, AGENT, claim(f"note-{number}", pinned=number == 2))
    handoffs.create(vault, AGENT, HANDOFF)

    def said() -> str:
        told = [context.context(vault), context.context(vault, query="note")]
        return json.dumps([answers.plain(each) for each in [*told, retrieval.catalog(vault)]])

    before = said()
    look(vault)
    assert said() == before


def test_a_list_can_be_continued(vault: Vault) -> None:
    """Fault 40: no way to go on."""
    for number in range(5):
        memories.create(vault, AGENT, claim(f"note-{number}", body=f"[[note-0]] {number}"))
    pages = [retrieval.catalog(vault, limit=2, offset=start) for start in (0, 2, 4)]
    assert [len(page.items) for page in pages] == [2, 2, 1]
    assert {page.total for page in pages} == {5}
    assert len({item.id for page in pages for item in page.items}) == 5
    found = [
        retrieval.search(vault, retrieval.Wanted("text note", limit=3, offset=o)) for o in (0, 3)
    ]
    assert [len(page.items) for page in found] == [3, 2]
    links = [retrieval.links(vault, "note-0", limit=3, offset=start) for start in (0, 3)]
    assert links[0].total == len(links[0].items) + len(links[1].items)
    reading = memories.read(vault, "note-0", max_chars=4, offset=2)
    assert (reading.part.text, reading.part.offset, reading.part.total) == ("note", 2, 12)


def test_a_query_that_is_cut_is_said_to_be(vault: Vault) -> None:
    longest = vault.policy.query_characters

    cut = retrieval.search(vault, Wanted("x" * (longest + 1)))
    whole = retrieval.search(vault, Wanted("x" * longest))

    assert (cut.query_cut, whole.query_cut) == (longest, None)
    assert context.context(vault, query="x" * (longest + 1)).query_cut == longest
    assert context.context(vault, query="x" * longest).query_cut is None


def test_one_note_with_endless_words_crowds_out_no_other(vault: Vault, machine: Machine) -> None:
    """Only people write such front matter; the answers stay within their budgets all the same."""
    for name, fields in (
        ("l" * 6000, f"pinned: true\naliases: [{'a' * 6000}]\n"),
        ("m", f"description: {'goodword ' * 5000}\naliases: [{'a' * 6000}]\n"),
    ):
        text = f"---\nid: {name[0] * 8}\nname: {name}\n{fields}---\ngoodword [[{'t' * 6000}]]\n"
        machine.put(f"Memory/projects/widgets/{name[0]}.md", text)
    for number in range(5):
        memories.create(vault, AGENT, claim(f"n{number}", body=f"goodword {number}"))
    text = f"---\nid: {'p' * 8}\nname: {'p' * 9000}\nstatus: pending\n---\nx\n"
    machine.put("Memory/Inbox/pending/projects/widgets/p.md", text)
    look(vault)

    (waits,) = waiting.list_page(vault, InboxFilter(), limit=20).items
    assert len(waits.row.name) == 120
    listed = retrieval.catalog(vault)
    assert (listed.count, listed.truncated) == (7, None)
    assert compact(retrieval.search(vault, Wanted("goodword"))) < 6000
    assert compact(retrieval.links(vault, "m")) < 1000
    told = context.context(vault, query="goodword")
    assert {"n0", "n1", "n2", "n3", "n4"} <= {item.name for item in told.items}


def test_an_excerpt_parts_no_character() -> None:
    """Case 19: families, flags and accents in a row, cut after each length."""
    case = Path(__file__).parents[1] / "cases/19-truncate-graphemes/long.md"
    text = case.read_text("utf-8").split("\n", 2)[2]
    whole = set(re.findall("(?:👩\u200d){2}👧\u200d👦|🇳🇴|é|e\u0301|中|\n", text))
    for room in range(2, 201):
        cut = answers.excerpt(text, room)
        assert len(cut) <= room and cut.endswith("…")
        left = cut[:-1]
        assert text.startswith(left)
        for each in sorted(whole, key=len, reverse=True):
            left = left.replace(each, "")
        assert left == "", (room, cut)
