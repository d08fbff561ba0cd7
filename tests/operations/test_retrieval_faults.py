"""Faults of KeepM 3.6 in what retrieval answers, by their numbers in the list of known faults.

Elsewhere: 23 in test_memories (aliases), 37 and 48 in test_sync (operators), 45 in
diagnosis/test_scope, 46 in tests/stories/test_stdio, 69 in tests/index/test_hints.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from keepm.model.memory import Kind
from keepm.operations import answers, context, handoffs, memories, retrieval
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from keepm.store import lock
from tests.operations.support import AGENT, HANDOFF, Machine, claim, look


def create(vault: Vault, slot: str, body: str = "Some text.\n", **fields: object) -> str:
    return memories.create(vault, AGENT, claim(slot, body=body, **fields)).document.content.id


def plain(value: object) -> str:
    return json.dumps(answers.plain(value), ensure_ascii=False)


def names(vault: Vault, query: str) -> list[str]:
    return [item.name for item in retrieval.search(vault, Wanted(query)).items]


def test_the_best_hit_brings_its_text_along(vault: Vault) -> None:
    """Fault 36: 46 characters for the best hit, 240 for weaker ones."""
    text = "The proxy listens there. " * 20 + "\n"
    create(vault, "proxy-port", text)
    create(vault, "other", "The proxy is mentioned.\n\n" + "Words of no weight. " * 200 + "\n")
    first, second = context.context(vault, query="proxy port").items
    assert (first.name, first.text) == ("proxy-port", text.strip())
    assert second.text is not None
    assert len(text) >= 400
    hit = retrieval.search(vault, Wanted("proxy port")).items[0]
    assert 200 <= len(hit.snippet) <= 300


def test_words_are_found_in_other_forms_misspelt_and_among_many(vault: Vault) -> None:
    """Fault 37: no stemming, no typo tolerance, no stop words, no floor, 24 terms at most."""
    create(vault, "release", "Migrations are deployed on Monday.\n")
    create(vault, "of-the", "What it is about.\n")
    assert names(vault, "migrating") == ["release"]
    assert retrieval.search(vault, Wanted("migratoins")).did_you_mean == ["migrations"]
    assert names(vault, "what is the migration about?") == ["release"]
    assert names(vault, " ".join(f"word{n}" for n in range(40)) + " deployed") == ["release"]
    assert retrieval.search(vault, Wanted("monday astronomy breakfast violin")).weak_match
    create(vault, "monday", "Nothing is deployed then, of all days, and Monday is short.\n")
    assert names(vault, "migrations deployed monday")[0] in ("release", "monday")
    (all_of_it, *_) = retrieval.search(vault, Wanted("migrations deployed", explain=True)).items
    assert all_of_it.name == "release"
    assert all_of_it.explain is not None
    assert all_of_it.explain.coverage == 1


def test_a_long_handoff_leaves_room_for_memories(vault: Vault) -> None:
    """Fault 38: with a long handoff context had no item."""
    long = "It is a long story. " * 95
    handoffs.create(
        vault, AGENT, replace(HANDOFF, goal=long, current_state=long, next_steps=(long[:800],))
    )
    for n in range(5):
        create(vault, f"port-{n}", f"The port is {n}. " * 10 + "\n")
    answer = context.context(vault, query="port")
    assert len(answer.items) == 5
    assert answer.handoff is not None
    assert answer.handoff.cut
    assert answers.size(answer) <= 6000


@pytest.mark.parametrize("max_chars", [500, 1000, 4500])
def test_max_chars_bounds_the_whole_answer(vault: Vault, max_chars: int) -> None:
    """Fault 39: context was half as long again as allowed, catalog twice as long."""
    for n in range(30):
        create(vault, f"port-{n}", f"The port is {n}. " * 50 + "\n")
    for answer in (
        context.context(vault, query="port", max_chars=max_chars),
        context.context(vault, max_chars=max_chars),
        retrieval.catalog(vault, max_chars=max_chars),
    ):
        assert answers.size(answer) <= max_chars
    assert answers.size(context.context(vault, query="port")) <= 6000


def test_every_list_can_be_gone_through_to_its_end(vault: Vault) -> None:
    """Fault 40: lists were cut silently, or could not be continued; a read had no offset."""
    create(vault, "hub", " ".join(f"[[port-{n}]]" for n in range(9)) + "\n")
    for n in range(9):
        create(vault, f"port-{n}", f"The port is number {n}.\n")

    def pages(ask: Any) -> list[str]:
        found: list[str] = []
        while True:
            page = ask(len(found))
            assert page.offset == len(found)
            assert page.count == len(page.items)
            found += [item.name for item in page.items]
            if len(found) >= page.total:
                return found

    wanted = Wanted("port", limit=2)
    for ask in (
        lambda offset: retrieval.search(vault, replace(wanted, offset=offset)),
        lambda offset: retrieval.catalog(vault, limit=2, offset=offset),
        lambda offset: retrieval.links(vault, "hub", limit=2, offset=offset),
    ):
        assert {f"port-{n}" for n in range(9)} <= set(pages(ask))
    cut = retrieval.catalog(vault, max_chars=700)
    assert cut.truncated
    assert cut.count < cut.total == 10
    part = memories.read(vault, "hub", max_chars=10, offset=5).part
    assert (part.offset, part.complete, part.total) == (
        5,
        False,
        len(memories.read(vault, "hub", max_chars=1000).part.text),
    )


def test_a_search_is_answered_while_another_process_writes(vault: Vault) -> None:
    """Fault 46: a plain search failed while the lock was held."""
    create(vault, "port", "It is 9721.\n")
    with lock.hold(vault.root.paths, surface="test", timeout=1, now=vault.now()):
        assert names(vault, "port") == ["port"]
        assert context.context(vault, query="port").items
        assert retrieval.catalog(vault).items


def test_a_very_long_query_is_cut_and_says_so(vault: Vault) -> None:
    """Fault 48: 100 kB ended in an error of SQLite."""
    create(vault, "port", "It is 9721.\n")
    answer = retrieval.search(vault, Wanted("port " * 20_000))
    assert [item.name for item in answer.items] == ["port"]
    assert answer.query_cut


def test_hits_have_no_place_of_the_machine_but_freshness_and_a_readable_score(
    vault: Vault, machine: Machine
) -> None:
    """Fault 55: absolute paths in every hit, no freshness, scores like -3e-06."""
    create(vault, "port", "It is 9721.\n", sources=("a.py",))
    answer = retrieval.search(vault, Wanted("9721", explain=True))
    (hit,) = answer.items
    assert str(machine.folder) not in plain(answer) + plain(context.context(vault, query="9721"))
    assert hit.source_state == "missing"
    assert hit.explain is not None
    assert hit.explain.score == 100


def test_snippets_are_the_note_s_own_text(vault: Vault) -> None:
    """Fault 60: marks around matches collided with wiki links."""
    create(vault, "one", "See [[alpha-beta]] and **alpha**, `alpha`.\n")
    (hit,) = retrieval.search(vault, Wanted("alpha")).items
    assert hit.snippet == "See [[alpha-beta]] and **alpha**, `alpha`."


def test_comments_are_no_links_and_relations_may_be_in_any_script(
    vault: Vault, machine: Machine
) -> None:
    """Fault 61: embeds and comments counted, relation words outside ASCII were dropped."""
    create(vault, "other")
    body = "%% [[no]] %%\n\n- 依赖:: [[other]]\n\n<!-- [[no]] -->\n"
    machine.put("Memory/projects/widgets/one.md", f"---\nname: one\n---\n\n{body}")
    look(vault)
    found = [(each.target, each.relation) for each in retrieval.links(vault, "one").items]
    assert found == [("other", "依赖")]


@pytest.mark.parametrize(
    "path",
    [
        "deploy/a.yml",
        "./deploy/a.yml",
        "deploy\\a.yml",
        "Deploy/A.yml",
        "deploy",
        "deploy/",
        "a.yml",
    ],
)
def test_a_source_is_routed_however_it_is_named(vault: Vault, machine: Machine, path: str) -> None:
    """Fault 68: an absolute path or a bare file name found nothing, and no item had an id."""
    made = create(vault, "volume", "On ext4.\n", sources=("deploy/a.yml#db",), kind=Kind.REFERENCE)
    create(vault, "other", "Elsewhere.\n", sources=("deployment/ba.yml", "x/b.yml"))
    absolute = str(machine.folder / "work/widgets/deploy/a.yml")
    for asked in (path, absolute):
        items = retrieval.catalog(vault, source_path=asked).items
        assert [(item.id, item.name) for item in items] == [(made, "volume")], asked
    for asked in ("b", "yml", str(machine.folder / "elsewhere/deploy/a.yml"), "../deploy/a.yml"):
        assert retrieval.catalog(vault, source_path=asked).items == [], asked


def test_links_to_what_was_made_by_hand_are_there_at_once(vault: Vault, machine: Machine) -> None:
    """Fault 44's relative: a link is resolved when its note appears, by whatever way."""
    create(vault, "one", "See [[two]].\n")
    assert [item.state for item in retrieval.links(vault, "one").items] == ["unresolved"]
    machine.put("Memory/projects/widgets/two.md", "---\nname: two\n---\n\nText.\n")
    look(vault)
    assert [item.state for item in retrieval.links(vault, "one").items] == ["resolved"]
