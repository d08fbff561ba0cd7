"""One-time credentials: bound, spent by success, gone after ten minutes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule

from keepm.errors import ConfirmationRequired, IncompleteRead, InvalidInput, TokenInvalid
from keepm.model.checksum import Checksum
from keepm.tokens import (
    LIFETIME_SECONDS,
    DiagnosisTokens,
    PlanTokens,
    ReadTokens,
    WriteProof,
)

NOTES = ("note-a", "note-b")
VERSIONS = tuple(Checksum.of(text) for text in (b"one", b"two"))


class Lifecycle(RuleBasedStateMachine):
    """A token opens just what it was issued for, until it is spent or ten minutes old."""

    issued = Bundle("issued")

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        numbers = itertools.count(1)
        self.tokens = ReadTokens(
            seconds=lambda: self.time, secret=lambda: f"secret-{next(numbers)}"
        )
        self.valid: dict[str, tuple[str, Checksum, float]] = {}

    @rule(target=issued, note=st.sampled_from(NOTES), version=st.sampled_from(VERSIONS))
    def read(self, note: str, version: Checksum) -> str:
        token = self.tokens.issue(note, version)
        assert token not in self.valid
        self.valid[token] = (note, version, self.time)
        return token

    @rule(seconds=st.sampled_from((1.0, 299.0, LIFETIME_SECONDS - 0.5, LIFETIME_SECONDS)))
    def wait(self, seconds: float) -> None:
        self.time += seconds

    @rule(token=issued, note=st.sampled_from(NOTES), version=st.sampled_from(VERSIONS))
    def check(self, token: str, note: str, version: Checksum) -> None:
        """Checking answers by the model, and spends nothing: it may be repeated."""
        proof = WriteProof(token, version)
        for _ in range(2):
            if self._opens(token, note, version):
                self.tokens.check(proof, note)
            else:
                with pytest.raises(TokenInvalid):
                    self.tokens.check(proof, note)

    @rule(token=consumes(issued))
    def succeed(self, token: str) -> None:
        note, version, _ = self.valid.pop(token)
        self.tokens.spend(WriteProof(token, version))
        with pytest.raises(TokenInvalid):
            self.tokens.check(WriteProof(token, version), note)

    @rule(note=st.sampled_from(NOTES), version=st.sampled_from(VERSIONS))
    def come_with_nothing(self, note: str, version: Checksum) -> None:
        with pytest.raises(IncompleteRead):
            self.tokens.check(WriteProof("", version), note)
        with pytest.raises(TokenInvalid):
            self.tokens.check(WriteProof("never issued", version), note)

    def _opens(self, token: str, note: str, version: Checksum) -> bool:
        bound_to, at, since = self.valid[token]
        alive = self.time - since < LIFETIME_SECONDS
        return alive and (bound_to, at) == (note, version)


TestLifecycle = Lifecycle.TestCase
TestLifecycle.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_a_token_lives_for_just_under_ten_minutes() -> None:
    time = 0.0
    tokens = ReadTokens(seconds=lambda: time, secret=lambda: "secret")
    proof = WriteProof(tokens.issue("note", VERSIONS[0]), VERSIONS[0])

    time = 599.9
    tokens.check(proof, "note")
    time = 600.0
    with pytest.raises(TokenInvalid):
        tokens.check(proof, "note")


def test_expired_tokens_are_forgotten() -> None:
    time = 0.0
    numbers = itertools.count()
    tokens = ReadTokens(seconds=lambda: time, secret=lambda: str(next(numbers)))
    for _ in range(100):
        tokens.issue("note", VERSIONS[0])
    time = 601.0
    tokens.issue("note", VERSIONS[0])
    assert len(tokens._grants._granted) == 1


def test_a_plan_is_confirmed_only_as_it_was_shown() -> None:
    time = 0.0
    plans = PlanTokens(seconds=lambda: time, secret=lambda: "secret")
    token = plans.issue("prune", "digest")

    plans.check(token, "prune", "digest")
    for wrong in (
        ("", "prune", "digest"),
        ("other", "prune", "digest"),
        (token, "delete", "digest"),
        (token, "prune", "another plan"),
    ):
        with pytest.raises(ConfirmationRequired):
            plans.check(*wrong)
    time = 600.0
    with pytest.raises(ConfirmationRequired):
        plans.check(token, "prune", "digest")


def test_a_spent_plan_is_not_confirmed_again() -> None:
    plans = PlanTokens(seconds=lambda: 0.0, secret=lambda: "secret")
    token = plans.issue("prune", "digest")
    plans.spend(token)
    with pytest.raises(ConfirmationRequired):
        plans.check(token, "prune", "digest")


@pytest.mark.parametrize("checksum", ["", "abc", "g" * 64, "0" * 63, "0" * 65])
def test_a_proof_needs_a_checksum(checksum: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        WriteProof.parse(checksum, "token")
    assert [problem.field for problem in caught.value.problems] == ["expected_checksum"]


def test_a_proof_is_read_kindly() -> None:
    hex_digits = VERSIONS[0].hex
    assert WriteProof.parse(hex_digits.upper(), " token\n") == WriteProof("token", VERSIONS[0])


# ---- diagnoses -----------------------------------------------------------------------------------


def diagnoses(start: float = 0.0) -> tuple[DiagnosisTokens, list[float]]:
    """Return tokens of diagnoses, and their clock."""
    time, numbers = [start], itertools.count(1)
    return DiagnosisTokens(seconds=lambda: time[0], secret=lambda: f"secret-{next(numbers)}"), time


def test_a_diagnosis_token_opens_each_file_it_is_of_as_it_was() -> None:
    tokens, _ = diagnoses()
    token = tokens.issue({"a.md": "1", "b.md": "2"})

    tokens.check(token, "a.md", "1")
    tokens.check(token, "b.md", "2")
    for path, checksum in (("a.md", "2"), ("c.md", "1"), ("", "")):
        with pytest.raises(ConfirmationRequired):
            tokens.check(token, path, checksum)


def test_a_repair_spends_its_own_files_part_of_a_diagnosis_token() -> None:
    tokens, _ = diagnoses()
    token = tokens.issue({"a.md": "1", "b.md": "2"})

    tokens.spend(token, "a.md")

    with pytest.raises(ConfirmationRequired):
        tokens.check(token, "a.md", "1")
    tokens.check(token, "b.md", "2")
    tokens.require(token)


def test_a_diagnosis_token_is_good_once_for_what_is_about_no_file() -> None:
    tokens, _ = diagnoses()
    token = tokens.issue({})
    tokens.require(token)

    tokens.spend(token)

    with pytest.raises(ConfirmationRequired):
        tokens.require(token)


@pytest.mark.parametrize("token", ["", "secret-1 a.md", "other"])
def test_what_is_no_diagnosis_token_opens_nothing(token: str) -> None:
    tokens, _ = diagnoses()
    tokens.issue({"a.md": "1"})

    with pytest.raises(ConfirmationRequired):
        tokens.require(token)
    with pytest.raises(ConfirmationRequired):
        tokens.check(token, "a.md", "1")


def test_a_diagnosis_token_lives_ten_minutes() -> None:
    tokens, time = diagnoses()
    token = tokens.issue({"a.md": "1"})
    time[0] = LIFETIME_SECONDS - 1
    tokens.check(token, "a.md", "1")

    time[0] = LIFETIME_SECONDS

    with pytest.raises(ConfirmationRequired):
        tokens.require(token)
    with pytest.raises(ConfirmationRequired):
        tokens.check(token, "a.md", "1")
