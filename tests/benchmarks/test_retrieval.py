"""The retrieval benchmark: its corpora are sound, its figures right, and no negative leaks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from keepm import config
from keepm.index.analysis import for_index, query_terms
from keepm.model import memory
from keepm.model.memory import Kind, Language
from tests.benchmarks.retrieval import cards, known_item, measures, report, shelves, systems
from tests.benchmarks.retrieval.cards import HALVES, TYPES, Corpus, Question
from tests.benchmarks.retrieval.measures import Answer

LEAST_CARDS = 150
LEAST_QUESTIONS = 25

languages = pytest.mark.parametrize("language", cards.LANGUAGES)


# ---- the corpora -----------------------------------------------------------------------------


@languages
def test_a_corpus_holds_enough_cards_of_every_kind_under_names_of_their_own(
    language: Language,
) -> None:
    corpus = cards.load(language)

    assert len(corpus.cards) >= LEAST_CARDS
    assert {claim.kind for claim in corpus.cards.values()} == set(Kind)
    handles = Counter(
        key for claim in corpus.cards.values() for key in {claim.name, *claim.aliases}
    )
    assert [key for key, times in handles.items() if times > 1] == []
    text = (Path(cards.__file__).parent / f"corpora/{language}.md").read_text("utf-8")
    assert text.count("\nkind: ") == len(corpus.cards)  # no card hides another of its name


@languages
def test_every_card_meets_the_rules_of_a_new_note(language: Language) -> None:
    for claim in cards.load(language).cards.values():
        memory.check(claim, config.load_policy(), today="2026-01-01")


@languages
def test_every_sort_of_question_is_asked_often_enough_and_in_both_halves(
    language: Language,
) -> None:
    questions = cards.load(language).questions

    asked = Counter(question.type for question in questions)
    assert set(asked) == set(TYPES)
    assert min(asked.values()) >= LEAST_QUESTIONS
    assert {(q.type, q.half) for q in questions} == {(t, h) for t in TYPES for h in HALVES}
    assert len({(q.type, q.text) for q in questions}) == len(questions)


@languages
def test_gold_names_cards_as_the_type_demands(language: Language) -> None:
    corpus = cards.load(language)

    for question in corpus.questions:
        assert set(question.gold) <= corpus.cards.keys(), question
        assert len(set(question.gold)) == len(question.gold), question
        if question.type == "no-answer":
            assert question.gold == (), question
        elif question.type == "two-step":
            assert len(question.gold) == 2, question
        else:
            assert question.gold, question


@languages
def test_the_first_card_of_a_two_step_question_mentions_the_second(language: Language) -> None:
    corpus = cards.load(language)

    for question in corpus.questions:
        if question.type == "two-step":
            first, second = (corpus.cards[name] for name in question.gold)
            assert any(handle in first.body for handle in (second.name, *second.aliases)), question


@languages
def test_a_paraphrase_has_few_words_of_its_card(language: Language) -> None:
    corpus = cards.load(language)
    shares = []
    for question in corpus.questions:
        if question.type == "paraphrase":
            held = set(for_index(_text(corpus, question.gold[0])).split())
            terms = query_terms(question.text, limit=48)
            shares.append(sum(held.issuperset(t.tokens) for t in terms) / len(terms))

    assert sum(shares) / len(shares) < 0.25


# ---- the figures -----------------------------------------------------------------------------


def test_the_figures_of_a_small_example_are_right() -> None:
    questions = [
        Question("first", ("a",), "keyword"),
        Question("third", ("a",), "keyword"),
        Question("one of two", ("a", "b"), "two-step"),
        Question("missed", ("a",), "keyword"),
        Question("answered", (), "no-answer"),
        Question("doubted", (), "no-answer"),
        Question("silent", (), "no-answer"),
    ]
    answers = [
        Answer(("a", "x")),
        Answer(("x", "y", "a"), weak=True),
        Answer(("b", "x", "y", "z", "w", "a")),
        Answer(()),
        Answer(("x",)),
        Answer(("x",), weak=True),
        Answer(()),
    ]

    found = measures.score(questions, answers)

    assert (found.asked, found.unanswerable) == (4, 3)
    assert found.at_1 == 2 / 4
    assert found.at_5 == 2 / 4
    assert found.anywhere == 3 / 4
    assert found.mrr == pytest.approx((1 + 1 / 3 + 1 + 0) / 4)
    assert (found.doubted_right, found.doubted_wrong) == (0, 1)
    assert found.false == pytest.approx(1 / 3)


def test_more_gold_than_fits_is_met_by_five_gold_hits() -> None:
    question = Question("q", tuple("abcdefg"), "path")

    assert measures.score([question], [Answer(tuple("gfedc"))]).at_5 == 1
    assert measures.score([question], [Answer(tuple("gfedx"))]).at_5 == 0


def test_a_half_depends_on_the_question_s_text_alone() -> None:
    assert Question("x", (), "a").half == Question("x", ("y",), "b").half
    assert {Question(str(n), (), "a").half for n in range(20)} == set(HALVES)


def test_the_baselines_find_what_holds_the_words_and_nothing_for_strangers() -> None:
    corpus = cards.load(Language.EN)

    for name, ask in systems.baselines(corpus).items():
        assert ask("currency minor unit bigint").names[0] == "money-type", name
        assert ask("xylophone").names == (), name


# ---- what must not be found ------------------------------------------------------------------


@languages
def test_no_negative_is_ever_found_and_each_has_a_control(
    language: Language, tmp_path: Path
) -> None:
    corpus = cards.load(language)
    with shelves.filled(tmp_path, corpus, negatives=True) as shelved:
        ours = systems.ours(shelved)
        found = report.run(corpus, {"search": ours["search"]})
        few = Corpus(corpus.name, corpus.cards, corpus.questions[::5])
        in_context = report.run(few, {"context": ours["context"]})
        names = set(shelved.names.values())

    assert found.leaked == in_context.leaked == 0
    assert {f"negative {sort}" for sort in shelves.NEGATIVES if sort} == names - set(corpus.cards)
    seen = {name for answer in found.answers["search"] for name in answer.names}
    assert seen == set(corpus.cards)


def test_a_leak_is_counted() -> None:
    corpus = Corpus("x", {}, (Question("q", (), "no-answer"),))

    assert report.run(corpus, {"s": lambda _: Answer(("negative archived", "a"))}).leaked == 1


# ---- other questions -------------------------------------------------------------------------


def test_a_remembered_note_is_found_in_a_generated_vault(tmp_path: Path) -> None:
    assert known_item.measure(tmp_path, notes=60).at_5 >= known_item.MUST


def _text(corpus: Corpus, name: str) -> str:
    claim = corpus.cards[name]
    return " ".join((claim.name, *claim.aliases, *claim.tags, claim.description, claim.body))
