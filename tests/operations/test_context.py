"""What `memory_context` brings along beside the matches, and what it warns of."""

from __future__ import annotations

import pytest

from keepm.model.memory import Kind
from keepm.operations import answers, context, memories, retrieval
from keepm.operations.retrieval import Wanted
from keepm.operations.vault import Vault
from tests.operations.support import AGENT, CONTRACT, claim


def create(vault: Vault, slot: str, body: str = "Some text.\n", **fields: object) -> None:
    memories.create(vault, AGENT, claim(slot, body=body, description="Written down.", **fields))


def via(vault: Vault, query: str) -> dict[str, str]:
    return {item.name: item.via for item in context.context(vault, query=query).items}


# ---- the mention hop -------------------------------------------------------------------------


def test_a_note_that_a_match_names_in_passing_comes_along(vault: Vault) -> None:
    create(vault, "deploy-window", "Only while the release train stands.\n")
    create(vault, "release train", "Every second Tuesday.\n")
    create(vault, "unrelated matter")
    assert via(vault, "deploy window") == {
        "deploy-window": "name",
        "release train": "mentioned in deploy-window",
    }


def test_a_note_that_the_query_names_by_its_alias_comes_along(vault: Vault) -> None:
    create(vault, "postgres volume", "On ext4.\n", aliases=("慢盘问题",))
    assert via(vault, "关于慢盘问题的说明")["postgres volume"] in (
        "match",
        "mentioned in the query",
    )
    create(vault, "ports", "Where it listens.\n")
    create(vault, "nothing", "Zyzzyva listens.\n", aliases=("the the",))
    assert via(vault, "zyzzyva the the") == {"nothing": "match"}


def test_explicit_relations_come_before_mentions_and_what_is_there_stays(vault: Vault) -> None:
    create(vault, "release train", "Every second Tuesday.\n")
    create(vault, "freeze rule", "In December.\n")
    create(
        vault,
        "deploy-window",
        "While the release train stands, see the freeze rule.\n\ndepends_on:: [[freeze rule]]\n",
    )
    assert via(vault, "deploy window") == {
        "deploy-window": "name",
        "freeze rule": "depends_on of deploy-window",
        "release train": "mentioned in deploy-window",
    }
    assert list(via(vault, "deploy window")) == ["deploy-window", "freeze rule", "release train"]


def test_mentions_are_few_whatever_is_named(vault: Vault) -> None:
    names = [f"matter number{n}" for n in range(9)]
    for name in names:
        create(vault, name, f"About {name.split()[1]}.\n")
    create(vault, "overview-of-all", "; ".join(names) + "\n")
    found = via(vault, "overview of all")
    assert [name for name, how in found.items() if how.startswith("mentioned")] == names[:3]


@pytest.mark.parametrize("max_chars", [600, 1500, 6000])
def test_mentions_and_hints_stay_within_the_budget(vault: Vault, max_chars: int) -> None:
    for n in range(8):
        create(
            vault, f"matter number{n}", f"{CONTRACT}\n" + f"words {n} " * 400, kind=Kind.DECISION
        )
    create(vault, "overview-of-all", " ".join(f"matter number{n}" for n in range(8)) * 20)
    answer = context.context(vault, query="overview of all number1", max_chars=max_chars)
    assert answers.size(answer) <= max_chars
    assert answer == context.context(vault, query="overview of all number1", max_chars=max_chars)


# ---- conflict hints --------------------------------------------------------------------------


def test_two_values_of_one_parameter_are_told_wherever_one_of_them_is_shown(vault: Vault) -> None:
    create(vault, "console-port", CONTRACT, kind=Kind.DECISION)
    other = CONTRACT.replace("9721", "8080").replace("Use it.", "Prefer that one.")
    create(vault, "console", other, kind=Kind.CONSTRAINT)
    create(vault, "unrelated", "Zyzzyva.\n")
    for hints in (
        context.context(vault).conflict_hints,
        context.context(vault, query="console port").conflict_hints,
        retrieval.search(vault, Wanted("console")).conflict_hints,
    ):
        assert hints is not None
        (hint,) = hints
        assert (hint.kind, sorted(hint.names)) == ("value", ["console", "console-port"])
        assert {"port:", "9721", "8080"} <= set(hint.detail.split())
    assert retrieval.search(vault, Wanted("zyzzyva")).conflict_hints is None


def test_a_misspelt_query_is_answered_with_words_of_notes(vault: Vault) -> None:
    memories.create(vault, AGENT, claim("deploying", body="Kubernetes serves the 数据库."))

    told = context.context(vault, query="kuberntes 数椐库")
    assert (told.items, told.did_you_mean) == ([], ["kubernetes", "数据库"])
    assert context.context(vault, query="kubernetes").did_you_mean is None


def test_what_was_meant_leaves_when_there_is_no_room_for_it(vault: Vault) -> None:
    words = ["".join(chr(97 + (n * 7 + m * 3) % 26) for m in range(24)) for n in range(3)]
    memories.create(vault, AGENT, claim("long", body=" ".join(words)))
    wrong = " ".join(word[:12] + word[13:] for word in words)

    assert context.context(vault, query=wrong).did_you_mean == words
    for max_chars in range(500, 520):
        assert answers.size(context.context(vault, query=wrong, max_chars=max_chars)) <= max_chars
