"""Only what has one possible value is repaired, and only in the front matter."""

from __future__ import annotations

import dataclasses

import pytest

from keepm.model import layout, repairs
from keepm.model.repairs import Facts

PROJECT = "Memory/projects/widgets/build-command.md"
GLOBAL = "Memory/global/build-command.md"


def facts(path: str = PROJECT, **keys: str) -> Facts:
    place = layout.place(path)
    assert place is not None
    return Facts(place, stem=layout.stem(path), derived_id="derived", keys=keys)


def changes(code: str, known: Facts) -> dict[str, str | None] | None:
    made = repairs.of(code, known)
    return None if made is None else dict(made.changes)


@pytest.mark.parametrize("code", ["missing_id", "invalid_id"])
def test_an_id_becomes_the_one_that_the_path_gives(code: str) -> None:
    assert changes(code, facts()) == {"id": "derived"}


def test_the_folder_decides_on_scope_and_project() -> None:
    renamed = facts(scope="project", project_id="gadgets")

    assert changes("scope_mismatch", renamed) == {"scope": "project", "project_id": "widgets"}


def test_a_note_in_global_loses_the_project_it_names() -> None:
    known = facts(GLOBAL, scope="project", project_id="widgets")

    assert changes("scope_mismatch", known) == {"scope": "global", "project_id": None}
    assert changes("scope_mismatch", facts(GLOBAL, scope="project")) == {"scope": "global"}


def test_required_keys_come_from_place_and_file_name() -> None:
    assert changes("missing_key", facts(scope="project")) == {
        "project_id": "widgets",
        "name": "build-command",
        "status": "active",
    }


def test_a_handoff_gets_its_own_keys() -> None:
    path = "Memory/.handoffs/archive/projects/widgets/Move.md"

    assert changes("missing_key", facts(path, scope="project", project_id="widgets")) == {
        "type": "handoff",
        "title": "Move",
        "status": "completed",
    }


def test_an_archived_proposal_gets_no_status_by_a_guess() -> None:
    found = changes("missing_key", facts("Memory/Inbox/archive/global/a.md"))

    assert found is not None and "status" not in found
    pending = changes("missing_key", facts("Memory/Inbox/pending/global/a.md"))
    assert pending is not None and pending["status"] == "pending"


def test_nothing_is_repaired_where_no_key_is_missing() -> None:
    whole = facts(GLOBAL, scope="global", name="x", status="archived")

    assert repairs.of("missing_key", whole) is None


def test_dates_come_from_the_ledger() -> None:
    known = dataclasses.replace(
        facts(), first_event="2026-01-01T00:00:00Z", last_event="2026-02-02T00:00:00Z"
    )

    assert changes("missing_date", known) == {
        "created": "2026-01-01T00:00:00Z",
        "updated": "2026-02-02T00:00:00Z",
    }


def test_a_date_without_ledger_comes_from_the_other_one_or_not_at_all() -> None:
    assert changes("missing_date", facts(created="2026-01-01")) == {"updated": "2026-01-01"}
    assert repairs.of("missing_date", facts()) is None


@pytest.mark.parametrize(
    "code", ["duplicate_id", "invalid_yaml", "unknown_kind", "content_refused"]
)
def test_what_could_be_meant_in_two_ways_has_no_repair(code: str) -> None:
    assert repairs.of(code, facts()) is None
    assert repairs.plan([code], facts()) == ()


def test_a_documents_repairs_come_together_in_one_order() -> None:
    made = repairs.plan(["scope_mismatch", "missing_id", "over_limit"], facts(scope="global"))

    assert [each.code for each in made] == ["missing_id", "scope_mismatch"]
    assert repairs.merged(made) == {
        "id": "derived",
        "scope": "project",
        "project_id": "widgets",
    }


def test_a_second_block_stands_in_the_way_of_every_repair() -> None:
    assert repairs.plan(["missing_id", "second_front_matter_block"], facts()) == ()


def test_every_repairable_code_has_a_repair() -> None:
    known = dataclasses.replace(facts(), first_event="2026-01-01", last_event="2026-01-01")

    assert {each.code for each in repairs.plan(repairs.REPAIRABLE, known)} == repairs.REPAIRABLE
